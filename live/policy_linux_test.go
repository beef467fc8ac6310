package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// tryPaths runs one shell command in a sandbox that tries to read and to write each path, and gives what was allowed, a
// line "r path" or "w path" each. Nothing is created or truncated.
func tryPaths(t *testing.T, box *shell.Sandbox, dir string, paths ...string) map[string]bool {
	t.Helper()
	const script = `for p in "$@"; do
		(exec <"$p") 2>/dev/null && echo "r $p"
		if [ -d "$p" ]; then (: >"$p/.probe") 2>/dev/null && rm "$p/.probe" && echo "w $p"
		else (exec >>"$p") 2>/dev/null && echo "w $p"; fi
	done; exit 0`
	code, out := runIn(t, box, dir, "sh", append([]string{"-c", script, "sh"}, paths...)...)
	require.Equal(t, 0, code)
	allowed := map[string]bool{}
	for _, line := range strings.Split(out, "\n") {
		allowed[line] = true
	}
	return allowed
}

// examplePolicy is the reference's example, about the directory of a test instead of /workspace.
const examplePolicy = `{
  "filesystem": {
    "allowRead": ["/workspace"],
    "allowWrite": ["/workspace/out"],
    "denyRead": ["/workspace/.env", "/workspace/.git/hooks"],
    "denyWrite": ["/workspace/.git/hooks"],
    "gitSafeDirectories": ["/workspace"]
  },
  "network": { "allowedDomains": ["api.example.test"] }
}`

// TestExamplePolicy: the example decodes and is enforced as written (R30, R33).
func TestExamplePolicy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		for _, name := range []string{"a", ".env", "out/x", ".git/hooks/pre-commit"} {
			f.write(filepath.Join(f.ws, name), "text")
		}
		p, err := policy.Parse([]byte(strings.ReplaceAll(examplePolicy, "/workspace", f.ws)))
		require.NoError(t, err)
		box := open(t, p, shell.Options{})
		allowed := tryPaths(t, box, f.ws,
			f.ws+"/a", f.ws+"/.env", f.ws+"/out/x", f.ws+"/.git/hooks/pre-commit")
		require.Equal(t, map[string]bool{"r " + f.ws + "/a": true, "r " + f.ws + "/out/x": true, "w " + f.ws + "/out/x": true, "": true}, allowed)

		for host, reached := range map[string]bool{"api.example.test": true, "other.example.test": false, "evil.test": false} {
			ok, out, err := fetch(t.Context(), box, "http://"+host+"/")
			require.NoError(t, err)
			require.Equal(t, reached, ok, "%s: %s", host, out)
		}
	})
}

// TestReadAndWriteRules: reads are allowed unless denied, and the most specific rule decides; writes are denied unless
// allowed, and a deny inside wins (R31-R35, R37, R57).
func TestReadAndWriteRules(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		for _, name := range []string{"D/ok/x", "D/other", "D/ok/again/x", "open", "w/x", "w/kept/x", "literal", "LITERAL"} {
			f.write(filepath.Join(f.dir, name), "text")
		}
		at := func(name string) string { return filepath.Join(f.dir, name) }
		p := policy.Policy{Filesystem: policy.Filesystem{
			DenyRead:   policy.Paths(at("D"), at("D/ok/again"), at("literal")),
			AllowRead:  policy.Paths(at("D/ok")),
			AllowWrite: policy.Paths(at("w")),
			DenyWrite:  policy.Paths(at("w/kept")),
		}}
		allowed := tryPaths(t, open(t, p, shell.Options{}), "/", at("D/ok/x"), at("D/other"), at("D/ok/again/x"), at("open"),
			at("w/x"), at("w/kept/x"), at("literal"), at("LITERAL"), "/etc/passwd", "/dev/null")
		var want []string
		for _, line := range []string{"r D/ok/x", "r open", "r w/x", "w w/x", "r w/kept/x", "r LITERAL"} {
			want = append(want, strings.Replace(line, " ", " "+f.dir+"/", 1))
		}
		want = append(want, "r /etc/passwd", "r /dev/null", "w /dev/null", "")
		require.Equal(t, set(want), allowed)
	})
}

func set(list []string) map[string]bool {
	m := map[string]bool{}
	for _, s := range list {
		m[s] = true
	}
	return m
}

// TestFilesystemDisabled: without file rules everything is as the user has it, and every other layer stays (R38).
func TestFilesystemDisabled(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		box := open(t, policy.Policy{Filesystem: policy.Filesystem{Disabled: true}}, shell.Options{})
		require.True(t, tryPaths(t, box, f.ws, f.secret)["w "+f.secret])
		found := attackIn(t, box, f.ws, nil, "inspect-self")
		require.Equal(t, refused, found.verdict, found.detail)
		found = attackIn(t, box, f.ws, nil, "reach-host-by-tcp", tcpServer(f)...)
		require.Equal(t, refused, found.verdict, found.detail)
	})
}

// TestDeniedFileBySpelling: a denied file stays denied whatever way a program or a shell takes to it: the kernel
// decides, not a reader of command lines (R8; process case 39).
func TestDeniedFileBySpelling(t *testing.T) {
	spellings := map[string]string{
		"plain":              `cat "$S"`,
		"dots":               `cat "$D/../outside/./secret"`,
		"relative":           `cat ../outside/secret`,
		"link":               `ln -s "$S" here; cat here`,
		"chain of links":     `ln -s "$D" d1; ln -s d1 d2; cat d2/secret`,
		"substitution":       `echo "$(cat "$S")"`,
		"process":            `sh -c "sh -c 'cat \"$S\"'"`,
		"background":         `cat "$S" & wait`,
		"environment":        `env X=1 cat "$S"`,
		"another cat":        `/proc/self/root/usr/bin/cat "$S"`,
		"the loader":         `for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do [ -e $l ] && $l /bin/cat "$S"; done`,
		"copy":               `cp "$S" copy && cat copy`,
		"archive":            `tar -cf - -C / "${S#/}"`,
		"redirection":        `read -r line <"$S" && echo "$line"`,
		"descriptor":         `exec 5<"$S"; cat <&5`,
		"hard link":          `ln "$S" hard && cat hard`,
		"git":                `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=include.path GIT_CONFIG_VALUE_0="$S" git config --list`,
		"shell option":       `BASH_ENV="$S" bash -c : ; ENV="$S" sh -i -c :`,
		"upper directory":    `cd / && cat ".$S"`,
		"/dev/fd":            `cat /dev/fd/5 5<"$S"`,
		"name with newlines": "cat \"$(printf '%s' \"$S\")\"",
	}
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		p := f.writable()
		p.Filesystem.DenyRead = policy.Paths(f.secret)
		box := open(t, p, shell.Options{})
		control := open(t, f.writable(), shell.Options{})
		for name, script := range spellings {
			cmd := command(t, box, f.ws, "sh", "-c", script)
			cmd.Env = []string{"S=" + f.secret, "D=" + f.outside}
			out, err := cmd.CombinedOutput()
			require.NoError(t, explain(err))
			require.NotContains(t, string(out), trimmed(secretText), name)
			require.Empty(t, f.touched(), name)
			clear(t, f.ws)
		}
		// Without the rule the first spelling reads it.
		cmd := command(t, control, f.ws, "cat", f.secret)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, secretText, string(out))
	})
}

// clear empties a directory.
func clear(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
}

// TestDenyThroughSymlink: a rule whose path is or holds a symbolic link starts and denies the file itself, under every
// name; a link planted where reading is allowed opens nothing (process case 9; conformance 31, 33; R66).
func TestDenyThroughSymlink(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		require.NoError(t, os.Symlink(f.outside, f.dir+"/link"))
		require.NoError(t, os.Mkdir(f.dir+"/allowed", 0o755))
		require.NoError(t, os.Symlink(f.secret, f.dir+"/allowed/planted"))
		p := f.writable()
		p.Filesystem.DenyRead = policy.Paths(f.dir + "/link/secret")
		p.Filesystem.AllowRead = policy.Paths(f.dir + "/allowed")
		allowed := tryPaths(t, open(t, p, shell.Options{}), f.ws, f.secret, f.dir+"/link/secret", f.dir+"/allowed/planted", f.dir+"/allowed")
		require.Equal(t, set([]string{"r " + f.dir + "/allowed", ""}), allowed)
	})
}

// TestRulesThatCannotHold are refused when the sandbox is opened, and nothing runs (R22, R138; process cases 3, 7).
func TestRulesThatCannotHold(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		require.NoError(t, os.Link(f.secret, f.ws+"/alias"))
		rows := map[string]policy.Filesystem{
			"relative":                {AllowWrite: policy.Paths("ws")},
			"only dots":               {AllowWrite: policy.Paths("..")},
			"NUL":                     {AllowWrite: policy.Paths(f.ws + "\x00")},
			"empty":                   {AllowWrite: policy.Paths("")},
			"absent":                  {AllowWrite: policy.Paths(f.ws + "/absent")},
			"absent, for reading":     {AllowRead: policy.Paths(f.ws + "/absent")},
			"the command's own /proc": {AllowWrite: policy.Paths("/proc/sys")},
			"hard link":               {DenyRead: policy.Paths(f.secret)},
		}
		for name, rules := range rows {
			_, err := shell.Open(context.Background(), policy.Policy{Filesystem: rules}, shell.Options{})
			require.ErrorIs(t, err, &shell.Error{Code: shell.CodeInvalidConfig}, name)
		}
		open(t, policy.Policy{Filesystem: policy.Filesystem{
			AllowWrite: []policy.PathEntry{{Path: f.ws + "/absent", Optional: true}}}}, shell.Options{})

		box := open(t, f.writable(), shell.Options{})
		for _, dir := range []string{"..", "ws", "./", f.ws + "\x00", f.ws + "/absent"} {
			cmd := command(t, box, dir, "true")
			require.ErrorIs(t, cmd.Start(), &shell.Error{Code: shell.CodeInvalidConfig}, dir)
		}
	})
}

// TestDirectoryOfTheCommand: a directory that the caller names with dots or through a link is just where the command
// starts; it widens nothing (process case 7, R160).
func TestDirectoryOfTheCommand(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		require.NoError(t, os.Symlink("/", f.ws+"/root"))
		box := open(t, f.writable(), shell.Options{})
		for _, dir := range []string{"/", f.ws + "/../..", f.ws + "/root", f.ws + "/../outside"} {
			code, out := runIn(t, box, dir, "sh", "-c", `pwd -P; (: >probe) 2>/dev/null && echo written; exit 0`)
			require.Equal(t, 0, code)
			real, err := filepath.EvalSymlinks(dir)
			require.NoError(t, err)
			require.Equal(t, real+"\n", out, dir)
		}
		require.Empty(t, f.touched())
	})
}

// TestSwapWhileSettingUp: a directory on the way to a mount is replaced by a link out between opening and the command,
// and while commands are set up: nothing is mounted or made elsewhere (process cases 10, 11).
func TestSwapWhileSettingUp(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		f.write(f.ws+"/a/b/w/x", "")
		f.write(f.outside+"/b/w/x", "as it was")
		p := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(f.ws + "/a/b/w")}}
		box := open(t, p, shell.Options{})
		swap := func() {
			require.NoError(t, os.Rename(f.ws+"/a", f.ws+"/a.away"))
			require.NoError(t, os.Symlink(f.outside, f.ws+"/a"))
		}
		swap()
		before := tree(t, f.dir)
		for range 20 {
			cmd := command(t, box, "/", "sh", "-c", fmt.Sprintf("echo changed >%s/b/w/x; echo made >%s/b/w/new", f.outside, f.outside))
			if err := cmd.Run(); err != nil {
				require.ErrorIs(t, err, &shell.Error{Code: shell.CodeFailed})
			}
		}
		require.Equal(t, before, tree(t, f.dir))
		b, err := os.ReadFile(f.outside + "/b/w/x")
		require.NoError(t, err)
		require.Equal(t, "as it was", string(b))
	})
}

// TestTwoSandboxesInOneDirectory: one that ends lifts nothing of the other, and each command has the rules of its own
// sandbox alone (R133-R137; conformance 47).
func TestTwoSandboxesInOneDirectory(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		f.write(f.ws+"/.git/hooks/x", "")
		f.write(f.dir+"/other/x", "")
		first, err := shell.Open(context.Background(), f.writable(), shell.Options{})
		require.NoError(t, err)
		second := open(t, f.writable(), shell.Options{})
		other := open(t, policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(f.dir + "/other")}}, shell.Options{})
		hook, there := f.ws+"/.git/hooks/x", f.dir+"/other/x"
		require.False(t, tryPaths(t, first, f.ws, hook)["w "+hook])
		require.NoError(t, first.Close())
		require.False(t, tryPaths(t, second, f.ws, hook)["w "+hook])
		require.False(t, tryPaths(t, second, f.ws, there)["w "+there])
		require.True(t, tryPaths(t, other, f.ws, there)["w "+there])
		require.False(t, tryPaths(t, other, f.ws, f.ws)["w "+f.ws])
		require.True(t, tryPaths(t, second, f.ws, f.ws)["w "+f.ws])
	})
}

// TestRulesAgreeWithChild: what the compiled rules say of a path is what a command finds, for reading and for writing
// (R52).
func TestRulesAgreeWithChild(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		names := []string{"plain", "deep/a/b/c", "kept/x", "kept/deep/x", "secret/x", "secret/open/x", "secret/open/not/x"}
		var paths []string
		for _, name := range names {
			f.write(filepath.Join(f.ws, name), "")
			paths = append(paths, filepath.Join(f.ws, name))
		}
		paths = append(append(paths, nearNames(f.ws)...), farNames(f.ws)...)
		for _, p := range paths[len(names):] {
			f.write(p, "")
		}
		paths = append(paths, f.secret, "/etc/passwd", "/usr/bin/env", "/dev/null", "/dev/zero")
		p := f.writable()
		p.Filesystem.DenyWrite = policy.Paths(f.ws + "/kept")
		p.Filesystem.DenyRead = policy.Paths(f.ws+"/secret", f.ws+"/secret/open/not")
		p.Filesystem.AllowRead = policy.Paths(f.ws + "/secret/open")
		box := open(t, p, shell.Options{})
		allowed := tryPaths(t, box, f.ws, paths...)
		for _, path := range paths {
			require.Equal(t, box.Rules().Read(path).Allowed, allowed["r "+path], "read %s: %+v", path, box.Rules().Read(path))
			require.Equal(t, box.Rules().Write(path).Allowed, allowed["w "+path], "write %s: %+v", path, box.Rules().Write(path))
		}
	})
}
