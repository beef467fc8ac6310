package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	attackers["say-nothing"] = func([]string) (finding, error) { os.Exit(0); return finding{}, nil }
	attackers["die"] = func([]string) (finding, error) {
		fmt.Println(verdictLine + refused + ": and yet it died")
		err := unix.Kill(os.Getpid(), unix.SIGKILL)
		return finding{}, err
	}
	attackers["exit-with-failure"] = func([]string) (finding, error) {
		fmt.Println(verdictLine + refused + ": and yet it failed")
		os.Exit(4)
		return finding{}, nil
	}
	attackers["be-wrong"] = func([]string) (finding, error) { return judge("open", unix.EFAULT, unix.EPERM) }
	attackers["break-in"] = func([]string) (finding, error) { return got("wide open") }
}

// selfTests are attackers that must fail the test which runs them, although each is expected to be refused.
var selfTests = []string{"say-nothing", "die", "exit-with-failure", "be-wrong", "break-in", "no such attack"}

// envSelf names the attacker that TestSelf is to run.
const envSelf = "SALLYPORT_LIVE_SELF"

// TestSelf is run by TestHarnessDoesNotMistakeSilence in a process of its own.
func TestSelf(t *testing.T) {
	name := os.Getenv(envSelf)
	if name == "" {
		return
	}
	attack{name: name, why: "the harness itself", alike: "the harness is tested, no layer"}.test(t)
}

// TestHarnessDoesNotMistakeSilence: an attacker that says nothing, dies, fails, makes a wrong attempt or gets through
// fails its test.
func TestHarnessDoesNotMistakeSilence(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, name := range selfTests {
			cmd := again("-test.run=^TestSelf$", "-test.v")
			own, err := os.CreateTemp(userDir(os.Getuid()), "journal")
			require.NoError(t, err)
			cmd.ExtraFiles = []*os.File{own}
			cmd.Env = append(cmd.Env, envSelf+"="+name)
			out, err := cmd.CombinedOutput()
			require.NoError(t, own.Close())
			var exit *exec.ExitError
			require.True(t, errors.As(err, &exit), "%s passed:\n%s", name, out)
			require.True(t, strings.Contains(string(out), "--- FAIL: TestSelf/"), "%s:\n%s", name, out)
		}
	})
}
