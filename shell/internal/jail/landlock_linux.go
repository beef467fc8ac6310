package jail

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const landlockLayer = "landlock"

// Rights of Landlock, by what they let one do. Which of them exist depends on the kernel's ABI.
const (
	llRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	llFile  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	llEntry = unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REFER
	// Device nodes are granted to nobody.
	llNode = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	llAll  = llRead | llFile | llEntry | llNode | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	llWritable = llRead | llFile | llEntry
	llDevice   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | llFile | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// What can be granted on a file rather than a directory; the kernel refuses the rest with EINVAL.
	llOnFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | llFile | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockRights are the rights that ABI abi knows.
func landlockRights(abi int) uint64 {
	rights := uint64(llAll)
	if abi < 2 {
		rights &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi < 3 {
		rights &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < 5 {
		rights &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// landlockScopes are the scopes that ABI abi knows: abstract UNIX sockets and signals end at the jail.
func landlockScopes(abi int) uint64 {
	if abi < 6 {
		return 0
	}
	return unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
}

// landlockABI asks the kernel for its version.
func landlockABI() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fail(landlockLayer, "landlock_create_ruleset", errno, "ask for the Landlock version")
	}
	return int(v), nil
}

// restrictWithLandlock allows reading everywhere the mounts show and writing below the writable trees, the private
// directories and the device nodes, and nothing else. What is denied inside an allowed tree is the mounts' affair:
// Landlock can only allow.
func restrictWithLandlock(plan *Plan, exe int) error {
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	rights := landlockRights(abi)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights, Scoped: landlockScopes(abi)}
	// The size tells an older kernel which fields are meant; the fields it does not know are zero.
	size := unsafe.Offsetof(attr.Handled_access_net)
	if attr.Scoped != 0 {
		size = unsafe.Offsetof(attr.Quiet_access_fs)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fail(landlockLayer, "landlock_create_ruleset", errno, "make a ruleset")
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	if err := addLandlockRules(plan, ruleset, exe, rights); err != nil {
		return err
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	if errno != 0 {
		return fail(landlockLayer, "landlock_restrict_self", errno, "enforce the ruleset")
	}
	return nil
}

func addLandlockRules(plan *Plan, ruleset, exe int, rights uint64) error {
	add := func(path string, want uint64) error {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT {
			return nil // a right on what does not exist is no right
		}
		if err != nil {
			return fail(landlockLayer, "open", err, "open "+path)
		}
		defer unix.Close(fd)
		return addLandlockRule(ruleset, fd, want&rights, path)
	}
	// The second stage's own file may lie outside of what the jail shows.
	if err := addLandlockRule(ruleset, exe, (unix.LANDLOCK_ACCESS_FS_EXECUTE|unix.LANDLOCK_ACCESS_FS_READ_FILE)&rights, "the program's own file"); err != nil {
		return err
	}
	root := uint64(llRead)
	if plan.Root == RootWritable {
		root = llWritable
	}
	if err := add("/", root); err != nil {
		return err
	}
	// PID 1 removes them when the host was killed. The command has no writable way to them: the mounts are read-only.
	for _, parent := range plan.CgroupParents {
		if err := add(string(parent), unix.LANDLOCK_ACCESS_FS_REMOVE_DIR); err != nil {
			return err
		}
	}
	for _, op := range plan.Ops {
		var err error
		switch op.Kind {
		case Writable, Tmp:
			err = add(string(op.Path), llWritable)
		case Dev:
			err = add(string(op.Path), llDevice)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func addLandlockRule(ruleset, fd int, rights uint64, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(landlockLayer, "fstat", err, "look at "+path)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= llOnFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fail(landlockLayer, "landlock_add_rule", errno, "allow "+path)
	}
	return nil
}

// landlockProbe makes a file system that is attached nowhere and that stage two inherits, for probeLandlock. Without
// the layer there is none: -1.
func landlockProbe(plan *Plan) (int, error) {
	if !plan.Layers.Has(LayerLandlock) {
		return -1, nil
	}
	fs, err := newTmpfs(tmpfsOptions{mode: "0700", bytes: 64 << 10}, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	// Not over a number that the runtime uses, and without O_CLOEXEC.
	probe, err := unix.FcntlInt(uintptr(fs), unix.F_DUPFD, firstFree)
	return probe, fail(landlockLayer, "fcntl(F_DUPFD)", err, "keep the probe")
}

// firstFree is above the numbers that the host hands over.
const firstFree = PlanFD + 1

// probeLandlock reports whether Landlock refuses what no rule of this jail allows: making a file in a file system that
// is attached nowhere. Only Landlock can be the cause of EACCES there: the file system is writable and ours.
func probeLandlock(probe int) (bool, error) {
	fd, err := unix.Openat(probe, "landlock", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
		return false, nil
	}
	if err == unix.EACCES {
		return true, nil
	}
	return false, fail(landlockLayer, "openat", err, "probe Landlock")
}
