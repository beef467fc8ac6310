package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// mountPlanner turns compiled rules into mounts.
type mountPlanner struct {
	rules    *policy.Rules
	roots    []string // the writable ones; every path is asked for its own
	disabled bool
	tmpBytes int64

	root       string
	rootPoints []jail.Point
	ops        []jail.Op
	finished   []jail.Op
	sources    []source
	names      nameReport
	guarded    []jail.Guarded
	covered    []string // denied for reading, under every name
	table      *mountTable
}

func (m *mountPlanner) plan(helper string) error {
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
		m.addSockets()
		m.addNames()
		m.addProgram(helper)
	}
	m.addKernelMounts()
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
	for _, dir := range privateDirs() {
		info, err := os.Lstat(dir.Path)
		if dir.Writable && err == nil && info.IsDir() && dir.Path != "/dev/shm" {
			m.ops = append(m.ops, jail.Op{Kind: jail.Tmp, Path: []byte(dir.Path), Dir: true, Bytes: m.tmpBytes})
		}
	}
}

// addEntries adds the mounts of the policy's own lists. Which of two overlapping entries holds is decided by the
// rules alone: an allowed path is shown writable when the rules say that it is.
func (m *mountPlanner) addEntries() error {
	for _, e := range m.rules.Entries() {
		if e.Absent || e.Unresolved {
			if !e.Allow && !e.Glob && e.Axis == policy.AxisRead && filepath.IsAbs(e.Real) {
				m.covered = append(m.covered, e.Real) // when it appears
			}
			continue // writing a denied one is decided by name
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
	if kind := kernelFileSystems[m.table.of(e.Real).fsType]; e.Allow && kind != "" && !below(e.Real, "/sys") {
		return &Error{Code: CodeInvalidConfig, Detail: fmt.Sprintf("filesystem.%s[%d]: %s is in a file system of the kernel's own (%s), which no command may see outside of its usual place",
			e.List, e.Index, e.Given, kind)}
	}
	if e.Allow && e.Axis == policy.AxisWrite && isDefaultDevice(e.Real) {
		return nil
	}
	if e.Glob {
		m.addPattern(e)
		return nil
	}
	if e.Allow {
		if err := m.refuseDetour(e); err != nil {
			return err
		}
	}
	if !e.Allow && (e.Axis == policy.AxisRead || m.writableRootOf(e.Real) != "") {
		if err := refuseHardLinks(e); err != nil {
			return err
		}
	}
	switch {
	case !e.Allow && e.Axis == policy.AxisRead:
		if !m.rules.Read(e.Real).Allowed { // at a tie allow wins
			m.coverAll(e.Real)
			m.protectLinks(e.Given)
		}
	case !e.Allow:
		m.protectAll(e.Real)
		m.protectLinks(e.Given)
	case m.rules.Write(e.Real).Allowed:
		m.add(jail.Writable, e.Real)
	case m.rules.Read(e.Real).Allowed:
		m.add(jail.Back, e.Real)
	}
	return nil
}

// addSockets shows the granted path sockets, where a private directory or a cover would hide them.
func (m *mountPlanner) addSockets() {
	for _, given := range m.rules.Policy().Network.AllowUnixSockets {
		if real, err := filepath.EvalSymlinks(given); err == nil {
			m.add(jail.Back, real)
		}
	}
}

// addPattern shows what a pattern may allow. What it denies no mount can say: that is decided by name, and so is which of
// the names below a directory that is shown writable the pattern means.
func (m *mountPlanner) addPattern(e policy.Entry) {
	if e.List == "allowWrite" {
		m.add(jail.Writable, e.Base)
	}
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

// coverAll covers a path under every name that it has, and pins the directories that lead to it inside a writable tree:
// renamed away, the next jail would not find what to cover.
func (m *mountPlanner) coverAll(path string) {
	for _, name := range append(m.table.aliases(path), path) {
		m.add(jail.Cover, name)
		m.pin(name)
		m.covered = append(m.covered, name)
	}
}

// protectAll protects a path under every name that it has.
func (m *mountPlanner) protectAll(path string) {
	for _, name := range append(m.table.aliases(path), path) {
		m.protect(name)
	}
}

// protect makes a path read-only inside a writable tree, and pins the directories that lead to it, so that they cannot
// be renamed away with a new tree put in their place.
func (m *mountPlanner) protect(path string) {
	if dir, ok := m.rules.PrivateAt(path); ok && dir.Path == path && dir.Writable {
		m.add(jail.ReadOnly, path) // the command's own directory, which is writable otherwise
		return
	}
	if m.writableRootOf(path) == "" {
		return
	}
	m.readOnly(path)
	m.pin(path)
}

func (m *mountPlanner) readOnly(path string) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket|os.ModeDevice) != 0 {
		m.add(jail.Cover, path) // a read-only mount does not stop writing to a FIFO
	} else {
		m.add(jail.ReadOnly, path)
	}
}

func (m *mountPlanner) pin(path string) {
	root := m.writableRootOf(path)
	if root == "" {
		return
	}
	for dir := filepath.Dir(path); dir != root && below(dir, root); dir = filepath.Dir(dir) {
		m.add(jail.Pin, dir)
	}
}

// maxLinks is the kernel's own bound on links in one path.
const maxLinks = 40

// protectLinks protects the symbolic links by which a denied path was named: with one replaced, its name would lead
// elsewhere.
func (m *mountPlanner) protectLinks(given string) {
	for _, link := range linksOn(given) {
		m.protect(link)
	}
}

// refuseDetour refuses an allowed path that leads through a symbolic link in a directory that commands can write: an
// earlier command can have made the link, and with it the grant would be of any directory it likes.
func (m *mountPlanner) refuseDetour(e policy.Entry) error {
	for _, link := range linksOn(e.Given) {
		if m.writableRootOf(link) != "" {
			return &Error{Code: CodeInvalidConfig, Detail: fmt.Sprintf("filesystem.%s[%d]: %s leads through the symbolic link %s, in a directory that commands can write",
				e.List, e.Index, e.Given, link), Hints: []string{"name the directory that it leads to, " + e.Real + ", if that is what is meant"}}
		}
	}
	return nil
}

// linksOn are the symbolic links on the way along a path, each by its real place.
func linksOn(given string) []string {
	var out []string
	left := strings.Split(strings.Trim(filepath.Clean(given), "/"), "/")
	at := "/"
	for links := 0; len(left) > 0 && links <= maxLinks; {
		next := filepath.Join(at, left[0])
		left = left[1:]
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		links++
		out = append(out, next)
		if filepath.IsAbs(target) {
			at = "/"
		}
		left = append(strings.Split(strings.Trim(filepath.Clean(target), "/"), "/"), left...)
	}
	return out
}

// addKernelMounts covers kernel file systems that are mounted in unusual places, and keeps the usual ones read-only
// whatever the policy allows.
func (m *mountPlanner) addKernelMounts() {
	stray, sys := m.table.strayKernelMounts()
	for _, p := range stray {
		m.add(jail.Cover, p)
	}
	for _, p := range sys {
		if m.rules.Write(p).Allowed {
			m.add(jail.ReadOnly, p)
		}
	}
}

func (m *mountPlanner) writableRootOf(path string) string {
	for _, root := range m.roots {
		if path != root && below(path, root) {
			return root
		}
	}
	return ""
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
		if op.Kind == jail.Back && !empty && !m.hidden(at, path) {
			continue // visible as it is
		}
		if op.Kind == jail.Pin && hasAt(at, path) {
			continue
		}
		if op.Kind == jail.ReadOnly && hasAt(at, path) && m.finished[at[path]].Kind == jail.Cover {
			continue // nothing of it can be written anyway
		}
		if empty {
			m.addPoint(outer, path, op.Dir)
		}
		if isSource(op.Kind) {
			m.sources = append(m.sources, source{path, identity(path)})
		}
		m.finished = append(m.finished, op)
		at[path] = len(m.finished) - 1
	}
	return m.addLinks(at)
}

// hidden says whether the mount at this very path hides what the host has there.
func (m *mountPlanner) hidden(at map[string]int, path string) bool {
	i, ok := at[path]
	return ok && (m.finished[i].Kind == jail.Cover || m.finished[i].Kind == jail.Tmp)
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
func (m *mountPlanner) addPoint(outer int, path string, dir bool) {
	m.putPoint(outer, path, jail.Point{Dir: dir})
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
