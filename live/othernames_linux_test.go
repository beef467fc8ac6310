package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

func init() { modes["host-with-other-names"] = hostWithOtherNames }

// hostWithOtherNames is a host in namespaces of its own, whose tree has a second /proc and a second mount of a directory
// with denied files in it, as build roots and containers have. It runs the script that it is given.
func hostWithOtherNames(args []string) int {
	dir, script := args[0], args[1]
	err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("proc", dir+"/proc", "proc", 0, ""),
		unix.Mount(dir+"/ws", dir+"/again", "", unix.MS_BIND, ""),
	)
	var box *shell.Sandbox
	if err == nil {
		box, err = shell.Open(context.Background(), policy.Policy{Filesystem: policy.Filesystem{
			AllowWrite: policy.Paths(dir + "/ws"),
			DenyRead:   policy.Paths(dir + "/ws/denied"),
		}}, shell.Options{})
	}
	if err != nil {
		fmt.Println(explain(err))
		return 1
	}
	defer box.Close()
	cmd := box.Command(context.Background(), "sh", "-c", script)
	cmd.Dir, cmd.Env = dir+"/ws", []string{"D=" + dir}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Println(explain(err))
		return 1
	}
	return cmd.Completion.ExitCode
}

// TestOtherNamesOfTheHost: a second procfs in the host's tree shows no host process and opens no sysctl, and a second
// mount of a directory shows no file that is denied in the first and lets nothing be written (process cases 3, 12;
// conformance 33). The host is in namespaces of the test's own, so that nothing is mounted for anybody else.
func TestOtherNamesOfTheHost(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		for _, name := range []string{"proc", "again"} {
			require.NoError(t, os.Mkdir(filepath.Join(f.dir, name), 0o755))
		}
		f.write(f.ws+"/denied/key", secretText)
		f.write(f.ws+"/.git/hooks/pre-commit", "as it was\n")
		run := func(script string) string {
			cmd := again("host-with-other-names", f.dir, script)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.True(t, err == nil || errors.As(err, &exit), "%v", err)
			return string(out)
		}
		require.Equal(t, "control\n", run("echo control"))
		require.Equal(t, "nothing\n", run(`cat "$D"/proc/1/cmdline "$D"/proc/self/status "$D"/proc/kallsyms 2>/dev/null | head -c 100; echo nothing`))
		require.Equal(t, "nothing\n", run(`for f in "$D"/proc/sys/kernel/*; do (exec >>"$f") 2>/dev/null && echo "$f"; done; echo nothing`))
		require.Equal(t, "nothing\n", run(`cat "$D"/again/denied/key "$D"/ws/denied/key 2>/dev/null; echo nothing`))
		run(`echo evil >"$D"/again/.git/hooks/pre-commit; echo evil >"$D"/again/new`)
		b, err := os.ReadFile(f.ws + "/.git/hooks/pre-commit")
		require.NoError(t, err)
		require.Equal(t, "as it was\n", string(b))
		require.NoFileExists(t, f.ws+"/new")
	})
}
