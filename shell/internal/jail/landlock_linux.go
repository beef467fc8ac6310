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
func (b *builder) restrictWithLandlock(plan *Plan, exe reg) {
	b.layer = landlockLayer
	abi, err := landlockABI()
	if err != nil {
		b.err = err
		return
	}
	rights := landlockRights(abi)
	attr := &unix.LandlockRulesetAttr{Handled_access_fs: rights, Scoped: landlockScopes(abi)}
	// The size tells an older kernel which fields are meant; the fields it does not know are zero.
	size := unsafe.Offsetof(attr.Handled_access_net)
	if attr.Scoped != 0 {
		size = unsafe.Offsetof(attr.Quiet_access_fs)
	}
	ruleset := b.get("make a ruleset", "landlock_create_ruleset", unix.SYS_LANDLOCK_CREATE_RULESET, unsafe.Pointer(attr), size, 0)
	// The program's own file may lie outside of what the jail shows.
	b.landlockRule(ruleset, exe, (unix.LANDLOCK_ACCESS_FS_EXECUTE|unix.LANDLOCK_ACCESS_FS_READ_FILE)&rights, "the program's own file")
	if b.threads != 0 {
		b.landlockRule(ruleset, b.threads, (llFile|unix.LANDLOCK_ACCESS_FS_READ_FILE)&rights, "the names of threads")
	}
	for _, g := range landlockGrants(plan) {
		allowed := g.rights & rights
		if !g.dir {
			allowed &= llOnFile
		}
		// A right on what does not exist is no right.
		b.optional(func() reg {
			return b.get("open "+g.path, "openat", unix.SYS_OPENAT, atCWD, g.path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		}, func(fd reg) {
			b.landlockRule(ruleset, fd, allowed, g.path)
			b.close(fd)
		})
	}
	b.do("enforce the ruleset", "landlock_restrict_self", unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)
	b.close(ruleset)
}

// grant is what Landlock allows at one path and below.
type grant struct {
	path   string
	dir    bool
	rights uint64
}

func landlockGrants(plan *Plan) []grant {
	root := grant{"/", true, llRead}
	if plan.Root == RootWritable {
		root.rights = llWritable
	}
	grants := []grant{root}
	// PID 1 removes cgroups when the host was killed. The command has no writable way to them: the mounts are read-only.
	for _, parent := range plan.CgroupParents {
		grants = append(grants, grant{string(parent), true, unix.LANDLOCK_ACCESS_FS_REMOVE_DIR})
	}
	for _, op := range plan.Ops {
		switch op.Kind {
		case Writable, Tmp:
			grants = append(grants, grant{string(op.Path), op.Dir, llWritable})
		case Dev:
			grants = append(grants, grant{string(op.Path), true, llDevice})
		}
	}
	return grants
}

// landlockRule allows rights at an opened path. The descriptor goes into the rule when it is known.
func (b *builder) landlockRule(ruleset, fd reg, rights uint64, path string) {
	rule := &unix.LandlockPathBeneathAttr{Allowed_access: rights}
	b.do("allow "+path, "fcntl(F_DUPFD)", unix.SYS_FCNTL, fd, unix.F_DUPFD_CLOEXEC, aside)
	b.calls[len(b.calls)-1].into = &rule.Parent_fd
	b.do("allow "+path, "landlock_add_rule", unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(rule), 0)
}

// makeProbe makes a file system that is attached nowhere and that the first process inherits, for probeLandlock.
func (b *builder) makeProbe() {
	b.layer = landlockLayer
	fs := b.newTmpfs("0700", 64<<10, 0)
	b.do("keep the probe", "dup3", unix.SYS_DUP3, fs, ProbeFD, 0)
	b.close(fs)
}

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
