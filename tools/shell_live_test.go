//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// sandbox opens a sandbox whose commands may write a directory, or skips, aloud, where none can be opened (R304, R308).
func sandbox(t testing.TB, p policy.Policy) *shell.Sandbox {
	t.Helper()
	box, err := shell.Open(t.Context(), p, shell.Options{})
	if err != nil {
		if os.Getenv("SALLYPORT_LIVE") == "require" {
			t.Fatalf("no command can be confined here: %v", err)
		}
		t.Skipf("SKIPPED: no command can be confined here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, box.Close()) })
	return box
}

// confined makes a registry whose commands may write the workspace, and read it although it is in /tmp.
func confined(t testing.TB, contents map[string]string, change func(*policy.Policy, *Options)) (*Registry, *memory, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	files(t, dir, contents)
	p := policy.Policy{Filesystem: policy.Filesystem{AllowRead: policy.Paths(dir), AllowWrite: policy.Paths(dir)}}
	o := Options{Gate: approve, Workspace: dir, WriteRoot: ".", Trust: Untrusted}
	if change != nil {
		change(&p, &o)
	}
	box := sandbox(t, p)
	o.Rules, o.Commands = box, box
	r, err := New(o)
	require.NoError(t, err)
	store := &memory{}
	r.keepIn(store)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, store, dir
}

// run runs one line.
func run(t testing.TB, r *Registry, line string, more map[string]any) (Result, error) {
	t.Helper()
	fields := map[string]any{"command": line}
	for k, v := range more {
		fields[k] = v
	}
	return r.Call(t.Context(), RunShellCommand, args(t, fields))
}

// printed runs a line and gives what is in its artifact.
func printed(t testing.TB, r *Registry, store *memory, line string, more map[string]any) (string, Result) {
	t.Helper()
	res, err := run(t, r, line, more)
	require.NoError(t, err, line)
	return store.made[res.ID].text(), res
}

// TestShellLine: the line reaches one shell as it is: pipes, quotes and redirections work (R201, D12).
func TestShellLine(t *testing.T) {
	r, store, dir := confined(t, nil, nil)
	text, res := printed(t, r, store, `printf 'a b\n' | tr a c > o; cat "o"; X='$Y "z"'; echo "$X"`, nil)
	require.Equal(t, "c b\n$Y \"z\"\n", text)
	require.Empty(t, res.Notes, "exit 0 adds no line (R204)")
	require.Equal(t, Kernel, res.Tier)
	require.Equal(t, "full", res.Report.Tier)
	b, err := os.ReadFile(filepath.Join(dir, "o"))
	require.NoError(t, err)
	require.Equal(t, "c b\n", string(b))
}

// TestMergedOrder: both streams are one artifact, in the order in which they were written (R202).
func TestMergedOrder(t *testing.T) {
	r, store, _ := confined(t, nil, nil)
	text, _ := printed(t, r, store, `for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done`, nil)
	require.Equal(t, "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n", text)
}

// TestStreaming: what a command writes is in the artifact while it runs (R203).
func TestStreaming(t *testing.T) {
	r, store, dir := confined(t, nil, nil)
	done := make(chan error, 1)
	go func() {
		_, err := r.Call(t.Context(), RunShellCommand, json.RawMessage(`{"command":"echo first; until [ -e go ]; do sleep 0.01; done; echo last"}`))
		done <- err
	}()
	require.Eventually(t, func() bool {
		store.mu.Lock()
		defer store.mu.Unlock()
		for _, k := range store.made {
			return k.text() == "first\n"
		}
		return false
	}, 20*time.Second, time.Millisecond)
	require.Empty(t, done)
	files(t, dir, map[string]string{"go": ""})
	require.NoError(t, <-done)
}

// TestExitLine: a status is a last line of the artifact and a note, and no error; so is a signal (R190, R204).
func TestExitLine(t *testing.T) {
	r, store, _ := confined(t, nil, nil)
	text, res := printed(t, r, store, "printf out; exit 7", nil)
	require.Equal(t, "out\n[sallyport] The command exited with status 7. Read its output to see why.\n", text)
	require.Equal(t, []string{"The command exited with status 7. Read its output to see why."}, res.Notes)
	require.Equal(t, 7, res.Exit.ExitCode)
	text, _ = printed(t, r, store, "echo out", nil)
	require.Equal(t, "out\n", text)
	text, res = printed(t, r, store, "kill -9 $$", nil)
	require.Equal(t, "[sallyport] The command was ended by SIGKILL. Read its output, and see whether it met a limit.\n", text)
	require.Equal(t, "SIGKILL", res.Exit.Signal)
}

// TestTimeoutLine: a time limit ends the command with everything it started, keeps what it wrote, and is the last line; there is no line
// about a status (R205, R206).
func TestTimeoutLine(t *testing.T) {
	r, store, dir := confined(t, nil, nil)
	text, res := printed(t, r, store, `echo a; (setsid sh -c 'exec 2>/dev/null; while :; do date >>beat; sleep 0.02; done' &); sleep 60`, map[string]any{"timeout_seconds": 1})
	require.Equal(t, "a\n[sallyport] Stopped after 1 seconds, with everything it had started; the result is not complete. Set timeout_seconds higher, or do less at a time.\n", text)
	require.True(t, res.Exit.TimedOut)
	before, err := os.ReadFile(filepath.Join(dir, "beat"))
	require.NoError(t, err)
	require.NotEmpty(t, before)
	require.Never(t, func() bool {
		after, err := os.ReadFile(filepath.Join(dir, "beat"))
		return err != nil || len(after) != len(before)
	}, 300*time.Millisecond, 20*time.Millisecond, "nothing of it runs on")
}

// TestInlineDenial: what was denied is told in the artifact and beside it, also when the command made nothing of it; it names no path of
// the host, and what the command itself printed is not touched (R207, R208, R286).
func TestInlineDenial(t *testing.T) {
	r, store, dir := confined(t, map[string]string{"secret/key": "k", "x/": ""}, func(p *policy.Policy, o *Options) {
		p.Filesystem.DenyRead = policy.Paths(o.Workspace + "/secret")
		p.Filesystem.DenyWrite = policy.Paths(o.Workspace + "/x")
	})
	text, res := printed(t, r, store, `pwd; touch x/new; touch /etc/new; touch .bashrc; exit 0`, nil)
	require.Contains(t, text, dir+"\n", "its own output")
	ours := text[strings.Index(text, "[sallyport]"):]
	require.NotContains(t, ours, dir)
	require.NotContains(t, ours, "/etc")
	require.Contains(t, ours, "Observed while it ran")
	require.Contains(t, ours, "tried to create x/new")
	require.Contains(t, ours, "a path outside the workspace")
	require.Contains(t, ours, ".bashrc protects")
	require.NotContains(t, ours, "exited with status")
	require.Len(t, res.Violations, 3)
	require.Len(t, res.Notes, 3)
	require.NotContains(t, ours, "[object", "R297, D5")
}

// TestManyDenials: of many denials the first are told, and how many more there are; the host gets all.
func TestManyDenials(t *testing.T) {
	r, _, _ := confined(t, nil, nil)
	res, err := run(t, r, "for i in $(seq 50); do : >/etc/sallyport-none-$i; done", nil)
	require.NoError(t, err)
	require.Len(t, res.Violations, 50)
	require.Len(t, res.Notes, mostDenials+2)
	require.Contains(t, res.Notes[mostDenials], "30 more denials like these")
}

// TestShellCwd: the directory is a path of the workspace, ” is its root, and one that is refused starts nothing (R209, R210).
func TestShellCwd(t *testing.T) {
	r, store, dir := confined(t, map[string]string{"sub/f": "", "out": ""}, nil)
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "link")))
	for cwd, want := range map[string]string{"": "", "/": "", "sub": "/sub", "/sub/": "/sub", "sub/../sub/.": "/sub"} {
		text, _ := printed(t, r, store, "pwd", map[string]any{"cwd": cwd})
		require.Equal(t, dir+want+"\n", text, cwd)
	}
	text, _ := printed(t, r, store, "pwd", nil)
	require.Equal(t, dir+"\n", text)
	for cwd, want := range map[string]Outcome{
		"../..": PathRejected, "~": PathRejected, "//s/x": PathRejected, "C:/": PathRejected, "a\x00b": PathRejected,
		"none": NotFound, "sub/f": NotADirectory, "link": NotFound,
	} {
		_, err := run(t, r, "echo ran >>out", map[string]any{"cwd": cwd})
		require.ErrorIs(t, err, &Error{Code: CodeRefused, Outcome: want}, cwd)
		require.NotContains(t, err.Error(), dir)
	}
	b, err := os.ReadFile(filepath.Join(dir, "out"))
	require.NoError(t, err)
	require.Empty(t, b, "nothing ran")
}

// TestAllowedCommandsRun: with a list, the words of a line are executed as they are, and no shell reads them (R212).
func TestAllowedCommandsRun(t *testing.T) {
	r, store, dir := confined(t, map[string]string{"a b": ""}, func(_ *policy.Policy, o *Options) { o.Shell.AllowedCommands = []string{"ls", "printf"} })
	text, _ := printed(t, r, store, `ls "a b"`, nil)
	require.Equal(t, "a b\n", text)
	text, _ = printed(t, r, store, `printf '%s;' '$HOME' "x y"`, nil)
	require.Equal(t, "$HOME;x y;", text)
	for _, line := range []string{"ls; touch ran", "touch ran", "ls $(touch ran)", "ls\ntouch ran"} {
		_, err := run(t, r, line, nil)
		require.ErrorIs(t, err, &Error{Code: CodeRefused, Outcome: GateDeclined}, line)
	}
	require.NoFileExists(t, filepath.Join(dir, "ran"))
}

// TestShellEnvOption: the option adds variables, and nothing else of ours is in the environment of a command (R215, D13).
func TestShellEnvOption(t *testing.T) {
	t.Setenv("SALLYPORT_SECRET", "s")
	r, store, _ := confined(t, nil, func(_ *policy.Policy, o *Options) { o.Shell.Env = []string{"EXTRA=$HOME x"} })
	text, _ := printed(t, r, store, "env", nil)
	require.Contains(t, text, "EXTRA=$HOME x\n")
	require.NotContains(t, text, "SALLYPORT_SECRET")
}

// TestGitFlow: the shell is where git is (R211).
func TestGitFlow(t *testing.T) {
	r, store, _ := confined(t, map[string]string{"w/f": "1\n"}, func(p *policy.Policy, o *Options) {
		p.Filesystem.AllowGitConfig = true
		p.Filesystem.GitSafeDirectories = []string{o.Workspace + "/w"}
		o.Shell.Env = []string{"HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	})
	text, res := printed(t, r, store, `set -e; git init -q . 2>/dev/null; git -c user.name=a -c user.email=a@example.test add f
git -c user.name=a -c user.email=a@example.test commit -qm one; echo 2 >>f; git status --short; git diff --stat; git log --format=%s; git checkout -q f; git status --short`, map[string]any{"cwd": "w"})
	require.Equal(t, 0, res.Exit.ExitCode, text)
	require.Contains(t, text, " M f\n")
	require.Contains(t, text, "\none\n")
}

// TestManyCommands: commands of two registries at once keep to their own workspace and output.
func TestManyCommands(t *testing.T) {
	one, storeOne, dirOne := confined(t, map[string]string{"f": "one"}, nil)
	two, storeTwo, dirTwo := confined(t, map[string]string{"f": "two"}, nil)
	var failed atomic.Value
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			r, store, other, want := one, storeOne, dirTwo, "one"
			if i%2 == 1 {
				r, store, other, want = two, storeTwo, dirOne, "two"
			}
			res, err := r.Call(context.Background(), RunShellCommand, json.RawMessage(`{"command":"cat f; touch `+other+`/stolen 2>/dev/null; cat `+other+`/f 2>/dev/null; :"}`))
			if err != nil {
				failed.Store(err.Error())
				return
			}
			store.mu.Lock()
			k := store.made[res.ID]
			store.mu.Unlock()
			if text, _, _ := strings.Cut(k.text(), "\n"); text != want+"[sallyport]" && !strings.HasPrefix(text, want) || strings.Contains(k.text(), other) {
				failed.Store(fmt.Sprintf("%q", k.text()))
			}
		}()
	}
	for range 8 {
		<-done
	}
	require.Nil(t, failed.Load())
	require.NoFileExists(t, filepath.Join(dirOne, "stolen"))
	require.NoFileExists(t, filepath.Join(dirTwo, "stolen"))
}

// TestExamplePolicy: the example policy of the requirements, by the tools: what lies inside of an allowed directory and is denied stays denied, for
// the file tools as for the shell (R30, D3).
func TestExamplePolicy(t *testing.T) {
	r, store, dir := confined(t, map[string]string{"a": "a", ".env": "secret", ".git/hooks/x": "hook", "out/": ""}, func(p *policy.Policy, o *Options) {
		p.Filesystem.AllowWrite = policy.Paths(o.Workspace + "/out")
		p.Filesystem.DenyRead = policy.Paths(o.Workspace+"/.env", o.Workspace+"/.git/hooks")
		p.Filesystem.DenyWrite = policy.Paths(o.Workspace + "/.git/hooks")
		p.Filesystem.GitSafeDirectories = []string{o.Workspace}
	})
	_, err := callPath(t, r, OpenFile, "a")
	require.NoError(t, err)
	for _, path := range []string{".env", ".git/hooks/x"} {
		_, err = callPath(t, r, OpenFile, path)
		require.ErrorIs(t, err, &Error{Outcome: DeniedByPolicy}, path)
		text, res := printed(t, r, store, "cat "+path, nil)
		require.NotContains(t, text, "secret\n")
		require.NotEqual(t, 0, res.Exit.ExitCode)
	}
	id := staged(t, r, "a")
	_, err = save(t, r, id, "out/x")
	require.NoError(t, err)
	for _, path := range []string{"b", ".git/hooks/y"} {
		_, err = save(t, r, id, path)
		require.ErrorIs(t, err, &Error{Code: CodeRefused}, path)
		require.NoFileExists(t, filepath.Join(dir, path))
	}
	lines, _ := listing(t, r, store, map[string]any{"path": ""})
	require.NotContains(t, strings.Join(lines, ""), ".env")
}

// TestMonitorOnByDefault: a sandbox and tools made without any option but the needed ones tell of a denial (R294, D14).
func TestMonitorOnByDefault(t *testing.T) {
	r, _, _ := confined(t, nil, nil)
	res, err := run(t, r, "touch /etc/sallyport-none", nil)
	require.NoError(t, err)
	require.NotEmpty(t, res.Violations)
	require.Contains(t, res.Model(), "a path outside the workspace")
}
