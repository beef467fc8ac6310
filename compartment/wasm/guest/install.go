package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Runner runs a command in a directory and returns its error. Install starts no process itself: who calls it decides how npm is run.
type Runner func(ctx context.Context, dir string, argv ...string) error

// npmCommand installs exactly what the lock file names, runs no script of any package, and asks nothing.
var npmCommand = []string{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}

// Install brings the guest with npm into the file at path, making its directory. npm works in a directory of its own that is removed again.
// The file is written whole or not at all, and only when it is the guest.
func Install(ctx context.Context, run Runner, path string) error {
	b, err := fetch(ctx, run)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the guest's directory: %w", err)
	}
	return writeWhole(path, b)
}

// fetch has npm unpack the package and returns the verified guest.
func fetch(ctx context.Context, run Runner) (b []byte, err error) {
	dir, err := os.MkdirTemp("", "sallyport-guest-")
	if err != nil {
		return nil, fmt.Errorf("a directory for npm: %w", err)
	}
	defer func() {
		if rm := os.RemoveAll(dir); err == nil && rm != nil {
			err = fmt.Errorf("remove npm's directory: %w", rm)
		}
	}()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the lock file: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("write the lock file: %w", err)
		}
	}
	if err := run(ctx, dir, npmCommand...); err != nil {
		return nil, fmt.Errorf("npm ci %s@%s: %w", Package, Version, err)
	}
	b, err = os.ReadFile(filepath.Join(dir, "node_modules", Package, fileName))
	if err != nil {
		return nil, fmt.Errorf("read what npm brought: %w", err)
	}
	return b, Verify(b)
}

// writeWhole puts b at path by a rename, so that nobody ever reads half of it.
func writeWhole(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".guest-*")
	if err != nil {
		return fmt.Errorf("write the guest: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write the guest: %w", err)
		}
	}()
	if _, err = f.Write(b); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
