package shell_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// environ runs a command that prints its environment as the kernel has it: nothing that a shell would add.
func environ(t *testing.T, box *shell.Sandbox, overlay ...string) []string {
	t.Helper()
	cmd := command(t, box, "/bin/cat", "/proc/self/environ")
	cmd.Env = overlay
	out := output(t, cmd)
	if out == "" {
		return nil
	}
	require.True(t, strings.HasSuffix(out, "\x00"))
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
}

// TestEnvDenyByDefault: the environment is PATH and what the sandbox adds, exactly; nothing of the host's gets in by
// way of the program that is started in between (R166, R167, R173).
func TestEnvDenyByDefault(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_SECRET", "hunter2")
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("LD_PRELOAD", "")
	box := open(t, policy.Policy{}, shell.Options{})
	want := []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp"}
	require.ElementsMatch(t, want, environ(t, box))
	require.ElementsMatch(t, want, environ(t, box), "the second command's jail is made in another way than the first's")
}

// TestEnvOfTheJail: neither has the first process of a jail anything of the host's environment.
func TestEnvOfTheJail(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_SECRET", "hunter2")
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := command(t, box, "cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	looked := 0
	for _, pid := range children() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil { // it is undumpable, so an ordinary user cannot look
			looked++
			require.NotContains(t, string(text), "hunter2")
		}
	}
	require.True(t, looked > 0 || os.Geteuid() != 0)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}

// TestEnvAllowListReplaces: a list of names replaces the default, it does not extend it (R168). A name that the host does
// not have is left out, not empty (R169).
func TestEnvAllowListReplaces(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_A", "a value")
	t.Setenv("SALLYPORT_TEST_EMPTY", "")
	t.Setenv("SALLYPORT_TEST_B", "b")
	box := open(t, policy.Policy{}, shell.Options{EnvAllow: []string{"SALLYPORT_TEST_A", "SALLYPORT_TEST_EMPTY", "SALLYPORT_TEST_ABSENT"}})
	require.ElementsMatch(t, []string{"SALLYPORT_TEST_A=a value", "SALLYPORT_TEST_EMPTY=", "TMPDIR=/tmp"}, environ(t, box))

	none := open(t, policy.Policy{}, shell.Options{EnvAllow: []string{}})
	require.Equal(t, []string{"TMPDIR=/tmp"}, environ(t, none))
}

// TestEnvTakenAtOpen: what the host changes afterwards does not reach the commands.
func TestEnvTakenAtOpen(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_A", "before")
	box := open(t, policy.Policy{}, shell.Options{EnvAllow: []string{"SALLYPORT_TEST_A"}})
	t.Setenv("SALLYPORT_TEST_A", "after")
	require.Contains(t, environ(t, box), "SALLYPORT_TEST_A=before")
}

// badNames are names that no variable can have.
var badNames = []string{"", "1A", "A-B", "A B", "A=B", "A\x00B", "Ü", "BASH_FUNC_x%%", "A\n"}

// TestEnvNames: an invalid name is an error of the configuration that names it, before anything runs (R169, R22).
func TestEnvNames(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	for _, name := range badNames {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			_, err := shell.Open(t.Context(), policy.Policy{}, shell.Options{EnvAllow: []string{name}})
			e := code(t, err, shell.CodeInvalidConfig)
			require.Contains(t, e.Error(), "EnvAllow")
			if name != "" {
				require.Contains(t, e.Error(), fmt.Sprintf("%q", name))
			}
			if strings.Contains(name, "=") {
				return // KEY=VALUE is what the other two take
			}
			_, err = shell.Open(t.Context(), policy.Policy{}, shell.Options{Env: []string{name + "=value"}})
			code(t, err, shell.CodeInvalidConfig)
			cmd := command(t, box, "true")
			cmd.Env = []string{name + "=value"}
			code(t, cmd.Run(), shell.CodeInvalidConfig)
		})
	}
	_, err := shell.Open(t.Context(), policy.Policy{}, shell.Options{Env: []string{"NO_VALUE"}})
	code(t, err, shell.CodeInvalidConfig)
	_, err = shell.Open(t.Context(), policy.Policy{}, shell.Options{Env: []string{"A=b\x00c"}})
	e := code(t, err, shell.CodeInvalidConfig)
	require.NotContains(t, e.Error(), "b\x00c", "a value may be a secret")
}

// TestEnvOverlayLast: Options.Env and then the command's own are laid over, each for itself alone (R170).
func TestEnvOverlayLast(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_A", "host")
	box := open(t, policy.Policy{}, shell.Options{EnvAllow: []string{"SALLYPORT_TEST_A"}, Env: []string{"SALLYPORT_TEST_A=options", "B=options"}})
	require.ElementsMatch(t, []string{"SALLYPORT_TEST_A=options", "B=options", "TMPDIR=/tmp"}, environ(t, box))
	require.ElementsMatch(t, []string{"SALLYPORT_TEST_A=command", "B=options", "C=command", "TMPDIR=/elsewhere"},
		environ(t, box, "SALLYPORT_TEST_A=first", "SALLYPORT_TEST_A=command", "C=command", "TMPDIR=/elsewhere"))
	require.ElementsMatch(t, []string{"SALLYPORT_TEST_A=options", "B=options", "TMPDIR=/tmp"}, environ(t, box), "one command's overlay is not the next one's")
}

// TestOverlayNoExpansion: an overlay is literal. It can say the name of a withheld variable, not get its value (R171).
func TestOverlayNoExpansion(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_SECRET", "hunter2")
	box := open(t, policy.Policy{}, shell.Options{Env: []string{"A=${SALLYPORT_TEST_SECRET}"}})
	got := environ(t, box, "X=$SALLYPORT_TEST_SECRET", "Y=`id`", "Z=%SALLYPORT_TEST_SECRET%", "E=", "V=a=b=c")
	require.ElementsMatch(t, []string{
		"PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp", "A=${SALLYPORT_TEST_SECRET}",
		"X=$SALLYPORT_TEST_SECRET", "Y=`id`", "Z=%SALLYPORT_TEST_SECRET%", "E=", "V=a=b=c",
	}, got)
}

// TestStalePlumbingLoses: what the sandbox needs outranks a host value of the same name, allowed or inherited (R172).
func TestStalePlumbingLoses(t *testing.T) {
	t.Setenv("TMPDIR", "/no/such/directory")
	t.Setenv("GIT_CONFIG_COUNT", "7")
	t.Setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
	t.Setenv("GIT_CONFIG_VALUE_0", "/evil")
	p := policy.Policy{Filesystem: policy.Filesystem{GitSafeDirectories: []string{"/srv/a", "/srv/b"}}}
	names := []string{"TMPDIR", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"}
	want := []string{
		"TMPDIR=/tmp", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=/srv/a", "GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=/srv/b",
	}
	require.ElementsMatch(t, want, environ(t, open(t, p, shell.Options{EnvAllow: names})))
	require.Subset(t, environ(t, open(t, p, shell.Options{InheritHostEnvironmentWithItsSecrets: true})), want)
}

// TestInheritEverything: the way out by name hands over everything that the host has (R174).
func TestInheritEverything(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_SECRET", "hunter2")
	box := open(t, policy.Policy{}, shell.Options{InheritHostEnvironmentWithItsSecrets: true})
	got := environ(t, box)
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); name != "TMPDIR" {
			require.Contains(t, got, kv)
		}
	}
}

// TestEnvBytes: values are bytes, in any encoding.
func TestEnvBytes(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{EnvAllow: []string{}})
	values := []string{"A=line\nbreak", "B=\xff\xfe\x80", "C= spaces ", "D=ü€😀", "_1=digit"}
	require.ElementsMatch(t, append([]string{"TMPDIR=/tmp"}, values...), environ(t, box, values...))
}

// TestEnvHuge: a hundred thousand entries arrive, in a time that does not grow with their square.
func TestEnvHuge(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{EnvAllow: []string{}})
	huge := make([]string, 100_000)
	for i := range huge {
		huge[i] = fmt.Sprintf("K%d=", i)
	}
	began := time.Now()
	got := environ(t, box, huge...)
	require.Less(t, time.Since(began), 10*time.Second)
	slices.Sort(got)
	want := append([]string{"TMPDIR=/tmp"}, huge...)
	slices.Sort(want)
	require.True(t, slices.Equal(want, got), "%d entries arrived", len(got))

	huge = append(huge, huge...)
	for i := range huge {
		huge[i] = fmt.Sprintf("K%d=and a value with which it is too much", i)
	}
	cmd := command(t, box, "/bin/true")
	cmd.Env = huge
	code(t, cmd.Run(), shell.CodeFailed)
}
