package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

func init() {
	attackers["run-from-memory"] = runFromMemory
	modes["one-command"] = oneCommand
}

// runFromMemory executes a copy of this program that is in no file system, and has it look at what it may.
func runFromMemory([]string) (finding, error) {
	fd, err := unix.MemfdCreate("program", 0)
	if err != nil {
		return finding{}, err
	}
	program := os.NewFile(uintptr(fd), "program")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return finding{}, err
	}
	if _, err := program.Write(self); err != nil {
		return finding{}, err
	}
	// A file that is open for writing cannot be executed, so it is opened anew, for reading.
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	readable, err := os.Open(path)
	if err != nil {
		return finding{}, err
	}
	if err := program.Close(); err != nil {
		return finding{}, err
	}
	cmd := exec.Command("/proc/self/fd/3", "attack", "inspect-self")
	cmd.ExtraFiles = []*os.File{readable}
	out, err := cmd.CombinedOutput()
	f, ok := parseVerdict(string(out))
	if err != nil || !ok {
		return finding{}, errors.Join(err, errors.New(string(out)))
	}
	return f, nil
}

// TestProgramFromMemory: a program that is in no file system is as confined as any (process case 16).
func TestProgramFromMemory(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		attack{
			name: "run-from-memory", why: "rules about files do not see it",
			alone: [][]string{{"capabilities", "no_new_privs", "seccomp"}}, together: "the three are looked at together",
		}.test(t)
	})
}

// TestNoCoreFile: a crash writes no memory into the workspace, also when the command asks for it.
func TestNoCoreFile(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		box := open(t, f.writable(), shell.Options{})
		cmd := command(t, box, f.ws, "sh", "-c", `ulimit -c unlimited 2>/dev/null && echo raised; kill -SEGV $$`)
		out, err := cmd.CombinedOutput()
		require.NoError(t, explain(err))
		require.Equal(t, "SIGSEGV", cmd.Completion.Signal)
		require.NotContains(t, string(out), "raised")
		require.Len(t, tree(t, f.ws), 1)
	})
}

// TestNoTerminalsOfTheHost: /dev has no terminal, disk or memory of the host's, and a command makes its own
// pseudo-terminals (process case 11).
func TestNoTerminalsOfTheHost(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		master, _ := pty(f)
		require.NotNil(t, master)
		code, out := f.run(f.writable(), "sh", "-c", `ls /dev /dev/pts | tr '\n' ' '; stat -c %t:%T /dev/null; (: </dev/tty) 2>/dev/null || echo no tty`)
		require.Equal(t, 0, code, out)
		require.Equal(t, "/dev: fd full null ptmx pts random shm stderr stdin stdout tty urandom zero  /dev/pts: ptmx 1:3\nno tty\n", out)
	})
}

// oneCommand is a host that runs one command.
func oneCommand([]string) int {
	box, err := shell.Open(context.Background(), policy.Policy{}, shell.Options{})
	if err == nil {
		cmd := box.Command(context.Background(), "true")
		cmd.Dir = "/"
		err = errors.Join(cmd.Run(), box.Close())
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// TestNoDaemon: a confined command needs no daemon, no container engine and no other program: with nothing on PATH but
// the command, no connection is made and nothing else is executed (R3).
func TestNoDaemon(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		strace, err := exec.LookPath("strace")
		if err != nil {
			skip(t, "no strace")
		}
		f := newField(t)
		program, err := exec.LookPath("true")
		require.NoError(t, err)
		require.NoError(t, os.Mkdir(f.dir+"/bin", 0o755))
		require.NoError(t, copyFile(program, f.dir+"/bin/true"))
		// A file a process: in a common one, strace cuts a call in two where another comes between.
		cmd := exec.Command(strace, "-ff", "-o", f.dir+"/trace", "-e", "trace=connect,execve,execveat", attacker(), "one-command")
		cmd.Env = []string{"PATH=" + f.dir + "/bin"}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		traces, err := filepath.Glob(f.dir + "/trace.*")
		require.NoError(t, err)
		commands := 0
		for _, trace := range traces {
			b, err := os.ReadFile(trace)
			require.NoError(t, err)
			for _, line := range lines(b) {
				require.NotContains(t, line, "connect(")
				if !strings.Contains(line, "exec") || !strings.HasSuffix(line, "= 0") {
					continue
				}
				if strings.Contains(line, f.dir+"/bin/true") {
					commands++
					continue
				}
				require.True(t, strings.Contains(line, attacker()) || strings.Contains(line, "/proc/self/exe") || strings.Contains(line, "sallyport-jail"), line)
			}
		}
		require.Equal(t, 1, commands)
	})
}
