//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/shell"
)

// noPerCallNetwork is an enforcer that cannot keep a network to one command.
type noPerCallNetwork struct{ shell.Enforcer }

func (e noPerCallNetwork) Capabilities() shell.Capabilities {
	c := e.Enforcer.Capabilities()
	c.PerCallNetwork = false
	return c
}

// inSession makes a registry on a session; its commands may write base below the workspace, and each call may have a policy.
func inSession(t *testing.T, enforcer shell.Enforcer, change func(dir string, o *Options)) (*Registry, *shell.Session, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	files(t, dir, map[string]string{"base/": "", "call/": "", "a": "x"})
	s, err := shell.NewManager(shell.ManagerOptions{}).Open(t.Context(), shell.SessionOptions{Policy: writes(dir, "base"), Enforcer: enforcer})
	if err != nil {
		if os.Getenv("SALLYPORT_LIVE") == "require" {
			t.Fatalf("no command can be confined here: %v", err)
		}
		t.Skipf("SKIPPED: no command can be confined here: %v", err)
	}
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	o := Options{Gate: approve, Workspace: dir, Rules: rules, Commands: s, WriteRoot: ".", Trust: Untrusted}
	if change != nil {
		change(dir, &o)
	}
	r, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(r.Close(), s.Dispose())) })
	return r, s, dir
}

// writes is a policy under which one directory of the workspace may be written.
func writes(dir, sub string) policy.Policy {
	return policy.Policy{Filesystem: policy.Filesystem{AllowRead: policy.Paths(dir), AllowWrite: policy.Paths(filepath.Join(dir, sub))}}
}

// TestPolicyFuncOrder: the function is asked once for each command, after the gate and after the directory was found, and for nothing that was
// refused before (R149).
func TestPolicyFuncOrder(t *testing.T) {
	var log record
	r, _, dir := inSession(t, nil, func(dir string, o *Options) {
		o.Gate = func(_ context.Context, c gate.Call) (gate.Verdict, error) {
			log.add("gate")
			return gate.Verdict{Approved: string(c.Args) != `{"command":"refused"}`}, nil
		}
		o.Shell.PolicyFunc = func(_ context.Context, c PolicyCall) (*policy.Policy, error) {
			log.add(fmt.Sprintf("policy %s in %s", c.Command, c.Dir))
			return nil, nil
		}
	})
	for _, args := range []string{`{"command":"refused"}`, `{"command":"true","cwd":"none"}`, `{"command":"true","cwd":"base"}`, `{"command":"false"}`} {
		_, _ = r.Call(t.Context(), RunShellCommand, json.RawMessage(args))
	}
	require.Equal(t, []string{"gate", "gate", "gate", "policy true in " + dir + "/base", "gate", "policy false in " + dir}, log.all())
}

// TestPolicyFuncFresh: what a function gives holds for its command alone, replaces what the session has, and is gone with the next one; calls at
// the same time each have their own (R133-R136, R150).
func TestPolicyFuncFresh(t *testing.T) {
	var granted atomic.Bool
	r, _, dir := inSession(t, nil, func(dir string, o *Options) {
		o.Shell.PolicyFunc = func(context.Context, PolicyCall) (*policy.Policy, error) {
			if !granted.Load() {
				return nil, nil
			}
			p := writes(dir, "call")
			return &p, nil
		}
	})
	status := func(line string) int {
		res, err := run(t, r, line, nil)
		require.NoError(t, err)
		return res.Exit.ExitCode
	}
	require.NotEqual(t, 0, status("touch call/before"))
	require.Equal(t, 0, status("touch base/ok"))
	granted.Store(true)
	require.Equal(t, 0, status("touch call/ok"))
	require.NotEqual(t, 0, status("touch base/denied"), "it replaces the session's, whole")
	granted.Store(false)
	require.NotEqual(t, 0, status("touch call/after"), "revoked is revoked at the next call")
	require.NoFileExists(t, filepath.Join(dir, "call/after"))

	done := make(chan error)
	for range 8 {
		go func() {
			_, err := r.Call(context.Background(), RunShellCommand, json.RawMessage(`{"command":"touch base/x call/x; :"}`))
			done <- err
		}()
	}
	for range 8 {
		granted.Store(!granted.Load())
		require.NoError(t, <-done)
	}
}

// TestPolicyFuncFails: the command is completed once, and the function's own error surfaces (R151).
func TestPolicyFuncFails(t *testing.T) {
	own := errors.New("the policy service is down")
	var ends []Completion
	r, _, _ := inSession(t, nil, func(_ string, o *Options) {
		o.Shell.PolicyFunc = func(context.Context, PolicyCall) (*policy.Policy, error) { return nil, own }
		o.Shell.OnCompletion = func(c Completion) { ends = append(ends, c) }
	})
	_, err := run(t, r, "true", nil)
	require.ErrorIs(t, err, own)
	require.ErrorIs(t, err, &Error{Code: CodeFailed, Outcome: IOFailure})
	require.NotContains(t, Render(err), "service")
	require.Len(t, ends, 1)
	require.Nil(t, ends[0].Exit)
	require.ErrorIs(t, ends[0].Err, own)
}

// TestShellKeepsNetworkRefusal: a network of a command's own that cannot be kept to it is refused with its own code, and the completion says that
// it was denied (R148).
func TestShellKeepsNetworkRefusal(t *testing.T) {
	var end Completion
	r, _, _ := inSession(t, noPerCallNetwork{shell.NewEnforcer(shell.Options{})}, func(dir string, o *Options) {
		p := writes(dir, "base")
		p.Network.AllowedDomains = []string{"example.com"}
		o.Shell.Policy = &p
		o.Shell.OnCompletion = func(c Completion) { end = c }
	})
	_, err := run(t, r, "true", nil)
	require.Equal(t, shell.CodeNetworkGrantUnsupported, CodeOf(err))
	require.ErrorIs(t, err, &Error{Outcome: IOFailure})
	require.Contains(t, Render(err), "its policy was refused")
	require.True(t, end.Denied)
	require.Nil(t, end.Exit)
}

// TestReaderOutlivesTurnNotHandle: media that were kept can be read after their turn, and not after the session that they belong to (R129, R224).
func TestReaderOutlivesTurnNotHandle(t *testing.T) {
	r, s, _ := inSession(t, nil, nil)
	res, err := callPath(t, r, StageFile, "a")
	require.NoError(t, err)
	m, ok := r.Media(res.Media.ID)
	require.True(t, ok)
	require.NoError(t, r.EndTurn())
	f, err := m.Open()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, s.Dispose())
	_, err = m.Open()
	require.ErrorIs(t, err, shell.ErrDisposed)
	_, err = run(t, r, "true", nil)
	require.Equal(t, shell.CodeNotInitialized, CodeOf(err))
}

// TestPolicyNeedsASession: what a sandbox cannot do is found when the tools are made (R22).
func TestPolicyNeedsASession(t *testing.T) {
	dir := t.TempDir()
	box := sandbox(t, policy.Policy{})
	_, err := New(Options{Gate: approve, Workspace: dir, Commands: box, WriteRoot: ".", Trust: Untrusted, Shell: Shell{Policy: &policy.Policy{}}})
	require.ErrorIs(t, err, &Error{Code: CodeInvalidConfig})
	_, err = New(Options{Gate: approve, Workspace: dir, Commands: box, WriteRoot: ".", Trust: Untrusted, Shell: Shell{Path: "bin/sh"}})
	require.ErrorIs(t, err, &Error{Code: CodeInvalidConfig})
	_, err = New(Options{Gate: approve, Workspace: dir, Commands: box, WriteRoot: ".", Trust: Untrusted, Shell: Shell{Path: "/bin/cat"}})
	require.ErrorIs(t, err, &Error{Code: CodeInvalidConfig}, "no shell")
}
