package seek

import (
	"bufio"
	"errors"
	iofs "io/fs"
	"os"
	"path"
	"strings"
)

// ignoreNames are the ignore files, the most important kind first. A kind comes before the next one whatever the directory: a
// .ignore in the root before a .gitignore further down.
var ignoreNames = [...]string{".rgignore", ".ignore", ".gitignore"}

const gitKind = 2 // of ignoreNames

// maxIgnoreFile bounds one ignore file, in bytes. What is longer is not read to its end.
const maxIgnoreFile = 4 << 20

// level is one directory on the way to a file, with what its ignore files say.
type level struct {
	up    *level
	dir   string // absolute
	rules [len(ignoreNames)][]rule
	git   bool // it is the root of a repository
	inGit bool // it or a directory above it is
}

// newLevel reads the ignore files of a directory, of which these names may be there.
func (s *search) newLevel(up *level, dir string, there func(name string) bool) *level {
	l := &level{up: up, dir: dir, inGit: up != nil && up.inGit}
	for kind, name := range ignoreNames {
		if !there(name) {
			continue
		}
		rules, err := readRules(path.Join(dir, name))
		if err != nil && !errors.Is(err, iofs.ErrNotExist) {
			s.complain(err)
		}
		l.rules[kind] = rules
	}
	if there(".git") {
		_, err := os.Stat(path.Join(dir, ".git"))
		l.git = err == nil
		l.inGit = l.inGit || l.git
	}
	return l
}

// levelsAbove are the levels of all directories above one: what is said there holds in it.
func (s *search) levelsAbove(dir string) *level {
	above := path.Dir(dir)
	if above == dir {
		return nil
	}
	return s.newLevel(s.levelsAbove(above), above, func(string) bool { return true })
}

// readRules reads an ignore file. A pipe is not waited for, and anything else that is no file says nothing.
func readRules(file string) ([]rule, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|openWaitless, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	var rules []rule
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxIgnoreFile)
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		if first {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if r, ok := parseRule(line, false, false); ok {
			rules = append(rules, r)
		}
	}
	return rules, lines.Err()
}

// decide is what the ignore files say about a path, deepest first.
func (l *level) decide(abs string, dir bool) verdict {
	if l == nil {
		return nothing
	}
	for kind := range ignoreNames {
		for at := l; at != nil; at = at.up {
			if kind == gitKind && !l.inGit {
				break // without a repository .gitignore means nothing
			}
			if v := decide(at.rules[kind], below(abs, at.dir), dir); v != nothing {
				return v
			}
			if kind == gitKind && at.git {
				break // what is above a repository is not git's
			}
		}
	}
	return nothing
}

// below is an absolute path as seen from a directory above it.
func below(abs, dir string) string {
	return strings.TrimPrefix(strings.TrimPrefix(abs, strings.TrimSuffix(dir, "/")), "/")
}
