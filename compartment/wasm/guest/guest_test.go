package guest

import (
	"context"
	"encoding/json"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLockFile: the lock file names exactly this version, with a hash npm checks, and no host to fetch it from.
func TestLockFile(t *testing.T) {
	var manifest struct {
		Dependencies map[string]string
		Private      bool
	}
	b, err := files.ReadFile("package.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &manifest))
	require.Equal(t, map[string]string{Package: Version}, manifest.Dependencies)
	require.True(t, manifest.Private)

	b, err = files.ReadFile("package-lock.json")
	require.NoError(t, err)
	var lock struct {
		Packages map[string]struct{ Version, Integrity, Resolved string }
	}
	require.NoError(t, json.Unmarshal(b, &lock))
	require.Len(t, lock.Packages, 2, "the guest has dependencies")
	p := lock.Packages["node_modules/"+Package]
	require.Equal(t, Version, p.Version)
	require.True(t, strings.HasPrefix(p.Integrity, "sha512-"))
	require.NotContains(t, string(b), "://")
}

// TestNotices: every licence that the guest comes with is kept with it.
func TestNotices(t *testing.T) {
	for _, holder := range []string{"Vercel, Inc.", "Fabrice Bellard", "Charlie Gordon", "Ben Noordhuis", "Saúl Ibarra Corretgé", "Unicode, Inc."} {
		require.Contains(t, Notices(), holder)
	}
	require.Contains(t, Notices(), Version)
}

// TestVerify: one changed byte is another file.
func TestVerify(t *testing.T) {
	require.ErrorContains(t, Verify(nil), SHA256)
	require.ErrorContains(t, Verify([]byte("\x00asm")), Package)
}

// TestFindInTheCache: it is looked for under its hash, and a file that is something else is an error and not skipped.
func TestFindInTheCache(t *testing.T) {
	dir := t.TempDir()
	_, _, err := find(noFiles{}, dir)
	require.ErrorIs(t, err, ErrAbsent)

	path, err := Path(dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, SHA256+".wasm"), path)
	require.NoError(t, os.WriteFile(path, []byte("something else"), 0o600))
	_, _, err = find(noFiles{}, dir)
	require.ErrorContains(t, err, "not the guest")
	require.NotErrorIs(t, err, ErrAbsent)

	whole, _, err := Find("")
	if errors.Is(err, ErrAbsent) && os.Getenv("SALLYPORT_LIVE") != "require" {
		t.Skipf("SKIPPED: the guest is not here; bring it: %s", Commands[0])
	}
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	b, place, err := find(noFiles{}, dir)
	require.NoError(t, err)
	require.Equal(t, Cached, place)
	require.Equal(t, whole, b)
}

// noFiles has no embedded guest.
type noFiles struct{}

func (noFiles) Open(name string) (iofs.File, error) {
	return nil, &iofs.PathError{Op: "open", Path: name, Err: iofs.ErrNotExist}
}

func (f noFiles) ReadFile(name string) ([]byte, error) {
	_, err := f.Open(name)
	return nil, err
}

// TestInstall runs a stand-in for npm: it gets the two files and the fixed command, and what it brings is written only when it is the guest.
func TestInstall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "guest.wasm")
	var dir string
	bring := func(content string) Runner {
		return func(_ context.Context, d string, argv ...string) error {
			dir = d
			require.Equal(t, npmCommand, argv)
			for _, name := range []string{"package.json", "package-lock.json"} {
				want, err := files.ReadFile(name)
				require.NoError(t, err)
				have, err := os.ReadFile(filepath.Join(d, name))
				require.NoError(t, err)
				require.Equal(t, want, have)
			}
			at := filepath.Join(d, "node_modules", Package)
			require.NoError(t, os.MkdirAll(at, 0o700))
			return os.WriteFile(filepath.Join(at, fileName), []byte(content), 0o600)
		}
	}
	require.ErrorContains(t, Install(context.Background(), bring("malware"), path), "not the guest")
	require.NoFileExists(t, path)
	require.NoDirExists(t, dir, "npm's directory was left")

	broken := errors.New("no network")
	err := Install(context.Background(), func(context.Context, string, ...string) error { return broken }, path)
	require.ErrorIs(t, err, broken)
	require.NoFileExists(t, path)

	whole, _, err := Find("")
	if errors.Is(err, ErrAbsent) && os.Getenv("SALLYPORT_LIVE") != "require" {
		t.Skipf("SKIPPED: the guest is not here; bring it: %s", Commands[0])
	}
	require.NoError(t, err)
	require.NoError(t, Install(context.Background(), bring(string(whole)), path))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, Verify(b))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "half a file was left")
}
