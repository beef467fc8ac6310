//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/policy"
)

// gateScript makes a gate program of a shell script.
func gateScript(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	return path
}

// TestVerdictIsStrict: two shapes are verdicts. What is nearly one is none, and no answer approves (R179, R184).
func TestVerdictIsStrict(t *testing.T) {
	for in, want := range map[string]gate.Verdict{
		`{"approved":true}`: {Approved: true}, " {\"approved\" : true}\n": {Approved: true},
		`{"approved":false,"note":"ask Ann"}`: {Note: "ask Ann"}, `{"approved":false}`: {},
	} {
		v, err := parseVerdict([]byte(in))
		require.NoError(t, err, in)
		require.Equal(t, want, v, in)
	}
	for _, in := range []string{
		"", "yes", "true", "null", "[]", "{}", `{"approved":"true"}`, `{"approved":1}`, `{"Approved":true}`, `{"approved":true,"note":"x"}`,
		`{"approved":true,"approved":true}`, `{"approved":false,"approved":true}`, `{"approved":true}{"approved":true}`, `{"approved":true} x`,
		`{"approved":true,"until":"tomorrow"}`, `{"approved":false,"note":1}`, `{"approved":false,"note":null}`, `{"approved":false,"note":"x","y":1}`,
		`{"note":"x"}`, "\xef\xbb\xbf" + `{"approved":true}`, `{"approved":tru`, "{\"approved\":true,\"note\":\"\xff\"}",
	} {
		v, err := parseVerdict([]byte(in))
		require.Error(t, err, in)
		require.Equal(t, gate.Verdict{}, v, in)
	}
}

// TestExecGate: the program gets the call as one object and then the end of its input, and only its verdict with exit status 0
// counts.
func TestExecGate(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	call := gate.Call{ID: "7", Tool: "open_file", Args: json.RawMessage(`{"path":"a"}`), Workspace: "/w", Policy: gate.Policy{Tier: "evaluator"}}
	for _, c := range []struct {
		name, script string
		want         error
	}{
		{"approves", "cat >" + seen + `; echo '{"approved":true}'`, nil},
		{"does not read its input", `echo '{"approved":true}'`, nil},
		{"refuses", `echo '{"approved":false,"note":"no"}'`, gate.ErrRefused},
		{"approves and fails", `echo '{"approved":true}'; exit 1`, gate.ErrUnavailable},
		{"approves and is killed", `echo '{"approved":true}'; kill -9 $$`, gate.ErrUnavailable},
		{"says nothing", `:`, gate.ErrUnavailable},
		{"talks", `echo "hello"; echo '{"approved":true}'`, gate.ErrUnavailable},
		{"writes too much", `head -c 70000 /dev/zero | tr '\0' ' '; echo '{"approved":true}'`, gate.ErrUnavailable},
		{"leaves its output open", `sleep 60 & echo '{"approved":true}'`, gate.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &execGate{program: gateScript(t, c.script), log: &bytes.Buffer{}}
			err := gate.Ask(t.Context(), g.ask, call)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
		})
	}
	got, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.Equal(t, `{"id":"7","tool":"open_file","args":{"path":"a"},"workspace":"/w","policy":{"tier":"evaluator"}}`+"\n", string(got))
}

// TestExecGateIsKilledWithItsTree: when the call is cancelled nothing of the gate goes on, not even what began a session of its own.
func TestExecGateIsKilledWithItsTree(t *testing.T) {
	dir := t.TempDir()
	g := &execGate{log: &bytes.Buffer{}, program: gateScript(t, `cd `+dir+`
sh -c 'echo $$ >child.new; mv child.new child; sleep 600' &
setsid sh -c 'echo $$ >session.new; mv session.new session; sleep 600; :' &
echo $$ >gate.new; mv gate.new gate
wait`)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := g.ask(ctx, gate.Call{}); ended <- err }()
	var pids []int
	for _, name := range []string{"gate", "child", "session"} {
		waitFor(t, name, exists(filepath.Join(dir, name)))
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, 0), name)
		pids = append(pids, pid)
	}
	since := time.Now()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Less(t, time.Since(since), drainTime, "something held the output open")
	for _, pid := range pids {
		waitFor(t, "it is gone", func() bool { return !alive(pid) })
	}
}

// alive tells whether a process runs; a dead one that nobody has waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !os.IsNotExist(err)
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > 0 && string(fields[0]) != "Z"
}

// TestGateProgramOutOfReach: a gate that the confined side may write is no gate.
func TestGateProgramOutOfReach(t *testing.T) {
	gateFile := gateScript(t, `echo '{"approved":true}'`)
	compile := func(write ...string) *policy.Rules {
		p := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(write...)}}
		rules, err := p.Compile(policy.CompileOptions{Resolve: filepath.EvalSymlinks})
		require.NoError(t, err)
		return rules
	}
	got, err := gateProgram("tool", gateFile, compile(t.TempDir()))
	require.NoError(t, err)
	require.Equal(t, gateFile, got)
	_, err = gateProgram("tool", gateFile, compile(filepath.Dir(gateFile)))
	require.ErrorContains(t, err, "lets be written")

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(gateFile, link))
	for _, dir := range []string{filepath.Dir(gateFile), filepath.Dir(link)} {
		_, err = gateProgram("tool", link, compile(dir))
		require.ErrorContains(t, err, "lets be written", "the link and what it leads to are both the gate")
	}
	_, err = gateProgram("tool", "no-such-gate-program", compile())
	require.ErrorContains(t, err, "not found")
}
