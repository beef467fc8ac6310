package fs

import (
	"path/filepath"
	"strings"
	"time"
)

// Info is what Stat tells.
type Info struct {
	Type EntryType
	// Size is in bytes; of a file only.
	Size     int64
	Modified time.Time
}

// Stat says what has that name, without opening it. A link, in any part of the path, is ErrNotFound (R291).
func (d *Dir) Stat(name string) (Info, error) {
	f, info, err := d.find(name)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	i := Info{Type: typeOf(info.Mode()), Modified: info.ModTime()}
	if i.Type == TypeFile {
		i.Size = info.Size()
	}
	return i, nil
}

// HostPath is the real path of the file or directory of that name on the host, for starting something there. It is never
// for a model. Errors are those of Stat.
func (d *Dir) HostPath(name string) (string, error) {
	clean, err := Clean(name)
	if err != nil {
		return "", err
	}
	f, _, err := d.find(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	real, err := realPath(d, f, clean)
	if err != nil {
		return "", &Error{Kind: ErrNotFound, Path: name, Err: err}
	}
	return real, nil
}

// Readable says whether the rules let a real path of the host be read. It looks at no file.
func (d *Dir) Readable(hostPath string) bool { return d.read == nil || d.read(hostPath).Allowed }

// ModelPath is a real path of the host as a model may see it, relative to the root, or false for one that is not below it.
func (d *Dir) ModelPath(hostPath string) (string, bool) {
	root, err := realPath(d, d.handle, ".")
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(root, hostPath)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return strings.ToValidUTF8(filepath.ToSlash(rel), "\ufffd"), true
}
