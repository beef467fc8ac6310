package jail

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// namespaces are the links of /proc/self/ns that a jail has of its own.
var namespaces = []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}

// readBack asks the kernel what is in force for the thread that will fork the command. The probes of the filters are made
// on that thread; everything else on another, since this one may not open files any more.
func readBack(plan *Plan, names *namesLayer) (*Ready, error) {
	r := &Ready{Namespaces: map[string]string{}, Status: map[string]string{}, Killable: names.killable}
	if plan.Layers.Has(LayerSeccomp) {
		r.SeccompErrno = probeFilter()
	}
	r.Names = names.probe()
	var err error
	elsewhere(func() { err = r.read(plan, names.status) })
	return r, err
}

// read takes the state of the thread that forks from an open file: the number of a thread means nothing in a /proc of
// another pid namespace, which a jail for tests may see.
func (r *Ready) read(plan *Plan, status int) error {
	fields, err := statusFields("/proc/self/fd/" + strconv.Itoa(status))
	unix.Close(status)
	if err != nil {
		return fail("report", "open", err, "read the state of the first process")
	}
	for _, k := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"} {
		r.Status[k] = fields[k]
	}
	for _, ns := range namespaces {
		link, err := readlink("/proc/self/ns/" + ns)
		if err != nil {
			return fail("report", "readlink", err, "read the namespaces")
		}
		r.Namespaces[ns] = link
	}
	if plan.Layers.Has(LayerLandlock) {
		if err := readBackLandlock(r); err != nil {
			return err
		}
	}
	if err := readBackMounts(plan, r); err != nil {
		return err
	}
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil {
		return fail("report", "getrlimit", err, "read the limits")
	}
	r.CoreLimit = core.Max
	open, err := numericEntries("/proc/self/fd")
	for _, fd := range open {
		// EBADF: the descriptor through which the list was read.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			r.Inherited = append(r.Inherited, fd)
		}
	}
	return fail("report", "getdents", err, "list the descriptors")
}

func readBackLandlock(r *Ready) error {
	var err error
	if r.Landlock, err = landlockABI(); err != nil {
		return err
	}
	r.LandlockRefused, err = probeLandlock(ProbeFD)
	unix.Close(ProbeFD)
	return err
}

func readBackMounts(plan *Plan, r *Ready) error {
	var err error
	if r.RootReadOnly, err = readOnly("/"); err != nil {
		return fail("report", "statfs", err, `look at "/"`)
	}
	if r.Alone, err = nothingBehind(); err != nil {
		return fail("report", "statx", err, `look at "/.."`)
	}
	if r.ProcReadOnly, err = readOnly("/proc"); err != nil {
		return fail("report", "statfs", err, "look at /proc")
	}
	if plan.Layers.Has(LayerMounts) {
		for _, op := range plan.Ops {
			if err := confirm(op, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// nothingBehind says whether "/.." is "/": a root that is still stacked on this one would be reached through it.
func nothingBehind() (bool, error) {
	var root, above unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, "/", 0, unix.STATX_MNT_ID, &root); err != nil {
		return false, err
	}
	if err := unix.Statx(unix.AT_FDCWD, "/..", 0, unix.STATX_MNT_ID, &above); err != nil {
		return false, err
	}
	return root.Mnt_id == above.Mnt_id, nil
}

// confirm looks at one Op from inside: is what was to be writable writable, what was to be covered unreadable?
func confirm(op Op, r *Ready) error {
	path := string(op.Path)
	switch op.Kind {
	case Writable:
		ro, err := readOnly(path)
		if err != nil {
			return fail("report", "statfs", err, "look at "+path)
		}
		if !ro {
			r.Writable++
		}
	case ReadOnly:
		// ENOENT: the host has removed it since the sandbox was opened, and nothing is left to protect.
		if ro, err := readOnly(path); err == nil && ro || err == unix.ENOENT {
			r.ReadOnly++
		}
	case Cover:
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, 0); err == unix.EACCES || err == unix.ENOENT {
			r.Covered++
		}
	}
	return nil
}

// readOnly asks for the flags of the mount at path. A final symbolic link is looked at itself: a mount may be of one.
func readOnly(path string) (bool, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false, err
	}
	return st.Flags&unix.ST_RDONLY != 0, nil
}
