package policy

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CompileOptions is what the rules depend on besides the policy. The zero value compiles for Linux, by spelling alone.
type CompileOptions struct {
	Platform Platform
	// Resolve gives the real path of an existing path: every symlink followed, absolute and clean. An error that is
	// fs.ErrNotExist means that the path, or what a link leads to, is absent. filepath.EvalSymlinks fits. Without it
	// paths are taken by their spelling and nothing is found absent.
	Resolve func(path string) (real string, err error)
	// Private are the directories that every command has of its own.
	Private []PrivateDir
}

// PrivateDir is a directory, such as /tmp, in whose place a command sees one of its own. What the host has there can
// not be read, and what the command writes there never reaches the host. An allowRead or allowWrite entry for it, or for
// a path inside it, brings the host's path back.
type PrivateDir struct {
	Path     string `json:"path"`
	Why      string `json:"why"`
	Writable bool   `json:"writable"`
}

// Entry is one compiled entry of the four lists of paths.
type Entry struct {
	List     string `json:"list"` // "allowRead", "denyRead", "allowWrite" or "denyWrite"
	Index    int    `json:"index"`
	Axis     Axis   `json:"axis"`
	Allow    bool   `json:"allow"`
	Optional bool   `json:"optional,omitempty"`
	// Given is the entry as the policy spells it.
	Given string `json:"given"`
	// Real is its real path; of a pattern, the real path of its leading directories and then the pattern.
	Real string `json:"real"`
	// Base is Real, or of a pattern those leading directories.
	Base string `json:"base"`
	// Glob says that Real is a pattern. An entry that ends in "/**" is its directory and no pattern.
	Glob bool `json:"glob,omitempty"`
	// Undecidable is a pattern that means nothing: on a deny list it matches everything, on an allow list nothing (R64).
	Undecidable bool `json:"undecidable,omitempty"`
	// Absent says that Base did not exist. An allowed path can be absent only when it is optional, and then matches
	// nothing.
	Absent bool `json:"absent,omitempty"`
	// Unresolved says that Resolve could not look at a denied path; it is denied by its spelling.
	Unresolved bool `json:"unresolved,omitempty"`

	spelled string    // the base as spelled; a denied path is denied under this name too
	rest    string    // the pattern below the base
	pattern *pattern  // nil unless Glob, and when Undecidable
	keys    [2]string // of Base and spelled, as they are compared
}

// Rules is a compiled policy: it decides, by name, and never changes. It may be used by several goroutines.
type Rules struct {
	policy   Policy
	platform Platform
	resolve  func(string) (string, error)
	private  []PrivateDir
	network  Network

	entries                                    []Entry
	allowRead, denyRead, allowWrite, denyWrite pathList

	allowed, denied domainList
	deniedReasons   map[string]string // by canonical entry
	sockets         []socket
	lifted          []string
}

type socket struct {
	given, key string
	absent     bool
}

// Compile turns a policy into decisions. It makes every check of Validate, then resolves each path (R66). An allowed
// path that is absent is an error, which is also fs.ErrNotExist, unless its entry is optional; a denied one may be
// absent or out of reach, and is denied by its spelling. The error is an *Error. Later changes to p change nothing.
func (p Policy) Compile(o CompileOptions) (*Rules, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	r := &Rules{policy: p.clone(), platform: o.Platform, resolve: o.Resolve}
	r.compileNetwork()
	r.lifted = liftedNames(r.policy.Filesystem)
	if err := r.compilePrivate(o.Private); err != nil {
		return nil, err
	}
	if err := r.compileSockets(); err != nil {
		return nil, err
	}
	if r.policy.Filesystem.Disabled {
		return r, nil
	}
	return r, r.compileEntries()
}

func (p Policy) clone() Policy {
	f, n := &p.Filesystem, &p.Network
	f.AllowRead, f.DenyRead = slices.Clone(f.AllowRead), slices.Clone(f.DenyRead)
	f.AllowWrite, f.DenyWrite = slices.Clone(f.AllowWrite), slices.Clone(f.DenyWrite)
	f.GitSafeDirectories, f.AllowMandatory = slices.Clone(f.GitSafeDirectories), slices.Clone(f.AllowMandatory)
	if f.MandatoryDenySearchDepth != nil {
		depth := *f.MandatoryDenySearchDepth
		f.MandatoryDenySearchDepth = &depth
	}
	n.AllowedDomains, n.DeniedDomains = slices.Clone(n.AllowedDomains), slices.Clone(n.DeniedDomains)
	n.DeniedDomainReasons, n.AllowUnixSockets = maps.Clone(n.DeniedDomainReasons), slices.Clone(n.AllowUnixSockets)
	return p
}

func (r *Rules) compilePrivate(dirs []PrivateDir) error {
	for i, d := range dirs {
		if err := checkPath(fmt.Sprintf("private[%d]", i), d.Path); err != nil {
			return err
		}
		d.Path = root(strings.TrimSuffix(d.Path, "/"))
		if d.Path == "/" {
			return &Error{Key: fmt.Sprintf("private[%d]", i), Value: "/", Reason: "the root directory cannot be private"}
		}
		r.private = append(r.private, d)
	}
	return nil
}

func (r *Rules) compileSockets() error {
	for i, given := range r.network.AllowUnixSockets {
		real, err := r.real(given)
		absent := errors.Is(err, iofs.ErrNotExist)
		if absent {
			real, err = r.realOfAbsent(given), nil // a server may come and go while the sandbox is open
		}
		if err != nil {
			return &Error{Key: fmt.Sprintf("network.allowUnixSockets[%d]", i), Value: given, Reason: "it cannot be resolved", Err: err}
		}
		r.sockets = append(r.sockets, socket{given: given, key: r.key(real), absent: absent})
	}
	return nil
}

func (r *Rules) compileEntries() error {
	targets := map[string]*pathList{"allowRead": &r.allowRead, "denyRead": &r.denyRead, "allowWrite": &r.allowWrite, "denyWrite": &r.denyWrite}
	for _, l := range r.policy.Filesystem.lists() {
		list := targets[l.name]
		for i, given := range l.entries {
			e := Entry{List: l.name, Index: i, Axis: l.axis, Allow: l.allow, Given: given.Path, Optional: given.Optional}
			if err := r.compileEntry(&e); err != nil {
				return err
			}
			r.entries = append(r.entries, e)
			list.add(e)
		}
	}
	return nil
}

func (r *Rules) compileEntry(e *Entry) error {
	e.spelled, e.rest = splitPattern(e.Given)
	e.Glob = e.rest != ""
	if err := r.resolveEntry(e); err != nil {
		return err
	}
	e.Real = under(e.Base, e.rest)
	e.keys = [2]string{r.key(e.Base), r.key(e.spelled)}
	if !e.Glob {
		return nil
	}
	if d, ok := r.privateHolding(e.keys[0]); ok && e.Allow {
		return &Error{Key: entryKey(*e), Value: e.Given,
			Reason: "a pattern cannot bring the host's paths into " + d.Path + ", which every command has of its own", Hint: "name each directory"}
	}
	compiled, err := compilePattern(e.rest, r.platform.foldsLists())
	e.pattern, e.Undecidable = compiled, err != nil
	return nil
}

func entryKey(e Entry) string { return "filesystem." + e.List + "[" + strconv.Itoa(e.Index) + "]" }

// resolveEntry finds the real path of an entry's leading directories. It fails only for what the policy allows: not to
// find what is denied is no reason to allow more.
func (r *Rules) resolveEntry(e *Entry) error {
	real, err := r.real(e.spelled)
	e.Base = real
	switch {
	case err == nil:
		return nil
	case errors.Is(err, iofs.ErrNotExist):
		e.Absent = true
		e.Base = r.realOfAbsent(e.spelled)
		if !e.Allow || e.Optional {
			return nil
		}
		return &Error{Key: entryKey(*e), Value: e.Given, Reason: "an allowed path that does not exist",
			Hint: fmt.Sprintf(`create it, or write {"path": %s, "optional": true}`, strconv.Quote(e.Given)), Err: err}
	case !e.Allow:
		e.Base, e.Unresolved = e.spelled, true
		return nil
	}
	return &Error{Key: entryKey(*e), Value: e.Given, Reason: "it cannot be resolved", Err: err}
}

func (r *Rules) real(p string) (string, error) {
	if r.resolve == nil {
		return p, nil
	}
	real, err := r.resolve(p)
	if err == nil && (!strings.HasPrefix(real, "/") || path.Clean(real) != real) {
		return "", fmt.Errorf("resolve %q: %q is not absolute and clean", p, real)
	}
	return real, err
}

// realOfAbsent resolves the nearest directory above p that exists and keeps the rest as spelled.
func (r *Rules) realOfAbsent(p string) string {
	for dir := parent(p); dir != ""; dir = parent(dir) {
		if real, err := r.real(dir); err == nil {
			return under(real, below(p, dir))
		}
	}
	return p
}

// Canonical gives the path to ask Read and Write about: symlinks followed with CompileOptions.Resolve, and for a path
// that does not exist those of the directories above it. Paths in a private directory are left alone: the command's
// links are not the host's. It refuses what is no absolute path, and "..".
func (r *Rules) Canonical(p string) (string, error) {
	clean, why := cleanQuery(p)
	if why != "" {
		return "", &Error{Key: "path", Value: p, Reason: "not a path that can be judged: " + why}
	}
	if _, ok := r.PrivateAt(clean); ok {
		return clean, nil
	}
	real, err := r.real(clean)
	if errors.Is(err, iofs.ErrNotExist) {
		return r.realOfAbsent(clean), nil
	}
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", p, err)
	}
	return real, nil
}

// key is the form under which paths of ordinary lists are compared.
func (r *Rules) key(p string) string {
	if r.platform.foldsLists() {
		return foldPath(p)
	}
	return p
}

// pathList is one list, arranged so that a decision looks at the path's own directories and not at every entry.
type pathList struct {
	entries  []Entry
	plain    map[string]int // by path as it is compared: index into entries
	patterns []int
	every    int // the first undecidable entry of a deny list, plus one
}

func (l *pathList) add(e Entry) {
	i := len(l.entries)
	l.entries = append(l.entries, e)
	switch {
	case e.Undecidable:
		if !e.Allow && l.every == 0 {
			l.every = i + 1
		}
	case e.Allow && e.Absent: // optional; what appears later was not there to be allowed
	case e.Glob:
		l.patterns = append(l.patterns, i)
	default:
		l.addPlain(e.keys[0], i)
		if !e.Allow {
			l.addPlain(e.keys[1], i) // the link too: replacing it would undo the denial
		}
	}
}

func (l *pathList) addPlain(key string, i int) {
	if l.plain == nil {
		l.plain = map[string]int{}
	}
	if _, ok := l.plain[key]; !ok {
		l.plain[key] = i
	}
}

// nearest finds the deepest plain entry at or above p, and how long that part of p is; -1 when there is none.
func (l *pathList) nearest(p string) (index, length int) {
	if len(l.plain) == 0 {
		return -1, -1
	}
	for dir := p; dir != ""; dir = parent(dir) {
		if i, ok := l.plain[dir]; ok {
			return i, len(dir)
		}
	}
	return -1, -1
}

// matches says whether a pattern covers p, as it is compared, or a directory above it.
func (e *Entry) matches(p string) bool {
	if e.matchesBelow(e.keys[0], p) {
		return true
	}
	return !e.Allow && e.keys[1] != e.keys[0] && e.matchesBelow(e.keys[1], p)
}

func (e *Entry) matchesBelow(base, p string) bool {
	return within(p, base) && e.pattern.match(below(p, base)) >= 0
}

// Policy gives a copy of the policy that was compiled.
func (r *Rules) Policy() Policy { return r.policy.clone() }

// Entries lists every compiled entry of the four lists, in the policy's order. Empty when the section is disabled.
func (r *Rules) Entries() []Entry { return slices.Clone(r.entries) }
