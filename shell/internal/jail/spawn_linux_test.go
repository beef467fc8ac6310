package jail

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// makeFile makes a file of the test's.
func makeFile(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), mode))
	require.NoError(t, os.Chmod(path, mode))
}

// TestLookPath: the first entry of PATH that has an executable file wins; entries may be relative or empty, which is the
// working directory; a file that cannot be executed is told apart from one that is not there.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	makeFile(t, filepath.Join(dir, "a/tool"), 0o755)
	makeFile(t, filepath.Join(dir, "b/tool"), 0o755)
	makeFile(t, filepath.Join(dir, "plain/tool"), 0o644)
	makeFile(t, filepath.Join(dir, "here"), 0o755)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "d/tool"), 0o755))
	require.NoError(t, os.Symlink("absent", filepath.Join(dir, "dangling")))
	for _, tc := range []struct {
		name, path, want string
		errno            syscall.Errno
	}{
		{"tool", dir + "/a:" + dir + "/b", dir + "/a/tool", 0},
		{"tool", dir + "/b:" + dir + "/a", dir + "/b/tool", 0},
		{"tool", dir + "/plain:" + dir + "/d:" + dir + "/absent:" + dir + "/a", dir + "/a/tool", 0},
		{"tool", "a", "./a/tool", 0},
		{"tool", "./a", "./a/tool", 0},
		{"here", "", "./here", 0},
		{"here", dir + "/a:", "./here", 0},
		{"here", ":" + dir + "/a", "./here", 0},
		{"here", dir + "/a::" + dir + "/b", "./here", 0},
		{"./here", "/nowhere", "./here", 0},
		{"a/tool", "/nowhere", "a/tool", 0},
		{dir + "/a/tool", "/nowhere", dir + "/a/tool", 0},
		{"tool", "/nowhere", "", syscall.ENOENT},
		{"tool", dir + "/plain", "", syscall.EACCES},
		{"tool", dir + "/plain:/nowhere", "", syscall.EACCES},
		{"tool", dir + "/d", "", syscall.EACCES},
		{"tool", dir + "/here", "", syscall.ENOENT},
		{"", dir, "", syscall.ENOENT},
		{"d/", "", "d/", syscall.EACCES},
		{"dangling", "", "", syscall.ENOENT},
		{"./dangling", "", "./dangling", syscall.ENOENT},
		{"here/x", "", "here/x", syscall.ENOTDIR},
	} {
		t.Run(strings.ReplaceAll(tc.name+" in "+tc.path, dir, ""), func(t *testing.T) {
			got, err := lookPath(tc.name, dir, []string{"PATH=/ignored", "PATH=" + tc.path})
			if tc.errno == 0 {
				require.NoError(t, err)
				require.Equal(t, tc.want, got)
				return
			}
			var f *Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, tc.errno, f.Errno)
			require.Equal(t, "execve", f.Syscall)
			require.True(t, f.Command, "the jail is sound")
			require.Contains(t, f.Detail, strings.TrimSuffix(strings.TrimPrefix(tc.name, "./"), "/"))
		})
	}
}

// TestLookEnv: the last entry of a name is the one that holds, and a prefix is no name.
func TestLookEnv(t *testing.T) {
	env := []string{"PATHS=no", "PATH=first", "A", "=B", "PATH=last", "XPATH=no"}
	require.Equal(t, "last", lookEnv(env, "PATH"))
	require.Empty(t, lookEnv(env, "A"))
	require.Empty(t, lookEnv(nil, "PATH"))
}

// TestCheckDir tells the ways in which a directory can be unusable apart.
func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	makeFile(t, filepath.Join(dir, "file"), 0o644)
	require.NoError(t, checkDir(dir))
	for path, want := range map[string]syscall.Errno{
		dir + "/absent": syscall.ENOENT, dir + "/file": syscall.ENOTDIR, dir + "/file/x": syscall.ENOTDIR, "/" + strings.Repeat("x", 5000): syscall.ENAMETOOLONG,
	} {
		var f *Failure
		require.ErrorAs(t, checkDir(path), &f)
		require.Equal(t, want, f.Errno)
		require.Equal(t, "chdir", f.Syscall)
		require.True(t, f.Command)
		require.Less(t, len(f.Detail), 2000, "it must fit into one packet")
	}
}

// TestCommandTravelsAsBytes: words that are not UTF-8 come out as they went in.
func TestCommandTravelsAsBytes(t *testing.T) {
	in := Command{Name: []byte("\xff"), Argv: [][]byte{[]byte("\x00\xfe"), {}, []byte("ü")}, Env: [][]byte{[]byte("A=\x80")}, Dir: []byte("/\xff")}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write(text)
	require.NoError(t, err)
	out, err := readCommand(int(f.Fd()))
	require.NoError(t, err)
	require.Equal(t, in, *out)
	require.Equal(t, []string{"\x00\xfe", "", "ü"}, toStrings(out.Argv))
}

// TestReadCommandRefuses: what cannot be read is an error that says so.
func TestReadCommandRefuses(t *testing.T) {
	_, err := readCommand(-1)
	require.ErrorContains(t, err, "read the command")
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("{")
	require.NoError(t, err)
	_, err = readCommand(int(f.Fd()))
	require.ErrorContains(t, err, "read the command")
}

// TestSpawnCountsDescriptors: a host that sends other descriptors than it announces starts nothing.
func TestSpawnCountsDescriptors(t *testing.T) {
	for _, req := range []*Spawn{{N: 3}, {N: 2}, {N: 0}, {N: -1}, {N: 1 << 30}} {
		_, err := spawn(&Plan{}, req, []int{-1, -1, -1})
		var f *Failure
		require.ErrorAs(t, err, &f)
		require.False(t, f.Command)
	}
}
