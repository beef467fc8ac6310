package live

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"sallyport/policy"
)

func init() {
	attackers["flip-path"] = flipPath
	attackers["shuffle-names"] = shuffleNames
	attackers["unreadable"] = unreadable
	attackers["through-first-process"] = throughFirst
	attackers["metadata-by-descriptor"] = metadataByDescriptor
	attackers["read-by-any-name"] = readByAnyName
}

// flips is how often each call is made while another thread flips its path.
const flips = 10_000

// flipPath makes calls with a path that another thread flips between a harmless and a protected name, each flip one store:
// whoever looks twice sees two names.
func flipPath([]string) (finding, error) {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return finding{}, err
	}
	word := (*uint64)(unsafe.Pointer(&page[0]))
	name := func(s string) uint64 { return *(*uint64)(unsafe.Pointer(unsafe.SliceData([]byte(s + "\x00")))) }
	good, bad := name("okfiles"), name(".bashrc")
	*word = good
	var stop atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread()
		for !stop.Load() {
			atomic.StoreUint64(word, good)
			atomic.StoreUint64(word, bad)
		}
	})
	path, cwd := uintptr(unsafe.Pointer(word)), ^uintptr(99)
	spare := addressOf([]byte("spare\x00"))
	made, denied := 0, 0
	for i := range flips {
		_ = unix.Unlink("okfiles")
		var errno unix.Errno
		switch i % 4 {
		case 0:
			var fd uintptr
			if fd, _, errno = unix.Syscall6(unix.SYS_OPENAT, cwd, path, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644, 0, 0); errno == 0 {
				unix.Close(int(fd))
			}
		case 1:
			_, _, errno = unix.Syscall(unix.SYS_SYMLINKAT, spare, cwd, path)
		case 2:
			if err := os.WriteFile("spare", nil, 0o644); err != nil {
				return finding{}, err
			}
			_, _, errno = unix.Syscall6(unix.SYS_RENAMEAT2, cwd, spare, cwd, path, 0, 0)
		case 3:
			_, _, errno = unix.Syscall6(unix.SYS_MKNODAT, cwd, path, unix.S_IFREG|0o644, 0, 0, 0)
		}
		switch errno {
		case 0:
			made++
			if _, err := os.Lstat(".bashrc"); err == nil {
				stop.Store(true)
				done.Wait()
				return got("%d made, %d refused, and .bashrc is there", made, denied)
			}
		case unix.EACCES:
			denied++
		case unix.EEXIST:
		default:
			return finding{}, fmt.Errorf("call %d: %w", i%4, errno)
		}
	}
	stop.Store(true)
	done.Wait()
	if made == 0 || denied == 0 {
		return finding{}, fmt.Errorf("%d made and %d refused: the path did not flip", made, denied)
	}
	return finding{refused, fmt.Sprintf("%d made, %d refused, no .bashrc", made, denied)}, nil
}

// shuffleWords are the names that the shuffle makes paths of.
var shuffleWords = []string{"a", "b", ".git", "hooks", "config", ".bashrc", "modules", "sub", ".claude", "agents", "HEAD"}

// shuffleNames has several threads make, move, exchange, link and remove names at random in one tree, also by descriptors
// of directories that move meanwhile, and then looks for a protected name that is there.
func shuffleNames(args []string) (finding, error) {
	here, err := os.Getwd()
	if err != nil {
		return finding{}, err
	}
	rules, err := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(here)}}.Compile(policy.CompileOptions{})
	if err != nil {
		return finding{}, err
	}
	var done sync.WaitGroup
	var calls, worked atomic.Int64
	for seed := range uint64(4) {
		done.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 4))
			for range atoi(args[0]) {
				calls.Add(1)
				if shuffle(rng) == nil {
					worked.Add(1)
				}
			}
		})
	}
	done.Wait()
	var found []string
	err = filepath.WalkDir(here, func(path string, d iofs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, here+"/")
		_, mandatory := rules.MandatoryAt(here, rel)
		_, leads := rules.MandatoryComponent(path)
		isLink := d.Type()&iofs.ModeSymlink != 0
		if mandatory && (!d.IsDir() || !rules.Mkdir(path).Allowed) || leads && isLink && !strings.Contains(rel, "modules/") {
			found = append(found, d.Type().String()+" "+rel)
		}
		return nil
	})
	if err != nil {
		return finding{}, err
	}
	if len(found) > 0 {
		return got("%d calls, %d worked, and there are %q", calls.Load(), worked.Load(), found[:min(len(found), 10)])
	}
	if worked.Load() < 100 {
		return finding{}, fmt.Errorf("of %d calls only %d worked", calls.Load(), worked.Load())
	}
	return finding{refused, fmt.Sprintf("%d calls, %d worked, none left a protected name", calls.Load(), worked.Load())}, nil
}

// shuffle makes one random call.
func shuffle(rng *rand.Rand) error {
	word := func() string { return shuffleWords[rng.IntN(len(shuffleWords))] }
	path := func() string {
		p := word()
		for range rng.IntN(3) {
			p += "/" + word()
		}
		return p
	}
	dir := unix.AT_FDCWD
	if rng.IntN(3) == 0 {
		if fd, err := unix.Open(path(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			defer unix.Close(fd)
			dir = fd
		}
	}
	switch rng.IntN(9) {
	case 0, 1:
		return unix.Mkdirat(dir, path(), 0o755)
	case 2:
		return closed(unix.Openat(dir, path(), unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644))
	case 3, 4:
		return unix.Renameat2(dir, path(), unix.AT_FDCWD, path(), 0)
	case 5:
		return unix.Renameat2(unix.AT_FDCWD, path(), dir, path(), unix.RENAME_EXCHANGE)
	case 6:
		return unix.Symlinkat(path(), dir, path())
	case 7:
		return unix.Linkat(unix.AT_FDCWD, path(), dir, path(), 0)
	}
	return errors.Join(unix.Unlinkat(dir, path(), rng.IntN(2)*unix.AT_REMOVEDIR))
}

// unreadable takes itself out of the sight of others and then makes a protected name: what cannot be judged must not be let
// through.
func unreadable([]string) (finding, error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return finding{}, err
	}
	return every([]attempt{
		{"create", func() error { return writeInto(".bashrc") }},
		{"mkdir", func() error { return os.Mkdir(".vscode", 0o755) }},
		{"rename", func() error { return errors.Join(unix.Rename("control", ".mcp.json")) }},
	}, unix.EACCES, unix.EPERM)
}

// throughFirst uses what the first process has: it makes calls for others, and must not use its own rights for them.
func throughFirst(args []string) (finding, error) {
	var all []attempt
	for _, way := range []string{"/proc/1/cwd", "/proc/1/root", "/proc/1/task/1/cwd", "/proc/1/task/1/root"} {
		path := way + args[0] + "/by-" + strings.ReplaceAll(way, "/", "_")
		all = append(all, attempt{way, func() error { return writeInto(path) }})
	}
	for fd := range 40 {
		path := fmt.Sprintf("/proc/1/fd/%d", fd)
		all = append(all,
			attempt{path, func() error { return canOpen(path) }},
			attempt{"read " + path, func() error { return closed(unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)) }},
			attempt{"create in " + path, func() error { return writeInto(path + "/x") }},
			attempt{"truncate " + path, func() error { return unix.Truncate(path, 0) }},
			attempt{"chmod " + path, func() error { return unix.Chmod(path, 0o777) }},
			attempt{"link " + path, func() error { return unix.Linkat(at, path, at, "taken", unix.AT_SYMLINK_FOLLOW) }})
	}
	for _, name := range []string{"mem", "environ", "maps", "exe", "comm", "oom_score_adj", "task/1/mem", "attr/current"} {
		path := "/proc/1/" + name
		all = append(all, attempt{"write " + path, func() error { return closed(unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)) }})
	}
	for _, name := range []string{"mem", "environ", "maps", "exe", "auxv", "task/1/mem"} {
		path := "/proc/1/" + name
		all = append(all, attempt{"read " + path, func() error {
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			n, err := unix.Read(fd, make([]byte, 16))
			if err == nil && n == 0 {
				return unix.EACCES // the kernel shows nothing of a process that may not be looked at
			}
			return err
		}})
	}
	return every(all, unix.EACCES, unix.EPERM, unix.EROFS, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.EIO)
}

// metadataByDescriptor changes a protected file through a descriptor that was opened for reading.
func metadataByDescriptor(args []string) (finding, error) {
	var all []attempt
	for i, p := range args {
		fd, err := unix.Open(p, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return finding{}, err
		}
		self := fmt.Sprintf("/proc/self/fd/%d", fd)
		all = append(all,
			attempt{"fchmod " + p, func() error { return unix.Fchmod(fd, 0o777) }},
			attempt{"fchown " + p, func() error { return unix.Fchown(fd, os.Getuid(), os.Getgid()) }},
			attempt{"fsetxattr " + p, func() error { return unix.Fsetxattr(fd, "user.x", []byte("x"), 0) }},
			attempt{"futimens " + p, func() error { return futimens(fd) }},
			attempt{"fchownat " + p, func() error { return unix.Fchownat(fd, "", os.Getuid(), -1, unix.AT_EMPTY_PATH) }},
			attempt{"fchmodat2 " + p, func() error { return unix.Fchmodat(fd, "", 0o777, unix.AT_EMPTY_PATH) }},
			attempt{"opened again " + p, func() error { return closed(unix.Open(self, unix.O_WRONLY|unix.O_CLOEXEC, 0)) }},
			attempt{"truncated by it " + p, func() error { return unix.Truncate(self, 0) }},
			attempt{"linked by it " + p, func() error { return unix.Linkat(at, self, at, fmt.Sprintf("alias%d", i), unix.AT_SYMLINK_FOLLOW) }},
			attempt{"chmod by it " + p, func() error { return unix.Chmod(self, 0o777) }})
	}
	return every(all, fileRefusals...)
}

// readByAnyName reads files that a pattern denies, by every name that can be made for them.
func readByAnyName(args []string) (finding, error) {
	var all []attempt
	read := func(path string) error {
		b, err := os.ReadFile(path)
		if err == nil && string(b) != secretText {
			return fmt.Errorf("read %q", b)
		}
		return err
	}
	after := func(err error, path string) error {
		if err != nil {
			return err
		}
		return read(path)
	}
	for i, p := range args {
		tmp := func(kind string) string { return fmt.Sprintf("%s%d", kind, i) }
		handle := func() error {
			fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return read(fmt.Sprintf("/proc/self/fd/%d", fd))
		}
		all = append(all,
			attempt{"open " + p, func() error { return read(p) }},
			attempt{"for both " + p, func() error { return closed(unix.Open(p, unix.O_RDWR|unix.O_CLOEXEC, 0)) }},
			attempt{"by a handle " + p, handle},
			attempt{"by a link " + p, func() error { return after(os.Symlink(p, tmp("link")), tmp("link")) }},
			attempt{"by a hard link " + p, func() error { return after(os.Link(p, tmp("hard")), tmp("hard")) }},
			attempt{"by cwd " + p, func() error { return read("/proc/self/cwd/" + p) }},
			attempt{"by dots " + p, func() error { return read("./x/../" + p) }},
			attempt{"moved " + p, func() error { return after(os.Rename(p, tmp("moved")), tmp("moved")) }})
	}
	return every(all, fileRefusals...)
}
