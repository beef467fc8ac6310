package fs

import (
	"crypto/rand"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path"
)

// Save makes the file of that name hold what r gives, and tells its size, read back afterwards. It replaces the file as a
// whole or not at all: the text is written to a file without a name beside it, brought to the disk, and given the name in
// one step. When anything fails, what was there is there unchanged, and nothing else. A file that is new may be saved
// (D6); directories are not made.
//
// The name must be below the write root (ErrOutside), no part of the path may be a link (R228), and the rules must let the real
// path be written: mandatory names and patterns too (R230), judged once more before the name is given. Errors otherwise
// are ErrNotWritable, ErrIsDirectory and ErrNotRegular for what stands there, or ErrIO.
//
// A file that was there keeps its permissions, and its owner where the process may give files away; set-user-id bits are
// not kept. Another hard link of it keeps the old text.
func (w *Workspace) Save(name string, r io.Reader) (size int64, err error) {
	clean, err := Clean(name)
	if err != nil {
		return 0, err
	}
	if !w.inWriteRoot(clean) {
		return 0, &Error{Kind: ErrOutside, Path: name}
	}
	if clean == "." {
		return 0, &Error{Kind: ErrIsDirectory, Path: name}
	}
	s := &saving{w: w, name: name, dirPath: path.Dir(clean), base: path.Base(clean)}
	if err := s.open(); err != nil {
		return 0, err
	}
	defer s.dir.Close()
	if err := s.check(); err != nil {
		return 0, err
	}
	size, err = s.write(r)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return 0, err
		}
		return 0, &Error{Kind: ErrIO, Path: name, Err: err}
	}
	return size, nil
}

// newMode is that of a new file, less the umask.
const newMode iofs.FileMode = 0o666

// saving is one Save.
type saving struct {
	w             *Workspace
	name          string // as the model wrote it
	dirPath, base string
	dir           *os.File
	old           iofs.FileInfo // what stands there; nil for nothing
}

// open opens the directory.
func (s *saving) open() error {
	dir, err := s.w.open(s.dirPath)
	if err == nil {
		s.dir = dir
		return nil
	}
	if kindOf(err) == ErrNotFound {
		return &Error{Kind: ErrNotWritable, Path: s.name, Err: err}
	}
	return &Error{Kind: ErrIO, Path: s.name, Err: err}
}

// check judges the name on the real path of the open directory, and looks at what stands there. What may not be read may
// not be written, so nothing is told of it.
func (s *saving) check() error {
	real, err := realPath(s.w.Dir, s.dir, s.dirPath)
	if err != nil {
		return &Error{Kind: ErrNotWritable, Path: s.name, Err: err}
	}
	if err := s.w.writable(real, s.base, s.name); err != nil {
		return err
	}
	s.old, err = s.stat(s.base)
	var known *Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, iofs.ErrNotExist):
		s.old = nil
		return nil
	case err != nil:
		return &Error{Kind: ErrIO, Path: s.name, Err: err}
	case s.old.IsDir():
		return &Error{Kind: ErrIsDirectory, Path: s.name}
	case !s.old.Mode().IsRegular():
		return &Error{Kind: ErrNotRegular, Path: s.name}
	}
	if self, err := os.Executable(); err == nil {
		if program, err := os.Stat(self); err == nil && os.SameFile(program, s.old) {
			// The next jail would be put up by what is saved here.
			return &Error{Kind: ErrNotWritable, Path: s.name, Err: errors.Join(ErrDenied, errors.New("it is the running program"))}
		}
	}
	return nil
}

// write makes the file and gives it its name.
func (s *saving) write(r io.Reader) (size int64, err error) {
	f, temporary, err := s.create()
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil && temporary != "" {
			err = errors.Join(err, s.remove(temporary))
		}
	}()
	defer f.Close()
	if _, err = io.Copy(f, r); err != nil {
		return 0, err
	}
	if s.old != nil {
		if err = keepMode(f, s.old); err != nil {
			return 0, err
		}
	}
	if err = f.Sync(); err != nil {
		return 0, err
	}
	// Writing may have taken long: the directory may have been moved to where nothing may be written.
	if err = s.check(); err != nil {
		return 0, err
	}
	if temporary, err = s.nameIt(f, temporary); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), syncDir(s.dir)
}

// nameIt gives the new file its name. left is the temporary name that is still there after an error.
func (s *saving) nameIt(f *os.File, temporary string) (left string, err error) {
	if temporary == "" && s.old == nil {
		err := s.link(f, s.base)
		if err == nil || !errors.Is(err, iofs.ErrExist) {
			return "", err
		}
	}
	if temporary == "" { // a name that is taken can only be replaced by another name
		temporary = temporaryName()
		if err := s.link(f, temporary); err != nil {
			return "", err
		}
	}
	if err := s.rename(temporary); err != nil {
		return temporary, err
	}
	return "", nil
}

// temporaryName is one that nobody else uses, for the moment between two steps.
func temporaryName() string { return ".sallyport-" + rand.Text() + ".tmp" }
