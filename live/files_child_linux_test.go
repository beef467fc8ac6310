package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["write-by-symlink"] = writeBySymlink
	attackers["swap-directory-and-symlink"] = swapRace
	attackers["write-outside"] = writeOutside
	attackers["change-metadata"] = changeMetadata
	attackers["make-protected-names"] = makeProtected
	attackers["open-by-handle"] = openByHandle
	attackers["make-device"] = makeDevice
	attackers["use-leaked-directory"] = useLeaked
	attackers["fill-tmp"] = fillTmp
	attackers["write-to-host-fifo"] = writeFifo
}

// writeBySymlink writes to a directory outside through links that were there and links of its own making.
func writeBySymlink(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	ws, outside := args[0], args[1]
	own := filepath.Join(ws, "own")
	if err := os.Symlink(outside, own); err != nil {
		return finding{}, err
	}
	if err := os.Symlink("own", filepath.Join(ws, "chain")); err != nil {
		return finding{}, err
	}
	var all []attempt
	for _, name := range []string{"absolute", "relative", "own", "chain", "sub/../own", "../ws/own/../outside"} {
		path := ws + "/" + name + "/" + "by-" + strings.ReplaceAll(name, "/", "_")
		all = append(all, attempt{name, func() error { return writeInto(path) }})
	}
	all = append(all, attempt{"link to the file", func() error {
		if err := os.Symlink(outside+"/secret", ws+"/file"); err != nil {
			return err
		}
		return writeInto(ws + "/file")
	}})
	return every(all, fileRefusals...)
}

// swaps is how often the race swaps; each thread writes for as long as the other swaps.
const swaps = 10_000

// swapRace swaps a directory with a symbolic link to a directory outside on one thread, and writes below that name on
// another, always by path.
func swapRace(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	ws, outside := args[0], args[1]
	dir, link := filepath.Join(ws, "d"), filepath.Join(ws, "l")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink(outside, link)); err != nil {
		return finding{}, err
	}
	var done sync.WaitGroup
	var swapErr error
	stop := make(chan struct{})
	done.Add(1)
	go func() {
		defer done.Done()
		defer close(stop)
		runtime.LockOSThread()
		for range swaps {
			if swapErr = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); swapErr != nil {
				return
			}
			runtime.Gosched()
		}
	}()
	writes, refusals, err := writeUntil(stop, filepath.Join(dir, "f"))
	done.Wait()
	if err = errors.Join(err, swapErr); err != nil {
		return finding{}, err
	}
	if _, err := os.Lstat(filepath.Join(outside, "f")); err == nil {
		return got("%d writes, %d refused, and a file outside", writes, refusals)
	}
	if writes == 0 {
		return finding{}, errors.New("no write came about at all")
	}
	return finding{refused, fmt.Sprintf("%d swaps, %d writes inside, %d refused, none outside", swaps, writes, refusals)}, nil
}

// writeUntil writes a file by path, at least as often as the other thread swaps, until that one is done.
func writeUntil(stop chan struct{}, path string) (writes, refusals int, err error) {
	for stopped := false; !stopped || writes+refusals < swaps; {
		select {
		case <-stop:
			stopped = true
		default:
		}
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
		switch err {
		case nil:
			_, err = unix.Write(fd, []byte("x"))
			unix.Close(fd)
			writes++
		case unix.EROFS, unix.EACCES:
			refusals++
			err = nil
		case unix.ENOENT, unix.EEXIST: // O_CREAT between two states
			err = nil
		}
		if err != nil {
			return writes, refusals, err
		}
	}
	return writes, refusals, nil
}

// writeOutside tries every call that opens, makes, moves or removes a file, on a directory outside.
func writeOutside(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	ws, out := args[0], args[1]
	for _, n := range []string{"move", "link", "exchange"} {
		if err := writeInto(filepath.Join(ws, n)); err != nil {
			return finding{}, err
		}
	}
	secret := out + "/secret"
	opened := func(fd int, err error) error {
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	const create = unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC
	at := unix.AT_FDCWD
	return every([]attempt{
		{"open", func() error { return opened(legacyOpen(secret, unix.O_WRONLY)) }},
		{"creat", func() error { return opened(unix.Creat(out+"/creat", 0o644)) }},
		{"openat", func() error { return opened(unix.Openat(at, out+"/openat", create, 0o644)) }},
		{"openat2", func() error {
			return known(opened(unix.Openat2(at, out+"/openat2", &unix.OpenHow{Flags: create, Mode: 0o644})))
		}},
		{"open with O_APPEND", func() error { return writeInto(secret) }},
		{"/proc/self/root", func() error { return writeInto("/proc/self/root" + secret) }},
		{"/proc/self/cwd", func() error { return writeInto("/proc/self/cwd/../outside/cwd") }},
		{"O_TMPFILE", func() error { return opened(unix.Open(out, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)) }},
		{"a read-only descriptor opened again", func() error { return reopen(secret) }},
		{"truncate", func() error { return unix.Truncate(secret, 3) }},
		{"mkdir", func() error { return unix.Mkdir(out+"/mkdir", 0o755) }},
		{"symlink", func() error { return unix.Symlink("x", out+"/symlink") }},
		{"mkfifo", func() error { return unix.Mkfifo(out+"/fifo", 0o644) }},
		{"link into", func() error { return unix.Link(ws+"/link", out+"/link") }},
		{"rename into", func() error { return unix.Rename(ws+"/move", out+"/move") }},
		{"exchange", func() error { return unix.Renameat2(at, ws+"/exchange", at, secret, unix.RENAME_EXCHANGE) }},
		{"rename out of", func() error { return unix.Rename(secret, ws+"/taken") }},
		{"write through a hard link made now", func() error {
			if err := unix.Link(ws+"/exchange", out+"/alias"); err != nil {
				return err
			}
			return writeInto(out + "/alias")
		}},
		{"rmdir", func() error {
			// In the open arm the directory was made above.
			if err := unix.Rmdir(out + "/mkdir"); err != unix.ENOENT {
				return err
			}
			return unix.EROFS // nothing was made, so there is nothing to remove
		}},
	}, fileRefusals...)
}

// known: the filter says of openat2 that there is no such call, because its flags lie where it cannot see them.
func known(err error) error {
	if err == unix.ENOSYS {
		return unix.EPERM
	}
	return err
}

// legacyOpen uses open(2) where the architecture has it: a filter or ruleset that knows openat alone would miss it.
func legacyOpen(path string, flags int) (int, error) {
	if sysOpen == 0 {
		return unix.Open(path, flags|unix.O_CLOEXEC, 0)
	}
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall(sysOpen, uintptr(unsafe.Pointer(p)), uintptr(flags|unix.O_CLOEXEC), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// reopen opens a file for reading and then its descriptor for writing.
func reopen(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return w.Close()
}

// changeMetadata changes everything about a file but its contents.
func changeMetadata(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	p := args[0]
	return every([]attempt{
		{"chmod", func() error { return unix.Chmod(p, 0o666) }},
		{"chown", func() error { return unix.Chown(p, os.Getuid(), os.Getgid()) }},
		{"utimensat", func() error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
		}},
		{"setxattr", func() error { return unix.Setxattr(p, "user.attack", []byte("x"), 0) }},
		{"attributes by ioctl", func() error { return setNoDump(p) }},
		{"fchmod of a descriptor", func() error {
			f, err := os.Open(p)
			if err != nil {
				return err
			}
			return errors.Join(f.Chmod(0o640), f.Close())
		}},
	}, fileRefusals...)
}

// openByHandle opens a file by its handle, which no mount can hide.
func openByHandle(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	ws, secret := args[0], args[1]
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, secret, 0)
	if err != nil {
		return judge("name_to_handle_at", err, unix.EPERM)
	}
	mount, err := unix.Open(ws, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return finding{}, err
	}
	fd, err := unix.OpenByHandleAt(mount, handle, unix.O_RDONLY|unix.O_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return judge("open_by_handle_at", err, unix.EPERM)
}

// makeDevice makes a node of a block device that does not exist, and of /dev/mem's number, without opening them.
func makeDevice(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	return every([]attempt{
		{"block", func() error { return unix.Mknod(args[0]+"/block", unix.S_IFBLK|0o600, int(unix.Mkdev(240, 7))) }},
		{"character", func() error { return unix.Mknod(args[0]+"/char", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1))) }},
	}, unix.EPERM, unix.EACCES)
}

// useLeaked uses a directory descriptor of the host that nobody meant to hand over (CVE-2024-21626).
func useLeaked(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	fd := atoi(args[0])
	read := func(err error, path string) error {
		if err != nil {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	}
	return every([]attempt{
		{"openat", func() error {
			got, err := unix.Openat(fd, args[1], unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(got)
			}
			return err
		}},
		{"/proc/self/fd", func() error { return read(nil, fmt.Sprintf("/proc/self/fd/%d/%s", fd, args[1])) }},
		{"fchdir", func() error { return read(unix.Fchdir(fd), args[1]) }},
	}, unix.EBADF, unix.ENOENT)
}

// fillTmp writes to /tmp until it is full, 8 MiB at most.
func fillTmp(args []string) (finding, error) {
	f, err := os.CreateTemp(args[0], "fill")
	if err != nil {
		return finding{}, err
	}
	defer os.Remove(f.Name())
	block := make([]byte, 1<<20)
	for range 8 {
		if _, err := f.Write(block); err != nil {
			return judge("write", err, syscall.ENOSPC)
		}
	}
	return got("wrote 8 MiB")
}

// writeFifo opens a pipe of the host that has a name. A read-only mount does not stop that.
func writeFifo(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	fd, err := unix.Open(args[0], unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte("x"))
		unix.Close(fd)
	}
	return judge("write", err, fileRefusals...)
}

// setNoDump sets an attribute of a file that is open for reading only.
func setNoDump(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	const noDump = 0x40
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|noDump)
}

// makeProtected tries to make the names that it is given, in every way there is. In the open arm each stays until the next
// one takes its place.
func makeProtected(args []string) (finding, error) {
	for _, n := range []string{"file", "spare"} {
		if err := writeInto(n); err != nil {
			return finding{}, err
		}
	}
	var all []attempt
	for _, p := range args {
		fresh := func(do func() error) func() error {
			return func() error {
				if err := os.RemoveAll(p); err != nil {
					return err
				}
				return do()
			}
		}
		all = append(all,
			attempt{"create " + p, fresh(func() error { return writeInto(p) })},
			attempt{"creat " + p, fresh(func() error { return closed(unix.Creat(p, 0o644)) })},
			attempt{"symlink " + p, fresh(func() error { return os.Symlink("file", p) })},
			attempt{"link " + p, fresh(func() error { return os.Link("file", p) })},
			attempt{"mkfifo " + p, fresh(func() error { return unix.Mkfifo(p, 0o644) })},
			attempt{"tmpfile " + p, fresh(func() error { return linkTemporary(p) })},
			attempt{"directory renamed " + p, fresh(func() error { return errors.Join(os.MkdirAll("dir/inside", 0o755), os.Rename("dir", p)) })},
			attempt{"file renamed " + p, fresh(func() error { return errors.Join(writeInto("moved"), os.Rename("moved", p)) })},
		)
		if base := filepath.Base(p); !strings.EqualFold(base, "hooks") { // an empty one may be made
			all = append(all, attempt{"mkdir " + p, fresh(func() error { return os.Mkdir(p, 0o755) })})
		}
	}
	return every(all, fileRefusals...)
}

// closed is the error of an open; what was opened is closed.
func closed(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// linkTemporary gives a file that was made without a name one.
func linkTemporary(p string) error {
	fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, p, unix.AT_SYMLINK_FOLLOW)
}
