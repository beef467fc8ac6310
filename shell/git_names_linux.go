package shell

import (
	"io"
	"os"
	"path/filepath"
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

// maxGitConfig is the longest git configuration that is looked into.
const maxGitConfig = 1 << 20

// configured are the files and directories that a git configuration makes git run or read: core.hooksPath, relative to
// the working tree, and the path of an include, relative to the file.
func configured(config string) []string {
	var out []string
	section := ""
	for _, line := range strings.Split(readOwned(config, maxGitConfig), "\n") {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "["); ok {
			head, line, _ = strings.Cut(head, "]")
			section, _, _ = strings.Cut(strings.ToLower(head), " ")
			line = strings.TrimSpace(line)
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		base := ""
		switch key = strings.ToLower(strings.TrimSpace(key)); {
		case section == "core" && key == "hookspath":
			base = filepath.Dir(filepath.Dir(config))
		case (section == "include" || section == "includeif") && key == "path":
			base = filepath.Dir(config)
		default:
			continue
		}
		if !filepath.IsAbs(value) {
			value = filepath.Join(base, value)
		}
		if real, err := filepath.EvalSymlinks(value); err == nil {
			out = append(append(out, real), linksOn(value)...)
		}
	}
	return out
}
