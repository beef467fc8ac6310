package jail

import (
	"golang.org/x/sys/unix"
)

// mounter builds the jail's mount tree. Every mount is made by descriptor: the source and the target are opened
// first, without following any symbolic link, and only then joined. A path that something swaps in between can make
// the set-up fail, never mount elsewhere (CVE-2025-31133, CVE-2025-52565).
type mounter struct {
	plan  *Plan
	host  int // the host's "/"
	root  int // the jail's "/"
	cover struct{ dir, file int }
}

const (
	mountLayer = "mounts"
	// attributes that every mount of the host's files gets: set-user-id bits and device nodes mean nothing in it.
	tame = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// putUpMounts builds the tree and makes it the root. Without the mounts layer only /proc is replaced, when asked.
func putUpMounts(plan *Plan, _ int) error {
	if !plan.Layers.Has(LayerMounts) && !plan.Layers.Has(LayerProc) {
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fail(mountLayer, "mount(MS_PRIVATE)", err, "make the mount tree private")
	}
	m := &mounter{plan: plan}
	var err error
	if m.host, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fail(mountLayer, "open", err, `open "/"`)
	}
	if err := m.makeCovers(); err != nil {
		return err
	}
	if !plan.Layers.Has(LayerMounts) {
		m.root = m.host
		return m.mountProc("/proc")
	}
	if err := m.enterRoot(); err != nil {
		return err
	}
	for i := range plan.Ops {
		if err := m.apply(&plan.Ops[i]); err != nil {
			return err
		}
	}
	if err := m.maskSys(); err != nil {
		return err
	}
	return m.leaveHost()
}

// makeCovers attaches a small file system on top of the host's /proc, seen only from here, with the unreadable
// directory and file that every cover is a clone of, and the directory on which the new root is assembled.
func (m *mounter) makeCovers() error {
	fs, err := newTmpfs(tmpfsOptions{mode: "0755", bytes: 64 << 10}, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	if err := makePoints(fs, []Point{{Rel: []byte("root"), Dir: true}}); err != nil {
		return err
	}
	if err := unix.Mkdirat(fs, "none", 0); err != nil {
		return fail(mountLayer, "mkdirat", err, "make the unreadable directory")
	}
	f, err := unix.Openat(fs, "none-file", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(mountLayer, "openat", err, "make the unreadable file")
	}
	unix.Close(f)
	if err := setAttr(fs, unix.MOUNT_ATTR_RDONLY|tame|unix.MOUNT_ATTR_NOEXEC, "the covers"); err != nil {
		return err
	}
	if err := m.attach(fs, m.host, "/proc"); err != nil {
		return err
	}
	if m.cover.dir, err = unix.Openat(fs, "none", unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return fail(mountLayer, "openat", err, "open the unreadable directory")
	}
	m.cover.file, err = unix.Openat(fs, "none-file", unix.O_PATH|unix.O_CLOEXEC, 0)
	return fail(mountLayer, "openat", err, "open the unreadable file")
}

// enterRoot clones the host's tree, makes it read-only all the way down, and makes it the root. The old root stays
// reachable through m.host, as the source of writable trees, until leaveHost.
func (m *mounter) enterRoot() error {
	tree, err := m.rootTree()
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := m.attach(tree, m.host, "/proc/root"); err != nil {
		return err
	}
	if err := unix.Fchdir(tree); err != nil {
		return fail(mountLayer, "fchdir", err, "enter the new root")
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fail(mountLayer, "pivot_root", err, "make the new tree the root")
	}
	m.root, err = unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fail(mountLayer, "open", err, "open the new root")
}

func (m *mounter) rootTree() (int, error) {
	if m.plan.Root == RootCovered {
		return m.coverWithPoints(m.plan.Points)
	}
	tree, err := clone(m.host, "/")
	if err != nil {
		return -1, err
	}
	attr := uint64(tame)
	if m.plan.Root != RootWritable {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	return tree, setAttr(tree, attr, `"/"`)
}

// leaveHost detaches the old root: from here on the host's tree is out of reach.
func (m *mounter) leaveHost() error {
	if err := unix.Fchdir(m.host); err != nil {
		return fail(mountLayer, "fchdir", err, "enter the old root")
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fail(mountLayer, "umount2", err, "detach the old root")
	}
	for _, fd := range []int{m.host, m.cover.dir, m.cover.file} {
		unix.Close(fd)
	}
	return fail(mountLayer, "fchdir", unix.Fchdir(m.root), "enter the new root")
}

func (m *mounter) apply(op *Op) error {
	path := string(op.Path)
	switch op.Kind {
	case Proc:
		if !m.plan.Layers.Has(LayerProc) {
			return nil
		}
		return m.mountProc(path)
	case Dev:
		return m.mountDev(op)
	case Tmp:
		return m.mountTmp(op)
	case Cover:
		return m.mountCover(op)
	case Back:
		return m.bind(m.host, path, unix.MOUNT_ATTR_RDONLY|tame)
	case Writable:
		return m.bind(m.host, path, tame)
	case Pin:
		return ifThere(m.bind(m.root, path, tame))
	case ReadOnly:
		return ifThere(m.bind(m.root, path, unix.MOUNT_ATTR_RDONLY|tame))
	}
	return &Failure{Layer: mountLayer, Detail: "unknown kind of mount " + string(op.Kind)}
}

// ifThere lets a deny go whose name is gone since the sandbox was opened: there is nothing left to protect.
func ifThere(err error) error {
	if f, ok := err.(*Failure); ok && f.Errno == unix.ENOENT {
		return nil
	}
	return err
}

// bind clones the tree at path below base and attaches it at the same path in the jail.
func (m *mounter) bind(base int, path string, attr uint64) error {
	tree, err := clone(base, path)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := setAttr(tree, attr, path); err != nil {
		return err
	}
	return m.attach(tree, m.root, path)
}

// mountCover puts the unreadable file or directory in front of what is there. With mount points inside, the directory
// can be passed through, but not listed.
func (m *mounter) mountCover(op *Op) error {
	path := string(op.Path)
	target, err := resolve(m.root, path)
	if err != nil {
		return ifThere(err)
	}
	defer unix.Close(target)
	tree := -1
	if len(op.Points) > 0 {
		tree, err = m.coverWithPoints(op.Points)
	} else {
		tree, err = m.plainCover(target, path)
	}
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return join(tree, target, path)
}

func (m *mounter) plainCover(target int, path string) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(target, &st); err != nil {
		return -1, fail(mountLayer, "fstat", err, "look at "+path)
	}
	source := m.cover.file
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		source = m.cover.dir
	}
	return cloneFD(source, "the cover of "+path)
}

func (m *mounter) coverWithPoints(points []Point) (int, error) {
	fs, err := newTmpfs(tmpfsOptions{mode: "0711", bytes: 1 << 20}, 0)
	if err != nil {
		return -1, err
	}
	if err := makePoints(fs, points); err != nil {
		return -1, err
	}
	// The owner could list it at mode 0711: 0111 is set last, when nothing more is to be made in it.
	if err := unix.Fchmodat(fs, ".", 0o111, 0); err != nil {
		return -1, fail(mountLayer, "fchmodat", err, "close the cover")
	}
	return fs, setAttr(fs, unix.MOUNT_ATTR_RDONLY|tame|unix.MOUNT_ATTR_NOEXEC, "a cover")
}

func (m *mounter) mountTmp(op *Op) error {
	fs, err := newTmpfs(tmpfsOptions{mode: "1777", bytes: op.Bytes}, tame)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	if err := makePoints(fs, op.Points); err != nil {
		return err
	}
	return m.attach(fs, m.root, string(op.Path))
}

func (m *mounter) attach(tree, base int, path string) error {
	target, err := resolve(base, path)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return join(tree, target, path)
}
