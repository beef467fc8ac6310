package policy

import "strconv"

// Move decides whether a directory or a symbolic link may come to stand at a path: the real path to, having stood at
// from, or "" when it is a link that is made now. More is asked than Write asks of a file, because what is inside, or
// behind the link, arrives under names that nobody judged:
//
//   - no mandatory name and no beginning of one (".git" of ".git/hooks") is left or taken,
//   - no denied path lies below either place,
//   - what is inside matches the denied patterns at the new place exactly as it does at the old one.
//
// So a decision about a path stays true while its parents are renamed by calls that Move allowed.
func (r *Rules) Move(from, to string) Decision {
	places := []string{to}
	if from != "" {
		places = []string{from, to}
	}
	for _, p := range places {
		if d := r.Write(p); !d.Allowed {
			return d
		}
		if d := r.carries(p, from == ""); !d.Allowed {
			return d
		}
	}
	old := from
	if old == "" { // a link: compared with one beside it whose name appears in no pattern
		old = under(parent(root(to)), "\x00")
	}
	for _, l := range [...]*pathList{&r.denyWrite, &r.denyRead} {
		for _, i := range l.patterns {
			e := &l.entries[i]
			if !e.reachesAlike(r.key(old), r.key(to), from == "") {
				return Decision{Axis: AxisWrite, Path: to}.deny(e.rule(),
					"where its contents would match the denied "+e.List+" "+strconv.Quote(e.Given)+" in another way",
					e.remedy(""))
			}
		}
	}
	return Decision{Axis: AxisWrite, Path: to}.allow(Rule{List: ListDefault, Index: -1, Why: "its contents are judged alike there"})
}

// carries refuses a place that leads to a mandatory name or to a denied path. Below .git/modules and .git/worktrees a
// link may be made all the same: git makes one to see whether it can, and none takes the place of what is there.
func (r *Rules) carries(path string, link bool) Decision {
	d := Decision{Axis: AxisWrite, Path: path}
	if r.policy.Filesystem.Disabled {
		return d.allow(disabledRule())
	}
	key := r.key(path)
	_, private := r.privateAt(key)
	if m, ok := r.component(path, !link); ok && !private {
		return d.deny(Rule{List: ListMandatory, Entry: m.Name, Index: -1, Why: m.Why},
			"which leads to the mandatory name "+m.Name+", and a directory or link there could not be judged: "+m.Why, m.remedy())
	}
	for _, l := range [...]*pathList{&r.denyWrite, &r.denyRead} {
		for i := range l.entries {
			e := &l.entries[i]
			if within(e.keys[0], key) || within(e.keys[1], key) {
				return d.deny(e.rule(), "which leads to what "+e.clause(), e.remedy(""))
			}
		}
	}
	return d.allow(Rule{List: ListDefault, Index: -1, Why: "nothing denied lies below it"})
}

// reachesAlike says whether the pattern has come equally far at both places, so that the same continuations match. For a
// link it is enough that it has come no further at the second.
func (e *Entry) reachesAlike(from, to string, atMost bool) bool {
	for _, base := range e.keys {
		was, is := e.reach(base, from), e.reach(base, to)
		for w := range is {
			more := is[w] &^ was[w]
			if more != 0 || (!atMost && was[w] != is[w]) {
				return false
			}
		}
	}
	return true
}

// reach is the set of states of the pattern after a directory, seen from a base.
func (e *Entry) reach(base, dir string) []uint64 {
	now := make([]uint64, len(e.pattern.tokens)/64+1)
	if !within(dir, base) {
		return now
	}
	then := make([]uint64, len(now))
	e.pattern.enter(now, 0)
	rel := below(dir, base)
	if rel != "" {
		rel += "/"
	}
	for i := 0; i < len(rel); {
		c, w := decodeRune(rel[i:])
		if !e.pattern.step(now, then, c) {
			clear(then)
			return then
		}
		now, then = then, now
		i += w
	}
	return now
}
