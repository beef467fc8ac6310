package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
	"sallyport/policy"
)

// TestSaveOnAFullDisk: it is an error, what was there stays, and nothing is left behind. The disk is a small one in memory.
func TestSaveOnAFullDisk(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	if err := syscall.Mount("none", root, "tmpfs", 0, "size=1m"); err != nil {
		skipWithout(t, "only root can mount a small disk: "+err.Error())
	}
	defer func() { require.NoError(t, syscall.Unmount(root, 0)) }()
	write(t, filepath.Join(root, "old"), "old text")
	w, err := fs.OpenWorkspace(root, fs.Options{Rules: rulesOf(t, policy.Filesystem{AllowWrite: policy.Paths(root)}), WriteRoot: "/"})
	require.NoError(t, err)
	defer w.Close()
	for _, name := range []string{"old", "new"} {
		_, err = w.Save(name, strings.NewReader(strings.Repeat("x", 2<<20)))
		require.ErrorIs(t, err, syscall.ENOSPC, name)
		require.ErrorIs(t, err, fs.ErrIO, name)
	}
	require.Len(t, names(t, root), 2)
	b, err := os.ReadFile(filepath.Join(root, "old"))
	require.NoError(t, err)
	require.Equal(t, "old text", string(b))
	_, err = w.Save("old", strings.NewReader("new text"))
	require.NoError(t, err, "the room was given back")
}

// skipWithout skips, or fails where nothing may be skipped.
func skipWithout(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("SALLYPORT_LIVE") == "require" && os.Getuid() == 0 {
		t.Fatal(why)
	}
	t.Skip(why)
}

// TestSaveKeepsTheOwner: root saves for a user what the user can go on working with.
func TestSaveKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		skipWithout(t, "only root can give files away")
	}
	root, w := desk(t, nil)
	old := filepath.Join(root, "out", "old")
	require.NoError(t, os.Chown(old, 12345, 23456))
	_, err := w.Save("out/old", strings.NewReader("x"))
	require.NoError(t, err)
	info, err := os.Stat(old)
	require.NoError(t, err)
	st := info.Sys().(*syscall.Stat_t)
	require.EqualValues(t, []uint32{12345, 23456}, []uint32{st.Uid, st.Gid})
}

// TestPipesDoNotHold: neither reading, nor looking, nor saving waits for the other end of a pipe, or opens one: a writer
// that waits goes on waiting (R219).
func TestPipesDoNotHold(t *testing.T) {
	root, w := desk(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "out", "pipe"), 0o644))
	for range 100 {
		_, err := w.Open("out/pipe")
		require.ErrorIs(t, err, fs.ErrNotRegular)
		_, err = w.List("out/pipe", 9)
		require.ErrorIs(t, err, fs.ErrNotDirectory)
		_, err = w.Save("out/pipe", strings.NewReader("x"))
		require.ErrorIs(t, err, fs.ErrNotRegular)
		// Nobody has opened it: a writer that does not want to wait is told so.
		_, err = os.OpenFile(filepath.Join(root, "out", "pipe"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
		require.ErrorIs(t, err, syscall.ENXIO)
	}
	info, err := w.Stat("out/pipe")
	require.NoError(t, err)
	require.Equal(t, fs.TypeOther, info.Type)
}
