package shell_test

import (
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// foreignELF is the head of a program for a machine that nobody has: e_machine is 0xfefe.
const foreignELF = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xfe\xfe\x01\x00\x00\x00" +
	"\x00\x00\x40\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x38\x00"

// TestCannotExecute: what cannot be executed is a typed error that says which kind, nothing runs, and the sandbox goes on
// (R26, R161).
func TestCannotExecute(t *testing.T) {
	dir := workspace(t)
	write(t, filepath.Join(dir, "plain"), "#!/bin/sh\necho no\n", 0o644)
	write(t, filepath.Join(dir, "no-shebang"), "echo no\n", 0o755)
	write(t, filepath.Join(dir, "empty"), "", 0o755)
	write(t, filepath.Join(dir, "foreign"), foreignELF, 0o755)
	write(t, filepath.Join(dir, "no-interpreter"), "#!/no/such/interpreter\n", 0o755)
	write(t, filepath.Join(dir, "sub/good"), "#!/bin/sh\necho good\n", 0o755)
	box := open(t, writable(dir), shell.Options{})
	hidden := filepath.Join(workspace(t), "hidden")
	write(t, hidden, "#!/bin/sh\necho no\n", 0o755)

	for _, tc := range []struct {
		name, command, path string
		want                error
		errno               syscall.Errno
	}{
		{"not in PATH", "no-such-command", "", shell.ErrNotFound, syscall.ENOENT},
		{"PATH is empty", "sh", "PATH=", shell.ErrNotFound, syscall.ENOENT},
		{"empty name", "", "", shell.ErrNotFound, syscall.ENOENT},
		{"no such file", dir + "/absent", "", shell.ErrNotFound, syscall.ENOENT},
		{"file as directory", dir + "/plain/x", "", shell.ErrNotFound, syscall.ENOTDIR},
		{"hidden by the private directory", hidden, "", shell.ErrNotFound, syscall.ENOENT},
		{"no interpreter", dir + "/no-interpreter", "", shell.ErrNotFound, syscall.ENOENT},
		{"no permission", dir + "/plain", "", shell.ErrNotExecutable, syscall.EACCES},
		{"no permission, in PATH", "plain", "PATH=" + dir, shell.ErrNotExecutable, syscall.EACCES},
		{"directory", dir + "/sub", "", shell.ErrNotExecutable, syscall.EACCES},
		{"script without shebang", dir + "/no-shebang", "", shell.ErrNotExecutable, syscall.ENOEXEC},
		{"empty file", dir + "/empty", "", shell.ErrNotExecutable, syscall.ENOEXEC},
		{"another machine's program", dir + "/foreign", "", shell.ErrNotExecutable, syscall.ENOEXEC},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := command(t, box, tc.command)
			if tc.path != "" {
				cmd.Env = []string{tc.path}
			}
			err := cmd.Run()
			e := code(t, err, shell.CodeFailed)
			require.ErrorIs(t, err, tc.want)
			require.ErrorIs(t, err, tc.errno)
			require.Contains(t, e.Error(), strings.TrimPrefix(tc.command, dir))
			require.Nil(t, cmd.Completion)
			require.Empty(t, children(), "the jail of a command that could not be started is gone")
		})
	}
	require.Equal(t, "good\n", output(t, command(t, box, dir+"/sub/good")))
}

// TestHiddenCommandHint: a command that the jail hides is the usual surprise, and the error says what to do.
func TestHiddenCommandHint(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	path := filepath.Join(workspace(t), "tool")
	write(t, path, "#!/bin/sh\n", 0o755)
	e := code(t, command(t, box, path).Run(), shell.CodeFailed)
	require.NotEmpty(t, e.Hints)
	require.Contains(t, strings.Join(e.Hints, "\n"), "/tmp")
}

// TestLookPath: a name without a slash is looked up inside the jail, in the PATH that the command will have; one with a
// slash is relative to the working directory.
func TestLookPath(t *testing.T) {
	dir := workspace(t)
	write(t, filepath.Join(dir, "a/tool"), "#!/bin/sh\necho a\n", 0o755)
	write(t, filepath.Join(dir, "b/tool"), "#!/bin/sh\necho b\n", 0o755)
	write(t, filepath.Join(dir, "c/tool"), "not executable\n", 0o644)
	require.NoError(t, syscall.Mkdir(filepath.Join(dir, "d"), 0o755))
	require.NoError(t, syscall.Mkdir(filepath.Join(dir, "d/tool"), 0o755))
	box := open(t, writable(dir), shell.Options{})
	path := func(dirs ...string) string {
		for i, d := range dirs {
			if d != "" {
				dirs[i] = filepath.Join(dir, d)
			}
		}
		return "PATH=" + strings.Join(dirs, ":") + ":/usr/bin:/bin"
	}
	for _, tc := range []struct{ name, env, want string }{
		{"tool", path("a", "b"), "a\n"},
		{"tool", path("b", "a"), "b\n"},
		{"tool", path("absent", "c", "d", "b"), "b\n"},
		{"tool", path("", "b"), "b\n"}, // an empty entry is the working directory, which has no such file
		{"a/tool", path("b"), "a\n"},
		{"./b/tool", path("a"), "b\n"},
		{"../" + filepath.Base(dir) + "/a/tool", path("b"), "a\n"},
	} {
		t.Run(tc.name+" "+strings.ReplaceAll(tc.env, dir, ""), func(t *testing.T) {
			cmd := command(t, box, tc.name)
			cmd.Dir, cmd.Env = dir, []string{tc.env}
			require.Equal(t, tc.want, output(t, cmd))
		})
	}
	cmd := command(t, box, "tool")
	cmd.Dir, cmd.Env = filepath.Join(dir, "a"), []string{"PATH=:/usr/bin:/bin"}
	require.Equal(t, "a\n", output(t, cmd), "an empty entry of PATH is the working directory")
}

// TestLongNames: names far too long are refused for what they are.
func TestLongNames(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	for _, n := range []int{300, 5_000, 100_000, 1_000_000} {
		cmd := command(t, box, "/"+strings.Repeat("x", n))
		require.ErrorIs(t, cmd.Run(), syscall.ENAMETOOLONG, "a name of %d bytes", n)
		cmd = command(t, box, "true")
		cmd.Dir = "/" + strings.Repeat("x", n)
		e := code(t, cmd.Run(), shell.CodeInvalidConfig)
		require.ErrorIs(t, e, syscall.ENAMETOOLONG, "a directory of %d bytes", n)
	}
}

// TestIgnoredSignalsStayOutside: what the host ignores, or was started ignoring as by nohup, the command does not.
func TestIgnoredSignalsStayOutside(t *testing.T) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGUSR1)
	defer signal.Reset(syscall.SIGHUP, syscall.SIGUSR1)
	box := open(t, policy.Policy{}, shell.Options{})
	require.Equal(t, "SigIgn:\t0000000000000000\n", output(t, script(t, box, "grep SigIgn /proc/self/status")))
}
