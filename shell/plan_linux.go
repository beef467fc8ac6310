package shell

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// selfProgram is the running program, whatever became of its path.
const selfProgram = "/proc/self/exe"

// defaultTmpBytes: see Options.TmpBytes.
const defaultTmpBytes = 512 << 20

// jailPlan is what every jail of a sandbox is made from.
type jailPlan struct {
	program     string
	wire        jail.Plan
	setup       *jail.Setup
	file        *os.File // wire as sealed JSON
	null        *os.File // /dev/null
	limits      Limits
	lists       *lists   // of the whole sandbox
	unshown     []string // files of the network's configuration that cannot be replaced
	table       *mountTable
	dirty       bool // the mount table has changed since
	users       int  // jails that are being made from it
	rules       *policy.Rules
	seen        []jail.Resolved // what the rules were compiled from
	options     Options
	controllers []controller // cgroup hierarchies that hold limits
	sources     []source     // what the mounts were planned from
	keeper      *keeper      // of all plans of a sandbox
	names       nameReport
	hostNS      map[string]string // the host's own namespaces
	expected    mountCounts
}

// source is one file of the host that a mount shows or covers, as it was when the plan was made.
type source struct {
	path string
	id   fileID
}

// fileID tells one file from another that takes its name, and its inode, later. The zero value is that of no file.
type fileID struct {
	major, minor uint32
	inode        uint64
	bornAt       int64 // nanoseconds; not every file system knows
	dir          bool
}

// mountCounts are how many mounts of each kind the first process must confirm.
type mountCounts struct{ writable, covered, readOnly int }

// makePlan decides what to mount where. It looks at the host once; a jail mounts without looking again.
func makePlan(ctx context.Context, p policy.Policy, rules *policy.Rules, seen []jail.Resolved, o Options) (*jailPlan, error) {
	if err := enforceable(p, rules); err != nil {
		return nil, err
	}
	plan := &jailPlan{program: selfProgram, limits: o.Limits, hostNS: ownNamespaces()}
	if o.Helper != "" {
		plan.program = o.Helper
	}
	plan.wire = jail.Plan{Network: jail.NetworkNone, Layers: o.switches.layers()}
	plan.lists, plan.rules = newLists(rules), rules
	plan.planNetwork(p.Network)
	if err := plan.planLimits(o.Limits); err != nil {
		return nil, err
	}
	if err := plan.tryLimits(); err != nil {
		return nil, err
	}
	table, err := openMountTable()
	if err != nil {
		return nil, err
	}
	plan.table, plan.seen, plan.options = table, seen, o
	if err := plan.planMounts(ctx, p.Filesystem.Disabled); err != nil {
		plan.end()
		return nil, err
	}
	return plan, nil
}

// planMounts decides the mounts and makes everything that is the same for every jail.
func (p *jailPlan) planMounts(ctx context.Context, disabled bool) error {
	m := &mountPlanner{rules: p.rules, roots: p.rules.WritableRoots(), disabled: disabled, tmpBytes: p.options.TmpBytes, table: p.table, names: p.names}
	if m.tmpBytes == 0 {
		m.tmpBytes = defaultTmpBytes
	}
	if err := m.plan(p.options.Helper); err != nil {
		return err
	}
	p.wire.Root, p.wire.Points, p.wire.Ops = m.root, m.rootPoints, m.finished
	p.names, p.sources = m.names, m.sources
	p.keep(m.covered)
	var err error
	if p.wire.Names, err = m.byName(p.seen, p.options); err != nil {
		return err
	}
	p.count()
	return p.seal()
}

// renewed is the plan for a changed mount table: other names of denied paths, and kernel file systems, may have
// appeared. The search for names is not repeated.
func (p *jailPlan) renewed(ctx context.Context) (*jailPlan, error) {
	p.dirty = p.table.changed() || p.dirty
	if !p.dirty {
		return p, nil
	}
	next := *p
	next.dirty, next.users = false, 0
	table, err := openMountTable()
	if err != nil {
		return nil, err
	}
	next.table, next.file, next.null = table, nil, nil
	if err := next.planMounts(ctx, p.rules.Policy().Filesystem.Disabled); err != nil {
		if next.keeper != p.keeper {
			next.keeper.close()
		}
		next.close()
		return nil, err
	}
	return &next, nil
}

// seal makes everything that is the same for every jail.
func (p *jailPlan) seal() error {
	body, err := json.Marshal(p.wire)
	if err != nil {
		return &Error{Code: CodeFailed, Detail: "write the plan of the jail", Err: err}
	}
	if p.setup, err = jail.NewSetup(&p.wire, p.program, os.Geteuid(), os.Getegid()); err != nil {
		var f *jail.Failure
		if errors.As(err, &f) {
			return p.setupError(f)
		}
		return &Error{Code: CodeFailed, Detail: "plan the set-up of the jail", Err: err}
	}
	if p.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return systemError("open", err, "open "+os.DevNull)
	}
	if p.file, err = memfd("sallyport-plan", body); err != nil {
		p.null.Close()
		return err
	}
	return nil
}

// keep has the covers kept. Where that is not possible, every open for reading is decided by name.
func (p *jailPlan) keep(covered []string) {
	if len(covered) == 0 || p.options.StrictReads || !p.wire.Layers.Has(jail.LayerMounts) {
		return
	}
	var err error
	if p.keeper == nil {
		p.keeper, err = newKeeper(covered)
	} else {
		err = p.keeper.keep(covered)
	}
	p.options.StrictReads = err != nil
}

// end is close, when no plan of the sandbox is needed any more.
func (p *jailPlan) end() {
	p.keeper.close()
	p.close()
}

func (p *jailPlan) close() {
	p.table.close()
	for _, f := range []*os.File{p.file, p.null} {
		if f != nil {
			_ = f.Close() // a memfd and /dev/null: nothing is lost
		}
	}
}

func (p *jailPlan) count() {
	p.expected = mountCounts{}
	for _, op := range p.wire.Ops {
		switch op.Kind {
		case jail.Writable:
			p.expected.writable++
		case jail.ReadOnly:
			p.expected.readOnly++
		case jail.Cover:
			p.expected.covered++
		}
	}
}

// planLimits turns limits into what this machine can enforce, or refuses. Root needs cgroups; everybody else has a
// user namespace in which RLIMIT_NPROC binds, and a watch for memory.
func (p *jailPlan) planLimits(l Limits) error {
	p.wire.Limits.FileSizeBytes = uint64(l.FileSizeBytes)
	p.wire.Limits.Descriptors = uint64(l.Descriptors)
	p.wire.WriteWatchBytes = l.WriteBytes
	p.wire.Limits.CPUSeconds = uint64((l.CPUTime + time.Second - 1) / time.Second)
	root := os.Geteuid() == 0
	if l.Processes > 0 && !root {
		p.wire.Limits.Processes = uint64(l.Processes)
	}
	if l.Processes > 0 && root {
		c, err := findController("pids")
		if err != nil {
			return &Error{Code: CodeDependencyMissing, Layer: "limits",
				Detail: "Options.Limits.Processes: RLIMIT_NPROC does not bind root, and there is no pids cgroup to use", Err: err,
				Hints: []string{"run as an ordinary user, or where a pids cgroup can be made"}}
		}
		p.useController(c)
	}
	if l.MemoryBytes > 0 {
		if c, err := findController("memory"); root && err == nil {
			p.useController(c)
		} else {
			p.wire.MemoryWatchBytes = l.MemoryBytes
		}
	}
	return nil
}

func (p *jailPlan) useController(c controller) {
	sweepCgroups(c.parent)
	p.controllers = append(p.controllers, c)
	p.wire.CgroupParents = append(p.wire.CgroupParents, []byte(c.parent))
}

// tryLimits makes a cgroup and removes it again, so that one that cannot be made fails at Open.
func (p *jailPlan) tryLimits() error {
	if len(p.controllers) == 0 {
		return nil
	}
	g, err := makeCgroup(p.controllers, p.limits)
	if err != nil {
		return err
	}
	g.remove()
	return nil
}

// current says whether every file that the mounts were planned from is still the same one. A jail that was set up
// earlier shows the old ones (a mount is of an inode, not of a name).
func (p *jailPlan) current() bool {
	for _, s := range p.sources {
		if identity(s.path) != s.id {
			return false
		}
	}
	return true
}

// identity is that of what stands at a path, which may be a link.
func identity(path string) fileID {
	var st unix.Statx_t
	const want = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_BTIME
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, want, &st); err != nil {
		return fileID{}
	}
	id := fileID{major: st.Dev_major, minor: st.Dev_minor, inode: st.Ino, dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.bornAt = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return id
}

// ownNamespaces are the links of the host's namespaces, to compare a jail's with.
func ownNamespaces() map[string]string {
	out := map[string]string{}
	for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		if link, err := os.Readlink("/proc/self/ns/" + ns); err == nil {
			out[ns] = link
		}
	}
	return out
}

// kernelRelease is the release of the running kernel.
func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
