package jail

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// A mount covers an inode and not a name: when the host replaces a denied file, a jail that runs already shows the new
// one. Nothing inside may mount any more, so the cover comes from outside, by a process that enters the jail's user and
// mount namespaces, makes these few calls and ends. It is in no other namespace of the jail: nothing in there sees it.

// CoverAgain covers path in the jail whose first process handle (a pidfd) is of. dir says whether a directory stands
// there now. A path that is not there needs no cover, nor does a jail that has ended.
func CoverAgain(handle int, path string, dir bool) error {
	setup, err := newCoverSetup(handle, path, dir)
	if err != nil {
		return err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return fail("mounts", "pipe2", err, "cover "+path+" again")
	}
	defer unix.Close(pipe[0])
	pid, err := begin(setup, unix.CLONE_VM|unix.CLONE_VFORK, map[reg]int{regSocket: pipe[1]})
	unix.Close(pipe[1])
	if err != nil {
		return fail("mounts", "clone", err, "cover "+path+" again")
	}
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	var packet failurePacket
	n, err := readPacket(pipe[0], &packet)
	if err == nil && n == 0 {
		return nil
	}
	if err != nil || n != len(packet)*4 {
		return fail("mounts", "read", err, "cover "+path+" again")
	}
	f := setup.failure(packet)
	if f.Syscall == "setns" && f.Errno == unix.ESRCH || f.Syscall == "openat2" && f.Errno == unix.ENOTDIR {
		return nil
	}
	return f
}

func newCoverSetup(handle int, path string, dir bool) (*Setup, error) {
	b := newBuilder()
	b.layer = "mounts"
	b.do("enter the jail", "setns", unix.SYS_SETNS, handle, unix.CLONE_NEWUSER|unix.CLONE_NEWNS)
	m := &mounter{builder: b}
	m.root = b.get(`open "/"`, "openat", unix.SYS_OPENAT, atCWD, "/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	m.optional(func() reg { return m.resolve(m.root, path) }, func(target reg) {
		m.join(m.newCover(dir), target, path)
	})
	b.do("end", "exit_group", unix.SYS_EXIT_GROUP, 0)
	return &b.Setup, b.err
}

// newCover is a directory of its own that nobody can read, or a clone of one of the files that are covered in /proc: a
// file cannot be mounted but from where it is attached (before Linux 6.15).
func (m *mounter) newCover(dir bool) reg {
	if dir {
		return m.newTmpfs("0", 4<<10, sealed)
	}
	for _, e := range maskedProc {
		if !e.dir && syscall.Access("/proc/"+e.path, 0) == nil {
			return m.clone(m.root, "/proc/"+e.path)
		}
	}
	m.err = &Failure{Layer: "mounts", Detail: "nothing in /proc is covered that could be shown instead"}
	return m.root
}
