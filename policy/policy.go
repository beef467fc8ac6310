package policy

// Policy says what a confined process may reach. It is a plain value: build it as a literal or with Parse, add to its
// lists with append, and turn it into decisions with Compile. The zero Policy lets everything be read, nothing be
// written but the default devices, and nothing be reached over the network (R31, R34, R39).
type Policy struct {
	Filesystem Filesystem
	Network    Network
}

// Filesystem is the section about files and directories (R28).
type Filesystem struct {
	// AllowRead re-permits reading inside a region that DenyRead takes away (R32).
	AllowRead []PathEntry
	// DenyRead takes reading away; the most specific of AllowRead and DenyRead decides (R33).
	DenyRead []PathEntry
	// AllowWrite is everything that may be written; what it does not name may not (R34).
	AllowWrite []PathEntry
	// DenyWrite always wins over AllowWrite, whatever the depth of the two (R35).
	DenyWrite []PathEntry
	// GitSafeDirectories are handed to git in the child as safe.directory (R47). Absolute paths.
	GitSafeDirectories []string
	// AllowGitConfig lifts the mandatory denial of .git/config, and of nothing else (R50).
	AllowGitConfig bool
	// AllowMandatory lifts mandatory names, each by the spelling that Mandatories gives it. Derived shows them.
	AllowMandatory []string
	// MandatoryDenySearchDepth is accepted for the reference's sake and changes nothing: names are decided wherever
	// they appear, so there is no search to limit. Derived lists it as superseded (R60).
	MandatoryDenySearchDepth *int
	// Disabled switches off every rule about files, on both axes (R38).
	Disabled bool
}

// PathEntry is one path of a list: an absolute path, which covers everything below it, or a pattern. In JSON it is a
// string, or an object with "path" and "optional".
type PathEntry struct {
	Path string
	// Optional lets an allowed path be absent when the rules are compiled; Derived lists it. Without it that is an error.
	Optional bool
}

// Paths makes entries that are not optional.
func Paths(paths ...string) []PathEntry {
	entries := make([]PathEntry, len(paths))
	for i, p := range paths {
		entries[i] = PathEntry{Path: p}
	}
	return entries
}

// Network is the section about hosts (R29). The zero value reaches nothing.
type Network struct {
	// AllowedDomains is everything that may be reached: "example.com", "*.example.com" (sub-domains only), "*" (every
	// name), addresses and CIDR ranges, each with an optional ":port".
	AllowedDomains []string
	// DeniedDomains beats AllowedDomains (R42). Same spelling.
	DeniedDomains []string
	// DeniedDomainReasons gives the text a refusal carries, by entry of DeniedDomains (R43).
	DeniedDomainReasons map[string]string
	// AllowUnixSockets are path sockets that may be connected to. Absolute paths, no patterns.
	AllowUnixSockets []string
	// Unrestricted takes every network rule away. JSON calls it "disabled", as the reference does (R40).
	Unrestricted bool
}
