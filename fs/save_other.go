//go:build !linux

package fs

import (
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
)

// Here a directory is kept by its path below the root, which os.Root holds: see the package comment for what that leaves.

func (s *saving) at(base string) string { return filepath.FromSlash(path.Join(s.dirPath, base)) }

// create makes a file with a name that nobody uses.
func (s *saving) create() (f *os.File, name string, err error) {
	name = temporaryName()
	f, err = s.w.root.OpenFile(s.at(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, newMode)
	return f, name, err
}

// stat looks at a name in the directory, and follows no link.
func (s *saving) stat(base string) (iofs.FileInfo, error) { return s.w.root.Lstat(s.at(base)) }

// link is never needed: every file here has a name.
func (s *saving) link(*os.File, string) error { return iofs.ErrInvalid }

func (s *saving) rename(from string) error { return s.w.root.Rename(s.at(from), s.at(s.base)) }

func (s *saving) remove(name string) error { return s.w.root.Remove(s.at(name)) }

// keepMode gives a new file the permissions of the old one.
func keepMode(f *os.File, old iofs.FileInfo) error { return f.Chmod(old.Mode().Perm()) }

// syncDir brings the new name to the disk. Windows has no such call for directories.
func syncDir(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}
