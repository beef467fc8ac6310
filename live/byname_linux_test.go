package live

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// nameAttacks are attacks on what is decided by name.
var nameAttacks = []attack{
	{
		name:  "flip-path",
		why:   "the path changes in memory while it is judged (case 38)",
		alone: [][]string{namesAlone},
		after: func(f *field) string {
			if _, err := os.Lstat(f.ws + "/.bashrc"); err == nil {
				return ".bashrc was made"
			}
			return ""
		},
	},
	{
		name:  "shuffle-names",
		why:   "a directory becomes part of a protected name after what is in it was judged (cases 2, 16)",
		alone: [][]string{namesAlone},
		args:  func(*field) []string { return []string{"4000"} },
	},
	{
		name:   "unreadable",
		why:    "a process whose memory cannot be read makes a call that cannot be judged (case 37)",
		alone:  [][]string{namesAlone},
		before: func(f *field) { f.write(f.ws+"/control", "") },
		after: func(f *field) string {
			for _, n := range []string{".bashrc", ".vscode", ".mcp.json"} {
				if _, err := os.Lstat(f.ws + "/" + n); err == nil {
					return n + " was made"
				}
			}
			return ""
		},
	},
	{
		name:  "metadata-by-descriptor",
		why:   "a descriptor for reading changes mode, owner, times and attributes",
		alone: [][]string{namesAlone},
		before: func(f *field) {
			f.write(f.ws+"/.bashrc", "as it was\n")
			f.write(f.ws+"/sub/.git/config", "as it was\n")
		},
		args: func(f *field) []string { return []string{f.ws + "/.bashrc", f.ws + "/sub/.git/config"} },
	},
	{
		name:  "assemble-repository",
		why:   "configuration and hooks are made where git does not look yet, and then git is made to look (case 6)",
		alone: [][]string{namesAlone},
	},
	{
		name:  "moving-repository",
		why:   "a repository is moved while its configuration and hooks are changed (case 16)",
		alone: [][]string{namesAlone},
		before: func(f *field) {
			for _, name := range []string{"HEAD", "config", "objects/x", "refs/x", "hooks/pre-commit"} {
				f.write(f.ws+"/r/"+name, "as it was\n")
			}
		},
	},
	{
		name:   "make-protected-names",
		why:    "denied patterns, and denied paths that do not exist, hold for what appears later (case 8)",
		alone:  [][]string{namesAlone},
		policy: laterDenied,
		args:   func(f *field) []string { return laterNames(f, true) },
		after: func(f *field) string {
			for _, n := range laterNames(f, false) {
				if _, err := os.Lstat(n); err == nil {
					return n + " was made"
				}
			}
			return ""
		},
	},
	{
		name:  "read-by-any-name",
		why:   "a denied pattern holds under every name (case 8)",
		alone: [][]string{namesAlone},
		before: func(f *field) {
			f.write(f.ws+"/.env", secretText)
			f.write(f.ws+"/a/b/c/d/e/.env", secretText)
			f.write(f.ws+"/x/prod.key", secretText)
		},
		policy: func(f *field) policy.Policy {
			p := f.writable()
			p.Filesystem.DenyRead = policy.Paths(f.ws+"/**/.env", f.ws+"/x/*.key")
			return p
		},
		args: func(*field) []string { return []string{".env", "a/b/c/d/e/.env", "x/prod.key"} },
	},
}

// laterDenied denies by pattern, on both axes, and paths that do not exist.
func laterDenied(f *field) policy.Policy {
	p := f.writable()
	p.Filesystem.DenyWrite = policy.Paths(f.ws+"/**/*.lock", f.ws+"/later", f.ws+"/not/there/yet")
	p.Filesystem.DenyRead = policy.Paths(f.ws+"/**/*.key", f.ws+"/hidden")
	return p
}

// laterNames are names that it denies. With dirs the directories that they stand in are made.
func laterNames(f *field, dirs bool) []string {
	names := []string{f.ws + "/a.lock", f.ws + "/1/2/3/4/5/6/a.lock", f.ws + "/later", f.ws + "/not/there/yet",
		f.ws + "/a.key", f.ws + "/1/b.key", f.ws + "/hidden"}
	for _, n := range names {
		if dirs {
			require.NoError(f.t, os.MkdirAll(filepath.Dir(n), 0o755))
		}
	}
	return names
}

// TestNameAttacks runs the table (R49-R51, R55, R63-R65; process cases 2, 8, 16, 37, 38).
func TestNameAttacks(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, a := range nameAttacks {
			a.test(t)
		}
	})
}

// TestFirstProcessIsNoDeputy: nothing of the first process can be opened or changed through the calls that it makes for
// others, whether reads are decided by name or not.
func TestFirstProcessIsNoDeputy(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for name, deny := range map[string][]policy.PathEntry{"reads as mounts have it": nil, "reads by name": policy.Paths("/**/*.nothing")} {
			t.Run(name, func(t *testing.T) {
				f := newField(t)
				p := f.writable()
				p.Filesystem.DenyRead = deny
				found := attackIn(t, open(t, p, shell.Options{}), f.ws, nil, "through-first-process", f.outside)
				require.Equal(t, refused, found.verdict, found.detail)
				require.Empty(t, f.touched())
			})
		}
	})
}

// TestProcessesThatDieWhileTheyWait: a caller that is killed in the middle of a call leaves nothing behind that would hold
// up the others (process case 37).
func TestProcessesThatDieWhileTheyWait(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		code, out := f.run(f.writable(), "sh", "-c", `for i in $(seq 200); do
			(while :; do echo x >f$i; rm f$i; done) 2>/dev/null & kill -9 $!; done
		mkfifo p; (echo never >p) & writer=$!; (echo never >p) & second=$!
		echo fine >control; kill -9 $writer $second; cat control`)
		require.Equal(t, 0, code, out)
		require.Equal(t, "fine\n", out)
	})
}

// TestTwoPoliciesInOneDirectory: each has its own denials, and one that ends takes none of the other's along
// (conformance 47).
func TestTwoPoliciesInOneDirectory(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		p := f.writable()
		p.Filesystem.DenyWrite = policy.Paths(f.ws + "/later")
		first, second := open(t, f.writable(), shell.Options{}), open(t, p, shell.Options{})
		in := command(t, second, f.ws, "sh", "-c", "read x; echo x >.bashrc; echo x >later; echo x >mine; ls -A")
		go_, err := in.StdinPipe()
		require.NoError(t, err)
		out, err := in.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, in.Start())
		code, text := runIn(t, first, f.ws, "sh", "-c", "echo x >.bashrc; echo x >shared; ls -A")
		require.Equal(t, 0, code)
		require.Equal(t, "sh: 1: cannot create .bashrc: Permission denied\nshared\n", text)
		require.NoError(t, first.Close())
		_, err = go_.Write([]byte("\n"))
		require.NoError(t, err)
		listed := make([]byte, 100)
		n, err := out.Read(listed)
		require.NoError(t, err)
		require.Equal(t, "mine\nshared\n", string(listed[:n]))
		require.NoError(t, in.Wait())
		require.Len(t, honest(f, in.Violations()), 2)
	})
}
