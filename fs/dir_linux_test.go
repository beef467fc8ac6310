package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
)

// TestSpecialFilesDoNotHold: a pipe without a writer, a socket, a device: each is refused at once.
func TestSpecialFilesDoNotHold(t *testing.T) {
	root, dir := place(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	_, err := dir.ReadFile("fifo", 100)
	require.ErrorIs(t, err, fs.ErrNotRegular)

	require.NoError(t, syscall.Mknod(filepath.Join(root, "sock"), syscall.S_IFSOCK|0o644, 0))
	_, err = dir.ReadFile("sock", 100)
	require.ErrorIs(t, err, fs.ErrNotRegular)

	devices, err := fs.OpenDir("/dev")
	require.NoError(t, err)
	defer devices.Close()
	_, err = devices.ReadFile("zero", 100)
	require.ErrorIs(t, err, fs.ErrNotRegular)
}

// TestMagicLinksAreNotFollowed: /proc is full of links that are no names.
func TestMagicLinksAreNotFollowed(t *testing.T) {
	proc, err := fs.OpenDir("/proc/self")
	require.NoError(t, err)
	defer proc.Close()
	_, err = proc.ReadFile("status", 1<<20)
	require.NoError(t, err, "a file of /proc says its size is 0, and is read")
	for _, name := range []string{"root/etc/passwd", "cwd/dir_test.go", "exe", "fd/0"} {
		_, err := proc.ReadFile(name, 100)
		require.ErrorIs(t, err, fs.ErrNotFound, name)
	}
}

// TestSwapIsNotFollowed: a directory is exchanged for a link to the outside, over and over, while its file is read.
// What comes is the file inside, or nothing; never the one outside (R292, R314).
func TestSwapIsNotFollowed(t *testing.T) {
	root, dir := place(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "f"), "outside")
	require.NoError(t, os.Mkdir(filepath.Join(root, "d"), 0o755))
	write(t, filepath.Join(root, "d", "f"), "inside")
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "l")))

	stop, done := make(chan struct{}), make(chan int)
	go func() {
		swaps := 0
		for {
			select {
			case <-stop:
				done <- swaps
				return
			default:
				if exchange(filepath.Join(root, "d"), filepath.Join(root, "l")) == nil {
					swaps++
				}
			}
		}
	}()
	inside, refused, fooled := 0, 0, 0
	for inside < 500 || refused < 500 || fooled == 0 {
		if b, _ := os.ReadFile(filepath.Join(root, "d", "f")); string(b) == "outside" {
			fooled++ // the same read by name, as anybody would write it: the attack is real
		}
		b, err := dir.ReadFile("d/f", 100)
		if err != nil {
			require.ErrorIs(t, err, fs.ErrNotFound)
			refused++
			continue
		}
		require.Equal(t, "inside", string(b))
		inside++
	}
	close(stop)
	require.Greater(t, <-done, 100, "the attack really ran")
}

// exchange makes two names change places, through a third: in between the first one is missing.
func exchange(a, b string) error {
	if err := os.Rename(a, a+".tmp"); err != nil {
		return err
	}
	if err := os.Rename(b, a); err != nil {
		return err
	}
	return os.Rename(a+".tmp", b)
}

// TestWalkTellsOfPathsTooLong: a tree that is deeper than the longest path is not said to be complete (R235).
func TestWalkTellsOfPathsTooLong(t *testing.T) {
	dir := t.TempDir()
	at, err := os.OpenRoot(dir)
	require.NoError(t, err)
	for range 50 {
		name := strings.Repeat("d", 100)
		require.NoError(t, at.Mkdir(name, 0o700))
		next, err := at.OpenRoot(name)
		require.NoError(t, errors.Join(err, at.Close()))
		at = next
	}
	require.NoError(t, at.Close())
	d, err := fs.OpenDir(dir)
	require.NoError(t, err)
	defer d.Close()
	seen := 0
	end, err := d.Walk(t.Context(), ".", 1000, func(fs.Entry) error { seen++; return nil })
	require.NoError(t, err)
	require.Less(t, seen, 50)
	require.True(t, end.DepthReached)
}
