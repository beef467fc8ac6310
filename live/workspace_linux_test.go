package live

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
	"sallyport/policy"
	"sallyport/shell"
)

// deskFiles are the files of a workspace in which everything is that the rules know: mandatory names in several places
// and cases, repositories under several names, names that patterns match.
var deskFiles = []string{
	"f", "a/f", "a/b/f", "a/b/c/f", "a/x.secret", "a/b/y.secret", "a/b/z.lock", "d/f", "d/e/f", "d/e/g/h/f",
	".bashrc", "a/.BashRC", "d/e/g/.mcp.json", "d/.vscode/tasks.json", "d/.gitmodules",
	"a/.git/HEAD", "a/.git/objects/x", "a/.git/refs/x", "a/.git/hooks/pre-commit", "a/.git/config", "a/tools/hook", "a/tools/other",
	"bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/update", "bare/config", "bare/description",
	"half/hooks/update", "half/objects/x", "half/f",
	"plain/hooks/update", "plain/config",
}

// deskNew are names that are not there.
var deskNew = []string{
	"new", "a/new", "a/b/new.secret", "a/b/new.lock", "d/e/g/h/.bashrc", "d/.BASHRC", "d/.mcp.json", "d/e/.zshrc", ".gitconfig",
	"a/.git/hooks/new", "a/.git/config.worktree", "a/.git/new", "a/.GIT", "d/.git", "a/tools/new", "a/named/hook",
	"bare/hooks/new", "bare/config.worktree", "bare/new", "half/HEAD", "half/refs", "half/hooks/new", "plain/HEAD", "plain/hooks/new",
	"d/.vscode/new", "nowhere/new",
}

var deskLinks = map[string]string{"to-a": "a", "a/to-f": "f", "d/out": "../../outside", "d/none": "nowhere"}

// makeDesk makes the tree, with a configuration that leads git to a script in it and to a directory that is not there.
func makeDesk(f *field) {
	for _, name := range deskFiles {
		text := "f"
		if name == "a/.git/config" {
			text = "[core]\n\thooksPath = named\n\tfsmonitor = tools/hook\n"
		}
		f.write(filepath.Join(f.ws, name), text)
	}
	for name, to := range deskLinks {
		require.NoError(f.t, os.Symlink(to, filepath.Join(f.ws, name)))
	}
}

// deskOperations is everything that is done in it.
func deskOperations(f *field) (all []operation) {
	require.NoError(f.t, filepath.WalkDir(f.ws, func(path string, d iofs.DirEntry, err error) error {
		require.NoError(f.t, err)
		switch {
		case d.IsDir():
			all = append(all, operation{"list", path})
		case d.Type().IsRegular():
			all = append(all, operation{"read", path}, operation{"write", path})
		}
		return nil
	}))
	for _, name := range deskNew {
		all = append(all, operation{"create", filepath.Join(f.ws, name)})
	}
	return all
}

// deskPolicy picks a few paths and patterns for each list.
func deskPolicy(rng *rand.Rand, root string) policy.Policy {
	plain := func() string {
		path := deskFiles[rng.IntN(len(deskFiles))]
		for range rng.IntN(3) {
			path = filepath.Dir(path)
		}
		return filepath.Join(root, path)
	}
	patterns := []string{"/**/*.secret", "/a/*", "/**/f", "/*/e/**", "/a/b/?", "/**/[h-j]*", "/d/**/*.json"}
	pick := func(most, odds int) (entries []policy.PathEntry) {
		for range rng.IntN(most + 1) {
			path := plain()
			if odds > 0 && rng.IntN(odds) == 0 {
				path = root + patterns[rng.IntN(len(patterns))]
			}
			entries = append(entries, policy.PathEntry{Path: path})
		}
		return entries
	}
	p := policy.Policy{Filesystem: policy.Filesystem{
		AllowRead: pick(1, 0), DenyRead: pick(2, 3), AllowWrite: pick(2, 4), DenyWrite: pick(2, 3), AllowGitConfig: rng.IntN(4) == 0,
	}}
	if rng.IntN(2) == 0 {
		p.Filesystem.AllowWrite = policy.Paths(root)
	}
	return p
}

// TestEvaluatorAgreesWithChild: for generated policies, what a workspace lets be read, listed, saved and made is what a really
// confined child can do with every path of a tree: neither more nor less (R52, R230, D2). Pure names, patterns, case, repositories
// under any name, what a configuration of git leads to, and names that do not exist yet are all in it.
func TestEvaluatorAgreesWithChild(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		makeDesk(f)
		policies := uint64(60)
		if testing.Short() {
			policies = 10
		}
		count := map[string]int{}
		for seed := range policies {
			p := deskPolicy(rand.New(rand.NewPCG(seed, 52)), f.ws)
			agree(t, f, fmt.Sprintf("seed %d: %+v", seed, p.Filesystem), p, count)
		}
		t.Log(count)
		for _, verb := range []string{"read", "list", "write", "create"} {
			require.Greater(t, count[verb+" true"], int(policies), "too little was allowed to tell anything")
			require.Greater(t, count[verb+" false"], int(policies)/2, "too little was refused to tell anything")
		}
		require.Less(t, count["policy refused"], int(policies)/2)
	})
}

// agree compares both for one policy.
func agree(t *testing.T, f *field, what string, p policy.Policy, count map[string]int) {
	t.Helper()
	box, err := shell.Open(t.Context(), p, shell.Options{})
	if shell.CodeOf(err) == shell.CodeInvalidConfig || shell.CodeOf(err) == shell.CodeUnsupportedEnv {
		count["policy refused"]++ // it says something that cannot be enforced
		return
	}
	require.NoError(t, explain(err), what)
	defer func() { require.NoError(t, box.Close()) }()
	w, err := fs.OpenWorkspace(f.ws, fs.Options{Rules: box, WriteRoot: "/"})
	require.NoError(t, err)
	defer w.Close()

	all := deskOperations(f)
	done := operateConfined(t, box, all)
	for i, op := range all {
		rel, err := filepath.Rel(f.ws, op.path)
		require.NoError(t, err)
		can := onDesk(t, f, w, op, rel)
		require.Equal(t, strings.HasPrefix(done[i], "true "), can == nil, "the child: %s\nthe workspace: %v (%v)\n%s", done[i], can, cause(can), what)
		count[fmt.Sprint(op.verb, " ", can == nil)]++
	}
	for name := range deskLinks { // refused in any case (R291): a child may follow them, and is judged where they lead
		_, err := w.Stat(name)
		require.ErrorIs(t, err, fs.ErrNotFound, name)
		_, err = w.Save(name, strings.NewReader("f"))
		require.Error(t, err, name)
	}
	omits(t, f, w, box, what)
}

// operateConfined has all operations done by one child.
func operateConfined(t *testing.T, box *shell.Sandbox, all []operation) []string {
	t.Helper()
	var in strings.Builder
	for _, op := range all {
		fmt.Fprintf(&in, "%s %q\n", op.verb, op.path)
	}
	cmd := command(t, box, "/", attacker(), "operate")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	require.NoError(t, explain(err))
	done := lines(out)
	require.Len(t, done, len(all)+1, "%s", out)
	require.Equal(t, "done", done[len(all)])
	return done
}

// onDesk does one operation through the workspace.
func onDesk(t *testing.T, f *field, w *fs.Workspace, op operation, rel string) error {
	t.Helper()
	var err error
	switch op.verb {
	case "read":
		_, err = w.ReadFile(rel, 1<<20)
	case "list":
		_, err = w.List(rel, 1000)
	case "write", "create":
		text := []byte(nil)
		if op.verb == "write" {
			text, err = os.ReadFile(op.path)
			require.NoError(t, err)
		}
		_, err = w.Save(rel, strings.NewReader(string(text)))
		if op.verb == "create" && err == nil {
			require.NoError(t, os.Remove(op.path))
		}
	}
	return err
}

// TestWorkspaceWithoutOpenat2: where the kernel has no call that resolves a path beneath a directory, nothing is read by another
// way (L5). In a jail there is none; the same file is read there by its name.
func TestWorkspaceWithoutOpenat2(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		path := filepath.Join(f.ws, "f")
		f.write(path, "f")
		box := open(t, f.writable(), shell.Options{})
		done := operateConfined(t, box, []operation{{"read", path}, {"read-beneath", path}})
		require.True(t, strings.HasPrefix(done[0], "true "), done[0])
		require.True(t, strings.HasPrefix(done[1], "false "), done[1])
		require.Contains(t, done[1], "function not implemented")
	})
}

// omits says that a walk tells every name that a child can read or list, and no other (R232, R234).
func omits(t *testing.T, f *field, w *fs.Workspace, box *shell.Sandbox, what string) {
	t.Helper()
	var told []string
	_, err := w.Walk(t.Context(), "/", 20, func(e fs.Entry) error {
		if e.Type != fs.TypeLink {
			told = append(told, filepath.Join(f.ws, e.Name))
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotFound) {
		return // the root itself is denied; that both say so was compared above
	}
	require.NoError(t, err, what)
	var looks []operation
	for _, op := range deskOperations(f) {
		if op.verb == "read" || op.verb == "list" && op.path != f.ws {
			looks = append(looks, op)
		}
	}
	hidden := "" // a directory that is denied: what is allowed again below it can be had by name and is not listed
	for i, line := range operateConfined(t, box, looks)[:len(looks)] {
		path := looks[i].path
		if hidden != "" && strings.HasPrefix(path, hidden+"/") {
			require.NotContains(t, told, path, what)
			continue
		}
		can := strings.HasPrefix(line, "true ")
		require.Equal(t, can, slices.Contains(told, path), "%s\n%s", line, what)
		if !can {
			hidden = path
		}
	}
}

// cause is what the host hears of a refusal.
func cause(err error) string {
	var e *fs.Error
	if !errors.As(err, &e) || e.Decision == nil {
		return ""
	}
	return e.Decision.Reason
}
