package jail

import "slices"

// The table of calls that the kernel hands to the first process of the jail instead of making them. It answers each
// after it has judged the names in it: see package broker. A call that stands here and in [Table] is refused by that one.

// Notified hands one call over.
type Notified struct {
	Name string
	When []Test // all must hold; none means always
	Why  string
}

// Bits of the flags of open.
const (
	openWrites = 0x1 | 0x2 | 0x40 | 0x200 | 0x400000 // O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE
	openPath   = 0x200000                            // O_PATH
)

const (
	whyOpen     = "opens a file for writing, or makes one"
	whyMake     = "makes a name"
	whyMove     = "moves what is there to another name"
	whyRemove   = "takes a name away"
	whyMode     = "changes who may do what"
	whyOwner    = "changes the owner"
	whyTimes    = "changes the times"
	whyXattr    = "changes an attribute"
	whyByHandle = ", by a descriptor that may have been opened for reading"
)

// writeCalls change files. They are judged when anything of the host's may be written.
var writeCalls = []Notified{
	{"open", opens(1, openWrites), whyOpen},
	{"openat", opens(2, openWrites), whyOpen},
	{"creat", nil, whyOpen},
	{"truncate", nil, "shortens a file by name"},
	{"mkdir", nil, whyMake},
	{"mkdirat", nil, whyMake},
	{"mknod", nil, whyMake},
	{"mknodat", nil, whyMake},
	{"symlink", nil, whyMake + ", and one that leads elsewhere"},
	{"symlinkat", nil, whyMake + ", and one that leads elsewhere"},
	{"link", nil, whyMake + " for a file that may be protected under another"},
	{"linkat", nil, whyMake + " for a file that may be protected under another, or that had none (O_TMPFILE)"},
	{"rename", nil, whyMove},
	{"renameat", nil, whyMove},
	{"renameat2", nil, whyMove},
	{"unlink", nil, whyRemove},
	{"unlinkat", nil, whyRemove},
	{"rmdir", nil, whyRemove},
	{"chmod", nil, whyMode},
	{"fchmodat", nil, whyMode},
	{"fchmodat2", nil, whyMode},
	{"fchmod", nil, whyMode + whyByHandle},
	{"chown", nil, whyOwner},
	{"lchown", nil, whyOwner},
	{"fchownat", nil, whyOwner},
	{"fchown", nil, whyOwner + whyByHandle},
	{"utime", nil, whyTimes},
	{"utimes", nil, whyTimes},
	{"futimesat", nil, whyTimes},
	{"utimensat", nil, whyTimes},
	{"setxattr", nil, whyXattr},
	{"lsetxattr", nil, whyXattr},
	{"fsetxattr", nil, whyXattr + whyByHandle},
	{"setxattrat", nil, whyXattr},
	{"removexattr", nil, whyXattr},
	{"lremovexattr", nil, whyXattr},
	{"fremovexattr", nil, whyXattr + whyByHandle},
	{"removexattrat", nil, whyXattr},
	{"file_setattr", nil, whyXattr},
	bindCall,
	{"umask", nil, "nothing is judged: calls that make files are made with the caller's umask from then on"},
}

// readCalls open files for reading. They are judged when a pattern, or Options.StrictReads, has reads decided by name,
// and looked at for the record when the policy denies reads.
var readCalls = []Notified{
	{"open", opens(1, 0), "opens a file"},
	{"openat", opens(2, 0), "opens a file"},
}

// networkCalls are made by way of the host where the policy has a list of hosts, decided by path where it grants path
// sockets, and looked at for the record where the network leads nowhere.
var networkCalls = []Notified{
	{"connect", nil, "the kernel would refuse it without saying why; with a list of hosts it is decided and made by the host"},
}

var bindCall = Notified{"bind", nil, "makes a file when the socket is one of a path"}

// opens are the tests on the flags of an open that is not O_PATH and has one of bits, or any flags when bits is 0.
func opens(arg int, bits uint32) []Test {
	tests := []Test{{Op: "none", Arg: arg, Values: []uint32{openPath}}}
	if bits != 0 {
		tests = append(tests, Test{Op: "any", Arg: arg, Values: []uint32{bits}})
	}
	return tests
}

// recorded are the calls of [Table] that a program can mean honestly. Their refusal is told to the record. The others
// are made by libraries that try what a kernel has and go on without (clone3, io_uring), or by attackers.
var recorded = map[string]string{ // call → operation of the record
	"clone": "syscall", "unshare": "syscall", "setns": "syscall", "mount": "syscall", "umount2": "syscall",
	"pivot_root": "syscall", "chroot": "syscall", "fsopen": "syscall", "open_tree": "syscall", "move_mount": "syscall",
	"ptrace": "syscall", "process_vm_readv": "syscall", "process_vm_writev": "syscall",
	"bpf": "syscall", "perf_event_open": "syscall", "userfaultfd": "syscall", "fanotify_init": "syscall",
	"keyctl": "syscall", "add_key": "syscall", "request_key": "syscall",
	"init_module": "syscall", "finit_module": "syscall", "delete_module": "syscall", "kexec_load": "syscall",
	"reboot": "syscall", "swapon": "syscall", "swapoff": "syscall", "acct": "syscall", "quotactl": "syscall",
	"sethostname": "syscall", "setdomainname": "syscall", "syslog": "syscall", "personality": "syscall",
	"settimeofday": "syscall", "clock_settime": "syscall", "adjtimex": "syscall",
	"socket": "syscall", "socketpair": "syscall",
}

// splitRecorded takes the rows whose refusals are recorded out of a table: the first process answers them, with the same
// errno.
func splitRecorded(table []Row, record bool) (static, told []Row) {
	if !record {
		return table, nil
	}
	for _, row := range table {
		if recorded[row.Name] != "" {
			told = append(told, row)
		} else {
			static = append(static, row)
		}
	}
	return static, told
}

// notifiedCalls are what the second program hands over for these names, without the refused rows.
func (n *Names) notifiedCalls() []Notified {
	var calls []Notified
	if n.Writes {
		calls = slices.Concat(calls, writeCalls)
	}
	if n.DecideReads || n.WatchReads {
		calls = slices.Concat(readCalls, calls)
	}
	if n.NoNetwork || n.Capture || n.Sockets {
		calls = slices.Concat(calls, networkCalls)
	}
	if n.Sockets && !n.Writes {
		calls = append(calls, bindCall)
	}
	return calls
}

// compileNotified makes the second program.
func compileNotified(calls []Notified, told []Row, arch string) ([]Filter, error) {
	var lines []line
	for _, c := range calls {
		lines = append(lines, line{c.Name, c.When, retNotify})
	}
	for _, row := range told {
		lines = append(lines, line{row.Name, row.When, retNotify})
	}
	return compileLines(lines, arch)
}

// matches says whether a row refuses a call with these arguments.
func (row *Row) matches(args [6]uint64) bool {
	return !slices.ContainsFunc(row.When, func(t Test) bool { return !t.holds(args) })
}

func (t *Test) holds(args [6]uint64) bool {
	if t.Op == "set" {
		return args[t.Arg] != 0
	}
	arg := uint32(args[t.Arg])
	if t.Mask != 0 {
		arg &= t.Mask
	}
	switch t.Op {
	case "any":
		return arg&t.Values[0] != 0
	case "none":
		return arg&t.Values[0] == 0
	case "in":
		return slices.Contains(t.Values, arg)
	}
	return !slices.Contains(t.Values, arg)
}
