package shell

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// git acts on more than its mandatory names: a configuration leads it to other directories and files. What it leads to
// when a sandbox is opened is protected as well.

// readOwned reads the beginning of a file that a command may have made: huge, or a FIFO in place of a file.
func readOwned(file string, most int64) string {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil || int64(len(b)) > most {
		return ""
	}
	return string(b)
}

// gitDir is where the file ".git" of a worktree or submodule leads, or "".
func gitDir(file string) string {
	dir, ok := strings.CutPrefix(strings.TrimSpace(readOwned(file, maxPath)), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return real
}

// isWorktreeLink says whether a path is one of the files by which a git directory leads to another: git takes hooks and
// configuration from there. Those of new worktrees are made by git itself, so the name is not a mandatory one.
func isWorktreeLink(rel string) bool {
	dir, name := filepath.Split(rel)
	return (name == "commondir" || name == "gitdir") && strings.Contains("/"+dir, "/.git/") && strings.Contains(dir, "/worktrees/")
}

// gitConfigs follows what the git directory at a ".git" leads to: the configurations that git reads for the working tree
// in dir, wherever they are, and what they name inside of writable trees. absent are the directories of hooks and the configurations that they name and that
// are nowhere yet.
func gitConfigs(dotGit string) (found, absent []string) {
	work, git := filepath.Dir(dotGit), dotGit
	if real, err := filepath.EvalSymlinks(dotGit); err == nil {
		git = real
	}
	if info, err := os.Lstat(git); err == nil && info.Mode().IsRegular() {
		git = gitDir(git)
	}
	common := git
	if dir := strings.TrimSpace(readOwned(filepath.Join(git, "commondir"), maxPath)); dir != "" {
		common = dir
		if !filepath.IsAbs(dir) {
			common = filepath.Join(git, dir)
		}
	}
	c := &gitConfig{work: work, git: common, seen: map[string]bool{}}
	c.read(filepath.Join(common, "config"))
	c.read(filepath.Join(git, "config.worktree"))
	return c.found, c.absent
}

// gitConfig collects the existing files and directories that a configuration names.
type gitConfig struct {
	work, git string
	seen      map[string]bool
	found     []string
	absent    []string
}

// Bounds on what is followed: a configuration is the command's to write when allowGitConfig lets it.
const (
	maxGitConfig  = 1 << 20
	maxGitConfigs = 100
	maxAbsent     = 100
)

// dataKeys hold addresses, names, and places that git only moves data to and from; core.worktree is the tree itself.
var dataKeys = []string{"url", "pushurl", "fetch", "push", "merge", "remote", "rebase", "name", "email", "worktree", "active", "branch", "insteadof", "pushinsteadof"}

// pathKeys have a path as their value, with or without a slash in it.
var pathKeys = []string{"hookspath", "attributesfile", "templatedir"}

// read looks at every value with something in it that could be a path or a script, rather than at a list of keys that
// git adds to: hooks paths, includes, file system monitors, filters, aliases. It does not follow git's grammar to the
// letter but takes every reading of a value at once, and errs on the side of protecting too much.
func (c *gitConfig) read(file string) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if c.seen[file] || len(c.seen) >= maxGitConfigs {
		return
	}
	c.seen[file] = true
	text := strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(readOwned(file, maxGitConfig))
	section := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "["); ok {
			head, line, _ = strings.Cut(head, "]")
			section = strings.ToLower(strings.FieldsFunc(head+" ", func(r rune) bool { return r == ' ' || r == '.' || r == '"' })[0])
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		include := strings.HasPrefix(section, "include") && key == "path"
		if !ok || slices.Contains(dataKeys, key) {
			continue
		}
		if include || slices.Contains(pathKeys, key) {
			for _, reading := range readings(value) {
				c.follow(reading, filepath.Dir(file), include, true)
			}
		}
		quoted := strings.FieldsFunc(value, func(r rune) bool { return r == '"' || r == '\'' }) // a name with a blank in it
		for _, word := range append(strings.FieldsFunc(value, isShellPunctuation), quoted...) {
			c.follow(strings.TrimPrefix(strings.TrimPrefix(word, "$PWD/"), "${PWD}/"), filepath.Dir(file), false, false)
		}
	}
}

// isShellPunctuation says whether a rune ends a word in a command.
func isShellPunctuation(r rune) bool { return strings.ContainsRune(" \t\r\"'`;#&|()<>!=\\", r) }

// readings are the paths that a value can stand for, with and without what may be a comment.
func readings(value string) []string {
	plain := strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\t`, "\t", `\n`, "\n", `\b`, "\b", `"`, "").Replace(value)
	out := []string{strings.TrimSpace(plain)}
	for i, r := range plain {
		if r == '#' || r == ';' {
			out = append(out, strings.TrimSpace(plain[:i]))
		}
	}
	return out
}

// follow looks for what a word names, from each directory that git may take it relative to. known says that it is a path.
func (c *gitConfig) follow(word, dir string, include, known bool) {
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(word, "~/") {
		word = filepath.Join(home, word[2:])
	}
	nowhere := len(c.found)
	defer func() {
		if known && word != "" && len(c.found) == nowhere {
			c.missing(word, dir)
		}
	}()
	for _, base := range []string{dir, c.work, c.git} {
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		real, err := filepath.EvalSymlinks(path)
		if word == "" || err != nil || real == c.git || below(c.work, real) {
			continue // absent, or the tree itself and what is around it
		}
		if info, err := os.Stat(real); !known && !strings.Contains(word, "/") && (err != nil || !info.Mode().IsRegular()) {
			continue // a bare word of a command is a script at most
		}
		c.found = append(append(c.found, real), linksOn(path)...)
		if include {
			c.read(real)
		}
	}
}

// missing notes where a path that is nowhere would be. What cannot be looked at, or is the tree itself, is not among it.
func (c *gitConfig) missing(word, dir string) {
	for _, base := range []string{dir, c.work, c.git} {
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) || len(c.absent) >= maxAbsent || below(c.work, path) {
			continue
		}
		c.absent = append(c.absent, realOfAbsent(path))
	}
}

// realOfAbsent resolves the nearest directory above a path that exists.
func realOfAbsent(path string) string {
	rest := ""
	for dir := path; dir != "/"; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
	return path
}
