package policy

import "strconv"

// Write decides whether the path may be created, changed, replaced or removed. Only what allowWrite names may, besides
// the default devices (R34, R37); denyWrite always wins, at whatever depth (R35); a path that may not be read may not be
// written, because a cover stands in its place; and the mandatory names stay as they are in every writable directory
// (R49). A directory above a denied name may itself be written.
//
// The path must be real: give links to Canonical first. In a private writable directory the answer is yes, under the
// rule ListPrivate, and it speaks of the command's own directory: code that writes to the host must take that as no.
func (r *Rules) Write(path string) Decision { return r.write(path, false) }

// Mkdir is Write for a directory that is empty: one that is made, or removed. It differs in one name: .git/hooks may be
// made, since git init makes it and copies its samples there, and removed once it is empty again, which takes no hook
// away. It may not be replaced or renamed.
func (r *Rules) Mkdir(path string) Decision { return r.write(path, true) }

func (r *Rules) write(path string, mkdir bool) Decision {
	p, why := cleanQuery(path)
	d := Decision{Axis: AxisWrite, Path: p}
	switch {
	case why != "":
		return d.invalidPath(why)
	case r.policy.Filesystem.Disabled:
		return d.allow(disabledRule())
	}
	key := r.key(p)
	if e := r.denyWrite.covering(key); e != nil {
		return d.deny(e.rule(), "which "+e.clause(), e.remedy("; a denied write beats every allowed one"))
	}
	device, isDevice := r.defaultWrite(key)
	if dir, ok := r.privateAt(key); ok {
		switch {
		case isDevice:
			return d.allow(device.rule())
		case dir.Writable:
			return d.allow(dir.rule())
		}
		return d.deny(dir.rule(), "which is in "+show(dir.Path)+" and cannot be written there: "+dir.Why,
			"add "+strconv.Quote(p)+" to filesystem.allowWrite")
	}
	return r.writeHost(d, key, mkdir, device, isDevice)
}

// writeHost decides about the host's own files, after denyWrite.
func (r *Rules) writeHost(d Decision, key string, mkdir bool, device defaultPath, isDevice bool) Decision {
	if e, _ := r.readRule(key); e != nil {
		return d.deny(e.rule(), "which "+e.clause()+", and what may not be read may not be written", e.remedy(" or name it in filesystem.allowRead"))
	}
	e := r.allowWrite.covering(key)
	if e == nil {
		if isDevice {
			return d.allow(device.rule())
		}
		return d.deny(Rule{List: ListDefault, Index: -1, Why: "only what filesystem.allowWrite names may be written"},
			"which is not in any directory that allowWrite names", "add it, or a directory above it, to filesystem.allowWrite")
	}
	if hit, ok := r.mandatory(key); ok && (!mkdir || !hit.mayMake(key)) {
		return d.deny(Rule{List: ListMandatory, Entry: hit.row.Name, Index: -1, Why: hit.row.Why},
			"which is "+hit.row.Name+" and stays as it is even in a writable directory: "+hit.row.Why, hit.row.remedy())
	}
	return d.allow(e.rule())
}

// covering finds an entry at or above a path: any one will do, since on this axis nothing is more specific than another.
func (l *pathList) covering(key string) *Entry {
	if l.every > 0 {
		return &l.entries[l.every-1]
	}
	if i, _ := l.nearest(key); i >= 0 {
		return &l.entries[i]
	}
	for _, i := range l.patterns {
		if e := &l.entries[i]; e.matches(key) {
			return e
		}
	}
	return nil
}

// defaultPath is a path that may be written although no policy names it.
type defaultPath struct{ Path, Why string }

// defaultWrites are the devices that programs expect to open for writing. None leads to a file of the host's (R37).
var defaultWrites = []defaultPath{
	{"/dev/null", "takes everything and keeps nothing"},
	{"/dev/zero", "takes everything and keeps nothing"},
	{"/dev/full", "refuses every write by itself"},
	{"/dev/random", "anyone may stir the kernel's pool; it credits nothing"},
	{"/dev/urandom", "anyone may stir the kernel's pool; it credits nothing"},
	{"/dev/tty", "the command's own terminal, when it has one"},
	{"/dev/ptmx", "makes terminals of the command's own"},
	{"/dev/pts", "the terminals that /dev/ptmx made"},
}

func (r *Rules) defaultWrite(key string) (defaultPath, bool) {
	if !within(key, r.key("/dev")) {
		return defaultPath{}, false
	}
	for _, d := range defaultWrites {
		if within(key, r.key(d.Path)) {
			return d, true
		}
	}
	return defaultPath{}, false
}

func (d defaultPath) rule() Rule {
	return Rule{List: ListDefault, Entry: d.Path, Index: -1, Why: d.Why}
}

// isWritableRoot says whether a path, as it is compared, is itself what allowWrite names: an entry's own path, or for a
// pattern what it matches and the directory it is below.
func (r *Rules) isWritableRoot(key string) bool {
	if i, ok := r.allowWrite.plain[key]; ok && i >= 0 {
		return true
	}
	for i := range r.allowWrite.entries { // one that is not there yet may come to be
		if e := &r.allowWrite.entries[i]; e.Absent && !e.Glob && e.keys[0] == key {
			return true
		}
	}
	for _, i := range r.allowWrite.patterns {
		e := &r.allowWrite.entries[i]
		base := e.keys[0]
		if key == base {
			return true
		}
		if within(key, base) && e.pattern.match(below(key, base)) == len(below(key, base)) {
			return true
		}
	}
	return false
}

// WritableRoots lists the directories and files that can be written: the real paths of the plain allowWrite entries,
// outermost only, in the policy's order, without those that denyWrite, denyRead or a mandatory name takes away whole.
// Patterns are not among them; find those with Entries. It is "/" when the section is disabled.
func (r *Rules) WritableRoots() []string {
	if r.policy.Filesystem.Disabled {
		return []string{"/"}
	}
	var roots []string
	seen := map[string]bool{}
	for i := range r.allowWrite.entries {
		e := &r.allowWrite.entries[i]
		if e.Glob || e.Absent || seen[e.keys[0]] || !r.Write(e.Base).Allowed {
			continue
		}
		seen[e.keys[0]] = true
		if up := parent(e.keys[0]); up != "" {
			if outer, _ := r.allowWrite.nearest(up); outer >= 0 && r.Write(r.allowWrite.entries[outer].Base).Allowed {
				continue
			}
		}
		roots = append(roots, e.Base)
	}
	return roots
}
