package policy

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/internal/nearest"
)

// Mandatory is a name that stays as it is inside every writable directory, because some program outside the sandbox acts
// on what it says.
type Mandatory struct {
	// Name is one name or several with "/" between, as they follow each other in a path; "**" is any number of directories.
	Name string `json:"name"`
	// Dir says that the name is a directory's. What is below a name is covered either way.
	Dir bool `json:"dir"`
	// Depth0 says that the name holds only directly in a writable root, and not at every depth.
	Depth0 bool `json:"depth0"`
	// Samples is the ending of the files directly inside that may be written all the same. Empty for none.
	Samples string `json:"samples,omitempty"`
	// Why says what would run or change if the name could be written.
	Why string `json:"why"`
}

// The names that have a key of their own besides AllowMandatory.
const (
	gitConfig    = ".git/config"
	moduleConfig = ".git/modules/**/config"
)

// anyDepth stands in a name for any number of directories.
const anyDepth = "/**/"

// mandatories are the reference's list, which holds at any depth, git's names for submodules and worktrees, and after
// them the names added here, which hold at the top of a writable root alone: archives and module caches are full of them
// further down.
var mandatories = []Mandatory{
	{Name: ".gitconfig", Why: "git runs commands from it: aliases, hooks path, fsmonitor, credential helpers"},
	{Name: ".gitmodules", Why: "git fetches from the addresses it names, into the places it names"},
	{Name: ".bashrc", Why: "every interactive bash runs it"},
	{Name: ".bash_profile", Why: "every login bash runs it"},
	{Name: ".zshrc", Why: "every interactive zsh runs it"},
	{Name: ".zprofile", Why: "every login zsh runs it"},
	{Name: ".profile", Why: "every login shell runs it"},
	{Name: ".ripgreprc", Why: "ripgrep takes options from it, and --pre runs a program on every file"},
	{Name: ".mcp.json", Why: "coding agents start the servers it names"},
	{Name: ".vscode", Dir: true, Why: "the editor runs its tasks and takes interpreter paths from its settings"},
	{Name: ".idea", Dir: true, Why: "the editor runs its run configurations and file watchers"},
	{Name: ".claude/commands", Dir: true, Why: "a coding agent takes them for its user's orders"},
	{Name: ".claude/agents", Dir: true, Why: "a coding agent takes its instructions and tool grants from them"},
	{Name: ".git/hooks", Dir: true, Samples: ".sample", Why: "git runs them on commit, checkout, merge and push"},
	{Name: gitConfig, Why: "git runs commands from it: hooks path, fsmonitor, filters, aliases, ssh command"},

	{Name: ".git/commondir", Why: "git takes hooks and config from the directory it names"},
	{Name: ".git/modules/**/hooks", Dir: true, Samples: ".sample", Why: "git runs them in a submodule"},
	{Name: moduleConfig, Why: "git reads it in a submodule, and runs commands from it"},
	{Name: ".git/config.worktree", Why: "git reads it like .git/config when worktree configuration is on"},
	{Name: ".git/modules/**/config.worktree", Why: "git reads it in a submodule when worktree configuration is on"},
	{Name: ".git/worktrees/**/config.worktree", Why: "git reads it in a worktree, and runs commands from it"},

	{Name: ".envrc", Depth0: true, Why: "direnv runs it on entering the directory"},
	{Name: ".npmrc", Depth0: true, Why: "npm sends tokens to the registry it names and runs the shell and node options it names"},
	{Name: ".yarnrc", Depth0: true, Why: "yarn runs the program its yarn-path names"},
	{Name: ".zshenv", Depth0: true, Why: "every zsh runs it, scripts too"},
	{Name: ".zlogin", Depth0: true, Why: "every login zsh runs it"},
	{Name: ".bash_login", Depth0: true, Why: "a login bash runs it when there is no .bash_profile"},
	{Name: ".config/fish", Dir: true, Depth0: true, Why: "every fish runs what is in it"},
	{Name: ".husky", Dir: true, Depth0: true, Why: "git hooks live there once husky has set the hooks path"},
	{Name: ".git/info/attributes", Depth0: true, Why: "it assigns files to filter and diff drivers, which are commands"},
	{Name: ".claude/settings.json", Depth0: true, Why: "a coding agent takes hooks and permissions from it"},
	{Name: ".claude/settings.local.json", Depth0: true, Why: "a coding agent takes hooks and permissions from it"},
	{Name: ".claude/hooks", Dir: true, Depth0: true, Why: "a coding agent runs the scripts that its settings name there"},
	{Name: ".cursor", Dir: true, Depth0: true, Why: "the editor starts the servers and takes the rules it holds"},
	{Name: ".ssh", Dir: true, Depth0: true, Why: "its config runs commands, and its authorized_keys lets others in"},
	{Name: ".pre-commit-config.yaml", Depth0: true, Why: "pre-commit downloads and runs what it names"},
}

// Mandatories lists the mandatory names (R49, R50).
func Mandatories() []Mandatory { return slices.Clone(mandatories) }

func mandatoryNames() []string {
	names := make([]string, len(mandatories))
	for i, m := range mandatories {
		names[i] = m.Name
	}
	return names
}

// checkMandatoryNames refuses to lift a name that does not exist: its author believes that something is lifted.
func checkMandatoryNames(lifted []string) error {
	known := mandatoryNames()
	for i, name := range lifted {
		if !slices.Contains(known, name) {
			e := &Error{Key: fmt.Sprintf("filesystem.allowMandatory[%d]", i), Value: name, Reason: "no mandatory name", Nearest: nearest.Of(name, known)}
			if e.Nearest == "" {
				e.Hint = "the names are " + strings.Join(known, ", ")
			}
			return e
		}
	}
	return nil
}

// liftedNames are the names that a policy takes off the list, without repeats.
func liftedNames(f Filesystem) []string {
	var lifted []string
	for _, m := range mandatories {
		if slices.Contains(f.AllowMandatory, m.Name) || (f.AllowGitConfig && (m.Name == gitConfig || m.Name == moduleConfig)) {
			lifted = append(lifted, m.Name)
		}
	}
	return lifted
}

func (m *Mandatory) remedy() string {
	if m.Name == gitConfig || m.Name == moduleConfig {
		return "set filesystem.allowGitConfig; git init, clone and remote need it"
	}
	return `add "` + m.Name + `" to filesystem.allowMandatory`
}

// mandatoryHit is where in a path a mandatory name was found.
type mandatoryHit struct {
	row *Mandatory
	end int // of the name, in the path
}

// mayMake says whether an empty directory may be made at a path: only where samples may be put into it.
func (h mandatoryHit) mayMake(path string) bool { return h.row.Samples != "" && h.end == len(path) }

// MandatoryAt says whether a path below a writable root is a mandatory name or in one, with the case rule of the
// platform. rel has "/" between names. Any-depth names are sought in the whole path, so that the root ".git" does not
// hide ".git/hooks"; the others where they begin at root, at any other writable root, or at the root's own last name.
// Names that the policy lifts, and samples, are not found. A pure name decides: what is at the path, and whether .git is
// a directory or a worktree's file, makes no difference (R62).
func (r *Rules) MandatoryAt(root, rel string) (Mandatory, bool) {
	full, why := cleanQuery(under(root, strings.Trim(rel, "/")))
	base, whyRoot := cleanQuery(root)
	if why != "" || whyRoot != "" || r.policy.Filesystem.Disabled {
		return Mandatory{}, false
	}
	hit, ok := r.mandatoryBelow(r.key(full), r.key(base))
	if !ok {
		return Mandatory{}, false
	}
	return *hit.row, true
}

// MandatoryComponent says whether a path ends in a mandatory name or in the beginning of one, such as ".git" of
// ".git/hooks". Nothing with content of its own, a directory or a link, may be moved to such a path: what is inside
// would arrive under mandatory names unseen.
func (r *Rules) MandatoryComponent(path string) (Mandatory, bool) { return r.component(path, true) }

// component is MandatoryComponent. Without below it passes over what lies below the beginning of a name with "**".
func (r *Rules) component(path string, below bool) (Mandatory, bool) {
	p, why := cleanQuery(path)
	if why != "" || r.policy.Filesystem.Disabled {
		return Mandatory{}, false
	}
	key := r.key(p)
	for i := range mandatories {
		m := &mandatories[i]
		if slices.Contains(r.lifted, m.Name) {
			continue
		}
		name, _, deep := strings.Cut(m.Name, anyDepth)
		if deep && below && r.liesIn(key, name) {
			return *m, true // whatever is moved there may bring the name along
		}
		for ; name != ""; name = cutLast(name) {
			if start, ok := r.endsIn(key, name); ok && (!m.Depth0 || r.startsAtRoot(key, start, len(key), "")) {
				return *m, true
			}
		}
	}
	return Mandatory{}, false
}

// liesIn says whether a path has the given names somewhere before its end.
func (r *Rules) liesIn(path, names string) bool {
	for start := 1; start < len(path); start = nextName(path, start) {
		if end, ok := r.namesAt(path, start, names); ok && end < len(path) {
			return true
		}
	}
	return false
}

func cutLast(name string) string {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)]
}

// endsIn says whether the last names of a path are those of name, and where they begin.
func (r *Rules) endsIn(path, name string) (start int, ok bool) {
	start = len(path)
	for range strings.Count(name, "/") + 1 {
		start = strings.LastIndexByte(path[:max(start-1, 0)], '/') + 1
		if start == 0 {
			return 0, false
		}
	}
	end, ok := r.nameAt(path, start, name)
	return start, ok && end == len(path)
}

func (r *Rules) mandatory(path string) (mandatoryHit, bool) { return r.mandatoryBelow(path, "") }

// mandatoryBelow finds the first mandatory name in a path. base is one more writable root, or "".
func (r *Rules) mandatoryBelow(path, base string) (mandatoryHit, bool) {
	for start := 1; start < len(path); start = nextName(path, start) {
		if path[start] != '.' { // as every mandatory name begins; a test holds the table to it
			continue
		}
		for i := range mandatories {
			m := &mandatories[i]
			end, ok := r.nameAt(path, start, m.Name)
			if !ok || m.isSample(path, end) || slices.Contains(r.lifted, m.Name) {
				continue
			}
			if m.Depth0 && !r.startsAtRoot(path, start, end, base) {
				continue
			}
			return mandatoryHit{m, end}, true
		}
	}
	return mandatoryHit{}, false
}

// nextName is where the name after the one at start begins, or past the end.
func nextName(path string, start int) int {
	if i := strings.IndexByte(path[start:], '/'); i >= 0 {
		return start + i + 1
	}
	return len(path)
}

// nameAt says whether the names of a path from start on are those of name, whole, and where they end.
func (r *Rules) nameAt(path string, start int, name string) (end int, ok bool) {
	first, last, deep := strings.Cut(name, anyDepth)
	end, ok = r.namesAt(path, start, first)
	if !deep || !ok {
		return end, ok
	}
	for at := nextName(path, start); at < len(path); at = nextName(path, at) {
		if at <= end+1 {
			continue // a directory must lie between
		}
		if lastEnd, ok := r.namesAt(path, at, last); ok {
			return lastEnd, true
		}
	}
	return 0, false
}

func (r *Rules) namesAt(path string, start int, name string) (end int, ok bool) {
	for want := range strings.SplitSeq(name, "/") {
		if start >= len(path) {
			return 0, false
		}
		next := nextName(path, start)
		end = next
		if next < len(path) {
			end = next - 1
		}
		have := path[start:end]
		if have != want && (!r.platform.foldsMandatory() || !strings.EqualFold(have, want)) {
			return 0, false
		}
		start = next
	}
	return end, true
}

// isSample says whether the path is a sample directly inside the name that ends at end.
func (m *Mandatory) isSample(path string, end int) bool {
	if m.Samples == "" || end >= len(path) {
		return false
	}
	rest := path[end+1:]
	ending := rest[max(0, len(rest)-len(m.Samples)):]
	return !strings.Contains(rest, "/") && strings.EqualFold(ending, m.Samples)
}

// startsAtRoot says whether a name that stands at start..end begins directly in a writable root, or at the end of one:
// naming ".git" or ".ssh" itself in allowWrite lifts nothing.
func (r *Rules) startsAtRoot(path string, start, end int, base string) bool {
	for at := start; ; at = nextName(path, at) {
		dir := root(path[:max(at-1, 0)])
		if at >= end {
			dir = path[:end]
		}
		if dir == base || r.isWritableRoot(dir) {
			return true
		}
		if at >= end {
			return false
		}
	}
}
