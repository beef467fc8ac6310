//go:build !linux

package fs

import (
	"errors"
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// errLink is a symbolic link in a path.
var errLink = errors.New("a part of the path is a symbolic link")

// open opens a clean path below the root. Links are looked for first; os.Root keeps what is opened below the root in
// any case.
func (d *Dir) open(clean string) (*os.File, error) {
	parts := strings.Split(clean, "/")
	for i := range parts {
		info, err := d.root.Lstat(path.Join(parts[:i+1]...))
		if err != nil {
			return nil, err
		}
		if info.Mode()&iofs.ModeSymlink != 0 {
			return nil, errLink
		}
		if i == len(parts)-1 && !info.Mode().IsRegular() && !info.IsDir() {
			return nil, errLink // a pipe or device is not opened at all: opening could wait
		}
	}
	return d.root.OpenFile(filepath.FromSlash(clean), os.O_RDONLY|nonblock, 0)
}

// realPath is the path below the root's real path; the system gives no way to ask the descriptor.
func realPath(d *Dir, _ *os.File, clean string) (string, error) {
	root, err := filepath.EvalSymlinks(d.root.Name())
	if err != nil {
		return "", err
	}
	return filepath.Join(root, filepath.FromSlash(clean)), nil
}

// modeOf is the type of a name in a directory.
func (d *Dir) modeOf(_ *os.File, clean, name string) (iofs.FileMode, error) {
	info, err := d.root.Lstat(filepath.Join(filepath.FromSlash(clean), name))
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// isLinkOrName tells errors that are about the path, not about reading.
func isLinkOrName(err error) bool {
	return errors.Is(err, errLink) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) ||
		strings.Contains(err.Error(), "path escapes from parent") // os.Root has no exported error for it
}
