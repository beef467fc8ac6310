package jail

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Commands of fsconfig.
const (
	fsconfigSetString = 1
	fsconfigCreate    = 6
)

// newTmpfs makes a detached tmpfs. The number of inodes is bounded with the size: an empty file costs kernel memory
// too, about 1 KiB.
func (b *builder) newTmpfs(mode string, bytes int64, attr int) reg {
	return b.newFS("tmpfs", [][2]string{
		{"mode", mode},
		{"size", strconv.FormatInt(bytes, 10)},
		{"nr_inodes", strconv.FormatInt(max(64, bytes>>12), 10)},
	}, attr)
}

// newFS makes a detached file system of the given type.
func (b *builder) newFS(name string, settings [][2]string, attr int) reg {
	what := "make a " + name
	fs := b.get(what, "fsopen", unix.SYS_FSOPEN, name, unix.FSOPEN_CLOEXEC)
	for _, s := range settings {
		b.do(what+" with "+s[0]+"="+s[1], "fsconfig", unix.SYS_FSCONFIG, fs, fsconfigSetString, s[0], s[1], 0)
	}
	b.do(what, "fsconfig", unix.SYS_FSCONFIG, fs, fsconfigCreate, 0, 0, 0)
	mnt := b.get(what, "fsmount", unix.SYS_FSMOUNT, fs, unix.FSMOUNT_CLOEXEC, attr)
	b.close(fs)
	return mnt
}

// deviceNodes are the nodes of the private /dev, each a bind of the host's. A jail cannot make device nodes itself.
var deviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// deviceLinks are the usual links of /dev.
var deviceLinks = []Point{
	{Rel: []byte("fd"), Link: []byte("/proc/self/fd")},
	{Rel: []byte("stdin"), Link: []byte("/proc/self/fd/0")},
	{Rel: []byte("stdout"), Link: []byte("/proc/self/fd/1")},
	{Rel: []byte("stderr"), Link: []byte("/proc/self/fd/2")},
	{Rel: []byte("ptmx"), Link: []byte("pts/ptmx")},
}

// hostNodes are those that the host has: a container's /dev may lack some. This runs on the host.
func hostNodes() []string {
	return slices.DeleteFunc(slices.Clone(deviceNodes), func(n string) bool {
		var st unix.Stat_t
		return unix.Lstat("/dev/"+n, &st) == unix.ENOENT
	})
}

// mountDev mounts the private /dev. It holds no disk, no memory and no terminal of the host.
func (m *mounter) mountDev(op *Op) {
	const quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	fs := m.newTmpfs("0755", 1<<20, quiet)
	points := append([]Point{{Rel: []byte("pts"), Dir: true}, {Rel: []byte("shm"), Dir: true}}, deviceLinks...)
	nodes := hostNodes()
	for _, n := range nodes {
		points = append(points, Point{Rel: []byte(n)})
	}
	m.makePoints(fs, append(points, op.Points...))
	path := string(op.Path)
	m.attach(fs, m.root, path)
	for _, n := range nodes {
		m.bind(m.host, joinPath(path, n), quiet)
	}
	// Pseudo-terminals of its own: a command can make some and sees none of the host's.
	pts := m.newFS("devpts", [][2]string{{"ptmxmode", "0666"}, {"mode", "0620"}}, quiet)
	m.attach(pts, m.root, joinPath(path, "pts"))
	m.close(pts)
	// Nothing more is made in it. The mounts inside keep their own attributes.
	m.setAttr(fs, unix.MOUNT_ATTR_RDONLY, path, false)
	m.close(fs)
}

// makeThreadNames makes the /proc of ThreadsFD.
func (b *builder) makeThreadNames() {
	b.layer = "names"
	b.threads = b.newFS("proc", nil, tame|unix.MOUNT_ATTR_NOEXEC)
	b.do("keep the names of threads", "dup3", unix.SYS_DUP3, b.threads, ThreadsFD, 0)
}

// mountProc mounts a /proc of the jail's own PID namespace, read-only, and covers what the table names.
func (m *mounter) mountProc(path string) {
	m.layer = "proc"
	fs := m.newFS("proc", nil, sealed)
	m.attach(fs, m.root, path)
	m.close(fs)
	for _, e := range maskedProc {
		m.mountCover(joinPath(path, e.path), e.dir, nil)
	}
	m.layer = "mounts"
}
