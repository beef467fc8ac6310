package shell

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sallyport/shell/internal/jail"
)

// A cover is of an inode and not of a name. When the host replaces a denied file, or makes one that was not there, every
// jail that is set up shows the new one until it is covered too. A keeper watches the directories in which such a thing
// can happen, and covers again. Between the two lies the window that docs/threat-model.md speaks of.

// keeper is what watches for one sandbox. Nil does nothing.
type keeper struct {
	inotify *os.File
	fd      int
	done    chan struct{}

	mu    sync.Mutex
	paths []string
	known map[string]fileID        // what stands at each path, as every jail of the list covers it
	names map[watchedName]bool     // what an event must be about to matter
	jails map[*jailProcess]fileIDs // what each was set up with
}

type fileIDs map[string]fileID

// watchedName is a name in a watched directory.
type watchedName struct {
	directory int
	name      string
}

// whatAppears are the events by which something comes to stand at a name.
const whatAppears = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ONLYDIR

// newKeeper begins to watch. It fails where that is not possible: too many are watched already, or a directory that may
// be passed through but not read.
func newKeeper(paths []string) (*keeper, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	k := &keeper{
		inotify: os.NewFile(uintptr(fd), "inotify"), fd: fd, done: make(chan struct{}),
		paths: paths, jails: map[*jailProcess]fileIDs{},
	}
	if err := k.arm(); err != nil {
		k.inotify.Close()
		return nil, err
	}
	k.known = k.identities()
	go k.watch()
	return k, nil
}

func (k *keeper) close() {
	if k != nil {
		k.inotify.Close()
		<-k.done
	}
}

// keep changes the paths: the host's mount table, and with it the other names of what is denied, has changed.
func (k *keeper) keep(paths []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.paths = paths
	if err := k.arm(); err != nil {
		return err
	}
	known := k.identities()
	maps.Copy(known, k.known)
	k.known = known
	return nil
}

// arm watches every directory that leads to a path. It is called again whenever something has come to stand on the way.
func (k *keeper) arm() error {
	k.names = map[watchedName]bool{}
	seen := map[string]int{}
	for _, path := range k.paths {
		for at := path; at != "/"; at = filepath.Dir(at) {
			dir := filepath.Dir(at)
			wd, ok := seen[dir]
			if !ok {
				var err error
				wd, err = unix.InotifyAddWatch(k.fd, dir, whatAppears)
				switch {
				case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP:
					wd = -1 // its own parent tells when it appears
				case err == unix.EACCES && at != path:
					wd = -1
				case err != nil:
					return fmt.Errorf("watch %s: %w", dir, err)
				}
				seen[dir] = wd
			}
			if wd >= 0 {
				k.names[watchedName{wd, filepath.Base(at)}] = true
			}
		}
	}
	return nil
}

func (k *keeper) identities() fileIDs {
	ids := make(fileIDs, len(k.paths))
	for _, p := range k.paths {
		ids[p] = identity(p)
	}
	return ids
}

// watch looks again after every event that matters, until the keeper is closed.
func (k *keeper) watch() {
	defer close(k.done)
	buf := make([]byte, 16<<10)
	for {
		n, err := k.inotify.Read(buf)
		if err != nil {
			return
		}
		k.mu.Lock()
		if k.matters(buf[:n]) {
			k.look()
		}
		k.mu.Unlock()
	}
}

// matters says whether one of the events is about a name that leads to a path, or whether some were lost.
func (k *keeper) matters(events []byte) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		if size > len(events) {
			return true
		}
		name, _, _ := strings.Cut(string(events[unix.SizeofInotifyEvent:size]), "\x00")
		wd, mask := int(int32(binary.NativeEndian.Uint32(events))), binary.NativeEndian.Uint32(events[4:])
		if mask&unix.IN_Q_OVERFLOW != 0 || k.names[watchedName{wd, name}] {
			return true
		}
		events = events[size:]
	}
	return false
}

// look compares every path with what is known of it, and has every jail cover what is new.
func (k *keeper) look() {
	if err := k.arm(); err != nil {
		for j := range k.jails {
			j.giveUp(&Error{Code: CodeFailed, Layer: "mounts", Detail: "watch what is denied", Err: err})
		}
	}
	for _, p := range k.paths {
		id := identity(p)
		if id == k.known[p] {
			continue
		}
		k.known[p] = id
		for j := range k.jails {
			j.cover(p, id)
		}
	}
}

// before says what stands at the paths when a jail is about to be set up.
func (k *keeper) before() fileIDs {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look()
	return maps.Clone(k.known)
}

// add has a jail that was set up covered from now on, and covers what has come since before.
func (k *keeper) add(j *jailProcess, before fileIDs) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	if j.handle, err = unix.PidfdOpen(j.pid, 0); err != nil {
		return systemError("pidfd_open", err, "watch the jail's first process")
	}
	k.jails[j] = before
	k.look()
	for _, p := range k.paths {
		if id := k.known[p]; id != before[p] {
			j.cover(p, id)
		}
	}
	return nil
}

// remove forgets a jail.
func (k *keeper) remove(j *jailProcess) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.jails[j]; ok {
		delete(k.jails, j)
		unix.Close(j.handle)
	}
}

// cover covers a path again. A jail in which that fails would show what is denied: it is ended.
func (j *jailProcess) cover(path string, id fileID) {
	if id == (fileID{}) {
		return // nothing is there
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path)) // the host may have put a link on the way
	}
	err := jail.CoverAgain(j.handle, path, id.dir)
	for tries := 0; err != nil && tries < 3; tries++ { // it may be something else by now
		err = jail.CoverAgain(j.handle, path, identity(path).dir)
	}
	if err != nil {
		j.giveUp(&Error{Code: CodeFailed, Layer: "mounts", Detail: "cover " + path + " again, which has been replaced; the command was ended", Err: err})
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Contains(j.coveredAgain, path) {
		j.coveredAgain = append(j.coveredAgain, path)
	}
}

// giveUp ends a jail that is not what it should be any more.
func (j *jailProcess) giveUp(err error) {
	j.mu.Lock()
	j.broken = err
	j.mu.Unlock()
	j.kill()
}

// reported is the report with what has happened since it was made.
func (j *jailProcess) reported() Report {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.report
	if len(j.coveredAgain) == 0 {
		return r
	}
	r.Layers = slices.Clone(r.Layers)
	for i := range r.Layers {
		if r.Layers[i].Name == "mounts" {
			r.Layers[i].Evidence += "; replaced while the jail stood, and covered again: " + someOf(j.coveredAgain)
		}
	}
	return r
}
