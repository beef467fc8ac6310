package artifact

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() { childJobs["full"] = fillDisk }

// TestDiskFull fills a disk of a megabyte, which a child mounts for itself in namespaces of its own.
func TestDiskFull(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"=full", "SALLYPORT_ARTIFACT_DIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil && (len(out) == 0 || strings.Contains(string(out), "mount: ")) && os.Getenv("SALLYPORT_LIVE") != "require" {
		t.Skipf("no disk can be mounted here (%v): %s", err, out)
	}
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "PASS")
}

// fillDisk is that child: once with files without a name, once with a kept store.
func fillDisk() error {
	dir := os.Getenv("SALLYPORT_ARTIFACT_DIR")
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if err := overfill(Options{Temp: dir}); err != nil {
		return err
	}
	kept := Options{Dir: filepath.Join(dir, "kept")}
	if err := overfill(kept); err != nil {
		return err
	}
	return stillThere(kept)
}

// overfill writes three times what fits, and looks at the end of it.
func overfill(o Options) error {
	store, err := Open(o)
	if err != nil {
		return err
	}
	turn, err := store.Turn()
	if err != nil {
		return err
	}
	w, err := turn.Create(Spec{})
	if err != nil {
		return err
	}
	for range 3 << 20 / 64 {
		if _, err := io.WriteString(w, strings.Repeat("x", 63)+"\n"); err != nil {
			return err
		}
	}
	if err := w.Final("exit status 1"); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("close: %w: %w", err, errors.Unwrap(err))
	}
	if err := saysFull(w.Artifact()); err != nil {
		return err
	}
	return store.Close()
}

// saysFull compares the last lines, and the sum of what is there and what is missing.
func saysFull(a *Artifact) error {
	text, err := a.Tail(2)
	if err != nil {
		return err
	}
	p, err := text.Bytes()
	if err != nil {
		return err
	}
	_, missing := a.Complete()
	if want := fmt.Sprintf("[%d bytes are missing from here on: the disk is full]\nexit status 1\n", missing); !strings.HasSuffix(string(p), want) {
		return fmt.Errorf("the end is %q, and not %q", p, want)
	}
	if all := a.s.index.size + missing; all != 3<<20 || missing < 2<<20 {
		return fmt.Errorf("%d bytes are accounted for, %d missing", all, missing)
	}
	return nil
}

// stillThere reads it again from a store that is opened anew.
func stillThere(o Options) error {
	store, err := Open(o)
	if err != nil {
		return err
	}
	turn, err := store.Turn()
	if err != nil {
		return err
	}
	if n := len(store.Entries()); n != 1 || store.Unfinished() != 0 {
		return fmt.Errorf("%d entries, %d unfinished", n, store.Unfinished())
	}
	a, err := turn.Adopt(store.Entries()[0].Name)
	if err != nil {
		return err
	}
	if err := saysFull(a); err != nil {
		return err
	}
	return store.Close()
}
