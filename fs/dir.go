// Package fs reads files of one directory tree for code that is not trusted to name them.
//
// A Dir is a handle of a directory, opened once. A file is opened first, below that handle, and judged afterwards on
// the descriptor that came back: what was judged is what is read.
//
//	dir, err := fs.OpenDir("/home/ann/project")
//	if err != nil {
//		return err
//	}
//	defer dir.Close()
//	text, err := dir.ReadFile("docs/plan.md", 1<<20)
//
// A Workspace is a Dir with the rules of a policy, in which files can be saved too:
//
//	ws, err := fs.OpenWorkspace("/home/ann/project", fs.Options{Rules: box, WriteRoot: "/"})
//
// On Linux the kernel resolves the path below the handle (openat2 with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and
// RESOLVE_NO_MAGICLINKS): no symbolic link is followed in any part of it (R291), and swapping one in at the last
// moment wins nothing.
//
// Only regular files are read. A pipe, a device or a directory is refused without opening it. List gives the names in a
// directory, Walk those of a tree, Stat one of them. Save replaces a file as a whole or makes a new one.
//
// # What it does not stop
//
// A hard link, or a file system mounted below the root, is part of the tree. Rules are about names: a program outside of
// any sandbox that may rename a denied directory gives it a name that is not denied. On systems other than Linux the
// links of a path are looked for before it is opened (os.Root then still keeps the file below the root), so a link to
// another place inside the root, swapped in between, is followed, and what is judged is the path as it was written. A
// confined command cannot do either: see package shell.
//
// # Errors
//
// Each is an *Error and one of ErrPath, ErrNotFound, ErrIsDirectory, ErrNotRegular, ErrTooLarge, ErrNotDirectory,
// ErrTooMany, ErrOutside, ErrNotWritable, ErrIO. Its text names no path of the host. What is not there and what may not be
// read have one text; for the host, errors.Is tells ErrDenied, and Error.Decision says which rule it was.
package fs

import (
	"errors"
	"io"
	iofs "io/fs"
	"os"

	"sallyport/policy"
)

// Dir is a directory that files are read below. It is safe for concurrent use.
type Dir struct {
	root   *os.Root
	handle *os.File // the same directory, for what os.Root does not do
	read   func(hostPath string) policy.Decision
	free   func(hostPath string) bool // whether read need not be asked about what is below; may be nil
}

// OpenDir opens the directory at a path of the host. Symbolic links in the path to it are followed: the host chose it.
func OpenDir(hostPath string) (*Dir, error) {
	root, err := os.OpenRoot(hostPath)
	if err != nil {
		return nil, err
	}
	handle, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Dir{root: root, handle: handle}, nil
}

// Restrict makes a Dir of the same directory that has only those files for which mayRead says yes. It is asked with
// the real path of the opened file on the host, read from the descriptor where the system tells it. A file it refuses
// is ErrNotFound, as if it were not there. A restriction of a restricted Dir asks both. The new Dir shares the
// handle: closing either closes both.
func (d *Dir) Restrict(mayRead func(hostPath string) bool) *Dir {
	return d.restrict(func(p string) policy.Decision {
		return policy.Decision{Allowed: mayRead(p), Axis: policy.AxisRead, Path: p}
	})
}

func (d *Dir) restrict(read func(hostPath string) policy.Decision) *Dir {
	first := d.read
	return &Dir{root: d.root, handle: d.handle, read: func(p string) policy.Decision {
		if first != nil {
			if decision := first(p); !decision.Allowed {
				return decision
			}
		}
		return read(p)
	}}
}

// Close closes the handle. Files that are open stay open.
func (d *Dir) Close() error { return errors.Join(d.handle.Close(), d.root.Close()) }

// Open opens the regular file of that name, as a model writes it (see Clean), for reading. What is no regular file is
// refused without opening it: a pipe would wait for a writer, and a device can act when it is opened.
func (d *Dir) Open(name string) (*os.File, error) {
	f, info, err := d.find(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch {
	case info.IsDir():
		return nil, &Error{Kind: ErrIsDirectory, Path: name}
	case !info.Mode().IsRegular():
		return nil, &Error{Kind: ErrNotRegular, Path: name}
	}
	opened, err := reopen(f)
	if err != nil {
		return nil, &Error{Kind: kindOf(err), Path: name, Err: err}
	}
	return opened, nil
}

// find gets a handle of what has that name, which allows to look and not to read, and judges it.
func (d *Dir) find(name string) (*os.File, iofs.FileInfo, error) {
	clean, err := Clean(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := d.locate(clean)
	if err != nil {
		return nil, nil, &Error{Kind: kindOf(err), Path: name, Err: err}
	}
	info, _, err := d.judge(f, clean, name)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// judge decides on the descriptor. What may not be read is not told apart from what is not there, so that comes first.
func (d *Dir) judge(f *os.File, clean, name string) (info iofs.FileInfo, real string, err error) {
	if d.read != nil {
		if real, err = realPath(d, f, clean); err != nil {
			return nil, "", &Error{Kind: ErrNotFound, Path: name, Err: err}
		}
		if decision := d.read(real); !decision.Allowed {
			return nil, "", denied(ErrNotFound, name, decision)
		}
	}
	if info, err = f.Stat(); err != nil {
		return nil, "", &Error{Kind: ErrIO, Path: name, Err: err}
	}
	return info, real, nil
}

// ReadFile is the whole of a file of at most max bytes. It is never cut: a longer one is ErrTooLarge.
func (d *Dir) ReadFile(name string, max int64) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The size is not asked for first: files of /proc say 0, and a file can grow.
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	switch {
	case err != nil:
		return nil, &Error{Kind: ErrIO, Path: name, Err: err}
	case int64(len(b)) > max:
		return nil, &Error{Kind: ErrTooLarge, Path: name, Limit: max}
	}
	return b, nil
}

// kindOf sorts the errors of opening. Everything that tells of a name, a link or a permission is one kind.
func kindOf(err error) error {
	switch {
	case errors.Is(err, iofs.ErrNotExist), errors.Is(err, iofs.ErrPermission), isLinkOrName(err):
		return ErrNotFound
	default:
		return ErrIO
	}
}
