package jail

import (
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Every mount is made by descriptor: the source and the target are opened first, without following any symbolic link,
// and only then joined. A path that something swaps in between can make the set-up fail, never mount elsewhere
// (CVE-2025-31133, CVE-2025-52565).

// tame are attributes that every mount of the host's files gets: set-user-id bits and device nodes mean nothing in it.
const tame = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// sealed are the attributes of mounts that show nothing.
const sealed = unix.MOUNT_ATTR_RDONLY | tame | unix.MOUNT_ATTR_NOEXEC

// mounter adds the mount tree to a set-up.
type mounter struct {
	*builder
	plan  *Plan
	host  reg // the host's "/"
	root  reg // the jail's "/"
	cover struct{ dir, file reg }
	files []reg // of plan.Files
}

// mounts builds the tree and makes it the root. Without the mounts layer only /proc is replaced, when asked.
func (b *builder) mounts(plan *Plan) {
	if !plan.Layers.Has(LayerMounts) && !plan.Layers.Has(LayerProc) {
		return
	}
	b.layer = "mounts"
	m := &mounter{builder: b, plan: plan}
	b.do("make the mount tree private", "mount(MS_PRIVATE)", unix.SYS_MOUNT, "", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	m.host = b.get(`open "/"`, "openat", unix.SYS_OPENAT, atCWD, "/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	m.makeCovers()
	if !plan.Layers.Has(LayerMounts) {
		m.root = m.host
		m.mountProc("/proc")
		return
	}
	m.enterRoot()
	for i := range plan.Ops {
		m.apply(&plan.Ops[i])
	}
	for _, e := range maskedSys {
		m.mountCover(e.path, true, nil)
	}
	m.showFiles()
	m.leaveHost()
}

// makeCovers attaches a small file system on top of the host's /proc, seen only from here, with the unreadable
// directory and file that every cover is a clone of, and the directory on which the new root is assembled.
func (m *mounter) makeCovers() {
	fs := m.newTmpfs("0755", 64<<10, 0)
	m.do("make the new root's mount point", "mkdirat", unix.SYS_MKDIRAT, fs, "root", 0o755)
	m.do("make the unreadable directory", "mkdirat", unix.SYS_MKDIRAT, fs, "none", 0)
	m.do("make the unreadable file", "mknodat", unix.SYS_MKNODAT, fs, "none-file", unix.S_IFREG, 0)
	for i := range m.plan.Files {
		m.makeFile(fs, i)
	}
	m.setAttr(fs, sealed, "the covers", true)
	m.attach(fs, m.host, "/proc")
	const flags = unix.O_PATH | unix.O_CLOEXEC
	m.cover.dir = m.get("open the unreadable directory", "openat", unix.SYS_OPENAT, fs, "none", flags, 0)
	m.cover.file = m.get("open the unreadable file", "openat", unix.SYS_OPENAT, fs, "none-file", flags, 0)
	for i, f := range m.plan.Files {
		m.files = append(m.files, m.get("open "+string(f.Path), "openat", unix.SYS_OPENAT, fs, fileName(i), flags, 0))
	}
	m.close(fs)
}

func fileName(i int) string { return "file-" + strconv.Itoa(i) }

// makeFile writes one of the plan's files.
func (m *mounter) makeFile(fs reg, i int) {
	f := m.plan.Files[i]
	what := "make " + string(f.Path)
	fd := m.get(what, "openat", unix.SYS_OPENAT, fs, fileName(i), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	m.do(what, "fchmod", unix.SYS_FCHMOD, fd, 0o444) // whatever the umask of the host
	m.do(what, "write", unix.SYS_WRITE, fd, string(f.Content), len(f.Content))
	m.close(fd)
}

// showFiles puts the plan's files in the place of what is there, which may be a symbolic link: then the link itself is
// hidden, and where it leads does not matter.
func (m *mounter) showFiles() {
	for i, f := range m.plan.Files {
		path := string(f.Path)
		m.optional(func() reg { return m.resolve(m.root, path) }, func(target reg) {
			tree := m.cloneFD(m.files[i], path)
			m.join(tree, target, path)
			m.close(tree)
			m.close(target)
		})
		m.close(m.files[i])
	}
}

// enterRoot clones the host's tree, makes it read-only all the way down, and makes it the root. The old root stays
// reachable through m.host, as the source of writable trees, until leaveHost.
func (m *mounter) enterRoot() {
	tree := m.rootTree()
	m.attach(tree, m.host, "/proc/root")
	m.do("enter the new root", "fchdir", unix.SYS_FCHDIR, tree)
	m.do("make the new tree the root", "pivot_root", unix.SYS_PIVOT_ROOT, ".", ".")
	m.root = m.get("open the new root", "openat", unix.SYS_OPENAT, atCWD, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	m.close(tree)
}

func (m *mounter) rootTree() reg {
	if m.plan.Root == RootCovered {
		return m.coverWithPoints(m.plan.Points)
	}
	tree := m.clone(m.host, "/")
	attr := tame
	if m.plan.Root != RootWritable {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	m.setAttr(tree, attr, `"/"`, true)
	return tree
}

// leaveHost detaches the old root: from here on the host's tree is out of reach.
func (m *mounter) leaveHost() {
	m.do("enter the old root", "fchdir", unix.SYS_FCHDIR, m.host)
	m.do("detach the old root", "umount2", unix.SYS_UMOUNT2, ".", unix.MNT_DETACH)
	m.do("enter the new root", "fchdir", unix.SYS_FCHDIR, m.root)
	for _, r := range []reg{m.host, m.root, m.cover.dir, m.cover.file} {
		m.close(r)
	}
}

func (m *mounter) apply(op *Op) {
	path := string(op.Path)
	switch op.Kind {
	case Proc:
		if m.plan.Layers.Has(LayerProc) {
			m.mountProc(path)
		}
	case Dev:
		m.mountDev(op)
	case Tmp:
		m.mountTmp(op)
	case Cover:
		m.mountCover(path, op.Dir, op.Points)
	case Back:
		m.bind(m.host, path, unix.MOUNT_ATTR_RDONLY|tame)
	case Writable:
		m.bind(m.host, path, tame)
	case Pin:
		m.bindIfThere(path, tame)
	case ReadOnly:
		m.bindIfThere(path, unix.MOUNT_ATTR_RDONLY|tame)
	}
}

// bind clones the tree at path below base and attaches it at the same path in the jail.
func (m *mounter) bind(base reg, path string, attr int) {
	tree := m.clone(base, path)
	m.setAttr(tree, attr, path, true)
	m.attach(tree, m.root, path)
	m.close(tree)
}

// bindIfThere is bind of the jail's own tree, and lets a deny go whose name is gone since the sandbox was opened: there
// is nothing left to protect.
func (m *mounter) bindIfThere(path string, attr int) {
	m.optional(func() reg { return m.resolve(m.root, path) }, func(target reg) {
		tree := m.cloneFD(target, path)
		m.setAttr(tree, attr, path, true)
		m.join(tree, target, path)
		m.close(tree)
		m.close(target)
	})
}

// mountCover puts the unreadable file or directory in front of what is there. With mount points inside, the directory
// can be passed through, but not listed.
func (m *mounter) mountCover(path string, dir bool, points []Point) {
	m.optional(func() reg { return m.resolve(m.root, path) }, func(target reg) {
		var tree reg
		switch {
		case len(points) > 0:
			tree = m.coverWithPoints(points)
		case dir:
			tree = m.cloneFD(m.cover.dir, "the cover of "+path)
		default:
			tree = m.cloneFD(m.cover.file, "the cover of "+path)
		}
		m.join(tree, target, path)
		m.close(tree)
		m.close(target)
	})
}

func (m *mounter) coverWithPoints(points []Point) reg {
	fs := m.newTmpfs("0711", 1<<20, 0)
	// The owner could list a directory of mode 0711: 0111 is set last, when nothing more is to be made in it.
	for _, dir := range append(m.makePoints(fs, points), ".") {
		m.do("close the cover", "fchmodat", unix.SYS_FCHMODAT, fs, dir, 0o111)
	}
	m.setAttr(fs, sealed, "a cover", true)
	return fs
}

func (m *mounter) mountTmp(op *Op) {
	fs := m.newTmpfs("1777", op.Bytes, tame)
	m.makePoints(fs, op.Points)
	m.attach(fs, m.root, string(op.Path))
	m.close(fs)
}

// makePoints makes directories, files and links in a private file system, with the directories that lead to them, which
// it returns.
func (m *mounter) makePoints(fs reg, points []Point) (leading []string) {
	for _, p := range points {
		rel := string(p.Rel)
		for i, c := range rel {
			if c == '/' { // 0711: a directory on the way to a mount point can be passed through
				m.do("make the directory "+rel[:i], "mkdirat", unix.SYS_MKDIRAT, fs, rel[:i], 0o711)
				m.ignore(unix.EEXIST)
				leading = append(leading, rel[:i])
			}
		}
		what := "make the mount point " + rel
		switch {
		case len(p.Link) > 0:
			m.do(what, "symlinkat", unix.SYS_SYMLINKAT, string(p.Link), fs, rel)
		case p.Dir:
			m.do(what, "mkdirat", unix.SYS_MKDIRAT, fs, rel, 0o755)
		default:
			m.do(what, "mknodat", unix.SYS_MKNODAT, fs, rel, unix.S_IFREG|0o644, 0)
		}
		m.ignore(unix.EEXIST)
	}
	slices.Sort(leading)
	return slices.Compact(leading)
}

func (m *mounter) attach(tree, base reg, path string) {
	target := m.resolve(base, path)
	m.join(tree, target, path)
	m.close(target)
}

// join attaches a detached tree at an opened target.
func (m *mounter) join(tree, target reg, path string) {
	m.do("attach "+path, "move_mount", unix.SYS_MOVE_MOUNT, tree, "", target, "",
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// beneath opens a path below a root. No component may be a symbolic link; a final one is opened itself, never followed.
var beneath = unix.OpenHow{
	Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
	Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
}

func (m *mounter) resolve(base reg, path string) reg {
	return m.get("open "+path, "openat2", unix.SYS_OPENAT2, base, path, unsafe.Pointer(&beneath), int(unsafe.Sizeof(beneath)))
}

// clone makes a detached copy of the mounts at path and below. In a user namespace a copy without the mounts below is
// refused by the kernel: it could uncover what they hide.
func (m *mounter) clone(base reg, path string) reg {
	fd := m.resolve(base, path)
	tree := m.cloneFD(fd, path)
	m.close(fd)
	return tree
}

func (m *mounter) cloneFD(fd reg, what string) reg {
	return m.get("clone "+what, "open_tree", unix.SYS_OPEN_TREE, fd, "",
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
}

// setAttr sets mount attributes on a tree, all the way down when recursive.
func (m *mounter) setAttr(tree reg, attr int, what string, recursive bool) {
	flags := unix.AT_EMPTY_PATH
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	a := &unix.MountAttr{Attr_set: uint64(attr)}
	m.do("restrict the mounts of "+what, "mount_setattr", unix.SYS_MOUNT_SETATTR, tree, "", flags, unsafe.Pointer(a), int(unsafe.Sizeof(*a)))
}

// joinPath joins an absolute directory and a name.
func joinPath(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
