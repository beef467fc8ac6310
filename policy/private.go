package policy

// PrivateAt says whether a path is in a directory that every command has of its own, and in which: the innermost one,
// unless an allowRead or allowWrite entry at or inside that directory brings the host's path back.
func (r *Rules) PrivateAt(path string) (PrivateDir, bool) {
	p, why := cleanQuery(path)
	if why != "" || r.policy.Filesystem.Disabled {
		return PrivateDir{}, false
	}
	return r.privateAt(r.key(p))
}

func (r *Rules) privateAt(key string) (PrivateDir, bool) {
	dir, ok := r.privateHolding(key)
	if !ok {
		return PrivateDir{}, false
	}
	inside := len(r.key(dir.Path))
	for _, l := range [...]*pathList{&r.allowRead, &r.allowWrite} {
		if _, length := l.nearest(key); length >= inside {
			return PrivateDir{}, false
		}
	}
	return dir, true
}

// privateHolding finds the innermost private directory that a path, as it is compared, is in.
func (r *Rules) privateHolding(key string) (found PrivateDir, ok bool) {
	for _, d := range r.private {
		if within(key, r.key(d.Path)) && (!ok || len(d.Path) > len(found.Path)) {
			found, ok = d, true
		}
	}
	return found, ok
}

func (d PrivateDir) rule() Rule {
	return Rule{List: ListPrivate, Entry: d.Path, Index: -1, Why: d.Why}
}
