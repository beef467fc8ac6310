package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
	controllers []controller // cgroup hierarchies that hold limits
	sources     []source     // what the mounts were planned from
	names       nameReport
	hostNS      map[string]string // the host's own namespaces
	expected    mountCounts
}

// source is one file of the host that a mount shows or covers, as it was when the plan was made.
type source struct {
	path          string
	device, inode uint64
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
	if p.Network.Unrestricted {
		plan.wire.Network = jail.NetworkHost
	}
	if err := plan.planLimits(o.Limits); err != nil {
		return nil, err
	}
	if err := plan.tryLimits(); err != nil {
		return nil, err
	}
	m := &mountPlanner{rules: rules, disabled: p.Filesystem.Disabled, tmpBytes: o.TmpBytes}
	if m.tmpBytes == 0 {
		m.tmpBytes = defaultTmpBytes
	}
	if err := m.plan(ctx, o.Helper); err != nil {
		return nil, err
	}
	plan.wire.Root, plan.wire.Points, plan.wire.Ops = m.root, m.rootPoints, m.finished
	plan.names, plan.sources = m.names, m.sources
	var err error
	if plan.wire.Names, err = m.byName(p, seen, o); err != nil {
		return nil, err
	}
	plan.count()
	return plan, plan.seal()
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

func (p *jailPlan) close() { closeAll([]*os.File{p.file, p.null}) }

func (p *jailPlan) count() {
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

// enforceable refuses what the policy language can say and this boundary cannot keep yet. Nothing is dropped silently
// (R65).
func enforceable(p policy.Policy, rules *policy.Rules) error {
	refuse := func(what string, hints ...string) error {
		return &Error{Code: CodeUnsupportedEnv, Detail: what, Hints: hints}
	}
	if len(p.Network.AllowedDomains) > 0 {
		return refuse("network.allowedDomains: a list of hosts cannot be enforced yet",
			`leave it empty for no network, or set "disabled": true for the host's whole network`)
	}
	if len(p.Network.AllowUnixSockets) > 0 {
		return refuse("network.allowUnixSockets: grants of path sockets cannot be enforced yet", "leave it empty")
	}
	for _, e := range rules.Entries() {
		if why, hint := unenforceable(e); why != "" && !p.Filesystem.Disabled {
			return refuse(fmt.Sprintf("filesystem.%s[%d]: the pattern %q %s", e.List, e.Index, e.Given, why), hint)
		}
	}
	return nil
}

// planLimits turns limits into what this machine can enforce, or refuses. Root needs cgroups; everybody else has a
// user namespace in which RLIMIT_NPROC binds, and a watch for memory.
func (p *jailPlan) planLimits(l Limits) error {
	p.wire.Limits.FileSizeBytes = uint64(l.FileSizeBytes)
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
		device, inode := identity(s.path)
		if device != s.device || inode != s.inode {
			return false
		}
	}
	return true
}

// identity is the device and inode of a path that is no link, or zeros when there is none.
func identity(path string) (device, inode uint64) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0
	}
	st := info.Sys().(*syscall.Stat_t)
	return st.Dev, st.Ino
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

// mountPlanner turns compiled rules into mounts.
type mountPlanner struct {
	rules    *policy.Rules
	disabled bool
	tmpBytes int64

	root       string
	rootPoints []jail.Point
	ops        []jail.Op
	finished   []jail.Op
	sources    []source
	names      nameReport
	guarded    []jail.Guarded
}

func (m *mountPlanner) plan(ctx context.Context, helper string) error {
	m.root = jail.RootReadOnly
	switch {
	case !m.rules.Read("/").Allowed:
		m.root = jail.RootCovered
	case m.rules.Write("/").Allowed:
		m.root = jail.RootWritable
	}
	m.addPrivate()
	if !m.disabled {
		if err := m.addEntries(); err != nil {
			return err
		}
		if err := m.addNames(ctx); err != nil {
			return err
		}
		m.addProgram(helper)
	}
	m.sort()
	return m.settle()
}

func (m *mountPlanner) add(kind jail.Kind, path string) {
	info, err := os.Lstat(path)
	m.ops = append(m.ops, jail.Op{Kind: kind, Path: []byte(path), Dir: err == nil && info.IsDir()})
}

// addPrivate adds the private directories that the host has a place for.
func (m *mountPlanner) addPrivate() {
	m.add(jail.Proc, "/proc")
	m.add(jail.Dev, "/dev")
	m.ops = append(m.ops, jail.Op{Kind: jail.Tmp, Path: []byte("/dev/shm"), Dir: true, Bytes: m.tmpBytes})
	if m.disabled {
		return // without file rules the host's /tmp is as visible as the rest
	}
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			m.ops = append(m.ops, jail.Op{Kind: jail.Tmp, Path: []byte(dir), Dir: true, Bytes: m.tmpBytes})
		}
	}
}

// addEntries adds the mounts of the policy's own lists. Which of two overlapping entries holds is decided by the
// rules alone: an allowed path is shown writable when the rules say that it is.
func (m *mountPlanner) addEntries() error {
	for _, e := range m.rules.Entries() {
		if e.Absent || e.Unresolved {
			if !e.Allow { // an unresolved one cannot be looked at by the caller, nor by a command with the caller's user
				m.names.absent = append(m.names.absent, e.Given)
			}
			continue
		}
		if err := m.addEntry(e); err != nil {
			return err
		}
	}
	return nil
}

func (m *mountPlanner) addEntry(e policy.Entry) error {
	if e.Real == "/" {
		return nil // the root itself: see plan
	}
	if e.Allow && e.Axis == policy.AxisWrite && isDefaultDevice(e.Real) {
		return nil
	}
	if e.Allow && (below(e.Real, "/proc") || below(e.Real, "/dev") && !below(e.Real, "/dev/shm")) {
		return &Error{Code: CodeInvalidConfig, Detail: fmt.Sprintf("filesystem.%s[%d]: %s is private to every command and cannot show the host's", e.List, e.Index, e.Given)}
	}
	if !e.Allow && (e.Axis == policy.AxisRead || m.writableRootOf(e.Real) != "") {
		if err := refuseHardLinks(e); err != nil {
			return err
		}
	}
	if e.Glob {
		return m.addPattern(e)
	}
	if !e.Allow && e.Axis == policy.AxisWrite && isDefaultDevice(e.Real) {
		return &Error{Code: CodeUnsupportedEnv, Detail: fmt.Sprintf("filesystem.%s[%d]: writing to %s cannot be denied yet", e.List, e.Index, e.Given)}
	}
	switch {
	case !e.Allow && e.Axis == policy.AxisRead:
		m.add(jail.Cover, e.Real)
	case !e.Allow:
		m.protect(e.Real)
	case m.rules.Write(e.Real).Allowed:
		m.add(jail.Writable, e.Real)
	case m.rules.Read(e.Real).Allowed:
		m.add(jail.Back, e.Real)
	}
	return nil
}

// addPattern shows what a pattern may allow. What it denies no mount can say: that is decided by name, and so is which of
// the names below a directory that is shown writable the pattern means.
func (m *mountPlanner) addPattern(e policy.Entry) error {
	if e.List == "allowWrite" {
		m.add(jail.Writable, e.Base)
	}
	return nil
}

// isDefaultDevice: naming one of the always writable devices changes nothing.
func isDefaultDevice(path string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}, path)
}

// refuseHardLinks refuses to cover a file that has another name: the other name would show it. A mount covers one
// name of an inode, not the inode.
func refuseHardLinks(e policy.Entry) error {
	info, err := os.Lstat(e.Real)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	links := hardLinks(e.Real)
	if links < 2 {
		return nil
	}
	return &Error{
		Code:   CodeInvalidConfig,
		Detail: fmt.Sprintf("filesystem.%s[%d]: %s has %d hard links: another name would still lead to it", e.List, e.Index, e.Given, links),
		Hints:  []string{"find the other names with: find / -xdev -samefile " + e.Real, "deny the directory that holds them, or make the file a copy"},
	}
}

// protect makes a path read-only inside a writable tree, and pins the directories that lead to it, so that they cannot
// be renamed away with a new tree put in their place.
func (m *mountPlanner) protect(path string) {
	if dir, ok := m.rules.PrivateAt(path); ok && dir.Path == path && dir.Writable {
		m.add(jail.ReadOnly, path) // the command's own directory, which is writable otherwise
		return
	}
	root := m.writableRootOf(path)
	if root == "" {
		return
	}
	m.add(jail.ReadOnly, path)
	for dir := filepath.Dir(path); dir != root && below(dir, root); dir = filepath.Dir(dir) {
		m.add(jail.Pin, dir)
	}
}

func (m *mountPlanner) writableRootOf(path string) string {
	for _, root := range m.rules.WritableRoots() {
		if path != root && below(path, root) {
			return root
		}
	}
	return ""
}

// below says whether path is dir or lies below it.
func below(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// ranks order the mounts at one path.
var ranks = []jail.Kind{jail.Proc, jail.Dev, jail.Tmp, jail.Cover, jail.Pin, jail.Back, jail.Writable, jail.ReadOnly}

// sort orders the mounts outermost first, drops repetitions, and drops a pin where another mount pins already.
func (m *mountPlanner) sort() {
	slices.SortStableFunc(m.ops, func(a, b jail.Op) int {
		if d := strings.Count(string(a.Path), "/") - strings.Count(string(b.Path), "/"); d != 0 {
			return d
		}
		if d := strings.Compare(string(a.Path), string(b.Path)); d != 0 {
			return d
		}
		return slices.Index(ranks, a.Kind) - slices.Index(ranks, b.Kind)
	})
	m.ops = slices.CompactFunc(m.ops, func(a, b jail.Op) bool { return a.Kind == b.Kind && string(a.Path) == string(b.Path) })
}

// settle walks the sorted mounts and decides for each what it stands in: the host's tree, where its mount point exists,
// or a private or covered directory, where one must be made, and where nothing is left to deny.
func (m *mountPlanner) settle() error {
	at := map[string]int{} // path → index in finished
	for _, op := range m.ops {
		path := string(op.Path)
		outer, empty := m.enclosing(at, path)
		if empty && (op.Kind == jail.Cover || op.Kind == jail.Pin || op.Kind == jail.ReadOnly) {
			continue
		}
		if op.Kind == jail.Back && !empty {
			continue // visible as it is
		}
		if op.Kind == jail.Pin && hasAt(at, path) {
			continue
		}
		if empty {
			if err := m.addPoint(outer, path); err != nil {
				return err
			}
		}
		if isSource(op.Kind) {
			device, inode := identity(path)
			m.sources = append(m.sources, source{path, device, inode})
		}
		m.finished = append(m.finished, op)
		at[path] = len(m.finished) - 1
	}
	return m.addLinks(at)
}

func hasAt(at map[string]int, path string) bool { _, ok := at[path]; return ok }

func isSource(k jail.Kind) bool {
	return k == jail.Cover || k == jail.Back || k == jail.Writable || k == jail.ReadOnly
}

// enclosing finds the innermost mount that path lies in (index, or -1 for the root) and whether that is a private or
// covered directory, in which nothing of the host's exists.
func (m *mountPlanner) enclosing(at map[string]int, path string) (index int, empty bool) {
	for dir := path; ; dir = filepath.Dir(dir) {
		if i, ok := at[dir]; ok {
			kind := m.finished[i].Kind
			// At its own path a mount has its mount point already.
			return i, dir != path && (kind == jail.Proc || kind == jail.Dev || kind == jail.Tmp || kind == jail.Cover)
		}
		if dir == "/" {
			return -1, m.root == jail.RootCovered
		}
	}
}

// addPoint makes a mount point for path in the mount with the given index, or in the covered root.
func (m *mountPlanner) addPoint(outer int, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return systemError("lstat", err, "look at "+path)
	}
	m.putPoint(outer, path, jail.Point{Dir: info.IsDir()})
	return nil
}

func (m *mountPlanner) putPoint(outer int, path string, p jail.Point) {
	if outer < 0 {
		p.Rel = []byte(strings.TrimPrefix(path, "/"))
		m.rootPoints = append(m.rootPoints, p)
		return
	}
	op := &m.finished[outer]
	p.Rel = []byte(strings.TrimPrefix(path, string(op.Path)+"/"))
	op.Points = append(op.Points, p)
}

// addLinks makes the symbolic links by which an allowed path was named, where a cover or a private directory hides
// them: allowing /bin, a link to usr/bin, keeps /bin/sh a name.
func (m *mountPlanner) addLinks(at map[string]int) error {
	for _, e := range m.rules.Entries() {
		if !e.Allow || e.Absent || e.Given == e.Real || m.disabled {
			continue
		}
		given := filepath.Clean(e.Given)
		parent, err := filepath.EvalSymlinks(filepath.Dir(given))
		if err != nil || parent != filepath.Dir(given) {
			continue // a link further up: the path is reached by its real name
		}
		outer, empty := m.enclosing(at, given)
		target, err := os.Readlink(given)
		if err != nil || !empty || hasAt(at, given) {
			continue
		}
		m.putPoint(outer, given, jail.Point{Link: []byte(target)})
	}
	return nil
}

// kernelRelease is the release of the running kernel.
func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
