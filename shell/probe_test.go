package shell_test

import (
	"bytes"
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/shell"
)

// probed opens a session with a probe.
func probed(t testing.TB, f *fake) error {
	t.Helper()
	m, _ := managed(f)
	s, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f, ProbeSpawn: true})
	if err == nil {
		require.NoError(t, s.Dispose())
	}
	return err
}

// TestProbeOffByDefault: nothing runs that was not asked for (R92).
func TestProbeOffByDefault(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.Zero(t, f.count("start"))
}

// TestProbeOnce: one true, under the policy that was asked for (R93), of which both streams are read to their ends (R94).
func TestProbeOnce(t *testing.T) {
	f := &fake{caps: able}
	f.body = func(_ context.Context, c *shell.Cmd) (shell.Completion, error) {
		require.Equal(t, []string{"true"}, c.Args)
		require.Equal(t, []string{"a.test"}, f.last.rules.Policy().Network.AllowedDomains)
		for range 64 { // more than any pipe holds
			for _, w := range []interface{ Write([]byte) (int, error) }{c.Stdout, c.Stderr} {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 64<<10)); err != nil {
					return shell.Completion{}, err
				}
			}
		}
		return shell.Completion{}, nil
	}
	require.NoError(t, probed(t, f))
	require.Equal(t, 1, f.count("start"))
	require.Equal(t, []string{"preflight", "adopt", "establish", "rules", "rules", "start", "release"}, f.log())
}

// TestProbeClassification: what the boundary says is passed on as it is (R98, R26); an error of nobody's means that something
// is missing (R99, R100), with the call and the errno where there is one; a program that ran and failed is a failure with its
// exit code and its words (R101, R17), whatever these are (R102). It fails closed (R95), and no fallback covers it (R96).
func TestProbeClassification(t *testing.T) {
	typed := &shell.Error{Code: shell.CodeInvalidConfig, Detail: "typed"}
	ended := func(c shell.Completion, stderr string, err error) *fake {
		return &fake{caps: able, body: func(_ context.Context, cmd *shell.Cmd) (shell.Completion, error) {
			_, werr := cmd.Stderr.Write([]byte(stderr))
			return c, errors.Join(err, werr)
		}}
	}
	const loopback = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n"
	for name, c := range map[string]struct {
		f     *fake
		code  shell.Code
		call  string
		errno syscall.Errno
	}{
		"typed spawn":      {&fake{caps: able, startErr: typed}, shell.CodeInvalidConfig, "", 0},
		"typed stream":     {ended(shell.Completion{}, "", typed), shell.CodeInvalidConfig, "", 0},
		"untyped spawn":    {&fake{caps: able, startErr: errors.New("spawn ENOENT")}, shell.CodeDependencyMissing, "", 0},
		"spawn with errno": {&fake{caps: able, startErr: &iofs.PathError{Op: "fork/exec", Path: "/x", Err: syscall.ENOENT}}, shell.CodeDependencyMissing, "fork/exec", syscall.ENOENT},
		"system call":      {&fake{caps: able, startErr: os.NewSyscallError("unshare", syscall.EPERM)}, shell.CodeDependencyMissing, "unshare", syscall.EPERM},
		"stdout":           {ended(shell.Completion{}, "", errors.New("read stdout")), shell.CodeDependencyMissing, "", 0},
		"stderr":           {ended(shell.Completion{}, "", errors.New("read stderr")), shell.CodeDependencyMissing, "", 0},
		"non-zero":         {ended(shell.Completion{ExitCode: 3, Failed: true}, "a\nlast words\n", nil), shell.CodeFailed, "", 0},
		"a kernel's no":    {ended(shell.Completion{ExitCode: 1, Failed: true}, loopback, nil), shell.CodeFailed, "", 0},
		"killed":           {ended(shell.Completion{ExitCode: -1, Failed: true, Signal: "SIGSYS"}, "", nil), shell.CodeFailed, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fallback := range []bool{false, true} {
				m, w := managed(c.f)
				_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: c.f, ProbeSpawn: true, AllowUnsandboxedFallback: fallback})
				require.Equal(t, c.code, shell.CodeOf(err), "%v", err)
				var e *shell.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, c.call, e.Syscall)
				require.Equal(t, c.errno, e.Errno)
				require.NotContains(t, err.Error(), "\n")
				require.Empty(t, w.of(shell.EventFallback))
				if c.code == shell.CodeInvalidConfig {
					require.ErrorIs(t, err, typed)
				}
			}
			require.Equal(t, c.f.count("establish"), c.f.count("release"), "nothing is left in force")
		})
	}
	err := probed(t, ended(shell.Completion{ExitCode: 3, Failed: true}, "a\nlast words\n", nil))
	var exit *shell.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.Completion.ExitCode)
	require.Equal(t, "a\nlast words\n", exit.Stderr)
	require.EqualError(t, err, "probe the sandbox: true exited with 3: last words")
	require.ErrorContains(t, probed(t, ended(shell.Completion{ExitCode: -1, Failed: true, Signal: "SIGSYS"}, "", nil)), "SIGSYS")
	require.Same(t, typed, probed(t, &fake{caps: able, startErr: typed}), "the very same error")
}

// TestProbeCancelled: a probe that the caller gave up is no missing dependency.
func TestProbeCancelled(t *testing.T) {
	f := &fake{caps: able, body: untilKilled}
	m, _ := managed(f)
	ctx, cancel := context.WithCancel(t.Context())
	reached, let := held(f, "start")
	opened := later(func() error {
		_, err := m.Open(ctx, shell.SessionOptions{Enforcer: f, ProbeSpawn: true})
		return err
	})
	soon(t, reached, "the probe")
	cancel()
	let()
	err := soon(t, opened, "the construction")
	require.Equal(t, shell.CodeFailed, shell.CodeOf(err), "%v", err)
	require.ErrorIs(t, err, context.Canceled)
}

// TestProbeAfterAdmission: a policy that is not admitted never reaches a child (R97).
func TestProbeAfterAdmission(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("b.test"), Enforcer: f, ProbeSpawn: true})
	wider(t, err, "network.allowedDomains", "b.test")
	require.Zero(t, f.count("start"))
}

// TestProbeRollback: a failed probe of a first session releases what it owns, of an adopted one it does not (R103).
func TestProbeRollback(t *testing.T) {
	fails := errors.New("no")
	owned := &fake{caps: able, startErr: fails}
	require.Error(t, probed(t, owned))
	require.Equal(t, 1, owned.count("release"))

	adopted := &fake{caps: able, startErr: fails}
	adopted.adopted = foreign(t, adopted, "a.test")
	require.Error(t, probed(t, adopted))
	require.Zero(t, adopted.count("release"))
	require.Zero(t, adopted.count("establish"))
}

// TestProbeUsesOwner: a later session is probed by the enforcer that is in place, not by the one it brought (R104).
func TestProbeUsesOwner(t *testing.T) {
	owner, other := &fake{caps: able}, &fake{caps: able}
	m, _ := managed(owner)
	session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: owner})
	session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: other, ProbeSpawn: true})
	require.Equal(t, 1, owner.count("start"))
	require.Empty(t, other.log())
}
