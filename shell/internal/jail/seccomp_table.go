package jail

import "slices"

// The static seccomp table: what no command may call, each row with its reason. Everything else is allowed, up to the
// highest call number known when the table was written: a newer call is ENOSYS, so a kernel upgrade opens nothing.
//
// It is the last layer, behind namespaces, mounts, capabilities and Landlock. Most rows take away attack surface; the
// rows on sockets, ioctls and clone carry weight of their own.

// Errors that a refused call returns.
const (
	errPERM           = 1
	errNOSYS          = 38
	errPROTONOSUPPORT = 93
	errAFNOSUPPORT    = 97
	errOPNOTSUPP      = 95
)

// Test looks at one argument. Only its low 32 bits are compared: the kernel ignores the high half of an int, so
// comparing that too would be a way around (CVE-2019-7303). A pointer is looked at whole.
type Test struct {
	// Op is "any" (argument has one of the bits of Values[0]), "none" (it has none of them), "in" (argument & Mask is one
	// of Values), "not" (argument & Mask is none of Values) or "set" (a pointer that is not null). A zero Mask means all
	// 32 bits.
	Op     string
	Arg    int
	Mask   uint32
	Values []uint32
}

// Row refuses one system call.
type Row struct {
	Name  string
	When  []Test // all must hold; none means always
	Errno uint16
	Why   string
}

// cloneNamespaces are the CLONE_NEW* bits: NEWTIME NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET.
const cloneNamespaces = 0x80 | 0x20000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

// setID are the set-user-id and set-group-id bits of a mode; openCreates are O_CREAT and O_TMPFILE, with which open
// takes a mode. The bits are the same on amd64 and arm64.
const (
	setID       = 0o6000
	openCreates = 0x40 | 0x400000
)

// Socket families, types and protocols that the table names.
const (
	afUNIX, afINET, afINET6, afNETLINK = 1, 2, 10, 16
	sockSTREAM, sockSEQPACKET          = 1, 5
	sockTypeMask                       = 0xf
	sockRAW, sockPACKET                = 3, 10
	netlinkROUTE                       = 0
	protoICMP, protoTCP, protoUDP      = 1, 6, 17
	protoICMPv6                        = 58
	msgFASTOPEN                        = 0x20000000
)

const (
	whyNamespace = "a new user namespace holds every capability, and with it the mounts of the jail could be taken apart"
	whyMount     = "mounts are the boundary for files"
	whyModule    = "changes the kernel or the machine"
	whyClock     = "the clock is the host's"
	whyTracing   = "steering or reading another process from outside is not needed, and has broken filters before"
	whyKeys      = "key rings are not separated by any namespace"
	whyUring     = "its operations are done by the kernel behind the filter's back"
	whySetID     = "a set-user-id program left in a writable directory acts for the caller when somebody else runs it outside"
	whyFastOpen  = "MSG_FASTOPEN connects without connect, past whatever is decided there; programs fall back"
	whyNuma      = "moves memory of other processes"
)

// Table is the list, in the order in which it is compiled.
var Table = []Row{
	{"clone", []Test{{Op: "any", Arg: 0, Values: []uint32{cloneNamespaces}}}, errPERM, whyNamespace},
	{"clone3", nil, errNOSYS, "its flags lie behind a pointer, where no filter can see them; the C library falls back to clone"},
	{"unshare", []Test{{Op: "any", Arg: 0, Values: []uint32{cloneNamespaces}}}, errPERM, whyNamespace},
	{"setns", nil, errPERM, "joins another namespace"},

	{"mount", nil, errPERM, whyMount},
	{"umount2", nil, errPERM, whyMount},
	{"pivot_root", nil, errPERM, whyMount},
	{"chroot", nil, errPERM, whyMount},
	{"fsopen", nil, errPERM, whyMount},
	{"fsconfig", nil, errPERM, whyMount},
	{"fsmount", nil, errPERM, whyMount},
	{"fspick", nil, errPERM, whyMount},
	{"open_tree", nil, errPERM, whyMount},
	{"open_tree_attr", nil, errPERM, whyMount},
	{"move_mount", nil, errPERM, whyMount},
	{"mount_setattr", nil, errPERM, whyMount},
	{"name_to_handle_at", nil, errPERM, "a file handle outlives the path it was reached by"},
	{"open_by_handle_at", nil, errPERM, "opens any file of a file system, whatever the mounts show"},

	{"ptrace", nil, errPERM, whyTracing},
	{"process_vm_readv", nil, errPERM, whyTracing},
	{"process_vm_writev", nil, errPERM, whyTracing},
	{"process_madvise", nil, errPERM, whyTracing},
	{"process_mrelease", nil, errPERM, whyTracing},
	{"pidfd_getfd", nil, errPERM, "takes a descriptor out of another process"},
	{"kcmp", nil, errPERM, "tells whether two processes share a kernel object, and where it lies"},

	{"prlimit64", []Test{{Op: "not", Arg: 0, Values: []uint32{0}}, {Op: "set", Arg: 2}}, errPERM,
		"the first process has the same user: with its limits lowered it could neither watch nor report"},

	{"bpf", nil, errPERM, "loads programs into the kernel"},
	{"perf_event_open", nil, errPERM, "watches the kernel and other processes"},
	{"userfaultfd", nil, errPERM, "stops the kernel in the middle of a copy, which exploits need"},
	{"fanotify_init", nil, errPERM, "watches files of other processes"},
	{"io_uring_setup", nil, errPERM, whyUring},
	{"io_uring_enter", nil, errPERM, whyUring},
	{"io_uring_register", nil, errPERM, whyUring},
	{"seccomp", []Test{{Op: "any", Arg: 1, Values: []uint32{1 << 3}}}, errPERM, "a listener (SECCOMP_FILTER_FLAG_NEW_LISTENER) answers the calls of its children"},
	{"lsm_set_self_attr", nil, errPERM, "changes the security label"},
	{"memfd_secret", nil, errPERM, "memory that the host cannot look at"},

	{"keyctl", nil, errPERM, whyKeys},
	{"add_key", nil, errPERM, whyKeys},
	{"request_key", nil, errPERM, whyKeys},

	{"init_module", nil, errPERM, whyModule},
	{"finit_module", nil, errPERM, whyModule},
	{"delete_module", nil, errPERM, whyModule},
	{"kexec_load", nil, errPERM, whyModule},
	{"kexec_file_load", nil, errPERM, whyModule},
	{"reboot", nil, errPERM, whyModule},
	{"swapon", nil, errPERM, whyModule},
	{"swapoff", nil, errPERM, whyModule},
	{"acct", nil, errPERM, whyModule},
	{"quotactl", nil, errPERM, whyModule},
	{"quotactl_fd", nil, errPERM, whyModule},
	{"nfsservctl", nil, errPERM, whyModule},
	{"sethostname", nil, errPERM, whyModule},
	{"setdomainname", nil, errPERM, whyModule},
	{"vhangup", nil, errPERM, "hangs up the terminal"},
	{"syslog", nil, errPERM, "reads the kernel's log"},
	{"iopl", nil, errPERM, "talks to hardware"},
	{"ioperm", nil, errPERM, "talks to hardware"},
	{"modify_ldt", nil, errPERM, "16-bit segments: much attack surface, no use"},
	{"uselib", nil, errNOSYS, "obsolete"},
	{"ustat", nil, errNOSYS, "obsolete"},
	{"sysfs", nil, errNOSYS, "obsolete"},
	{"_sysctl", nil, errNOSYS, "obsolete"},
	{"lookup_dcookie", nil, errNOSYS, "obsolete"},
	{"personality", []Test{{Op: "not", Arg: 0, Values: []uint32{0, 0x8, 0x20000, 0x40000, 0x60000, 0xffffffff}}}, errPERM,
		"emulation modes switch off protections; allowed are the query, Linux, its 32-bit name and no address randomisation"},

	{"settimeofday", nil, errPERM, whyClock},
	{"clock_settime", nil, errPERM, whyClock},
	{"clock_adjtime", nil, errPERM, whyClock},
	{"adjtimex", nil, errPERM, whyClock},

	{"migrate_pages", nil, errPERM, whyNuma},
	{"move_pages", nil, errPERM, whyNuma},

	{"chmod", []Test{{Op: "any", Arg: 1, Values: []uint32{setID}}}, errPERM, whySetID},
	{"fchmod", []Test{{Op: "any", Arg: 1, Values: []uint32{setID}}}, errPERM, whySetID},
	{"fchmodat", []Test{{Op: "any", Arg: 2, Values: []uint32{setID}}}, errPERM, whySetID},
	{"fchmodat2", []Test{{Op: "any", Arg: 2, Values: []uint32{setID}}}, errPERM, whySetID},
	{"creat", []Test{{Op: "any", Arg: 1, Values: []uint32{setID}}}, errPERM, whySetID},
	{"open", []Test{{Op: "any", Arg: 1, Values: []uint32{openCreates}}, {Op: "any", Arg: 2, Values: []uint32{setID}}}, errPERM, whySetID},
	{"openat", []Test{{Op: "any", Arg: 2, Values: []uint32{openCreates}}, {Op: "any", Arg: 3, Values: []uint32{setID}}}, errPERM, whySetID},
	{"openat2", nil, errNOSYS, "its flags and mode lie behind a pointer, where no filter can see them; programs fall back to openat"},
	{"mknod", []Test{{Op: "any", Arg: 1, Values: []uint32{setID}}}, errPERM, whySetID},
	{"mknodat", []Test{{Op: "any", Arg: 2, Values: []uint32{setID}}}, errPERM, whySetID},

	{"socket", []Test{{Op: "in", Arg: 0, Values: []uint32{afUNIX}}}, errPERM,
		"a path socket (docker.sock, D-Bus, ssh-agent) acts for its owner outside the jail; pairs are allowed"},
	{"socket", []Test{{Op: "not", Arg: 0, Values: []uint32{afINET, afINET6, afNETLINK}}}, errAFNOSUPPORT,
		"AF_VSOCK, AF_ALG, AF_PACKET, AF_BLUETOOTH, AF_XDP and others are separated by no network namespace or are attack surface"},
	{"socket", []Test{{Op: "in", Arg: 1, Mask: sockTypeMask, Values: []uint32{sockPACKET}}}, errPERM, "obsolete way to packet sockets"},
	{"socket", []Test{{Op: "in", Arg: 0, Values: []uint32{afNETLINK}}, {Op: "not", Arg: 2, Values: []uint32{netlinkROUTE}}}, errPERM,
		"netlink other than route (audit, netfilter, kernel events) tells about the host or is attack surface"},
	{"socket", []Test{{Op: "in", Arg: 0, Values: []uint32{afINET, afINET6}}, {Op: "in", Arg: 1, Mask: sockTypeMask, Values: []uint32{sockRAW}}}, errPERM,
		"raw sockets write their own headers"},
	{"socket", []Test{{Op: "in", Arg: 0, Values: []uint32{afINET, afINET6}}, {Op: "not", Arg: 2, Values: []uint32{0, protoTCP, protoUDP, protoICMP, protoICMPv6}}}, errPROTONOSUPPORT,
		"MPTCP, SCTP, UDP-Lite and others walk past rules that are written for TCP and UDP"},
	{"sendto", []Test{{Op: "any", Arg: 3, Values: []uint32{msgFASTOPEN}}}, errOPNOTSUPP, whyFastOpen},
	{"sendmsg", []Test{{Op: "any", Arg: 2, Values: []uint32{msgFASTOPEN}}}, errOPNOTSUPP, whyFastOpen},
	{"sendmmsg", []Test{{Op: "any", Arg: 3, Values: []uint32{msgFASTOPEN}}}, errOPNOTSUPP, whyFastOpen},
	{"socketpair", []Test{{Op: "not", Arg: 0, Values: []uint32{afUNIX}}}, errAFNOSUPPORT, "pairs exist for AF_UNIX alone"},
	{"socketpair", []Test{{Op: "not", Arg: 1, Mask: sockTypeMask, Values: []uint32{sockSTREAM, sockSEQPACKET}}}, errPERM,
		"one end of a datagram pair can send to any path socket without connect; RAW means DGRAM here"},

	{"ioctl", []Test{{Op: "in", Arg: 1, Values: []uint32{0x5412}}}, errPERM, "TIOCSTI types into the terminal of the host (CVE-2017-5226)"},
	{"ioctl", []Test{{Op: "in", Arg: 1, Values: []uint32{0x541c}}}, errPERM, "TIOCLINUX pastes into a console (CVE-2023-28339)"},
	{"ioctl", []Test{{Op: "in", Arg: 1, Mask: 0xffff, Values: btrfsNames}}, errPERM,
		"btrfs makes, copies and removes whole trees under a name that lies behind a pointer"},
	{"ioctl", []Test{{Op: "in", Arg: 1, Mask: 0xffff, Values: []uint32{0x6685}}}, errPERM,
		"FS_IOC_ENABLE_VERITY makes a file that was opened for reading unwritable for good"},
	{"ioctl", []Test{{Op: "in", Arg: 1, Mask: 0xffff, Values: []uint32{0x6602, 0x5820, 0x6613}}}, errPERM,
		"FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR and FS_IOC_SET_ENCRYPTION_POLICY change a file or directory that was opened for reading"},
}

// pathSockets is the table where the policy grants path sockets: the two kinds that need connect can be made. A datagram
// socket sends to any path without it.
func pathSockets(table []Row) []Row {
	table = slices.Clone(table)
	for i, row := range table {
		if row.Name == "socket" && len(row.When) == 1 && row.When[0].Op == "in" && row.When[0].Values[0] == afUNIX {
			table[i].When = append(slices.Clone(row.When), Test{Op: "not", Arg: 1, Mask: sockTypeMask, Values: []uint32{sockSTREAM, sockSEQPACKET}})
			table[i].Why = "a datagram socket sends to any path without connect"
		}
		if row.Name == "socket" && len(row.When) == 1 && row.When[0].Op == "not" && row.When[0].Arg == 0 {
			table[i].When = []Test{{Op: "not", Arg: 0, Values: append(slices.Clone(row.When[0].Values), afUNIX)}}
		}
	}
	return table
}

// btrfsNames are the low halves of the ioctls of btrfs that make or remove a tree by name: SNAP_CREATE, SUBVOL_CREATE,
// SNAP_DESTROY, SUBVOL_CREATE_V2 and SNAP_CREATE_V2 in their order of numbers, SUBVOL_SETFLAGS, SNAP_DESTROY_V2.
var btrfsNames = []uint32{0x9401, 0x940e, 0x940f, 0x9417, 0x9418, 0x941a, 0x943f}

// lastCall is the highest system call number known when the table was written (Linux 6.19, listns). A newer call
// returns ENOSYS.
const lastCall = 470

// landlockRows keep a command from confining itself further where the first process makes calls for it: such a ruleset
// would not hold for those calls, and a confinement with a hole in it is worse than none, which programs cope with.
var landlockRows = []Row{
	{"landlock_create_ruleset", nil, errOPNOTSUPP, whyLandlock},
	{"landlock_restrict_self", nil, errOPNOTSUPP, whyLandlock},
}

const whyLandlock = "calls that are made for a command would not be bound by a ruleset of its own"

// watchRows take memory away that a memory watch could not see: a memfd that is written and not mapped belongs to no
// process. Programs fall back to /dev/shm, which is counted.
var watchRows = []Row{{"memfd_create", nil, errNOSYS, "memory that no process shows; only refused where memory is limited without a cgroup"}}
