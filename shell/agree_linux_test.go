package shell_test

import (
	"bufio"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// tree is a small tree with one file in every directory, and some of the mandatory names.
var tree = []string{
	"f", "a/f", "a/b/f", "a/b/c/f", "a/d/f", "e/f", "e/g/f", "e/g/h/f", "e/g/i/f",
	"a/.bashrc", "e/.git/hooks/pre-commit", "e/.git/config", "e/g/.vscode/tasks.json",
}

// links are symbolic links in it.
var links = map[string]string{"to-b": "a/b", "e/to-f": "../a/f", "a/up": ".."}

// grow makes the tree and lists the real paths in it.
func grow(t *testing.T, root string) []string {
	t.Helper()
	for _, name := range tree {
		write(t, filepath.Join(root, name), "f", 0o644)
	}
	for name, to := range links {
		require.NoError(t, os.Symlink(to, filepath.Join(root, name)))
	}
	var paths []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d iofs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.Type()&iofs.ModeSymlink == 0 {
			paths = append(paths, path)
		}
		return nil
	}))
	return paths
}

// randomPolicy picks a few paths of the tree, or links to them, for each list.
func randomPolicy(rng *rand.Rand, root string, paths []string) policy.Policy {
	pick := func(most int) []policy.PathEntry {
		var entries []policy.PathEntry
		for range rng.IntN(most + 1) {
			path := paths[rng.IntN(len(paths))]
			if rng.IntN(10) == 0 {
				names := []string{"to-b", "e/to-f", "a/up", "to-b/c", "a/up/e"}
				path = filepath.Join(root, names[rng.IntN(len(names))])
			}
			entries = append(entries, policy.PathEntry{Path: path})
		}
		return entries
	}
	return policy.Policy{Filesystem: policy.Filesystem{
		AllowRead: pick(2), DenyRead: pick(3), AllowWrite: pick(3), DenyWrite: pick(2),
		AllowGitConfig: rng.IntN(4) == 0,
	}}
}

// refusedForLink says that a policy was refused because an entry of it names a path through a link that a command could
// replace. That is an answer about this policy; about any other error the test must hear.
func refusedForLink(t *testing.T, err error, p policy.Policy) bool {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "symbolic link") {
		return false
	}
	code(t, err, shell.CodeInvalidConfig)
	all := slices.Concat(p.Filesystem.AllowRead, p.Filesystem.DenyRead, p.Filesystem.AllowWrite, p.Filesystem.DenyWrite)
	require.True(t, slices.ContainsFunc(all, func(e policy.PathEntry) bool {
		real, evalErr := filepath.EvalSymlinks(e.Path)
		return evalErr == nil && real != e.Path
	}), "no entry is a link: %v", err)
	return true
}

// TestEvaluatorAgreesWithChild: for a hundred random policies over a small tree, what the rules say of every path is what
// a command can do, looked at from the host: neither more nor less (R30, R32-R36, R49, R52, R66).
func TestEvaluatorAgreesWithChild(t *testing.T) {
	for name, root := range map[string]string{"visible": visible(t), "in a private directory": workspace(t)} {
		t.Run(name, func(t *testing.T) {
			paths := grow(t, root)
			var reads, writes, refusals int
			for seed := range uint64(50 / slowness) {
				p := randomPolicy(rand.New(rand.NewPCG(seed, 0)), root, paths)
				r, w, n := agree(t, fmt.Sprintf("seed %d: %+v", seed, p.Filesystem), p, paths)
				reads, writes, refusals = reads+r, writes+w, refusals+n
			}
			t.Logf("%d reads and %d writes were allowed, %d refused", reads, writes, refusals)
			for _, n := range []int{reads, writes, refusals} {
				require.Greater(t, n, 50/slowness)
			}
		})
	}
}

// agree compares rules and child for one policy.
func agree(t *testing.T, what string, p policy.Policy, paths []string) (reads, writes, refusals int) {
	t.Helper()
	shown, exe := withChild(t, p)
	box, err := shell.Open(t.Context(), shown, shell.Options{})
	if refusedForLink(t, err, p) {
		return 0, 0, 0
	}
	require.NoError(t, err, what)
	defer closeSoon(t, box)
	cmd := child(t, box, exe, "probe")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\n") + "\n")
	lines := bufio.NewScanner(strings.NewReader(output(t, cmd)))
	for _, path := range paths {
		require.True(t, lines.Scan())
		read := box.Rules().Read(path)
		if read.Rule.List == policy.ListPrivate && isDir(t, path) {
			continue // the command may have made itself a directory of that name in its own one
		}
		require.Equal(t, read.Allowed, strings.HasPrefix(lines.Text(), "true "), "reading %s\n%+v\n%s\n%s", path, read, what, lines.Text())
		asked, changed := path, written(t, path)
		if isDir(t, path) {
			asked = filepath.Join(path, probeName)
		}
		write := box.Rules().Write(asked)
		// In a private directory the rules speak of the command's own files, which never reach the host.
		want := write.Allowed && write.Rule.List != policy.ListPrivate
		require.Equal(t, want, changed, "writing %s\n%+v\n%s\n%s", asked, write, what, lines.Text())
		switch {
		case want:
			writes++
		case !read.Allowed:
			refusals++
		default:
			refusals++
			reads++
		}
	}
	require.True(t, lines.Scan())
	require.Equal(t, "done", lines.Text())
	return reads, writes, refusals
}

func isDir(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.IsDir()
}

// written says whether the probe changed a file or left one in a directory, and puts it right again.
func written(t *testing.T, path string) bool {
	t.Helper()
	if isDir(t, path) {
		return os.Remove(filepath.Join(path, probeName)) == nil
	}
	info, err := os.Lstat(path)
	require.NoError(t, err)
	if info.Size() == 1 {
		return false
	}
	require.NoError(t, os.WriteFile(path, []byte("f"), 0o644))
	return true
}

// snapshot is everything about a tree that a command could change.
func snapshot(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d iofs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		all = append(all, fmt.Sprintf("%s %v %d %v", path, info.Mode(), info.Size(), d.IsDir() || info.ModTime().Unix() > 1000))
		return nil
	}))
	return all
}

// TestDeniedStaysAsItIs: what the rules do not let a command write, it cannot truncate, chmod, touch, mark, link, rename,
// replace or remove either, for random policies; and none of its own that it may write can be moved so that what is
// denied gets another name.
func TestDeniedStaysAsItIs(t *testing.T) {
	root := visible(t)
	paths := grow(t, root)
	before := snapshot(t, root)
	for seed := range uint64(40 / slowness) {
		p, exe := withChild(t, randomPolicy(rand.New(rand.NewPCG(seed, 1)), root, paths))
		box, err := shell.Open(t.Context(), p, shell.Options{})
		if refusedForLink(t, err, p) {
			continue
		}
		require.NoError(t, err)
		what := fmt.Sprintf("seed %d: %+v", seed, p.Filesystem)
		// Deepest first, so that removing a directory is not refused for being full alone.
		var targets []string
		for _, path := range slices.Backward(paths) {
			below := func(denied string) bool { return strings.HasPrefix(denied+"/", path+"/") }
			_, leads := box.Rules().MandatoryComponent(path)
			kept := slices.ContainsFunc(paths, func(d string) bool {
				// A mandatory name moves along with the directories above it and stays protected.
				w := box.Rules().Write(d)
				return below(d) && !w.Allowed && (w.Rule.List != policy.ListMandatory || d == path || leads)
			})
			if kept { // it or something in it must stay
				targets = append(targets, path)
			}
		}
		cmd := child(t, box, exe, "vandal")
		cmd.Stdin = strings.NewReader(strings.Join(targets, "\n") + "\n")
		out := output(t, cmd)
		for line := range strings.Lines(strings.TrimSuffix(out, "done\n")) {
			// What may itself be written may be changed in itself. It must keep its name.
			verb, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			require.Contains(t, []string{"chmod", "utimes", "setxattr"}, verb, "%s\n%s", out, what)
			require.True(t, box.Rules().Write(path).Allowed, "%s\n%s", line, what)
		}
		for _, path := range targets {
			mode := os.FileMode(0o644)
			if isDir(t, path) {
				mode = 0o755
			}
			require.NoError(t, os.Chmod(path, mode))
		}
		closeSoon(t, box)
		require.Equal(t, before, snapshot(t, root), what)
	}
}
