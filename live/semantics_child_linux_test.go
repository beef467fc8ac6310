package live

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() { modes["semantics"] = semanticsMain }

// semanticsMain makes a few hundred calls in an empty directory and prints what each came to. Run plainly and in a jail
// it must print the same: calls that are made for a command behave as if it had made them.
func semanticsMain(args []string) int {
	if len(args) != 1 {
		fmt.Println("want one directory")
		return 2
	}
	// Root's capabilities would make the plain run another: a jail has none.
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		fmt.Println("capset:", err)
		return 2
	}
	for _, s := range semantics {
		dir := filepath.Join(args[0], s.name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			fmt.Println("the case could not be prepared:", err)
			return 2
		}
		if err := os.Chdir(dir); err != nil {
			fmt.Println("the case could not be prepared:", err)
			return 2
		}
		unix.Umask(0o022)
		p := &protocol{}
		s.do(p)
		unix.Umask(0)
		fmt.Printf("== %s\n%s%s", s.name, p.lines.String(), listing(dir))
	}
	return 0
}

// protocol collects what calls came to.
type protocol struct{ lines bytes.Buffer }

func (p *protocol) say(format string, args ...any) { fmt.Fprintf(&p.lines, format+"\n", args...) }

// got notes the error of a call.
func (p *protocol) got(what string, err error) { p.say("%s: %s", what, errorName(err)) }

// fd notes the error of an open, what was opened, and closes it.
func (p *protocol) fd(what string, fd int, err error) {
	if err != nil {
		p.got(what, err)
		return
	}
	var st unix.Stat_t
	_ = unix.Fstat(fd, &st)
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	cloexec, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	p.say("%s: ok, flags %#x cloexec %d mode %o size %d", what, flags, cloexec, st.Mode, st.Size)
	unix.Close(fd)
}

func errorName(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// listing is everything below a directory: type, mode, size and name.
func listing(dir string) string {
	var all []string
	_ = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			all = append(all, fmt.Sprintf("  %q: %s", strings.TrimPrefix(path, dir), errorName(err)))
			return nil
		}
		size := info.Size()
		if info.IsDir() {
			size = 0
		}
		st := info.Sys().(*syscall.Stat_t)
		all = append(all, fmt.Sprintf("  %v links %d size %d %q", info.Mode(), linksOf(info, st), size, strings.TrimPrefix(path, dir)))
		return nil
	})
	sort.Strings(all)
	return strings.Join(all, "\n") + "\n"
}

func linksOf(info os.FileInfo, st *syscall.Stat_t) uint64 {
	if info.IsDir() {
		return 0 // file systems count differently
	}
	return uint64(st.Nlink)
}

const at = unix.AT_FDCWD

// semantics are the cases, each in an empty directory of its own, with a umask of 022.
var semantics = []struct {
	name string
	do   func(p *protocol)
}{
	{"open", openSemantics},
	{"umask", umaskSemantics},
	{"links", linkSemantics},
	{"names", nameSemantics},
	{"moves", moveSemantics},
	{"removal", removalSemantics},
	{"attributes", attributeSemantics},
	{"directories", directorySemantics},
	{"descriptors", descriptorSemantics},
	{"proc", procSemantics},
	{"fifo", fifoSemantics},
	{"memory", memorySemantics},
	{"executed", executedAtOnce},
}

func put(name, text string) { _ = os.WriteFile(name, []byte(text), 0o644) }

func openSemantics(p *protocol) {
	put("file", "0123456789")
	_ = os.Mkdir("dir", 0o755)
	put("closed", "x")
	_ = os.Chmod("closed", 0o444)
	flags := map[string]int{
		"RDONLY": unix.O_RDONLY, "WRONLY": unix.O_WRONLY, "RDWR": unix.O_RDWR, "CREAT": unix.O_WRONLY | unix.O_CREAT,
		"CREAT RDONLY": unix.O_CREAT, "EXCL": unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL, "APPEND": unix.O_WRONLY | unix.O_APPEND,
		"CREAT APPEND CLOEXEC": unix.O_RDWR | unix.O_CREAT | unix.O_APPEND | unix.O_CLOEXEC, "NONBLOCK": unix.O_RDWR | unix.O_NONBLOCK,
		"DIRECTORY": unix.O_DIRECTORY, "WRONLY DIRECTORY": unix.O_WRONLY | unix.O_DIRECTORY,
		"CREAT DIRECTORY": unix.O_RDWR | unix.O_CREAT | unix.O_DIRECTORY, "NOFOLLOW": unix.O_WRONLY | unix.O_NOFOLLOW,
		"SYNC": unix.O_WRONLY | unix.O_SYNC, "DSYNC": unix.O_WRONLY | unix.O_DSYNC, "NOATIME": unix.O_RDWR | unix.O_NOATIME,
		"access mode 3": 3, "unknown flag": unix.O_WRONLY | 0x8000000, "TMPFILE": unix.O_RDWR | unix.O_TMPFILE, "TMPFILE RDONLY": unix.O_TMPFILE,
		"EXCL alone": unix.O_WRONLY | unix.O_EXCL,
	}
	var names []string
	for n := range flags {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, path := range []string{"file", "dir", "new", "file/", "dir/", "new/", ".", "..", "", "/", "dir/.", "dir/..", "none/new", "file/new",
		"./file", "dir/../file", "//", "closed", strings.Repeat("n", 255), strings.Repeat("n", 256), "dir//new2", "\xff\xfe", "a\nb"} {
		for _, n := range names {
			if strings.Trim(path, "/") == "" && strings.Contains(n, "TMPFILE") {
				continue // root's directory outside
			}
			fd, err := unix.Openat(at, path, flags[n], 0o640)
			p.fd(fmt.Sprintf("open %.20q %s", path, n), fd, err)
			if len(path) > 5 || path == "new" || path == "\xff\xfe" || path == "a\nb" {
				_ = unix.Unlink(path)
			}
		}
	}
	fd, err := unix.Open("file", unix.O_WRONLY|unix.O_TRUNC, 0)
	p.fd("truncate by open", fd, err)
	fd, err = unix.Open("file", unix.O_RDONLY|unix.O_TRUNC, 0)
	p.fd("truncate by open for reading", fd, err)
	fd, err = legacyOpen("old", unix.O_RDWR|unix.O_CREAT)
	p.fd("open(2)", fd, err)
	fd, err = unix.Creat("created", 0o4755&0o777)
	p.fd("creat", fd, err)
	long := strings.Repeat("d/", 2047) + "x"
	fd, err = unix.Open(long, unix.O_WRONLY|unix.O_CREAT, 0o644)
	p.fd("a path of 4095 bytes", fd, err)
	fd, err = unix.Open(long+"x", unix.O_WRONLY|unix.O_CREAT, 0o644)
	p.fd("a path of 4096 bytes", fd, err)
	fd, err = unix.Open(strings.Repeat("/", 4000)+"..", unix.O_WRONLY|unix.O_CREAT, 0o644)
	p.fd("many slashes", fd, err)
	appended(p)
}

// appended writes with O_APPEND through two descriptors.
func appended(p *protocol) {
	a, err1 := unix.Open("log", unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND, 0o644)
	b, err2 := unix.Open("log", unix.O_WRONLY|unix.O_APPEND, 0)
	_, err3 := unix.Write(a, []byte("one"))
	_, err4 := unix.Write(b, []byte("two"))
	_, err5 := unix.Write(a, []byte("three"))
	p.got("append", errors.Join(err1, err2, err3, err4, err5))
	text, _ := os.ReadFile("log")
	p.say("log %q", text)
	unix.Close(a)
	unix.Close(b)
}

// sortLines puts the lines with the given beginnings in order: they came out of a map.
func sortLines(b *bytes.Buffer, begin ...string) {
	all := strings.SplitAfter(b.String(), "\n")
	sort.SliceStable(all, func(i, j int) bool { return rank(all[i], begin) < rank(all[j], begin) })
	b.Reset()
	b.WriteString(strings.Join(all, ""))
}

func rank(line string, begin []string) int {
	for i, s := range begin {
		if strings.HasPrefix(line, s) {
			return i + 1
		}
	}
	return 0
}

func umaskSemantics(p *protocol) {
	for i, mask := range []int{0, 0o077, 0o777, 0o022, 0o002} {
		unix.Umask(mask)
		fd, err := unix.Open(fmt.Sprintf("f%d", i), unix.O_WRONLY|unix.O_CREAT, 0o777)
		p.fd(fmt.Sprintf("open with umask %o", mask), fd, err)
		p.got("mkdir", unix.Mkdir(fmt.Sprintf("d%d", i), 0o777))
		p.got("mkfifo", unix.Mkfifo(fmt.Sprintf("p%d", i), 0o666))
		fd, err = unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o666)
		p.fd("tmpfile", fd, err)
	}
	unix.Umask(0o027)
	p.say("umask was %o", unix.Umask(0o022))
}

func linkSemantics(p *protocol) {
	put("file", "x")
	_ = os.Mkdir("dir", 0o755)
	for target, name := range map[string]string{"file": "good", "none": "bad", "dir": "todir", "loop": "loop", "dir/made": "deep", "good": "chain"} {
		_ = os.Symlink(target, name)
	}
	ways := []struct {
		what  string
		flags int
	}{
		{"write", unix.O_WRONLY}, {"create", unix.O_WRONLY | unix.O_CREAT}, {"exclusive", unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL},
		{"nofollow", unix.O_WRONLY | unix.O_NOFOLLOW}, {"create nofollow", unix.O_WRONLY | unix.O_CREAT | unix.O_NOFOLLOW},
	}
	for _, n := range []string{"good", "bad", "todir", "loop", "chain", "deep", "todir/x", "good/", "todir/", "bad/"} {
		for _, w := range ways {
			fd, err := unix.Open(n, w.flags, 0o600)
			p.fd(w.what+" "+n, fd, err)
			_ = unix.Unlink("none")
			_ = unix.Unlink("dir/made")
			_ = unix.Unlink("dir/x")
		}
	}
	for i := range 45 {
		_ = os.Symlink(fmt.Sprintf("l%d", i+1), fmt.Sprintf("l%d", i))
	}
	put("l45", "end")
	for _, n := range []string{"l6", "l5", "l4", "l0"} {
		fd, err := unix.Open(n, unix.O_RDWR, 0)
		p.fd("chain "+n, fd, err)
	}
}

func nameSemantics(p *protocol) {
	put("file", "x")
	_ = os.Symlink("none", "bad")
	_ = os.Mkdir("dir", 0o755)
	for _, n := range []string{"new", "file", "dir", "bad", "new2/", "file/", "dir/", "bad/", ".", "..", "/", "", "none/x", "file/x", strings.Repeat("y", 256)} {
		name := fmt.Sprintf("%.12q", n)
		p.got("mkdir "+name, unix.Mkdir(n, 0o755))
		_ = unix.Rmdir("new")
		_ = unix.Rmdir("new2")
		p.got("symlink "+name, unix.Symlink("target", n))
		_ = unix.Unlink("new")
		p.got("mkfifo "+name, unix.Mkfifo(n, 0o600))
		_ = unix.Unlink("new")
		p.got("mknod "+name, unix.Mknodat(at, n, unix.S_IFREG|0o600, 0))
		_ = unix.Unlink("new")
		p.got("link "+name, unix.Link("file", n))
		_ = unix.Unlink("new")
		p.got("link from "+name, unix.Link(n, "other"))
		_ = unix.Unlink("other")
	}
	p.got("symlink to nothing", unix.Symlink("", "empty"))
	p.got("symlink to a long text", unix.Symlink(strings.Repeat("t", 4095), "long"))
	p.got("symlink to a longer text", unix.Symlink(strings.Repeat("t", 4096), "longer"))
	p.got("mknod of a directory", unix.Mknodat(at, "nodedir", unix.S_IFDIR|0o700, 0))
	p.got("mknod of nonsense", unix.Mknodat(at, "nodexx", 0o170000|0o700, 0))
	p.got("link of a link", unix.Linkat(at, "bad", at, "bad2", 0))
	p.got("link of what a link leads to", unix.Linkat(at, "bad", at, "bad3", unix.AT_SYMLINK_FOLLOW))
	p.got("link with a bad flag", unix.Linkat(at, "file", at, "f2", 0x1))
	p.got("mkdir with the sticky bit", unix.Mkdir("sticky", 0o1777))
}

func moveSemantics(p *protocol) {
	reset := func() {
		_ = os.RemoveAll("d")
		_ = os.RemoveAll("e")
		for _, n := range []string{"a", "b", "l"} {
			_ = os.RemoveAll(n)
		}
		put("a", "a")
		put("b", "bb")
		_ = os.Mkdir("d", 0o755)
		_ = os.MkdirAll("e/full", 0o755)
		_ = os.Symlink("a", "l")
	}
	// Not "/": in a jail it is another mount than the workspace, and that is said first.
	paths := []string{"a", "b", "d", "e", "l", "none", "d/", "a/", "none/", "d/x", "e/full", ".", "..", ""}
	for _, from := range paths {
		for _, to := range paths {
			for flags, what := range []string{"rename", "noreplace", "exchange", "both", "whiteout"} {
				if what == "whiteout" {
					continue // only with a capability, and then the plain run differs
				}
				reset()
				p.got(fmt.Sprintf("%s %q %q", what, from, to), unix.Renameat2(at, from, at, to, uint(flags)))
			}
		}
	}
	reset()
	p.got("an unknown flag", unix.Renameat2(at, "a", at, "c", 0x100))
	p.got("rename(2)", unix.Rename("a", "c"))
}

func removalSemantics(p *protocol) {
	_ = os.MkdirAll("full/x", 0o755)
	_ = os.Mkdir("empty", 0o755)
	put("file", "x")
	_ = os.Symlink("empty", "link")
	for _, n := range []string{"none", "full", "full/", "file/", "link/", ".", "..", "", "/", "file/x", "full/.", "empty/..", "link", "empty", "file"} {
		p.got(fmt.Sprintf("rmdir %q", n), unix.Rmdir(n))
		p.got(fmt.Sprintf("unlink %q", n), unix.Unlink(n))
	}
	p.got("a bad flag", unix.Unlinkat(at, "full", 0x1))
	p.got("by descriptor", unix.Unlinkat(-1, "full", unix.AT_REMOVEDIR))
}

func attributeSemantics(p *protocol) {
	put("file", "0123456789")
	_ = os.Mkdir("dir", 0o755)
	_ = os.Symlink("file", "link")
	_ = os.Symlink("none", "bad")
	uid, gid := os.Getuid(), os.Getgid()
	times := []unix.Timespec{{Sec: 1000, Nsec: 5}, {Sec: 2000, Nsec: 6}}
	for _, n := range []string{"file", "dir", "link", "bad", "none", "", "file/", "dir/", "."} {
		name := fmt.Sprintf("%q", n)
		p.got("chmod "+name, unix.Chmod(n, 0o640))
		p.got("fchmodat2 nofollow "+name, unix.Fchmodat(at, n, 0o755, unix.AT_SYMLINK_NOFOLLOW))
		p.got("chown "+name, unix.Chown(n, uid, gid))
		p.got("chown to nobody "+name, unix.Chown(n, -1, -1))
		p.got("lchown "+name, unix.Lchown(n, uid, -1))
		p.got("truncate "+name, unix.Truncate(n, 5))
		p.got("truncate below zero "+name, unix.Truncate(n, -1))
		p.got("utimensat "+name, unix.UtimesNanoAt(at, n, times, 0))
		p.got("utimensat nofollow "+name, unix.UtimesNanoAt(at, n, times, unix.AT_SYMLINK_NOFOLLOW))
		p.got("setxattr "+name, unix.Setxattr(n, "user.test", []byte("value"), 0))
		p.got("setxattr create "+name, unix.Setxattr(n, "user.test", []byte("value"), unix.XATTR_CREATE))
		p.got("lsetxattr "+name, unix.Lsetxattr(n, "user.l", []byte("value"), 0))
		p.got("removexattr "+name, unix.Removexattr(n, "user.test"))
		p.got("removexattr again "+name, unix.Removexattr(n, "user.test"))
		p.got("lremovexattr "+name, unix.Lremovexattr(n, "user.none"))
	}
	p.got("xattr without a name", unix.Setxattr("file", "", nil, 0))
	p.got("xattr with a long name", unix.Setxattr("file", "user."+strings.Repeat("n", 300), nil, 0))
	p.got("xattr with a long value", unix.Setxattr("file", "user.big", make([]byte, 70000), 0))
	p.got("xattr of nobody's", unix.Setxattr("file", "nothing.big", nil, 0))
	p.got("utimensat with bad times", unix.UtimesNanoAt(at, "file", []unix.Timespec{{Nsec: 2e9}, {}}, 0))
	p.got("futimesat", unix.Futimesat(at, "file", []unix.Timeval{{Sec: 5, Usec: 6}, {Sec: 7, Usec: 8}}))
	p.got("utimes", unix.Utimes("file", []unix.Timeval{{Sec: 50, Usec: 6}, {Sec: 70, Usec: 8}}))
	var st unix.Stat_t
	_ = unix.Stat("file", &st)
	p.say("times %v %v", st.Atim, st.Mtim)
	p.got("utimes with bad times", unix.Utimes("file", []unix.Timeval{{Usec: 1e6}, {}}))
	descriptorAttributes(p)
}

func descriptorAttributes(p *protocol) {
	for what, flags := range map[string]int{"1 reading": unix.O_RDONLY, "2 writing": unix.O_WRONLY, "3 a handle": unix.O_PATH} {
		fd, err := unix.Open("file", flags, 0)
		if err != nil {
			p.got(what, err)
			continue
		}
		p.got(what+" fchmod", unix.Fchmod(fd, 0o600))
		p.got(what+" fchown", unix.Fchown(fd, -1, -1))
		p.got(what+" fsetxattr", unix.Fsetxattr(fd, "user.f", []byte("x"), 0))
		p.got(what+" fremovexattr", unix.Fremovexattr(fd, "user.f"))
		p.got(what+" futimens", futimens(fd))
		p.got(what+" ftruncate", unix.Ftruncate(fd, 3))
		p.got(what+" fchmodat2 empty path", unix.Fchmodat(fd, "", 0o644, unix.AT_EMPTY_PATH))
		p.got(what+" fchownat empty path", unix.Fchownat(fd, "", -1, -1, unix.AT_EMPTY_PATH))
		unix.Close(fd)
		p.got(what+" closed fchmod", unix.Fchmod(fd, 0o600))
	}
	sortLines(&p.lines, "1 ", "2 ", "3 ")
	var pipe [2]int
	_ = unix.Pipe2(pipe[:], unix.O_CLOEXEC)
	p.got("fchmod of a pipe", unix.Fchmod(pipe[0], 0o600))
	p.got("fchmod of nothing", unix.Fchmod(-1, 0o600))
	unix.Close(pipe[0])
	unix.Close(pipe[1])
}

func futimens(fd int) error {
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func directorySemantics(p *protocol) {
	_ = os.MkdirAll("here/sub", 0o755)
	fd, _ := unix.Open("here", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	handle, _ := unix.Open("here/sub", unix.O_PATH|unix.O_CLOEXEC, 0)
	file, _ := unix.Open("plain", unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	create := func(what string, dir int, path string) {
		got, err := unix.Openat(dir, path, unix.O_WRONLY|unix.O_CREAT, 0o600)
		p.fd(what, got, err)
	}
	create("in a directory", fd, "one")
	create("through a handle", handle, "two")
	create("up from a handle", handle, "../three")
	create("in a file", file, "four")
	create("nowhere", 999, "five")
	create("below zero", -7, "six")
	_ = os.Rename("here", "there")
	create("in a moved directory", fd, "seven")
	_ = os.Chdir("there/sub")
	_ = os.Rename("../../there", "../../where")
	create("in a moved working directory", at, "eight")
	create("up from it", at, "../nine")
	_ = os.RemoveAll("../../where")
	create("in a removed working directory", at, "ten")
	create("up from a removed one", at, "../eleven")
	create("in a removed directory", fd, "twelve")
	p.got("mkdir in a removed directory", unix.Mkdirat(fd, "x", 0o755))
	p.got("chmod of a removed directory", unix.Fchmod(fd, 0o700))
	p.got("chmod .", unix.Chmod(".", 0o700))
	for _, f := range []int{fd, handle, file} {
		unix.Close(f)
	}
}

func descriptorSemantics(p *protocol) {
	var old unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &old)
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 40, Max: old.Max})
	put("kept", "precious")
	var open []int
	for {
		fd, err := unix.Open("full", unix.O_WRONLY|unix.O_CREAT, 0o600)
		if err != nil {
			p.got("the table is full", err)
			break
		}
		open = append(open, fd)
	}
	_, err := unix.Open("kept", unix.O_WRONLY|unix.O_TRUNC, 0)
	p.got("cut without room for a descriptor", err) // the listing shows what is left of it
	if len(open) > 2 {
		unix.Close(open[2])
		fd, err := unix.Open("full", unix.O_WRONLY, 0)
		p.say("the lowest number again: %t %v", fd == open[2], err)
	}
	for _, fd := range open {
		unix.Close(fd)
	}
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	limitedTruncate(p)
}

// limitedTruncate is the limit on the size of a file, which a call by name must keep too. SIGXFSZ is ignored by the
// runtime of this program.
func limitedTruncate(p *protocol) {
	var old unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_FSIZE, &old)
	put("sized", "")
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1000, Max: old.Max})
	p.got("truncate within the limit", unix.Truncate("sized", 900))
	p.got("truncate beyond the limit", unix.Truncate("sized", 1100))
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &old)
}

func procSemantics(p *protocol) {
	put("file", "0123456789")
	reader, _ := unix.Open("file", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	defer unix.Close(reader)
	self := fmt.Sprintf("/proc/self/fd/%d", reader)
	fd, err := unix.Open(self, unix.O_WRONLY, 0)
	p.fd("a reader opened again for writing", fd, err)
	fd, err = unix.Open(fmt.Sprintf("/dev/fd/%d", reader), unix.O_RDWR|unix.O_TRUNC, 0)
	p.fd("by /dev/fd", fd, err)
	fd, err = unix.Open(fmt.Sprintf("/proc/thread-self/fd/%d", reader), unix.O_RDWR|unix.O_CREAT, 0o600)
	p.fd("by thread-self", fd, err)
	fd, err = unix.Open(self, unix.O_WRONLY|unix.O_NOFOLLOW, 0)
	p.fd("nofollow", fd, err)
	fd, err = unix.Open(self, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0)
	p.fd("exclusive", fd, err)
	fd, err = unix.Open("/proc/self/cwd/by-cwd", unix.O_WRONLY|unix.O_CREAT, 0o600)
	p.fd("by cwd", fd, err)
	here, _ := os.Getwd()
	fd, err = unix.Open("/proc/self/root"+here+"/by-root", unix.O_WRONLY|unix.O_CREAT, 0o600)
	p.fd("by root", fd, err)
	fd, err = unix.Open("/proc/self/fd/999", unix.O_WRONLY, 0)
	p.fd("a closed one", fd, err)
	p.got("chmod by it", unix.Chmod(self, 0o611))
	p.got("truncate by it", unix.Truncate(self, 4))
	p.got("link by it", unix.Linkat(at, self, at, "linked", unix.AT_SYMLINK_FOLLOW))
	var pipe [2]int
	_ = unix.Pipe2(pipe[:], unix.O_CLOEXEC)
	fd, err = unix.Open(fmt.Sprintf("/proc/self/fd/%d", pipe[0]), unix.O_WRONLY, 0)
	p.say("a pipe from its other end: %s", errorName(err))
	unix.Close(fd)
	tmp, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o644)
	p.say("tmpfile: %s", errorName(err))
	p.got("linked to a name", unix.Linkat(at, fmt.Sprintf("/proc/self/fd/%d", tmp), at, "named", unix.AT_SYMLINK_FOLLOW))
	excl, _ := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR|unix.O_EXCL, 0o644)
	p.got("one that is not to be linked", unix.Linkat(at, fmt.Sprintf("/proc/self/fd/%d", excl), at, "named2", unix.AT_SYMLINK_FOLLOW))
	mem, _ := unix.MemfdCreate("m", 0)
	fd, err = unix.Open(fmt.Sprintf("/proc/self/fd/%d", mem), unix.O_RDWR, 0)
	p.say("a memfd again: %s", errorName(err))
	for _, f := range []int{pipe[0], pipe[1], tmp, excl, mem, fd} {
		unix.Close(f)
	}
	_ = unix.Unlink("file")
	fd, err = unix.Open(self, unix.O_RDWR, 0)
	p.fd("a removed file again", fd, err)
	p.got("linked back", unix.Linkat(at, self, at, "back", unix.AT_SYMLINK_FOLLOW))
	fd, err = unix.Open("/dev/null", unix.O_RDWR|unix.O_TRUNC|unix.O_CREAT, 0o600)
	p.fd("/dev/null", fd, err)
	p.got("no terminal", canOpen("/dev/tty"))
}

func canOpen(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func fifoSemantics(p *protocol) {
	_ = unix.Mkfifo("pipe", 0o600)
	_, err := unix.Open("pipe", unix.O_WRONLY|unix.O_NONBLOCK, 0)
	p.say("nobody reads: %s", errorName(err))
	fd, err := unix.Open("pipe", unix.O_RDWR, 0)
	p.say("both ends: %s", errorName(err))
	unix.Close(fd)
	text := make(chan string)
	go func() {
		b, err := os.ReadFile("pipe")
		text <- fmt.Sprintf("%q %s", b, errorName(err))
	}()
	fd, err = unix.Open("pipe", unix.O_WRONLY, 0) // waits for the reader
	p.say("a writer: %s", errorName(err))
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	p.say("blocking: %t", flags&unix.O_NONBLOCK == 0)
	_, _ = unix.Write(fd, []byte("hello"))
	unix.Close(fd)
	p.say("read: %s", <-text)
}

// memorySemantics hands over addresses where nothing is, or where a string ends at the end of memory.
func memorySemantics(p *protocol) {
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		p.got("mmap", err)
		return
	}
	_ = unix.Mprotect(mem[page:], unix.PROT_NONE)
	raw := func(what string, nr uintptr, args ...uintptr) {
		var a [6]uintptr
		copy(a[:], args)
		r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno != 0 {
			p.got(what, errno)
			return
		}
		p.say("%s: ok", what)
		if nr == unix.SYS_OPENAT {
			unix.Close(int(r))
		}
	}
	const flags = unix.O_WRONLY | unix.O_CREAT
	cwd := ^uintptr(99)
	copy(mem[page-5:page], "edge\x00")
	edge := addressOf(mem[page-5:])
	raw("up to the edge", unix.SYS_OPENAT, cwd, edge, flags, 0o600)
	copy(mem[page-5:page], "edges")
	raw("over the edge", unix.SYS_OPENAT, cwd, edge, flags, 0o600)
	raw("null", unix.SYS_OPENAT, cwd, 0, flags, 0o600)
	raw("no address", unix.SYS_OPENAT, cwd, 1<<62, flags, 0o600)
	raw("mkdirat null", unix.SYS_MKDIRAT, cwd, 0, 0o755)
	raw("renameat2 second null", unix.SYS_RENAMEAT2, cwd, addressOf([]byte("memory\x00")), cwd, 0, 0)
	raw("symlinkat null", unix.SYS_SYMLINKAT, 0, cwd, addressOf([]byte("s\x00")))
	raw("utimensat bad times", unix.SYS_UTIMENSAT, cwd, addressOf([]byte("edge\x00")), 8, 0)
}
