package policy

import (
	"maps"
	"slices"
	"strings"
)

// Intersect gives rules that allow only what both a and b allow. The result may be narrower than that, never wider: an allowed pattern stays where both
// sides have it or the other side allows its whole directory, and an allowed path goes where keeping it could give up a mandatory name. Nothing is looked
// up: the entries keep the real paths that they were compiled with. The error is a *SubsetError, for rules of two platforms.
func Intersect(a, b *Rules) (*Rules, error) {
	if a.platform != b.platform {
		return nil, &SubsetError{Axis: "matcher", Entry: a.platform.String(), Reason: "names are compared as on " + b.platform.String() + " there"}
	}
	r := &Rules{platform: a.platform, resolve: a.resolve, private: slices.Clone(a.private)}
	for _, d := range b.private {
		if !slices.ContainsFunc(r.private, func(o PrivateDir) bool { return o.Path == d.Path }) {
			r.private = append(r.private, d)
		}
	}
	switch fa, fb := a.policy.Filesystem, b.policy.Filesystem; {
	case fa.Disabled:
		r.takeFiles(b)
	case fb.Disabled:
		r.takeFiles(a)
	default:
		r.intersectFiles(a, b)
	}
	n := commonNetwork(a, b)
	r.policy.Network = n
	r.compileNetwork()
	for _, s := range a.sockets { // as they were compiled: a link may lead elsewhere by now
		if slices.Contains(n.AllowUnixSockets, s.given) {
			r.sockets = append(r.sockets, s)
		}
	}
	return r, nil
}

// WithFilesOf gives the same rules about hosts and sockets with another one's rules about files. Nothing is looked up.
func (r *Rules) WithFilesOf(from *Rules) *Rules {
	next := *r
	next.policy = r.policy.clone()
	next.takeFiles(from)
	return &next
}

func (r *Rules) takeFiles(from *Rules) {
	r.policy.Filesystem = from.policy.clone().Filesystem
	r.entries, r.lifted = from.entries, from.lifted
	r.allowRead, r.denyRead, r.allowWrite, r.denyWrite = from.allowRead, from.denyRead, from.allowWrite, from.denyWrite
}

// intersectFiles takes every denial of both sides, and of the allowances those that hold on both.
func (r *Rules) intersectFiles(a, b *Rules) {
	f := &r.policy.Filesystem
	f.AllowGitConfig = a.policy.Filesystem.AllowGitConfig && b.policy.Filesystem.AllowGitConfig
	f.AllowMandatory = both(a.lifted, b.lifted)
	f.GitSafeDirectories = both(a.policy.Filesystem.GitSafeDirectories, b.policy.Filesystem.GitSafeDirectories)
	r.lifted = liftedNames(*f)

	r.addEntries(&r.allowRead, &f.AllowRead, commonReads(a, b))
	r.addEntries(&r.denyRead, &f.DenyRead, joined(a.denyRead.entries, b.denyRead.entries))
	writes := commonWrites(a, b)
	r.addEntries(&r.allowWrite, &f.AllowWrite, writes)
	denied := joined(a.denyWrite.entries, b.denyWrite.entries)
	for _, e := range writes {
		if isMandatory(a, &e) || isMandatory(b, &e) { // for a root that is left out, perhaps
			e.List, e.Allow, e.Optional = "denyWrite", false, false
			denied = joined(denied, []Entry{e})
		}
	}
	r.addEntries(&r.denyWrite, &f.DenyWrite, denied)
}

func both(a, b []string) []string {
	var out []string
	for _, s := range a {
		if slices.Contains(b, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (r *Rules) addEntries(list *pathList, given *[]PathEntry, entries []Entry) {
	for i, e := range entries {
		e.Index = i
		*given = append(*given, PathEntry{Path: e.Given, Optional: e.Optional})
		r.entries = append(r.entries, e)
		list.add(e)
	}
}

// joined is one list after the other, without repetitions.
func joined(a, b []Entry) []Entry {
	out := slices.Clone(a)
	for _, e := range b {
		if !slices.ContainsFunc(a, func(o Entry) bool { return sameEntry(&o, &e) && o.Given == e.Given }) {
			out = append(out, e)
		}
	}
	return out
}

func sameEntry(a, b *Entry) bool {
	return a.Real == b.Real && a.Glob == b.Glob && a.keys == b.keys && a.Absent == b.Absent && a.Undecidable == b.Undecidable
}

// commonReads are the entries of allowRead that lift nothing which the other side denies. A pattern has to stand on both sides. A path has to stand on
// both sides, or the other side denies nothing at or above it; what it denies below is more specific, and stays denied.
func commonReads(a, b *Rules) []Entry {
	var kept []Entry
	for _, side := range [...]struct{ own, other *Rules }{{a, b}, {b, a}} {
		for _, e := range side.own.allowRead.entries {
			if e.Absent || e.Undecidable || !side.other.showsHost(&e) {
				continue
			}
			_, named := side.other.allowRead.plain[e.keys[0]]
			denied, _ := side.other.denyRead.nearest(e.keys[0])
			named = named || denied < 0
			if e.Glob {
				named = slices.ContainsFunc(side.other.allowRead.entries, func(o Entry) bool { return sameEntry(&o, &e) })
			}
			if named {
				kept = joined(kept, []Entry{e})
			}
		}
	}
	return kept
}

// showsHost: what brings the host's paths back into a private directory has to do so on both sides.
func (r *Rules) showsHost(e *Entry) bool {
	_, private := r.privateAt(e.keys[0])
	return !private
}

// commonWrites are the entries of allowWrite that the other side covers.
func commonWrites(a, b *Rules) []Entry {
	var kept, all []Entry
	for _, side := range [...]struct{ own, other *Rules }{{a, b}, {b, a}} {
		for _, e := range side.own.allowWrite.entries {
			if e.Undecidable {
				continue
			}
			all = append(all, e)
			covered := side.other.allowWrite.covering(e.keys[0]) != nil ||
				e.Glob && slices.ContainsFunc(side.other.allowWrite.entries, func(o Entry) bool { return sameEntry(&o, &e) })
			mandatory := e.Glob && (isMandatory(a, &e) || isMandatory(b, &e))
			if covered && side.other.showsHost(&e) && !mandatory {
				kept = joined(kept, []Entry{e})
			}
		}
	}
	return withoutLostRoots(kept, all)
}

// isMandatory: the path itself is, or is in, a name that stays as it is in a directory above.
func isMandatory(r *Rules, e *Entry) bool {
	_, hit := r.mandatory(e.keys[0])
	return hit
}

// withoutLostRoots drops what could give up a mandatory name. Some names hold at the top of each writable root alone, and a root that is left out takes
// them along. A path that is such a name is denied besides; where patterns are about, every entry around or inside of one that is left out goes too.
func withoutLostRoots(kept, all []Entry) []Entry {
	for {
		before := len(kept)
		for _, lost := range all {
			if slices.ContainsFunc(kept, func(o Entry) bool { return sameEntry(&o, &lost) }) {
				continue
			}
			kept = slices.DeleteFunc(kept, func(o Entry) bool {
				near := within(o.keys[0], lost.keys[0]) || within(lost.keys[0], o.keys[0])
				return near && (lost.Glob || o.Glob)
			})
		}
		if len(kept) == before {
			return kept
		}
	}
}

// commonNetwork is the network section that both sides allow.
func commonNetwork(a, b *Rules) Network {
	pa, pb := a.policy.clone().Network, b.policy.clone().Network
	n := Network{Unrestricted: pa.Unrestricted && pb.Unrestricted}
	for _, s := range a.sockets {
		if slices.ContainsFunc(b.sockets, func(o socket) bool { return o.key == s.key }) {
			n.AllowUnixSockets = append(n.AllowUnixSockets, s.given)
		}
	}
	switch {
	case pa.Unrestricted:
		pb.AllowUnixSockets = n.AllowUnixSockets
		return pb
	case pb.Unrestricted:
		pa.AllowUnixSockets = n.AllowUnixSockets
		return pa
	}
	n.AllowedDomains = appendNew(coveredDomains(a, b), coveredDomains(b, a)...)
	n.DeniedDomains = appendNew(pa.DeniedDomains, pb.DeniedDomains...)
	n.DeniedDomainReasons = pb.DeniedDomainReasons
	if pa.DeniedDomainReasons != nil {
		n.DeniedDomainReasons = maps.Clone(pa.DeniedDomainReasons)
		for name, reason := range pb.DeniedDomainReasons {
			if _, ok := n.DeniedDomainReasons[name]; !ok {
				n.DeniedDomainReasons[name] = reason
			}
		}
	}
	return n
}

func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// coveredDomains are the allowed entries of one side of which the other allows every host and port.
func coveredDomains(own, other *Rules) []string {
	var out []string
	for i, d := range own.allowed.parsed {
		if slices.ContainsFunc(other.allowed.parsed, func(o domain) bool { return o.covers(d) }) {
			out = append(out, own.allowed.given[i])
		}
	}
	return out
}

// covers says whether every host and port that d matches is matched by o too.
func (o domain) covers(d domain) bool {
	if o.port != 0 && o.port != d.port {
		return false
	}
	switch {
	case o.form == formAny:
		return d.form != formAddr
	case o.form == formAddr:
		return d.form == formAddr && o.prefix.Bits() <= d.prefix.Bits() && o.prefix.Contains(d.prefix.Addr())
	case o.form == formSub && d.form != formAny && d.form != formAddr:
		return strings.HasSuffix(d.name, "."+o.name) || d.form == formSub && d.name == o.name
	}
	return o.form == d.form && o.name == d.name
}
