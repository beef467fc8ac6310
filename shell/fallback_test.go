package shell_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// missing is the error of an enforcer for which something is absent.
var missing = &shell.Error{Code: shell.CodeDependencyMissing, Detail: "no user namespaces at /proc/sys/user"}

// TestFallbackPredicates: three conditions, decided when the session is opened, and no other, are covered by
// AllowUnsandboxedFallback (R88); an unsupported platform comes before it (R23).
func TestFallbackPredicates(t *testing.T) {
	unsupported := &shell.Error{Code: shell.CodeUnsupportedEnv, Detail: "there is no process boundary on windows"}
	failed := &shell.Error{Code: shell.CodeFailed, Detail: "bind /w"}
	for name, c := range map[string]struct {
		f        *fake
		fallback bool
		without  shell.Code
	}{
		"not installed":             {&fake{preflight: shell.Preflight{NotInstalled: true}}, true, shell.CodeDependencyMissing},
		"a dependency":              {&fake{preflight: shell.Preflight{Missing: []string{"x"}}}, true, shell.CodeDependencyMissing},
		"missing when put in force": {&fake{establish: missing}, true, shell.CodeDependencyMissing},
		"unsupported":               {&fake{preErr: unsupported}, false, shell.CodeUnsupportedEnv},
		"unsupported and missing":   {&fake{preErr: unsupported, preflight: shell.Preflight{Missing: []string{"x"}}}, false, shell.CodeUnsupportedEnv},
		"a layer that fails":        {&fake{establish: failed}, false, shell.CodeFailed},
		"any other error":           {&fake{establish: errors.New("x")}, false, shell.CodeFailed},
		"a preflight that fails":    {&fake{preErr: errors.New("x")}, false, shell.CodeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := managed(c.f)
			_, err := m.Open(t.Context(), shell.SessionOptions{Enforcer: c.f})
			require.Equal(t, c.without, shell.CodeOf(err), "%v", err)
			s, err := m.Open(t.Context(), shell.SessionOptions{Enforcer: c.f, AllowUnsandboxedFallback: true})
			if !c.fallback {
				require.Equal(t, c.without, shell.CodeOf(err), "%v", err)
				return
			}
			require.NoError(t, err)
			require.Contains(t, s.ContainmentNote(), "no OS containment")
			require.NoError(t, s.Dispose())
		})
	}
	f := &fake{caps: able, preflight: shell.Preflight{Missing: []string{"x"}}}
	m, _ := managed(f)
	_, err := m.Open(t.Context(), shell.SessionOptions{Enforcer: f, AllowUnsandboxedFallback: true, Policy: hosts("http://x")})
	require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(err), "a bad policy is no condition: %v", err)
}

// TestFallbackStillUsesEnforcer: in a fallback nothing runs without the enforcer. While that cannot, commands fail with its
// error; when it can, they are confined (R89, R320).
func TestFallbackStillUsesEnforcer(t *testing.T) {
	f := &fake{caps: able, establish: missing}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f, AllowUnsandboxedFallback: true})
	_, err := s.EffectivePolicy()
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err), "nothing is in force: %v", err)
	require.Equal(t, shell.CodeDependencyMissing, shell.CodeOf(runIn(t, s)))
	require.Zero(t, f.count("start"))

	f.establish = nil
	require.NoError(t, runIn(t, s))
	require.Equal(t, 1, f.count("start"))
	require.NotEmpty(t, s.ContainmentNote(), "what was said once stays said")
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	require.Equal(t, []string{"a.test"}, rules.Policy().Network.AllowedDomains)
	_, err = m.Open(t.Context(), shell.SessionOptions{Policy: hosts("b.test"), Enforcer: f, AllowUnsandboxedFallback: true})
	wider(t, err, "network.allowedDomains", "b.test")
}

// TestFallbackLoud: every command of a fallback makes one loud event (R87); an ordinary session makes none.
func TestFallbackLoud(t *testing.T) {
	f := &fake{caps: able, preflight: shell.Preflight{Missing: []string{"x"}}}
	m, w := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f, AllowUnsandboxedFallback: true})
	for range 3 {
		require.NoError(t, runIn(t, s))
	}
	require.Len(t, w.of(shell.EventFallback), 3)
	for _, e := range w.of(shell.EventFallback) {
		require.True(t, e.Loud)
		require.NotEmpty(t, e.Command)
		require.Equal(t, "program", e.Subject)
		require.Equal(t, s.ID(), e.Session)
	}
	plain := &fake{caps: able}
	m, w = managed(plain)
	s = session(t, m, shell.SessionOptions{Enforcer: plain, AllowUnsandboxedFallback: true})
	require.NoError(t, runIn(t, s))
	require.Empty(t, w.of(shell.EventFallback))
	require.Empty(t, s.ContainmentNote())
}

// TestFallbackNotForViolations: what happens to a command is no condition (R88).
func TestFallbackNotForViolations(t *testing.T) {
	f := &fake{caps: able}
	m, w := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f, AllowUnsandboxedFallback: true})
	f.startErr = missing
	require.ErrorIs(t, runIn(t, s), missing)
	require.Empty(t, w.of(shell.EventFallback))
}

// TestEvents: six kinds come through one sink, as values that hold no reference and no path of the host's (R298).
func TestEvents(t *testing.T) {
	home := "/home/user name/secret dir"
	f := &fake{caps: able, establish: &shell.Error{Code: shell.CodeDependencyMissing, Detail: `open "` + home + `/x": gone`},
		preflight: shell.Preflight{Platform: "Linux 6.18", Warnings: []string{"old " + home + ": really", "see ~/x/y, please", "a/b is no path"},
			Confinement: shell.Confinement{NoNewPrivs: true}}}
	m, w := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f, AllowUnsandboxedFallback: true})
	require.Error(t, runIn(t, s, func(c *shell.Cmd) { c.Path = home + "/tool" }))
	f.establish = nil
	require.NoError(t, runIn(t, s))
	e, err := s.Executor(&inner{}, shell.ExecutorOptions{Bypass: func(string) bool { return true }})
	require.NoError(t, err)
	_, err = e.Exec(t.Context(), shell.BinaryCall{Name: home + "/no such"})
	require.NoError(t, err)
	for _, kind := range []shell.EventKind{shell.EventBypass, shell.EventFallback, shell.EventDrift, shell.EventPlatform, shell.EventWarnings, shell.EventAdoption} {
		require.NotEmpty(t, w.of(kind), "%s", kind)
	}
	for _, e := range w.events {
		b, err := json.Marshal(e)
		require.NoError(t, err)
		for _, secret := range []string{"user name", "secret", "/home", "~/"} {
			require.NotContains(t, string(b), secret)
		}
		require.False(t, e.Time.IsZero())
	}
	require.Equal(t, "old [path]: really", w.of(shell.EventWarnings)[0].Detail)
	require.Equal(t, "see [path], please", w.of(shell.EventWarnings)[1].Detail)
	require.Equal(t, "a/b is no path", w.of(shell.EventWarnings)[2].Detail)
}

// TestLogEvents: the same as records of log/slog; loud ones are warnings (R87, R298).
func TestLogEvents(t *testing.T) {
	var out bytes.Buffer
	sink := shell.LogEvents(slog.New(slog.NewJSONHandler(&out, nil)))
	sink(shell.Event{Kind: shell.EventFallback, Loud: true, Session: "s", Command: "c", Subject: "p", Detail: "d"})
	sink(shell.Event{Kind: shell.EventPlatform, Detail: "Linux"})
	sink(shell.Event{Kind: shell.EventDrift, Outcome: shell.Passed})
	sink(shell.Event{Kind: shell.EventDrift, Outcome: shell.Failed})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3, "a check that passed is for debugging")
	var first map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &first))
	delete(first, "time")
	require.Equal(t, map[string]any{"level": "WARN", "msg": "sandbox unsandboxed-fallback", "kind": "unsandboxed-fallback", "loud": true,
		"session": "s", "command": "c", "subject": "p", "detail": "d"}, first)
	require.Contains(t, lines[1], `"level":"INFO"`)
	require.Contains(t, lines[2], `"level":"WARN"`)
}

// TestNoSink: without a sink nothing is told, and everything works.
func TestNoSink(t *testing.T) {
	m := shell.NewManager(shell.ManagerOptions{})
	s := session(t, m, shell.SessionOptions{Enforcer: &fake{caps: able}, Policy: policy.Policy{}})
	require.NoError(t, runIn(t, s))
}
