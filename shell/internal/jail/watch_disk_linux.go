package jail

import "golang.org/x/sys/unix"

// diskWatch looks at how much fuller the file systems of the writable directories have become. What a process says of
// what it wrote cannot be counted: one that makes itself undumpable hides it, and one that ignores the end of its children
// has it forgotten. Space that is taken cannot be hidden. What others write to the same file system counts as well.
type diskWatch struct {
	systems []fileSystem
}

// fileSystem is one file system, by a directory on it, and what was taken of it when the command started.
type fileSystem struct {
	fd     int
	before int64
}

func newDiskWatch(paths []string) *diskWatch {
	w := &diskWatch{}
	seen := map[unix.Fsid]bool{}
	for _, path := range paths {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // it was removed: nothing can be written to it
		}
		var st unix.Statfs_t
		if err := unix.Fstatfs(fd, &st); err != nil || st.Fsid != (unix.Fsid{}) && seen[st.Fsid] {
			unix.Close(fd)
			continue
		}
		seen[st.Fsid] = true
		w.systems = append(w.systems, fileSystem{fd, taken(&st)})
	}
	return w
}

func taken(st *unix.Statfs_t) int64 { return int64(st.Blocks-st.Bfree) * st.Bsize }

// used is how much more is taken now, of all of them together.
func (w *diskWatch) used() (int64, error) {
	var sum int64
	for _, s := range w.systems {
		var st unix.Statfs_t
		if err := unix.Fstatfs(s.fd, &st); err != nil {
			return 0, err
		}
		sum += max(0, taken(&st)-s.before)
	}
	return sum, nil
}
