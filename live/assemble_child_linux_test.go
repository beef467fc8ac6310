package live

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

func init() { attackers["assemble-repository"] = assembleRepository }

// assembly is a git repository put together out of pieces, in an order that somebody hopes nobody looks at.
type assembly struct {
	what   string
	pieces []string // "name", or "how name"
}

var assemblies = []assembly{
	{"configuration first", []string{"config", "objects/", "refs/", "HEAD"}},
	{"configuration last", []string{"objects/", "refs/", "HEAD", "config"}},
	{"a common directory without HEAD", []string{"config", "refs/", "objects/"}},
	{"a hook first", []string{"hooks/", "hooks/pre-commit", "HEAD", "refs/", "objects/"}},
	{"a hook last", []string{"hooks/", "HEAD", "refs/", "objects/", "hooks/pre-commit"}},
	{"hooks moved in, then completed", []string{"mine/", "mine/pre-commit", "move mine hooks", "refs/", "objects/"}},
	{"configuration moved in, then completed", []string{"mine", "move mine config", "refs/", "objects/"}},
	{"objects moved in", []string{"config", "refs/", "mine/", "move mine objects"}},
	{"objects as a link", []string{"config", "refs/", "mine/", "link mine objects"}},
	{"configuration as a link", []string{"mine", "refs/", "link mine config", "objects/"}},
	{"a link to configuration that comes later", []string{"link later config", "refs/", "objects/", "later"}},
	{"a hard link", []string{"mine", "refs/", "objects/", "hard mine config"}},
	{"exchanged", []string{"mine", "refs/", "objects/", "config.", "move config. config"}},
}

// assembleRepository makes each, in a directory of its own, and a file ".git" that leads there. It got through when git
// would obey what is in it.
func assembleRepository([]string) (finding, error) {
	var all []attempt
	for i, a := range assemblies {
		all = append(all, attempt{a.what, func() error {
			dir := fmt.Sprintf("assembled%d", i)
			err := os.Mkdir(dir, 0o755)
			for _, p := range a.pieces {
				err = errors.Join(err, makePiece(dir, p))
			}
			if obeys(dir) {
				return nil
			}
			return err
		}})
	}
	all = append(all, attempt{"all at once", assembleAtOnce})
	return every(all, fileRefusals...)
}

func makePiece(dir, piece string) error {
	how := strings.Fields(piece)
	at := func(i int) string { return filepath.Join(dir, how[i]) }
	switch {
	case how[0] == "move":
		return os.Rename(at(1), at(2))
	case how[0] == "link":
		return os.Symlink(how[1], at(2))
	case how[0] == "hard":
		return os.Link(at(1), at(2))
	case strings.HasSuffix(piece, "/"):
		return os.Mkdir(at(0), 0o755)
	}
	return os.WriteFile(at(0), []byte("ref: refs/heads/x\n"), 0o755)
}

// obeys says whether git would take configuration or hooks from a directory.
func obeys(dir string) bool {
	has := func(name string) bool { _, err := os.Stat(dir + "/" + name); return err == nil }
	repository := has("objects") && has("refs")
	return repository && (has("config") || has("hooks/pre-commit"))
}

// assembleAtOnce makes the last two pieces at the same time, again and again.
func assembleAtOnce() error {
	var last error
	for i := range 400 {
		dir := fmt.Sprintf("once%d", i)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(dir+"/refs", 0o755)); err != nil {
			return err
		}
		var both sync.WaitGroup
		errs := make([]error, 2)
		pieces := []string{"objects/", "config"}
		rand.Shuffle(2, func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		for n, p := range pieces {
			both.Go(func() { errs[n] = makePiece(dir, p) })
		}
		both.Wait()
		if obeys(dir) {
			return nil
		}
		if last = errors.Join(errs...); last == nil {
			return unix.EIO // neither was refused, and yet it is not there
		}
	}
	return last
}
