package jail

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// startAs starts the test binary under another argv[0], with one end of a socket pair of the given type as descriptor 3,
// and gives what it printed and sent.
func startAs(t *testing.T, name string, socketType int, plan *os.File) (printed, sent []byte, exit int) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Args = []string{name, "-test.run=^$"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var ours *os.File
	if socketType != 0 {
		fds, err := unix.Socketpair(unix.AF_UNIX, socketType|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		ours = os.NewFile(uintptr(fds[0]), "ours")
		theirs := os.NewFile(uintptr(fds[1]), "theirs")
		defer ours.Close()
		cmd.ExtraFiles = []*os.File{theirs}
		if plan != nil {
			cmd.ExtraFiles = append(cmd.ExtraFiles, plan)
		}
		defer theirs.Close()
	}
	require.NoError(t, cmd.Start())
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if ours != nil {
		sent = make([]byte, 4096)
		n, _ := ours.Read(sent)
		sent = sent[:max(n, 0)]
	}
	_ = cmd.Wait()
	return out.Bytes(), sent, cmd.ProcessState.ExitCode()
}

// TestGuard: a program is taken over only when it has both the name and the socket. By accident it has neither.
func TestGuard(t *testing.T) {
	for _, tc := range []struct {
		name, argv0 string
		socket      int
		taken       bool
	}{
		{"neither", "program", 0, false},
		{"the name alone", Marker, 0, false},
		{"a socket alone", "program", unix.SOCK_SEQPACKET, false},
		{"the name and another socket", Marker, unix.SOCK_STREAM, false},
		{"a similar name", Marker + "x", unix.SOCK_SEQPACKET, false},
		{"both", Marker, unix.SOCK_SEQPACKET, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			printed, sent, exit := startAs(t, tc.argv0, tc.socket, nil)
			if !tc.taken {
				require.Equal(t, 0, exit)
				require.Contains(t, string(printed), "PASS")
				require.Empty(t, sent)
				return
			}
			require.NotEqual(t, 0, exit)
			require.NotContains(t, string(printed), "PASS", "the program itself must not run")
			var m Message
			require.NoError(t, json.Unmarshal(sent, &m))
			require.NotNil(t, m.Failure)
			require.Equal(t, "plan", m.Failure.Layer)
		})
	}
}

// TestBadPlan: a first process whose plan is not one, or asks for less than everything, says so and runs nothing.
func TestBadPlan(t *testing.T) {
	less, err := json.Marshal(Plan{Layers: AllLayers &^ LayerSeccomp})
	require.NoError(t, err)
	more, err := json.Marshal(Plan{Layers: AllLayers << 1})
	require.NoError(t, err)
	plans := map[string]string{"no JSON": "{", "empty": "", "unknown layers": string(more)}
	if !Allowed(0) { // in the build for tests of single layers it is allowed
		plans["fewer layers"] = string(less)
	}
	for name, text := range plans {
		t.Run(name, func(t *testing.T) {
			f, err := os.CreateTemp(t.TempDir(), "")
			require.NoError(t, err)
			_, err = f.WriteString(text)
			require.NoError(t, err)
			_, sent, exit := startAs(t, Marker, unix.SOCK_SEQPACKET, f)
			require.NotEqual(t, 0, exit)
			var m Message
			require.NoError(t, json.Unmarshal(sent, &m), "%q", sent)
			require.NotNil(t, m.Failure)
			require.Equal(t, "plan", m.Failure.Layer)
			require.Nil(t, m.Ready)
		})
	}
}

// TestEveryLayerOrNone: a release build runs a jail with every layer and no other.
func TestEveryLayerOrNone(t *testing.T) {
	require.True(t, Allowed(AllLayers))
	require.False(t, Allowed(AllLayers<<1))
	for l := Layers(1); l <= AllLayers; l <<= 1 {
		require.True(t, AllLayers.Has(l))
		require.False(t, (AllLayers &^ l).Has(l))
		require.Equal(t, Allowed(0), Allowed(AllLayers&^l))
	}
}
