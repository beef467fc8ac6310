package policy

import (
	"slices"
	"strconv"
	"strings"
)

// Derived shows what a policy came to: the lists as they are in force, with what the package added and what it could not
// take at its word. The first group has the reference's shape; the rest is ours.
type Derived struct {
	Matcher            DerivedMatcher   `json:"matcher"`
	Read               DerivedRead      `json:"read"`
	Write              DerivedWrite     `json:"write"`
	MandatoryDeny      DerivedMandatory `json:"mandatoryDeny"`
	FilesystemDisabled bool             `json:"filesystemDisabled"`
	Network            DerivedNetwork   `json:"network"`
	// UnknownKeys is always empty: an unknown key is an error.
	UnknownKeys []string `json:"unknownKeys"`
	// UndecidableGlobs are patterns that mean nothing, as "denyRead[0] /w/[z-a]": on a deny list they match everything, on
	// an allow list nothing (R64).
	UndecidableGlobs []string `json:"undecidableGlobs"`

	// DefaultWrite are the paths that may be written although no entry names them; Write.AllowOnly has them too (R37).
	DefaultWrite []string `json:"defaultWrite"`
	// Private are the directories that a command has of its own.
	Private []PrivateDir `json:"private"`
	// GitSafeDirectories are handed to git in the child (R47).
	GitSafeDirectories []string `json:"gitSafeDirectories"`
	// AbsentOptional are allowed paths that did not exist and are therefore not in force.
	AbsentOptional []string `json:"absentOptional"`
	// Superseded are keys that were accepted and change nothing.
	Superseded []string `json:"superseded"`
	// Warnings are sentences about rules that are legal and probably not what was meant.
	Warnings []string `json:"warnings"`
}

// DerivedMatcher says how names are compared. Globs are "native" on both axes: they are matched, never expanded once or
// dropped.
type DerivedMatcher struct {
	Platform        Platform `json:"platform"`
	CaseInsensitive bool     `json:"caseInsensitive"`
	ReadGlobs       string   `json:"readGlobs"`
	WriteGlobs      string   `json:"writeGlobs"`
}

// DerivedRead is the read axis, in real paths.
type DerivedRead struct {
	DenyOnly        []string `json:"denyOnly"`
	AllowWithinDeny []string `json:"allowWithinDeny"`
}

// DerivedWrite is the write axis, in real paths; AllowOnly includes the defaults.
type DerivedWrite struct {
	AllowOnly       []string `json:"allowOnly"`
	DenyWithinAllow []string `json:"denyWithinAllow"`
}

// DerivedMandatory is the mandatory names. Form is always "name": they are decided wherever they appear.
type DerivedMandatory struct {
	Form            string   `json:"form"`
	Entries         []string `json:"entries"`
	Lifted          []string `json:"lifted"`
	AllowGitConfig  bool     `json:"allowGitConfig"`
	CaseInsensitive bool     `json:"caseInsensitive"`
	// SearchDepth is what the policy asked for. Nothing is searched, so nothing is limited (R60).
	SearchDepth *int `json:"searchDepth,omitempty"`
}

// DerivedNetwork is the network axis. Disabled means unrestricted (R40); StrictAllowlist is always true, since nobody is
// asked about a host that is not listed (R45).
type DerivedNetwork struct {
	Disabled         bool     `json:"disabled"`
	AllowedDomains   []string `json:"allowedDomains"`
	DeniedDomains    []string `json:"deniedDomains"`
	AllowUnixSockets []string `json:"allowUnixSockets"`
	StrictAllowlist  bool     `json:"strictAllowlist"`
}

// Derived gives a fresh copy. Its lists are never nil, so that JSON shows [] and not null.
func (r *Rules) Derived() Derived {
	f := r.policy.Filesystem
	d := Derived{
		Matcher: DerivedMatcher{Platform: r.platform, CaseInsensitive: r.platform.foldsLists(), ReadGlobs: "native", WriteGlobs: "native"},
		Read:    DerivedRead{DenyOnly: realPaths(r.denyRead), AllowWithinDeny: realPaths(r.allowRead)},
		Write:   DerivedWrite{AllowOnly: realPaths(r.allowWrite), DenyWithinAllow: realPaths(r.denyWrite)},
		MandatoryDeny: DerivedMandatory{Form: "name", Entries: []string{}, Lifted: list(r.lifted), AllowGitConfig: f.AllowGitConfig,
			CaseInsensitive: r.platform.foldsMandatory(), SearchDepth: f.MandatoryDenySearchDepth},
		FilesystemDisabled: f.Disabled,
		Network: DerivedNetwork{Disabled: r.network.Unrestricted, AllowedDomains: list(r.network.AllowedDomains),
			DeniedDomains: list(r.network.DeniedDomains), AllowUnixSockets: list(r.network.AllowUnixSockets), StrictAllowlist: true},
		UnknownKeys: []string{}, UndecidableGlobs: []string{}, AbsentOptional: []string{}, Superseded: []string{},
		DefaultWrite: []string{}, Private: append([]PrivateDir{}, r.private...), GitSafeDirectories: list(f.GitSafeDirectories),
		Warnings: r.warnings(),
	}
	if f.MandatoryDenySearchDepth != nil {
		depth := *f.MandatoryDenySearchDepth
		d.MandatoryDeny.SearchDepth = &depth
		d.Superseded = append(d.Superseded, "filesystem.mandatoryDenySearchDepth")
	}
	if !f.Disabled {
		d.addFiles(r)
	}
	return d
}

// addFiles adds what is in force only while rules about files are.
func (d *Derived) addFiles(r *Rules) {
	for _, e := range r.entries {
		text := e.List + "[" + strconv.Itoa(e.Index) + "] " + e.Given
		if e.Undecidable {
			d.UndecidableGlobs = append(d.UndecidableGlobs, text)
		}
		if e.Allow && e.Absent {
			d.AbsentOptional = append(d.AbsentOptional, text)
		}
	}
	for _, m := range mandatories {
		if !slices.Contains(r.lifted, m.Name) {
			d.MandatoryDeny.Entries = append(d.MandatoryDeny.Entries, m.Name)
		}
	}
	for _, p := range defaultWrites {
		if r.Write(p.Path).Allowed {
			d.DefaultWrite = append(d.DefaultWrite, p.Path)
		}
	}
	for _, p := range r.private {
		if p.Writable && r.Write(p.Path).Allowed {
			d.DefaultWrite = append(d.DefaultWrite, p.Path)
		}
	}
	for _, p := range d.DefaultWrite {
		if !slices.Contains(d.Write.AllowOnly, p) {
			d.Write.AllowOnly = append(d.Write.AllowOnly, p)
		}
	}
}

func list(s []string) []string { return append([]string{}, s...) }

func realPaths(l pathList) []string {
	paths := []string{}
	for _, e := range l.entries {
		if !e.Allow || !e.Absent {
			paths = append(paths, e.Real)
		}
	}
	return paths
}

// warnings are about rules that are legal and probably not meant.
func (r *Rules) warnings() []string {
	warnings := []string{}
	warn := func(parts ...string) { warnings = append(warnings, strings.Join(parts, "")) }
	for _, e := range r.entries {
		where := entryKey(e) + " " + strconv.Quote(e.Given)
		if e.Unresolved {
			warn(where, " could not be looked at, so links in it are not followed; it is denied as it is spelled")
		}
		if d := r.Write(e.Base); e.List == "allowWrite" && !e.Glob && !e.Absent && !d.Allowed {
			warn(where, " allows nothing: ", d.Rule.List, " ", strconv.Quote(d.Rule.Entry), " keeps it from being written")
		}
	}
	denied := map[domain]bool{}
	for _, entry := range r.denied.parsed {
		denied[entry] = true
	}
	for i, entry := range r.allowed.parsed {
		where := "network.allowedDomains[" + strconv.Itoa(i) + "] " + strconv.Quote(r.allowed.given[i])
		switch {
		case entry.form == formAny:
			warn(where, " allows every name there is; it is an ordinary entry, and addresses still have to be listed")
		case entry.form == formSub && !strings.Contains(entry.name, "."):
			warn(where, " allows every name below a top-level domain")
		}
		if denied[entry] {
			warn(where, " is denied as well, and a denied domain beats an allowed one")
		}
	}
	for i, s := range r.sockets {
		if s.absent {
			warn("network.allowUnixSockets[", strconv.Itoa(i), "] ", strconv.Quote(s.given), " does not exist now")
		}
	}
	return warnings
}
