package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// userID is the ordinary user that tests run as besides root. No account has it, and none is needed.
const userID = 23457

// strangerID owns files that neither root nor the ordinary user owns.
const strangerID = 23458

// Environment of this test binary when it was started again by itself, outside of any jail.
const (
	envBase   = "SALLYPORT_LIVE_BASE"    // the directory that the first process made for all
	envReport = "SALLYPORT_LIVE_JOURNAL" // the number of the inherited descriptor of the journal
)

// modes are what this binary does instead of tests, by its first argument.
var modes = map[string]func(args []string) int{}

// base is the directory of this run: the copy of this binary, and a directory a user for what the tests make. It lies
// outside of /tmp and /var/tmp, which are private to every command, so that the host's files are in sight of an attack.
var base string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if mode, ok := modes[os.Args[1]]; ok {
			os.Exit(mode(os.Args[2:]))
		}
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	first := os.Getenv(envBase) == ""
	if err := prepare(first); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		return 1
	}
	code := m.Run()
	if !first {
		return code
	}
	if err := finishReport(); err != nil {
		fmt.Fprintln(os.Stderr, "live: write the report:", err)
		code = max(code, 1)
	}
	if err := os.RemoveAll(base); err != nil {
		fmt.Fprintln(os.Stderr, "live: remove what the tests made:", err)
		code = max(code, 1)
	}
	return code
}

// prepare finds or makes the base directory and the journal.
func prepare(first bool) error {
	if !first {
		base = os.Getenv(envBase)
		fd, err := strconv.Atoi(os.Getenv(envReport))
		if err != nil {
			return fmt.Errorf("%s: %w", envReport, err)
		}
		syscall.CloseOnExec(fd)
		journal = os.NewFile(uintptr(fd), "journal")
		return nil
	}
	var err error
	if base, err = makeBase(); err != nil {
		return err
	}
	for dir, uid := range map[string]int{userDir(os.Getuid()): os.Getuid(), userDir(userID): userID} {
		if uid != os.Getuid() && os.Getuid() != 0 {
			continue
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := os.Chown(dir, uid, uid); os.Getuid() == 0 && err != nil {
			return err
		}
	}
	if err := copyFile("/proc/self/exe", attacker()); err != nil {
		return err
	}
	if err := errors.Join(makeSetuid(), makeForeignRepository()); err != nil {
		return err
	}
	journal, err = os.OpenFile(filepath.Join(base, "journal"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	return err
}

// makeBase makes the base directory in the first place that may hold it.
func makeBase() (string, error) {
	cache, _ := os.UserCacheDir() // "" when there is none
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	// For root a place that every user can pass through; a home directory is none.
	candidates := []string{"/var/cache", "/srv", "/opt", cache, here}
	for _, dir := range candidates {
		if dir == "" || underPrivate(dir) {
			continue
		}
		made, err := os.MkdirTemp(dir, "sallyport-live-")
		if err != nil {
			continue
		}
		return made, os.Chmod(made, 0o755)
	}
	return "", fmt.Errorf("none of %s can hold a directory outside of /tmp for what the tests make", strings.Join(candidates, ", "))
}

func underPrivate(dir string) bool {
	return slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/dev", "/proc"}, func(p string) bool {
		return dir == p || strings.HasPrefix(dir, p+"/")
	})
}

// attacker is the path of the copy of this binary that jails can see.
func attacker() string { return filepath.Join(base, "attacker") }

// userDir is where a user's tests make their files.
func userDir(uid int) string { return filepath.Join(base, "u"+strconv.Itoa(uid)) }

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
