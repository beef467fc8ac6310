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
	f, err := d.open(clean)
	if err != nil {
		return nil, &Error{Kind: kindOf(err), Path: name, Err: err}
	}
	defer f.Close()
	switch kind := d.judge(f, clean); {
	case kind == nil, errors.Is(kind, ErrNotRegular):
		return nil, &Error{Kind: ErrNotDirectory, Path: name}
	case !errors.Is(kind, ErrIsDirectory):
		return nil, &Error{Kind: kind, Path: name}
	}
	names, err := f.Readdirnames(max + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, &Error{Kind: ErrIO, Path: name, Err: err}
	case len(names) > max:
		return nil, &Error{Kind: ErrTooMany, Path: name, Limit: int64(max)}
	}
	entries, err := d.entries(f, clean, names)
	if err != nil {
		return nil, &Error{Kind: ErrIO, Path: name, Err: err}
	}
	return entries, nil
}

// entries looks at each name, without opening anything and without following a link.
func (d *Dir) entries(f *os.File, clean string, names []string) ([]Entry, error) {
	real := ""
	if d.mayRead != nil {
		var err error
		if real, err = realPath(d, f, clean); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		if d.mayRead != nil && !d.mayRead(filepath.Join(real, name)) {
			continue
		}
		mode, err := d.modeOf(f, clean, name)
		switch {
		case errors.Is(err, iofs.ErrNotExist):
			continue // it was removed meanwhile
		case err != nil:
			return nil, err
		}
		// A name that is not text cannot be asked for by text either; it is shown, so that nobody takes the place for empty.
		entries = append(entries, Entry{Name: strings.ToValidUTF8(name, "\ufffd"), Type: typeOf(mode)})
	}
	return entries, nil
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
