package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"sallyport/internal/nearest"
)

// maxPath is what Linux takes in one path, less its closing NUL. In bytes.
const maxPath = 4095

// Validate makes the checks of Parse on a Policy built in Go: paths are absolute and canonical, domains are names,
// addresses or ranges that can match, names to lift exist, and the network section does not contradict itself (R22, R41).
// It looks at the policy alone, never at the file system: Compile does that. The error is an *Error.
func (p Policy) Validate() error {
	if err := p.Filesystem.validate(); err != nil {
		return err
	}
	return p.Network.validate()
}

func (f Filesystem) validate() error {
	for _, l := range f.lists() {
		key := "filesystem." + l.name
		if err := checkLength(key, len(l.entries)); err != nil {
			return err
		}
		for i, e := range l.entries {
			if err := checkEntry(fmt.Sprintf("%s[%d]", key, i), e.Path); err != nil {
				return err
			}
		}
	}
	if err := checkPlainPaths("filesystem.gitSafeDirectories", f.GitSafeDirectories); err != nil {
		return err
	}
	if depth := f.MandatoryDenySearchDepth; depth != nil && *depth < 0 {
		return &Error{Key: "filesystem.mandatoryDenySearchDepth", Value: fmt.Sprint(*depth), Reason: "less than zero"}
	}
	return checkMandatoryNames(f.AllowMandatory)
}

// namedList is one of the four lists of paths, with its key.
type namedList struct {
	name    string
	axis    Axis
	allow   bool
	entries []PathEntry
}

func (f Filesystem) lists() []namedList {
	return []namedList{
		{"allowRead", AxisRead, true, f.AllowRead},
		{"denyRead", AxisRead, false, f.DenyRead},
		{"allowWrite", AxisWrite, true, f.AllowWrite},
		{"denyWrite", AxisWrite, false, f.DenyWrite},
	}
}

func (n Network) validate() error {
	if err := n.contradiction(); err != nil {
		return err
	}
	for _, l := range []struct {
		key     string
		entries []string
	}{{"network.allowedDomains", n.AllowedDomains}, {"network.deniedDomains", n.DeniedDomains}} {
		if err := checkLength(l.key, len(l.entries)); err != nil {
			return err
		}
		for i, s := range l.entries {
			if _, fault := parseDomain(s); fault != nil {
				return fault.at(fmt.Sprintf("%s[%d]", l.key, i), s)
			}
		}
	}
	if err := n.checkReasons(); err != nil {
		return err
	}
	return checkPlainPaths("network.allowUnixSockets", n.AllowUnixSockets)
}

// contradiction refuses "no restriction" beside a list of restrictions: one of the two is not what the author means (R41).
func (n Network) contradiction() error {
	if !n.Unrestricted {
		return nil
	}
	for _, l := range []struct {
		key string
		len int
	}{
		{"allowedDomains", len(n.AllowedDomains)}, {"deniedDomains", len(n.DeniedDomains)},
		{"deniedDomainReasons", len(n.DeniedDomainReasons)},
	} {
		if l.len > 0 {
			return &Error{Key: "network.disabled", Reason: "no network restriction is asked for, and network." + l.key + " restricts it",
				Hint: "\"disabled\" means unrestricted; leave it out to use the lists, or leave the lists out"}
		}
	}
	return nil
}

// checkReasons refuses a reason that no refusal could ever carry, and one that would break the line it is printed on.
func (n Network) checkReasons() error {
	if err := checkLength("network.deniedDomainReasons", len(n.DeniedDomainReasons)); err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, s := range n.DeniedDomains {
		d, _ := parseDomain(s) // checked before
		listed[d.canonical()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(n.DeniedDomainReasons)) {
		key, reason := join("network.deniedDomainReasons", name), n.DeniedDomainReasons[name]
		d, fault := parseDomain(name)
		if fault != nil {
			return fault.at(key, name)
		}
		if !listed[d.canonical()] {
			return &Error{Key: key, Reason: "a reason for a domain that network.deniedDomains does not list", Nearest: nearest.Of(name, n.DeniedDomains)}
		}
		if reason == "" || len(reason) > maxReason || !utf8.ValidString(reason) || strings.ContainsFunc(reason, isControl) {
			return &Error{Key: key, Value: reason, Reason: fmt.Sprintf("a reason is one line of text, 1 to %d bytes", maxReason)}
		}
	}
	return nil
}

// maxReason bounds the text of a refusal, which travels in a header line. In bytes.
const maxReason = 500

func isControl(r rune) bool {
	return r < 0x20 || (r >= 0x7f && r < 0xa0) || r == '\u2028' || r == '\u2029'
}

func checkLength(key string, n int) error {
	if n <= maxEntries {
		return nil
	}
	return &Error{Key: key, Reason: fmt.Sprintf("%d entries, more than the %d a list may have", n, maxEntries)}
}

// checkPlainPaths checks paths that are no patterns and cover nothing below them.
func checkPlainPaths(key string, paths []string) error {
	if err := checkLength(key, len(paths)); err != nil {
		return err
	}
	for i, p := range paths {
		at := fmt.Sprintf("%s[%d]", key, i)
		if strings.HasPrefix(p, "@") {
			return &Error{Key: at, Value: p, Reason: "an abstract socket; only sockets with a path can be granted"}
		}
		if err := checkPath(at, p); err != nil {
			return err
		}
		if strings.Contains(p, "*") {
			return &Error{Key: at, Value: p, Reason: "a pattern, and patterns do not work here", Hint: "write each path in full"}
		}
	}
	return nil
}

// checkEntry checks one path of the four lists. A pattern that begins with "**" matches anywhere and so needs no "/".
func checkEntry(key, p string) error {
	if strings.HasPrefix(p, "**") {
		if err := checkPath(key, "/"+p); err != nil {
			e := *err
			e.Value = p
			return &e
		}
		return nil
	}
	if err := checkPath(key, p); err != nil {
		return err
	}
	return nil
}

// checkPath refuses what is not one canonical absolute path. Symlinks are Compile's business.
func checkPath(key, p string) *Error {
	refuse := func(reason, hint string) *Error { return &Error{Key: key, Value: p, Reason: reason, Hint: hint} }
	switch {
	case p == "":
		return refuse("an empty path", "the root directory is written /")
	case len(p) > maxPath:
		return refuse(fmt.Sprintf("a path of %d bytes, more than the %d a path may have", len(p), maxPath), "")
	case strings.ContainsRune(p, 0):
		return refuse("a NUL in a path", "")
	case !utf8.ValidString(p):
		return refuse("a path that is not valid UTF-8", "name a directory above it, or use ? for each odd byte")
	case p[0] == '~':
		_, rest, _ := strings.Cut(p, "/")
		return refuse("~ is not expanded in a policy", "write the home directory in full, as in "+under("/home/you", rest))
	case isWindowsPath(p):
		return refuse("a Windows path; native Windows is not supported, WSL2 is", "inside WSL2 a drive is below /mnt, as in /mnt/c/work")
	case p[0] != '/':
		hint := "write the absolute path, as in /work" + path.Clean("/"+p)
		if strings.ContainsAny(p, "*?[") {
			hint = "write **/" + p + " to match at any depth, or begin with a directory"
		}
		return refuse("not an absolute path", hint)
	}
	if clean := path.Clean(p); clean != p && (clean == "/" || clean+"/" != p) {
		return refuse("not a canonical path", "write "+clean)
	}
	return nil
}

func isWindowsPath(p string) bool {
	letter := len(p) >= 3 && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z') && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
	return letter || strings.HasPrefix(p, `\\`)
}
