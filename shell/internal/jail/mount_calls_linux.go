package jail

import (
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// join attaches a detached tree at an opened target.
func join(tree, target int, path string) error {
	err := unix.MoveMount(tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	return fail(mountLayer, "move_mount", err, "attach "+path)
}

// resolve opens path below base. No component may be a symbolic link; a final one is opened itself, never followed.
func resolve(base int, path string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	// The kernel says EAGAIN when something was renamed or mounted during the walk.
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(base, path, &how)
		if (err == unix.EAGAIN || err == unix.EINTR) && tries < 100 {
			continue
		}
		return fd, fail(mountLayer, "openat2", err, "open "+path)
	}
}

// clone makes a detached copy of the mounts at path and below. In a user namespace a copy without the mounts below is
// refused by the kernel: it could uncover what they hide.
func clone(base int, path string) (int, error) {
	fd, err := resolve(base, path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return cloneFD(fd, path)
}

func cloneFD(fd int, what string) (int, error) {
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	return tree, fail(mountLayer, "open_tree", err, "clone "+what)
}

// setAttr sets mount attributes on a detached tree, all the way down.
func setAttr(tree int, attr uint64, what string) error {
	err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr})
	return fail(mountLayer, "mount_setattr", err, "restrict the mounts of "+what)
}

type tmpfsOptions struct {
	mode  string
	bytes int64
}

// newTmpfs makes a detached tmpfs. The number of inodes is bounded with the size: an empty file costs kernel memory
// too, about 1 KiB.
func newTmpfs(o tmpfsOptions, attr int) (int, error) {
	settings := [][2]string{
		{"mode", o.mode},
		{"size", strconv.FormatInt(o.bytes, 10)},
		{"nr_inodes", strconv.FormatInt(max(64, o.bytes>>12), 10)},
	}
	return newFS("tmpfs", settings, attr)
}

// newFS makes a detached file system of the given type.
func newFS(name string, settings [][2]string, attr int) (int, error) {
	fs, err := unix.Fsopen(name, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fail(mountLayer, "fsopen", err, "make a "+name)
	}
	defer unix.Close(fs)
	for _, s := range settings {
		if err := unix.FsconfigSetString(fs, s[0], s[1]); err != nil {
			return -1, fail(mountLayer, "fsconfig", err, "make a "+name+" with "+s[0]+"="+s[1])
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fail(mountLayer, "fsconfig", err, "make a "+name)
	}
	mnt, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
	return mnt, fail(mountLayer, "fsmount", err, "make a "+name)
}

// makePoints makes directories, files and links in a private file system, with the directories that lead to them.
func makePoints(fs int, points []Point) error {
	for _, p := range points {
		rel := string(p.Rel)
		if err := makeParents(fs, rel); err != nil {
			return err
		}
		var err error
		call := "mkdirat"
		switch {
		case len(p.Link) > 0:
			call = "symlinkat"
			err = unix.Symlinkat(string(p.Link), fs, rel)
		case p.Dir:
			err = unix.Mkdirat(fs, rel, 0o755)
		default:
			call = "mknodat"
			err = unix.Mknodat(fs, rel, unix.S_IFREG|0o644, 0)
		}
		if err != nil && err != unix.EEXIST {
			return fail(mountLayer, call, err, "make the mount point "+rel)
		}
	}
	return nil
}

func makeParents(fs int, rel string) error {
	for i, c := range rel {
		if c != '/' {
			continue
		}
		// 0711: a directory on the way to a mount point can be passed through.
		if err := unix.Mkdirat(fs, rel[:i], 0o711); err != nil && err != unix.EEXIST {
			return fail(mountLayer, "mkdirat", err, "make the directory "+path.Clean(strings.TrimSuffix(rel[:i], "/")))
		}
	}
	return nil
}
