package jail

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ProbeFD is where the second stage finds the file system for probing Landlock.
const ProbeFD = PlanFD + 1

// ThreadsFD is where it finds a /proc that is attached nowhere, through which a process gives its threads names: the one
// that the command sees is read-only.
const ThreadsFD = ProbeFD + 1

// aside is above the numbers that the first process gets its descriptors at.
const aside = 16

// placed is a descriptor, by register or number, and the number that it is to have.
type placed struct {
	from any
	to   int
}

// place gives descriptors their numbers. They are moved out of the way first, because a number may be both a source
// and a target. It returns the copies, which are to be closed.
func (b *builder) place(order []placed, above int) []reg {
	var copies []reg
	for _, o := range order {
		copies = append(copies, b.moved(o.from, above))
	}
	for i, o := range order {
		b.do("place a descriptor", "dup3", unix.SYS_DUP3, copies[i], o.to, 0)
	}
	return copies
}

// moved is a copy of a descriptor whose number is above the given one.
func (b *builder) moved(from any, above int) reg {
	return b.get("move a descriptor", "fcntl(F_DUPFD)", unix.SYS_FCNTL, from, unix.F_DUPFD_CLOEXEC, above)
}

// descriptors puts the socket, the plan and the standard files at their numbers, opens the program, and marks
// everything else to be closed at the exec. A descriptor of the host that was opened without O_CLOEXEC, such as a
// directory handle to "/", would otherwise reach the command (CVE-2024-21626).
func (b *builder) descriptors(plan *Plan, program string) reg {
	b.layer = "descriptors"
	b.do("leave the terminal", "setsid", unix.SYS_SETSID)
	b.do("move a descriptor", "fcntl(F_DUPFD)", unix.SYS_FCNTL, regSocket, unix.F_DUPFD_CLOEXEC, aside)
	b.calls[len(b.calls)-1].save = uint8(regSocket) // failures are told over the copy: the number may be taken below
	opened := b.get("open "+program, "openat", unix.SYS_OPENAT, atCWD, program, unix.O_PATH|unix.O_CLOEXEC, 0)
	exe := b.moved(opened, aside)
	b.close(opened)
	copies := b.place([]placed{{regNull, 0}, {regNull, 1}, {regTrace, 2}, {regSocket, SocketFD}, {regPlan, PlanFD}}, aside)
	if plan.Layers.Has(LayerFDs) {
		b.do("close inherited descriptors", "close_range", unix.SYS_CLOSE_RANGE, PlanFD+1, 0x7fffffff, unix.CLOSE_RANGE_CLOEXEC)
	}
	for _, c := range copies {
		b.close(c)
	}
	return exe
}

// atCWD is AT_FDCWD as the kernel takes it.
const atCWD = ^uintptr(99)

// mapIDs maps the caller's uid and gid to themselves. The new process may write its own maps; without privileges only
// after it has given up setgroups.
func (b *builder) mapIDs(uid, gid int) {
	b.layer = "namespaces"
	b.writeFile("/proc/self/setgroups", "deny")
	b.writeFile("/proc/self/uid_map", fmt.Sprintf("%d %d 1\n", uid, uid))
	b.writeFile("/proc/self/gid_map", fmt.Sprintf("%d %d 1\n", gid, gid))
}

func (b *builder) writeFile(path, text string) {
	fd := b.get("open "+path, "openat", unix.SYS_OPENAT, atCWD, path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	b.do("write "+path, "write", unix.SYS_WRITE, fd, text, len(text))
	b.close(fd)
}

// raiseLoopback brings "lo" up, so that a command can talk to servers that it started itself.
func (b *builder) raiseLoopback() {
	b.layer = "network"
	var request struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	request.flags = unix.IFF_UP | unix.IFF_RUNNING
	const doing = "bring the loopback interface up"
	fd := b.get(doing, "socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	b.do(doing, "ioctl(SIOCSIFFLAGS)", unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, unsafe.Pointer(&request))
	b.close(fd)
}

// lastCapability is above every capability known; PR_CAPBSET_DROP says EINVAL for those that do not exist.
const lastCapability = 63

// Bits of PR_SET_SECUREBITS, each with its lock bit: uid 0 gains nothing at exec, keeps nothing across setuid, and
// nobody raises ambient capabilities.
const secureBits = 1<<0 | 1<<1 | // NOROOT
	1<<2 | 1<<3 | // NO_SETUID_FIXUP
	1<<5 | // KEEP_CAPS_LOCKED
	1<<6 | 1<<7 // NO_CAP_AMBIENT_RAISE

// dropCapabilities empties the ambient, bounding, inheritable, effective and permitted sets. The exec that follows
// gives nothing back, so every thread of the second stage is born without.
func (b *builder) dropCapabilities() {
	b.layer = "capabilities"
	b.do("clear ambient capabilities", "prctl(PR_CAP_AMBIENT)", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	b.do("set the secure bits", "prctl(PR_SET_SECUREBITS)", unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, secureBits, 0, 0, 0)
	for c := 0; c <= lastCapability; c++ {
		b.do("empty the bounding set", "prctl(PR_CAPBSET_DROP)", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		b.ignore(unix.EINVAL)
	}
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	b.do("empty the capability sets", "capset", unix.SYS_CAPSET, unsafe.Pointer(header), unsafe.Pointer(&[2]unix.CapUserData{}))
}
