package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

// listDescriptors prints the numbers of the shell's own descriptors. The test is a builtin and opens none.
const listDescriptors = `n=0; while [ $n -lt 1024 ]; do [ -e /proc/$$/fd/$n ] && echo $n; n=$((n+1)); done; echo done`

// TestExtraFiles: they arrive as 3, 4, … in the order given, with their offset, and stay open for the caller.
func TestExtraFiles(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	var files []*os.File
	for i := range 5 {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, fmt.Sprintf("contents %d\n", i), 0o600)
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		files = append(files, f)
	}
	cmd := script(t, box, `cat <&3; cat <&5; cat <&4; cat <&6; cat <&7; `+listDescriptors)
	cmd.ExtraFiles = files
	require.Equal(t, "contents 0\ncontents 2\ncontents 1\ncontents 3\ncontents 4\n0\n1\n2\n3\n4\n5\n6\n7\ndone\n", output(t, cmd))
	for _, f := range files {
		_, err := f.Stat()
		require.NoError(t, err)
	}
}

// TestExtraFileTwice: the same file may be handed over more than once, standard streams too.
func TestExtraFileTwice(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	cmd := script(t, box, `echo 1; echo 2 >&2; echo 3 >&3; echo 4 >&4`)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = f, f, []*os.File{f, f}
	require.NoError(t, cmd.Run())
	// A regular file as standard output is written to through a pipe, an extra one directly: any order is right.
	require.ElementsMatch(t, []string{"1", "2", "3", "4"}, strings.Fields(read(t, f.Name())))
}

// TestExtraFilesMany: as many as the kernel passes in one message arrive; more are a typed error, never a part of them.
func TestExtraFilesMany(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	for n, fits := range map[int]bool{200: true, 232: true, 233: false, 2000: false} {
		cmd := script(t, box, listDescriptors)
		for range n {
			cmd.ExtraFiles = append(cmd.ExtraFiles, null)
		}
		out, err := cmd.Output()
		if !fits {
			require.Error(t, err, "%d files", n)
			require.NotEmpty(t, shell.CodeOf(err), "%v", err)
			continue
		}
		require.NoError(t, err, "%d files", n)
		require.Equal(t, n+4, strings.Count(string(out), "\n"), "%d files", n)
	}
}

// TestHostDescriptorsStayOut: a descriptor of the host that was opened without close-on-exec, such as one of its root
// directory, does not reach the command (CVE-2024-21626); the command has 0, 1 and 2 alone.
func TestHostDescriptorsStayOut(t *testing.T) {
	root, err := os.Open("/")
	require.NoError(t, err)
	defer root.Close()
	leaked := map[int]bool{}
	for _, least := range []int{5, 100, 700} {
		fd, err := unix.FcntlInt(root.Fd(), unix.F_DUPFD, least) // without FD_CLOEXEC
		require.NoError(t, err)
		defer unix.Close(fd)
		leaked[fd] = true
	}
	require.Len(t, leaked, 3)
	box := open(t, policy.Policy{}, shell.Options{})
	for range 2 { // the jail of the first command is made by Open
		require.Equal(t, "0\n1\n2\ndone\n", output(t, script(t, box, listDescriptors)))
	}
	require.Equal(t, shell.Enforced, box.Report().Layer("descriptors").State)
}

// TestFilesByPipe: a regular file as a standard stream does not reach the command: through a descriptor of it the
// command could change its mode or truncate it, whatever the policy says. A directory is refused.
func TestFilesByPipe(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "kept\n", 0o600)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	require.NoError(t, err)
	defer f.Close()
	cmd := script(t, box, `for n in 0 1 2; do chmod 777 /proc/self/fd/$n; truncate -s 0 /proc/self/fd/$n; done 2>/dev/null; cat >/dev/null
		for n in 0 1 2; do [ -p /proc/$$/fd/$n ] && echo pipe $n; done`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f, f, f
	require.NoError(t, cmd.Run())
	require.Equal(t, "kept\npipe 0\npipe 1\npipe 2\n", read(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	dir, err := os.Open("/")
	require.NoError(t, err)
	defer dir.Close()
	for name, set := range map[string]func(*shell.Cmd){
		"stdin": func(c *shell.Cmd) { c.Stdin = dir }, "stdout": func(c *shell.Cmd) { c.Stdout = dir }, "stderr": func(c *shell.Cmd) { c.Stderr = dir },
	} {
		cmd := command(t, box, "true")
		set(cmd)
		err := cmd.Run()
		require.NotEmpty(t, shell.CodeOf(err), "%s: %v", name, err)
		require.Nil(t, cmd.Completion)
	}
}

// TestStandardOnly: the same with every stream connected by a pipe of ours.
func TestStandardOnly(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := script(t, box, listDescriptors)
	cmd.Stdin = strings.NewReader("")
	require.Equal(t, "0\n1\n2\ndone\n", output(t, cmd))
}
