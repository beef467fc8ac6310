package shell_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
	"sallyport/shell/internal/jail"
)

// planned gives the mounts of a policy, one a line: kind, path below root, and in brackets the mount points made in it.
// The private directories, which every plan has, are left out when nothing is made in them.
func planned(t *testing.T, p policy.Policy, root string) []string {
	t.Helper()
	plan, err := shell.PlannedFor(t.Context(), p, shell.Options{})
	require.NoError(t, err)
	lines := []string{plan.Root + points(plan.Points)}
	for _, op := range plan.Ops {
		path := string(op.Path)
		if strings.HasPrefix(path, root) || len(op.Points) > 0 && op.Kind != jail.Dev {
			lines = append(lines, string(op.Kind)+" "+strings.TrimPrefix(path, root)+strings.ReplaceAll(points(op.Points), strings.TrimPrefix(root, "/tmp/"), ""))
		}
	}
	return lines
}

func points(list []jail.Point) string {
	if len(list) == 0 {
		return ""
	}
	var names []string
	for _, p := range list {
		name := string(p.Rel)
		if p.Dir {
			name += "/"
		}
		if len(p.Link) > 0 {
			name += "->" + string(p.Link)
		}
		names = append(names, name)
	}
	return " [" + strings.Join(names, " ") + "]"
}

// TestPlan: which mounts a policy comes to, in which order, and what is made to hold them.
func TestPlan(t *testing.T) {
	root := visible(t)
	grow(t, root)
	at := func(names ...string) []policy.PathEntry {
		var entries []policy.PathEntry
		for _, n := range names {
			entries = append(entries, policy.PathEntry{Path: root + n})
		}
		return entries
	}
	for _, tc := range []struct {
		name string
		p    policy.Filesystem
		want []string
	}{
		{"nothing", policy.Filesystem{}, []string{"read-only"}},
		{"deny a file", policy.Filesystem{DenyRead: at("/f")}, []string{"read-only", "cover /f"}},
		{"deny what lies in a denied one", policy.Filesystem{DenyRead: at("/a", "/a/b", "/a/b/f")}, []string{"read-only", "cover /a"}},
		{"allow inside deny", policy.Filesystem{DenyRead: at("/a"), AllowRead: at("/a/b/c")},
			[]string{"read-only", "cover /a [b/c/]", "back /a/b/c"}},
		{"allow a file inside deny", policy.Filesystem{DenyRead: at("/a"), AllowRead: at("/a/b/f")},
			[]string{"read-only", "cover /a [b/f]", "back /a/b/f"}},
		{"deny inside allow inside deny", policy.Filesystem{DenyRead: at("/a", "/a/b/c"), AllowRead: at("/a/b")},
			[]string{"read-only", "cover /a [b/]", "back /a/b", "cover /a/b/c"}},
		{"allow inside deny inside allow inside deny", policy.Filesystem{DenyRead: at("/a", "/a/b/c"), AllowRead: at("/a/b", "/a/b/c/f")},
			[]string{"read-only", "cover /a [b/]", "back /a/b", "cover /a/b/c [f]", "back /a/b/c/f"}},
		{"allow where nothing is denied", policy.Filesystem{AllowRead: at("/a", "/a/b")}, []string{"read-only"}},
		{"a link names what it leads to", policy.Filesystem{DenyRead: at("/to-b")}, []string{"read-only", "cover /a/b"}},
		{"a link inside deny stays a name", policy.Filesystem{DenyRead: at(""), AllowRead: at("/to-b")},
			[]string{"read-only", "cover  [a/b/ to-b->a/b]", "back /a/b"}},

		{"write", policy.Filesystem{AllowWrite: at("/a/b")}, []string{"read-only", "writable /a/b"}},
		{"write a file", policy.Filesystem{AllowWrite: at("/f")}, []string{"read-only", "writable /f"}},
		{"write twice", policy.Filesystem{AllowWrite: at("/a/b", "/a/b", "/a/b/c")}, []string{"read-only", "writable /a/b", "writable /a/b/c"}},
		{"deny write inside", policy.Filesystem{AllowWrite: at("/a/b"), DenyWrite: at("/a/b/c/f")},
			[]string{"read-only", "writable /a/b", "pin /a/b/c", "read-only /a/b/c/f"}},
		{"deny write wins", policy.Filesystem{AllowWrite: at("/a/b/c"), DenyWrite: at("/a/b")}, []string{"read-only"}},
		{"deny write outside", policy.Filesystem{DenyWrite: at("/a/b")}, []string{"read-only"}},
		{"mandatory names", policy.Filesystem{AllowWrite: at("")},
			[]string{"read-only", "writable ", "read-only /a/.bashrc", "pin /e/.git", "read-only /e/.git/config", "read-only /e/.git/hooks",
				"read-only /e/g/.vscode"}}, // besides being decided by name; only what may not be moved anyway is pinned
		{"write inside deny", policy.Filesystem{DenyRead: at("/a"), AllowRead: at("/a/b"), AllowWrite: at("/a/b/c")},
			[]string{"read-only", "cover /a [b/]", "back /a/b", "writable /a/b/c"}},
		{"a secret in a writable tree", policy.Filesystem{AllowWrite: at("/a"), AllowMandatory: []string{".bashrc"}, DenyRead: at("/a/b/c/f")},
			[]string{"read-only", "writable /a", "pin /a/b", "pin /a/b/c", "cover /a/b/c/f"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, planned(t, policy.Policy{Filesystem: tc.p}, root))
		})
	}
}

// TestPlanInsidePrivate: a path of the host's inside a directory that commands have of their own is shown there alone.
func TestPlanInsidePrivate(t *testing.T) {
	root := workspace(t)
	grow(t, root)
	p := policy.Policy{Filesystem: policy.Filesystem{
		AllowRead: policy.Paths(root+"/a/d/f", root+"/to-b/c"), AllowWrite: policy.Paths(root + "/e/g/h"),
		DenyRead: policy.Paths(root + "/e/g/i"), DenyWrite: policy.Paths(root + "/f"),
	}}
	require.Equal(t, []string{
		"read-only", "tmp /tmp [/a/b/c/ /a/d/f /e/g/h/]", "back /a/b/c", "back /a/d/f", "writable /e/g/h",
	}, planned(t, p, root))
}

// TestPlanOfRoot: "/" itself can be denied, allowed to be written, or left without rules.
func TestPlanOfRoot(t *testing.T) {
	covered, err := shell.PlannedFor(t.Context(), policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths("/"), AllowRead: policy.Paths("/usr")}}, shell.Options{})
	require.NoError(t, err)
	require.Equal(t, jail.RootCovered, covered.Root)
	require.Contains(t, points(covered.Points), "usr/")
	require.Contains(t, points(covered.Points), "proc/")
	require.Contains(t, points(covered.Points), "dev/")

	disabled, err := shell.PlannedFor(t.Context(), policy.Policy{Filesystem: policy.Filesystem{Disabled: true}}, shell.Options{})
	require.NoError(t, err)
	require.Equal(t, jail.RootWritable, disabled.Root)
	for _, op := range disabled.Ops {
		require.NotContains(t, []string{"/tmp", "/var/tmp"}, string(op.Path), "the host's own is visible")
	}
	require.Equal(t, jail.NetworkNone, disabled.Network, "files and network are switched off apart from each other")
}

// TestPlanProperties: for three hundred random policies the mounts are in order, none is repeated, each has a place, and
// what they come to, by a simulation, is what the rules say.
func TestPlanProperties(t *testing.T) {
	for _, root := range []string{visible(t), workspace(t)} {
		paths := grow(t, root)
		for seed := range uint64(150 / slowness) {
			p := randomPolicy(rand.New(rand.NewPCG(seed, 2)), root, paths)
			what := fmt.Sprintf("seed %d: %+v", seed, p.Filesystem)
			plan, err := shell.PlannedFor(t.Context(), p, shell.Options{})
			if refusedForLink(t, err, p) {
				continue
			}
			require.NoError(t, err, what)
			orderly(t, plan, what)
			rules, err := shell.Compile(p)
			require.NoError(t, err)
			for _, path := range paths {
				readable, writable := simulate(plan, path)
				read, write := rules.Read(path), rules.Write(path)
				if read.Allowed != readable {
					require.Fail(t, "the plan is not the policy", "reading %s\n%s\n%v", path, what, planned(t, p, root))
				}
				if write.Rule.List == policy.ListMandatory {
					continue // decided by name
				}
				if writable != (write.Allowed && write.Rule.List != policy.ListPrivate) {
					require.Fail(t, "the plan is not the policy", "writing %s\n%s\n%v", path, what, planned(t, p, root))
				}
			}
		}
	}
}

// hides says that nothing of the host's is left in a mount of this kind.
func hides(k jail.Kind) bool {
	return k == jail.Proc || k == jail.Dev || k == jail.Tmp || k == jail.Cover
}

// orderly asserts that a mount comes before those inside it, that none is repeated, and that what is mounted in a
// private or covered directory has a mount point there.
func orderly(t *testing.T, plan jail.Plan, what string) {
	t.Helper()
	for i, op := range plan.Ops {
		path, inner := string(op.Path), -1
		for j, other := range plan.Ops {
			outer := string(other.Path)
			if strings.HasPrefix(path, outer+"/") {
				require.Less(t, j, i, "%s is mounted before %s\n%s", path, outer, what)
				inner = j
			}
			require.False(t, i != j && outer == path && op.Kind == other.Kind, "%s twice\n%s", path, what)
		}
		if inner < 0 || !hides(plan.Ops[inner].Kind) {
			continue
		}
		rel := strings.TrimPrefix(path, string(plan.Ops[inner].Path)+"/")
		found := slices.ContainsFunc(plan.Ops[inner].Points, func(p jail.Point) bool { return string(p.Rel) == rel && p.Dir == op.Dir })
		require.True(t, found || strings.HasPrefix(path, "/dev/"), "%s has no place in %s\n%s", path, plan.Ops[inner].Path, what)
	}
}

// simulate walks the mounts outermost first and says what a command could do with the host's file at a path.
func simulate(plan jail.Plan, path string) (readable, writable bool) {
	readable, writable = plan.Root != jail.RootCovered, plan.Root == jail.RootWritable
	for _, op := range plan.Ops {
		at := string(op.Path)
		if path != at && !strings.HasPrefix(path, at+"/") {
			continue
		}
		switch op.Kind {
		case jail.Proc, jail.Dev, jail.Tmp, jail.Cover:
			readable, writable = false, false
		case jail.Back:
			readable, writable = true, false
		case jail.Writable:
			readable, writable = true, true
		case jail.ReadOnly:
			writable = false
		}
	}
	return readable, writable
}

// TestPlanOddNames: paths with odd names are covered like others.
func TestPlanOddNames(t *testing.T) {
	root := visible(t)
	var entries []policy.PathEntry
	for _, name := range []string{"with space", "new\nline", `quote"'`, "ü", "back\\slash", strings.Repeat("n", 255)} {
		write(t, filepath.Join(root, name, "secret"), "x", 0o644)
		entries = append(entries, policy.PathEntry{Path: filepath.Join(root, name, "secret")})
	}
	box := open(t, policy.Policy{Filesystem: policy.Filesystem{DenyRead: entries}}, shell.Options{})
	for _, e := range entries {
		cmd := command(t, box, "cat", e.Path)
		require.NoError(t, cmd.Run())
		require.NotEqual(t, 0, cmd.Completion.ExitCode, "%q is denied", e.Path)
		require.Empty(t, output(t, command(t, box, "ls", "-d", filepath.Dir(e.Path)))[len(filepath.Dir(e.Path))+1:])
	}
	_, err := os.Stat(entries[0].Path)
	require.NoError(t, err)
}
