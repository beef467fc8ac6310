package fs

import (
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Entry is one name in a directory.
type Entry struct {
	// Name is the last part of the path.
	Name string
	// Type is what the name stands for. A symbolic link is a link, whatever it leads to: nobody looked.
	Type EntryType
}

// EntryType says what a name stands for.
type EntryType string

// The types.
const (
	TypeFile      EntryType = "file"
	TypeDirectory EntryType = "directory"
	TypeLink      EntryType = "link"
	TypeOther     EntryType = "other" // a device, pipe or socket
)

// List is what is in the directory of that name, sorted by name; the names are the last parts of paths only (R237). The
// directory itself is judged first (R233), and an entry that may not be read is left out as if it were not there (R232).
// It is never cut: a directory with more than max names is ErrTooMany. Something that is no directory is
// ErrNotDirectory.
func (d *Dir) List(name string, max int) ([]Entry, error) {
	clean, err := Clean(name)
	if err != nil {
		return nil, err
	}
	f, real, err := d.openDir(clean, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := f.ReadDir(max + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, &Error{Kind: ErrIO, Path: name, Err: err}
	case len(found) > max:
		return nil, &Error{Kind: ErrTooMany, Path: name, Limit: int64(max)}
	}
	entries, _ := d.visible(real, found)
	return entries, nil
}

// openDir opens a directory and judges it; real is its path on the host, when anybody is to be asked about paths.
func (d *Dir) openDir(clean, name string) (f *os.File, real string, err error) {
	if f, err = d.open(clean); err != nil {
		if errors.Is(err, errNoDirectory) {
			err = d.notDirectory(name)
		} else {
			err = &Error{Kind: kindOf(err), Path: name, Err: err}
		}
		return nil, "", err
	}
	if _, real, err = d.judge(f, clean, name); err != nil {
		f.Close()
		return nil, "", err
	}
	return f, real, nil
}

// notDirectory is the error for a file where a directory should be, if anybody may know that there is one.
func (d *Dir) notDirectory(name string) error {
	f, _, err := d.find(name)
	if err != nil {
		return err
	}
	f.Close()
	return &Error{Kind: ErrNotDirectory, Path: name}
}

// visible sorts the names of a directory and leaves out what may not be read. names are the names as they are.
func (d *Dir) visible(real string, found []iofs.DirEntry) (entries []Entry, names []string) {
	slices.SortFunc(found, func(a, b iofs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	entries, names = make([]Entry, 0, len(found)), make([]string, 0, len(found))
	ask := d.read != nil && (d.free == nil || !d.free(real))
	for _, e := range found {
		if ask && !d.read(filepath.Join(real, e.Name())).Allowed {
			continue
		}
		// A name that is not text cannot be asked for by text either; it is shown, so that nobody takes the place for empty.
		entries = append(entries, Entry{Name: strings.ToValidUTF8(e.Name(), "\ufffd"), Type: typeOf(e.Type())})
		names = append(names, e.Name())
	}
	return entries, names
}

func typeOf(m iofs.FileMode) EntryType {
	switch {
	case m.IsRegular():
		return TypeFile
	case m.IsDir():
		return TypeDirectory
	case m&iofs.ModeSymlink != 0:
		return TypeLink
	}
	return TypeOther
}
