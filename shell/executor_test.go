package shell_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// inner is the executor that is wrapped.
type inner struct {
	calls  []shell.BinaryCall
	retain int64
}

func (e *inner) Exec(_ context.Context, call shell.BinaryCall) (shell.BinaryResult, error) {
	e.calls = append(e.calls, call)
	return shell.BinaryResult{Stdout: []byte("outside")}, nil
}

func (e *inner) RetainBytes() int64 { return e.retain }

// executor wraps an inner one in a session of a fake's.
func executor(t testing.TB, f *fake, in *inner, o shell.ExecutorOptions, strict bool) (*shell.Executor, *watcher) {
	t.Helper()
	m, w := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f, StrictMode: strict})
	e, err := s.Executor(in, o)
	require.NoError(t, err)
	return e, w
}

// program is an executable of no known name.
func program(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

const elf = "\x7fELF and so on"

// TestWrapUnwrap: the wrapper runs programs in the session, and gives the inner executor back (R263); a non-zero exit is data
// (R264); words arrive as words, and a NUL is refused (R268).
func TestWrapUnwrap(t *testing.T) {
	f := &fake{caps: able, body: func(_ context.Context, c *shell.Cmd) (shell.Completion, error) {
		_, err := c.Stdout.Write([]byte(c.Args[2]))
		return shell.Completion{ExitCode: 9, Failed: true}, err
	}}
	in := &inner{}
	e, _ := executor(t, f, in, shell.ExecutorOptions{}, false)
	r, err := e.Exec(t.Context(), shell.BinaryCall{Name: "identify", Args: []string{"-x", "a b; $(id) \"'"}})
	require.NoError(t, err)
	require.Equal(t, 9, r.ExitCode)
	require.True(t, r.Failed)
	require.Equal(t, "a b; $(id) \"'", string(r.Stdout))
	require.Empty(t, in.calls)
	require.Same(t, in, e.Inner())
	_, err = e.Exec(t.Context(), shell.BinaryCall{Name: "identify", Args: []string{"-x", "a\x00b"}})
	require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(err), "%v", err)
	require.Equal(t, 1, f.count("start"))
}

// TestRetentionInherited: as much of the output is kept as the inner executor would keep, and no more (R265).
func TestRetentionInherited(t *testing.T) {
	f := &fake{caps: able, body: func(_ context.Context, c *shell.Cmd) (shell.Completion, error) {
		for range 10 {
			if _, err := c.Stdout.Write(bytes.Repeat([]byte("x"), 30)); err != nil {
				return shell.Completion{}, err
			}
		}
		_, err := c.Stderr.Write([]byte("short"))
		return shell.Completion{}, err
	}}
	e, _ := executor(t, f, &inner{retain: 100}, shell.ExecutorOptions{}, false)
	require.EqualValues(t, 100, e.RetainBytes())
	r, err := e.Exec(t.Context(), shell.BinaryCall{Name: "convert"})
	require.NoError(t, err)
	require.Len(t, r.Stdout, 100)
	require.Equal(t, "short", string(r.Stderr))
	require.True(t, r.Truncated)
	all, _ := executor(t, f, &inner{}, shell.ExecutorOptions{}, false)
	r, err = all.Exec(t.Context(), shell.BinaryCall{Name: "convert"})
	require.NoError(t, err)
	require.Len(t, r.Stdout, 300)
	require.False(t, r.Truncated)
}

// TestBypassLoud: the predicate sees the name alone, and each use makes one loud event (R266).
func TestBypassLoud(t *testing.T) {
	tool := program(t, "ffprobe", elf)
	var names []string
	bypass := func(name string) bool { names = append(names, name); return true }
	f, in := &fake{caps: able}, &inner{}
	e, w := executor(t, f, in, shell.ExecutorOptions{Bypass: bypass}, false)
	for range 2 {
		r, err := e.Exec(t.Context(), shell.BinaryCall{Name: tool, Args: []string{"secret argument"}})
		require.NoError(t, err)
		require.Equal(t, "outside", string(r.Stdout))
	}
	require.Equal(t, []string{tool, tool}, names)
	require.Len(t, in.calls, 2)
	require.Zero(t, f.count("start"))
	events := w.of(shell.EventBypass)
	require.Len(t, events, 2)
	for _, event := range events {
		require.True(t, event.Loud)
		require.Equal(t, "ffprobe", event.Subject)
		require.NotContains(t, event.Detail, "secret")
	}
	no, w := executor(t, f, in, shell.ExecutorOptions{Bypass: func(string) bool { return false }}, false)
	_, err := no.Exec(t.Context(), shell.BinaryCall{Name: tool})
	require.NoError(t, err)
	require.Equal(t, 1, f.count("start"))
	require.Empty(t, w.of(shell.EventBypass))
}

// TestBypassNeverInterpreter: what runs its arguments or a file is confined whatever the predicate says, under any name, and
// that is told (R267).
func TestBypassNeverInterpreter(t *testing.T) {
	elsewhere := program(t, "mediatool", elf)
	link := filepath.Join(t.TempDir(), "renamed")
	require.NoError(t, os.Symlink(program(t, "python3.12", elf), link))
	for name, path := range map[string]string{
		"a shell": program(t, "bash", elf), "a version": program(t, "python3.11", elf),
		"a long version": program(t, "perl5.36-x86_64-linux-gnu", elf), "a static one": program(t, "bash-static", elf), "a loader": program(t, "ld-linux-x86-64.so.2", elf), "awk": program(t, "gawk", elf), "a wrapper": program(t, "env", elf),
		"a script": program(t, "convert", "#!/bin/sh\n"), "text": program(t, "run", "echo x\n"), "a link": link, "absent": "/no/such/tool",
	} {
		t.Run(name, func(t *testing.T) {
			f, in := &fake{caps: able}, &inner{}
			e, w := executor(t, f, in, shell.ExecutorOptions{Bypass: func(string) bool { return true }}, false)
			_, err := e.Exec(t.Context(), shell.BinaryCall{Name: path})
			require.NoError(t, err)
			require.Empty(t, in.calls)
			require.Equal(t, 1, f.count("start"))
			require.Len(t, w.of(shell.EventBypass), 1)
			require.True(t, w.of(shell.EventBypass)[0].Loud)
			require.Equal(t, shell.Failed, w.of(shell.EventBypass)[0].Outcome)
			_, err = e.Exec(t.Context(), shell.BinaryCall{Name: elsewhere})
			require.NoError(t, err)
			require.Len(t, in.calls, 1, "the control: another program does get around")
		})
	}
}

// TestBypassNeverReplaceable: what a command could have put there is run confined, under the session's policy and the one it had
// before it was narrowed; so is a relative path, which the inner executor may take from another directory (R266).
func TestBypassNeverReplaceable(t *testing.T) {
	dir := t.TempDir()
	tool, link := filepath.Join(dir, "mediatool"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(tool, []byte(elf), 0o755))
	require.NoError(t, os.Symlink(program(t, "fixed", elf), link))
	t.Chdir(dir)
	writable := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dir)}}
	for name, c := range map[string]struct {
		path   string
		policy policy.Policy
		narrow bool
		inside int
	}{
		"the control": {path: tool}, "the control, by a link": {path: link},
		"writable": {path: tool, policy: writable, inside: 1}, "a writable link": {path: link, policy: writable, inside: 1},
		"writable before": {path: tool, policy: writable, narrow: true, inside: 1}, "relative": {path: "./mediatool", inside: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, in := &fake{caps: able}, &inner{}
			m, w := managed(f)
			s := session(t, m, shell.SessionOptions{Policy: c.policy, Enforcer: f})
			if c.narrow {
				require.NoError(t, s.Narrow(t.Context(), policy.Policy{}))
			}
			e, err := s.Executor(in, shell.ExecutorOptions{Bypass: func(string) bool { return true }})
			require.NoError(t, err)
			_, err = e.Exec(t.Context(), shell.BinaryCall{Name: c.path})
			require.NoError(t, err)
			require.Len(t, w.of(shell.EventBypass), 1)
			require.Equal(t, c.inside, f.count("start"))
			require.Len(t, in.calls, 1-c.inside)
		})
	}
}

// TestDisposeEndsBypass: what runs outside is ended by Dispose too, which waits for it (R82).
func TestDisposeEndsBypass(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f})
	in := &unending{begun: make(chan struct{})}
	e, err := s.Executor(in, shell.ExecutorOptions{Bypass: func(string) bool { return true }})
	require.NoError(t, err)
	tool := program(t, "ffprobe", elf)
	ran := later(func() error { _, err := e.Exec(t.Context(), shell.BinaryCall{Name: tool}); return err })
	soon(t, in.begun, "the program")
	require.NoError(t, soon(t, later(s.Dispose), "Dispose"))
	require.True(t, in.over.Load(), "Dispose has waited for it")
	err = soon(t, ran, "its end")
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err), "%v", err)
	require.ErrorIs(t, err, shell.ErrDisposed)
}

// unending is an executor whose programs run until they are killed.
type unending struct {
	begun chan struct{}
	over  atomic.Bool
}

func (e *unending) Exec(ctx context.Context, _ shell.BinaryCall) (shell.BinaryResult, error) {
	close(e.begun)
	<-ctx.Done()
	e.over.Store(true)
	return shell.BinaryResult{}, ctx.Err()
}

func (e *unending) RetainBytes() int64 { return 0 }

// TestStrictModeIgnoresBypass: in strict mode there is no way around (R90).
func TestStrictModeIgnoresBypass(t *testing.T) {
	tool := program(t, "ffprobe", elf)
	for _, strict := range []bool{true, false} {
		f, in := &fake{caps: able}, &inner{}
		e, w := executor(t, f, in, shell.ExecutorOptions{Bypass: func(string) bool { return true }}, strict)
		_, err := e.Exec(t.Context(), shell.BinaryCall{Name: tool})
		require.NoError(t, err)
		require.Equal(t, strict, f.count("start") == 1)
		require.Equal(t, strict, len(in.calls) == 0)
		require.Equal(t, strict, len(w.of(shell.EventBypass)) == 0)
	}
}

// TestExecutorOptions: what can never work is refused when the executor is made (R22); after Dispose nothing runs, not even
// outside (R81).
func TestExecutorOptions(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f})
	_, err := s.Executor(nil, shell.ExecutorOptions{})
	require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(err))
	_, err = s.Executor(&inner{}, shell.ExecutorOptions{Dir: "relative"})
	require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(err))
	in := &inner{}
	e, err := s.Executor(in, shell.ExecutorOptions{Bypass: func(string) bool { return true }})
	require.NoError(t, err)
	require.NoError(t, s.Dispose())
	_, err = e.Exec(t.Context(), shell.BinaryCall{Name: program(t, "ffprobe", elf)})
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err))
	require.False(t, slices.ContainsFunc(in.calls, func(shell.BinaryCall) bool { return true }))
}
