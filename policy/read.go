package policy

import "strconv"

// Read decides whether the file or directory at a path may be read. Without denyRead everything may (R31); allowRead
// re-permits inside a denied region (R32); of the two, the one that names more of the path decides, and at a tie the
// path may be read (R33). A denied pattern holds against every allow that does not cover all of it, which is to say the
// same pattern: an allowed directory around it is less specific, and one inside it covers a part.
//
// The path must be real: give links to Canonical first. In a private directory Read speaks of the host's files, which
// are not to be seen there, under the rule ListPrivate; what a command does with its own files there needs no decision.
func (r *Rules) Read(path string) Decision {
	p, why := cleanQuery(path)
	d := Decision{Axis: AxisRead, Path: p}
	switch {
	case why != "":
		return d.invalidPath(why)
	case r.policy.Filesystem.Disabled:
		return d.allow(disabledRule())
	}
	key := r.key(p)
	if dir, ok := r.privateAt(key); ok {
		if device, ok := r.defaultWrite(key); ok {
			return d.allow(device.rule())
		}
		return d.deny(dir.rule(), "where the host's "+show(dir.Path)+" is not to be seen: "+dir.Why,
			"add "+strconv.Quote(p)+" to filesystem.allowRead, or work elsewhere")
	}
	denied, allowed := r.readRule(key)
	switch {
	case denied != nil:
		return d.deny(denied.rule(), "which "+denied.clause(), denied.remedy(" or name it in filesystem.allowRead"))
	case allowed != nil:
		return d.allow(allowed.rule())
	}
	return d.allow(Rule{List: ListDefault, Index: -1, Why: "no rule denies it"})
}

// readRule finds the entry that denies reading, or else the one that lifted a denial, or neither. Nothing here is shared
// with writes: their precedence is the opposite (R36).
func (r *Rules) readRule(key string) (denied, allowed *Entry) {
	l := &r.denyRead
	if l.every > 0 {
		return &l.entries[l.every-1], nil
	}
	for _, i := range l.patterns {
		if e := &l.entries[i]; e.matches(key) && !r.liftsPattern(e) {
			return e, nil
		}
	}
	i, deny := l.nearest(key)
	if i < 0 {
		return nil, nil
	}
	denied = &l.entries[i]
	if i, allow := r.allowRead.nearest(key); allow >= deny {
		return nil, &r.allowRead.entries[i]
	}
	for _, i := range r.allowRead.patterns {
		e := &r.allowRead.entries[i]
		if len(e.keys[0]) >= deny && e.matches(key) { // as specific as its fixed directories, no more
			return nil, e
		}
	}
	return denied, nil
}

// liftsPattern says whether allowRead names the very pattern.
func (r *Rules) liftsPattern(denied *Entry) bool {
	for _, i := range r.allowRead.patterns {
		if e := &r.allowRead.entries[i]; e.Real == denied.Real {
			return true
		}
	}
	return false
}

func (d Decision) invalidPath(why string) Decision {
	return d.deny(Rule{List: ListInvalid, Index: -1, Why: why}, "which is not a path that can be judged: "+why, "give the absolute path")
}

func disabledRule() Rule {
	return Rule{List: ListDisabled, Index: -1, Why: "filesystem.disabled takes every rule about files away"}
}

func (e *Entry) rule() Rule { return Rule{List: e.List, Entry: e.Given, Index: e.Index} }

// clause says what a denying entry does, to follow "which".
func (e *Entry) clause() string {
	if e.Undecidable {
		return e.List + " " + strconv.Quote(e.Given) + " denies: the pattern means nothing, so it counts as matching everything"
	}
	return e.List + " " + strconv.Quote(e.Given) + " denies"
}

func (e *Entry) remedy(more string) string {
	if e.Undecidable {
		return "correct the pattern " + strconv.Quote(e.Given) + " in filesystem." + e.List
	}
	if e.Glob {
		more = ""
	}
	return "take " + strconv.Quote(e.Given) + " off filesystem." + e.List + more
}
