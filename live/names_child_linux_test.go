package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["read-denied"] = readDenied
	attackers["change-protected-names"] = changeProtected
}

// readDenied reads a file that the policy denies, under its name and under every other that can be made for it.
func readDenied(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	p := args[0]
	dir := filepath.Dir(p)
	read := func(path string) error {
		b, err := os.ReadFile(path)
		if err == nil && string(b) != secretText {
			return fmt.Errorf("read %q", b)
		}
		return err
	}
	then := func(err error, path string) error {
		if err != nil {
			return err
		}
		return read(path)
	}
	return every([]attempt{
		{"open", func() error { return read(p) }},
		{"openat2", func() error {
			fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC})
			if err == nil {
				unix.Close(fd)
			}
			return known(err)
		}},
		{"/proc/self/root", func() error { return read("/proc/self/root" + p) }},
		{"symlink", func() error { return then(os.Symlink(p, dir+"/symlink"), dir+"/symlink") }},
		{"hard link", func() error { return then(os.Link(p, dir+"/hard"), dir+"/hard") }},
		{"hard link by descriptor", func() error { return then(linkByDescriptor(p, dir+"/hard2"), dir+"/hard2") }},
		{"chmod", func() error { return then(os.Chmod(p, 0o644), p) }},
		{"directory renamed", func() error { return then(os.Rename(dir, dir+".moved"), filepath.Join(dir+".moved", filepath.Base(p))) }},
		{"renamed", func() error {
			// The directory has another name now, or still its own.
			if _, err := os.Lstat(dir); err != nil {
				dir += ".moved"
			}
			from := filepath.Join(dir, filepath.Base(p))
			return then(os.Rename(from, dir+"/renamed"), dir+"/renamed")
		}},
	}, fileRefusals...)
}

// linkByDescriptor links an O_PATH descriptor, which needs no right to read the file.
func linkByDescriptor(from, to string) error {
	fd, err := unix.Open(from, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
}

// changeProtected tries to change the files that it is given, in every way there is.
func changeProtected(args []string) (finding, error) {
	var all []attempt
	here, err := os.Getwd()
	if err != nil {
		return finding{}, err
	}
	for _, p := range args {
		p = strings.TrimPrefix(p, here+"/")
		all = append(all,
			attempt{"write " + p, func() error { return writeInto(p) }},
			attempt{"truncate " + p, func() error { return os.Truncate(p, 0) }},
			attempt{"chmod " + p, func() error { return os.Chmod(p, 0o755) }},
			attempt{"write by a hard link to " + p, func() error { return linkAndWrite(p) }},
			attempt{"replace " + p, func() error { return replace(p) }},
			attempt{"exchange " + p, func() error { return exchange(p) }},
			attempt{"remove " + p, func() error { return os.Remove(p) }},
		)
	}
	return every(all, fileRefusals...)
}

// linkAndWrite writes to p by another name.
func linkAndWrite(p string) error {
	if err := os.Link(p, "alias"); err != nil {
		return err
	}
	return errors.Join(writeInto("alias"), os.Remove("alias"))
}

// replace renames another file over p.
func replace(p string) error {
	tmp, err := os.CreateTemp(".", "replace")
	if err != nil {
		return err
	}
	return errors.Join(tmp.Close(), os.Rename(tmp.Name(), p))
}

func exchange(p string) error {
	tmp, err := os.CreateTemp(".", "exchange")
	if err != nil {
		return err
	}
	return errors.Join(tmp.Close(), unix.Renameat2(unix.AT_FDCWD, tmp.Name(), unix.AT_FDCWD, p, unix.RENAME_EXCHANGE))
}
