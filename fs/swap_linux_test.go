package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/fs"
	"sallyport/policy"
)

// swapRounds is how often each name is read while it is being swapped.
const swapRounds = 100_000

const leak = "not yours"

// swapping is a workspace in which a thread swaps things for links to secrets, all the time.
type swapping struct {
	root, outside string
	stop          chan struct{}
	swaps         chan int
}

// victims are the names that are read. Each is swapped in its own way.
var victims = []string{"file", "file2", "dir/f", "dir2/f", "moved/f"}

func startSwapping(t *testing.T) (*swapping, *fs.Workspace) {
	t.Helper()
	root, _ := place(t)
	s := &swapping{root: root, outside: filepath.Join(filepath.Dir(root), "outside"), stop: make(chan struct{}), swaps: make(chan int, 1)}
	private := filepath.Join(root, "private")
	for _, dir := range []string{s.outside, private, "dir", "dir2", "moved"} {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		require.NoError(t, os.Mkdir(dir, 0o755))
		write(t, filepath.Join(dir, "f"), "inside")
	}
	for _, dir := range []string{s.outside, private} {
		write(t, filepath.Join(dir, "f"), leak)
	}
	write(t, filepath.Join(root, "file"), "inside")
	write(t, filepath.Join(root, "file2"), "inside")
	for link, to := range map[string]string{"l1": filepath.Join(s.outside, "f"), "l2": "private/f", "l3": s.outside, "l4": "private"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, link)))
	}
	f := policy.Filesystem{DenyRead: policy.Paths(private), AllowWrite: policy.Paths(root), DenyWrite: policy.Paths(filepath.Join(root, "l1"))}
	w := workspace(t, root, f, "/")
	go s.run()
	return s, w
}

// run swaps a file for a link to a secret outside and to one inside, two directories likewise, and moves a directory into
// the one that is denied and back.
func (s *swapping) run() {
	n := 0
	for {
		select {
		case <-s.stop:
			s.swaps <- n
			return
		default:
		}
		for i, name := range []string{"file", "file2", "dir", "dir2"} {
			err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(s.root, name), unix.AT_FDCWD, filepath.Join(s.root, fmt.Sprint("l", i+1)), unix.RENAME_EXCHANGE)
			if err != nil {
				continue
			}
			n++
		}
		from, to := filepath.Join(s.root, "moved"), filepath.Join(s.root, "private", "moved")
		if n/4%2 == 1 {
			from, to = to, from
		}
		if os.Rename(from, to) == nil {
			n++
		}
	}
}

func (s *swapping) end(t *testing.T) {
	close(s.stop)
	require.Greater(t, <-s.swaps, 100, "the attack really ran")
}

// TestRaceSwap: not one byte of a secret comes, in 100,000 rounds of each attack (R292, R314, L5). The open arm, which looks first and
// opens then, is fooled by the same attack.
func TestRaceSwap(t *testing.T) {
	s, w := startSwapping(t)
	defer s.end(t)
	fooled := 0
	for fooled < len(victims)-1 { // each link, by looking first
		name := filepath.Join(s.root, victims[fooled])
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if b, _ := os.ReadFile(name); string(b) == leak {
			fooled++
		}
	}
	rounds := swapRounds
	if testing.Short() {
		rounds /= 50
	}
	had, refused := map[string]int{}, map[string]int{}
	for range rounds {
		for _, name := range victims {
			b, err := w.ReadFile(name, 100)
			if err != nil {
				require.ErrorIs(t, err, fs.ErrNotFound)
				refused[name]++
				continue
			}
			require.Equal(t, "inside", string(b), name)
			had[name]++
		}
	}
	for _, name := range victims {
		require.Positive(t, had[name], "%s was never had", name)
		require.Positive(t, refused[name], "%s was never refused", name)
	}
	t.Logf("had %v, refused %v", had, refused)
}

// TestRaceList: the names in a directory that was swapped in are never told (R238).
func TestRaceList(t *testing.T) {
	s, w := startSwapping(t)
	defer s.end(t)
	for _, dir := range []string{s.outside, filepath.Join(s.root, "private")} {
		write(t, filepath.Join(dir, leak), "")
	}
	rounds := swapRounds / 20
	if testing.Short() {
		rounds /= 50
	}
	for range rounds {
		for _, name := range []string{"dir", "dir2", "/"} {
			_, err := w.Walk(t.Context(), name, 5, func(e fs.Entry) error {
				require.NotContains(t, e.Name, leak)
				require.False(t, strings.HasPrefix(e.Name, "private"), e.Name)
				return nil
			})
			if err != nil {
				require.ErrorIs(t, err, fs.ErrNotFound)
			}
		}
	}
}

// TestRaceSave: what is saved never arrives behind a link, and nothing is left behind (R228).
func TestRaceSave(t *testing.T) {
	s, w := startSwapping(t)
	saved, refused := 0, 0
	for i := 0; i < 2000 || saved < 100 || refused < 100; i++ {
		for _, name := range []string{"dir/f", "dir2/f"} {
			switch _, err := w.Save(name, strings.NewReader("inside")); {
			case err == nil:
				saved++
			default:
				require.ErrorIs(t, err, fs.ErrNotWritable, name)
				refused++
			}
		}
		if testing.Short() && i > 100 {
			break
		}
	}
	s.end(t)
	for _, dir := range []string{s.outside, filepath.Join(s.root, "private")} {
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		require.NoError(t, err)
		require.Equal(t, leak, string(b), dir)
	}
	for _, p := range append(names(t, s.root), names(t, s.outside)...) {
		require.NotContains(t, p, ".tmp")
	}
}
