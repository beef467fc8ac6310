package jail

import "sallyport/policy"

// Marker is argv[0] of the first process. Together with a SEQPACKET socket on descriptor 3 it is a guard against
// accidents, not authentication: whoever can start this program with them can also start anything else.
const Marker = "sallyport-jail"

// Descriptors of the first process.
const (
	SocketFD = 3 // SOCK_SEQPACKET to the host
	PlanFD   = 4 // memfd with the plan as JSON, sealed
)

// Plan is everything the first process needs in order to put the jail up. Paths are absolute, canonical, and those of
// the host; they travel as bytes because a file name need not be UTF-8.
type Plan struct {
	// Network is NetworkNone, NetworkList or NetworkHost.
	Network string
	// NameRange is the range of IPv4 addresses that stand for names under NetworkList: it leads to loopback.
	NameRange string
	// Files are shown in the place of what the host has at their paths. What the host does not have is not shown.
	Files []File
	// Root says what "/" is: RootReadOnly, RootWritable or RootCovered.
	Root string
	// Points are the mount points to make when the root is covered.
	Points []Point
	// Ops are the mounts, outermost first.
	Ops []Op
	// Limits are the rlimits of the command; zero means none.
	Limits Rlimits
	// MemoryWatchBytes makes stage two kill the tree when its resident memory passes it; zero means no watch.
	MemoryWatchBytes int64
	// WriteWatchBytes makes it kill the tree when the file systems of the writable directories have become fuller by more.
	WriteWatchBytes int64
	// CgroupParents are the directories in which the host makes the cgroups of commands.
	CgroupParents [][]byte
	// Names is what the first process decides and looks at by name; nil when it does neither.
	Names *Names
	// Layers is the set of layers to put up. A release build knows only the full set and refuses any other.
	Layers Layers
}

// Names is what the first process decides by name, and the policy it decides by.
type Names struct {
	// Policy is the policy as JSON, Resolved what links in it led to on the host, and Private the directories that a
	// command has of its own: compiled from them, the rules here say what the host's say.
	Policy   []byte
	Resolved []Resolved
	Private  []policy.PrivateDir
	// Guarded are real paths that are protected besides.
	Guarded []Guarded
	// Writes has every call that changes a file judged. DecideReads has every open for reading judged too; it needs Writes.
	Writes, DecideReads bool
	// Capture has connections made by way of the host. Sockets lets path sockets be made, and connected to where the
	// rules grant it.
	Capture, Sockets bool
	// Record has what is denied told to the host. WatchReads and NoNetwork are for the record alone: opens for reading
	// that mounts refuse, and connections that lead nowhere.
	Record, WatchReads, NoNetwork bool
	// Probe is a path that the rules must refuse; the report says whether they did.
	Probe []byte
}

// Listens says whether the host gets listeners.
func (p *Plan) Listens() bool { return p.Layers.Has(LayerNetwork) && p.Network == NetworkList }

// Resolved is the answer that a path had when the policy was compiled on the host.
type Resolved struct {
	Path, Real []byte
	Absent     bool   // it does not exist
	Unknown    string // it could not be looked at, and why
}

// Guarded is one protected path.
type Guarded struct {
	Path []byte
	Why  string
}

// Values of Plan.Network.
const (
	NetworkNone = "none" // a network namespace of its own, with loopback only
	NetworkList = "list" // the same, with listeners in it that the host holds
	NetworkHost = "host" // the host's network
)

// Ports of the listeners on 127.0.0.1. A command can bind none below 1024.
const (
	ProxyPort   = 3128 // HTTP CONNECT, http:// requests and SOCKS5
	NamePort    = 53   // DNS, over TCP and UDP
	CapturePort = 1    // where captured connections end
)

// File is a file with its contents.
type File struct{ Path, Content []byte }

// Values of Plan.Root.
const (
	RootReadOnly = "read-only"
	RootWritable = "writable"
	RootCovered  = "covered"
)

// Rlimits are the resource limits of the command, set soft equal to hard.
type Rlimits struct {
	Processes     uint64
	CPUSeconds    uint64
	FileSizeBytes uint64
	Descriptors   uint64 // hard; the soft one is what is usual, at most
}

// Kind is what an Op mounts.
type Kind string

// The kinds. At one path they are applied in this order.
const (
	Proc     Kind = "proc"      // a fresh /proc, read-only, with the dangerous entries covered
	Dev      Kind = "dev"       // a private /dev with the usual few nodes
	Tmp      Kind = "tmp"       // a private writable tmpfs
	Cover    Kind = "cover"     // an unreadable directory or file in front of what is there
	Back     Kind = "back"      // the host's tree, read-only, visible again inside a cover or a private directory
	Writable Kind = "writable"  // the host's tree, writable
	Pin      Kind = "pin"       // the tree onto itself, so that this directory cannot be renamed or removed
	ReadOnly Kind = "read-only" // the tree onto itself, read-only
)

// Op is one mount.
type Op struct {
	Kind Kind
	Path []byte
	// Dir says whether the target is a directory. When that has changed by the time it is mounted, the set-up fails.
	Dir bool
	// Points are the mount points to make inside a Cover, Dev or Tmp for deeper Ops.
	Points []Point
	// Bytes is the size limit of a Tmp.
	Bytes int64
}

// Point is a directory, file or symbolic link to make inside a private file system, relative to its root.
type Point struct {
	Rel  []byte
	Dir  bool
	Link []byte // when set, a symbolic link with this target
}
