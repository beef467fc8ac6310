package policy

// ReadsBelow says whether a directory and everything below it may be read, by rules that need not look at the names in
// it. False says nothing: each name must then be asked about by itself. It is for listing large directories.
func (r *Rules) ReadsBelow(dir string) bool {
	if !r.Read(dir).Allowed {
		return false
	}
	if r.policy.Filesystem.Disabled {
		return true
	}
	clean, _ := cleanQuery(dir) // Read has taken it
	key := r.key(clean)
	for _, d := range r.private {
		if within(r.key(d.Path), key) {
			return false
		}
	}
	for _, i := range r.denyRead.patterns {
		for _, base := range r.denyRead.entries[i].keys {
			if within(base, key) || within(key, base) {
				return false
			}
		}
	}
	for denied := range r.denyRead.plain {
		if within(denied, key) {
			return false
		}
	}
	return true
}
