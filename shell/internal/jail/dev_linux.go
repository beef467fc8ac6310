package jail

import (
	"golang.org/x/sys/unix"
)

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

// mountDev mounts the private /dev. It holds no disk, no memory and no terminal of the host.
func (m *mounter) mountDev(op *Op) error {
	const quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	fs, err := newTmpfs(tmpfsOptions{mode: "0755", bytes: 1 << 20}, quiet)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	points := append([]Point{{Rel: []byte("pts"), Dir: true}, {Rel: []byte("shm"), Dir: true}}, deviceLinks...)
	for _, n := range deviceNodes {
		points = append(points, Point{Rel: []byte(n)})
	}
	if err := makePoints(fs, append(points, op.Points...)); err != nil {
		return err
	}
	path := string(op.Path)
	if err := m.attach(fs, m.root, path); err != nil {
		return err
	}
	for _, n := range deviceNodes {
		if err := m.bind(m.host, path+"/"+n, quiet); err != nil {
			return err
		}
	}
	if err := m.mountPts(path + "/pts"); err != nil {
		return err
	}
	// Nothing more is made in it. The mounts below keep their own attributes.
	err = unix.MountSetattr(fs, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	return fail(mountLayer, "mount_setattr", err, "make /dev read-only")
}

// mountPts mounts a devpts of its own, so that a command can make pseudo-terminals but sees none of the host's.
func (m *mounter) mountPts(path string) error {
	fs, err := newFS("devpts", [][2]string{{"ptmxmode", "0666"}, {"mode", "0620"}}, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	return m.attach(fs, m.root, path)
}
