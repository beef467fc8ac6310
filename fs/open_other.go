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

// errNoDirectory is a file where a directory should be.
const errNoDirectory = syscall.ENOTDIR

// locate gets a handle of a clean path below the root. Here that opens it, so what is neither a file nor a directory is
// refused by its name. Links are looked for first; os.Root keeps what is opened below the root in any case.
func (d *Dir) locate(clean string) (*os.File, error) {
	info, err := d.lstat(clean)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errLink // a pipe or device is not opened at all: opening could wait
	}
	return d.root.OpenFile(filepath.FromSlash(clean), os.O_RDONLY|nonblock, 0)
}

// open opens the directory at a clean path below the root.
func (d *Dir) open(clean string) (*os.File, error) {
	f, err := d.locate(clean)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		f.Close()
		return nil, errors.Join(err, errNoDirectory)
	}
	return f, nil
}

// lstat looks at a path that has no link on the way, and is none.
func (d *Dir) lstat(clean string) (iofs.FileInfo, error) {
	parts := strings.Split(clean, "/")
	for i := range parts {
		info, err := d.root.Lstat(path.Join(parts[:i+1]...))
		if err != nil {
			return nil, err
		}
		if info.Mode()&iofs.ModeSymlink != 0 {
			return nil, errLink
		}
		if i == len(parts)-1 {
			return info, nil
		}
	}
	return nil, errLink // cannot happen: Split gives at least one part
}

// reopen gives a second handle of a file.
func reopen(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	again, err := os.Open(f.Name())
	if err != nil {
		return nil, err
	}
	if there, err := again.Stat(); err != nil || !os.SameFile(info, there) {
		again.Close()
		return nil, errors.Join(err, errLink)
	}
	return again, nil
}

// realPath is the path below the root's real path; the system gives no way to ask the descriptor.
func realPath(d *Dir, _ *os.File, clean string) (string, error) {
	root, err := filepath.EvalSymlinks(d.root.Name())
	if err != nil {
		return "", err
	}
	return filepath.Join(root, filepath.FromSlash(clean)), nil
}

// isLinkOrName tells errors that are about the path, not about reading.
func isLinkOrName(err error) bool {
	return errors.Is(err, errLink) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) ||
		strings.Contains(err.Error(), "path escapes from parent") // os.Root has no exported error for it
}
