package broker

import (
	"strings"

	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// openFlags are what open and openat take; the kernel drops all others without a word.
const openFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_TRUNC | unix.O_APPEND | unix.O_NONBLOCK |
	unix.O_DSYNC | unix.O_SYNC | unix.O_ASYNC | unix.O_DIRECT | unix.O_LARGEFILE | unix.O_DIRECTORY | unix.O_NOFOLLOW |
	unix.O_NOATIME | unix.O_CLOEXEC | unix.O_TMPFILE

// tmpfile is the bit of O_TMPFILE that is not O_DIRECTORY.
const tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY

// opening is one open, by whichever call but openat2, which the jail does not have: a descriptor for O_PATH cannot be
// handed over, and programs that find half of a call are worse off than those that find none.
type opening struct {
	start int
	path  string
	flags int
	mode  uint64
}

func (o *opening) has(flag int) bool { return o.flags&flag != 0 }

// writes says whether the file's contents can be changed by the open or through the descriptor.
func (o *opening) writes() bool {
	return o.flags&unix.O_ACCMODE != unix.O_RDONLY || o.has(unix.O_TRUNC)
}

// truncatesLater says whether the file is cut when the caller has its descriptor, and not before: a caller without room for one would lose what is in the file.
func (o *opening) truncatesLater() bool {
	mode := o.flags & unix.O_ACCMODE
	return o.has(unix.O_TRUNC) && (mode == unix.O_WRONLY || mode == unix.O_RDWR)
}

// hand is the answer with a descriptor.
func (o *opening) hand(fd int) answer {
	return answer{fd: fd, hand: true, writes: o.writes(), truncate: o.truncatesLater(), cloexec: o.has(unix.O_CLOEXEC)}
}

func (t *task) openat() answer { return t.legacyOpen(int32(t.args[0]), 1, t.args[2], t.args[3]) }

func (t *task) open() answer { return t.legacyOpen(unix.AT_FDCWD, 0, t.args[1], t.args[2]) }

func (t *task) creat() answer {
	return t.legacyOpen(unix.AT_FDCWD, 0, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, t.args[1])
}

// legacyOpen is every open but openat2. Whatever only openat2 takes is dropped.
func (t *task) legacyOpen(dirfd int32, arg int, flags, mode uint64) answer {
	o := opening{flags: int(uint32(flags)) & openFlags}
	if !t.DecideReads && !o.writes() && !o.has(unix.O_CREAT|tmpfile) {
		return t.lookAtRead(dirfd, arg, !o.has(unix.O_NOFOLLOW))
	}
	if o.has(unix.O_CREAT) || o.has(tmpfile) {
		o.mode = mode & 0o7777
	}
	return t.openPath(&o, dirfd, arg)
}

// checkHow has the kernel look at flags, mode and resolve: it does so before it looks at the path, which is empty.
func checkHow(how unix.OpenHow) unix.Errno {
	if _, errno := openat2(unix.AT_FDCWD, "", &how); errno != unix.ENOENT {
		return errno
	}
	return 0
}

func (t *task) openPath(o *opening, dirfd int32, arg int) answer {
	var errno unix.Errno
	if o.has(tmpfile) || o.flags&(unix.O_CREAT|unix.O_DIRECTORY) == unix.O_CREAT|unix.O_DIRECTORY {
		if errno := checkHow(unix.OpenHow{Flags: uint64(o.flags), Mode: o.mode}); errno != 0 {
			return failed(errno)
		}
	}
	if o.path, errno = t.path(arg, false); errno != 0 {
		return failed(errno)
	}
	if o.start, errno = t.base(dirfd, o.path); errno != 0 {
		return failed(errno)
	}
	if o.has(unix.O_CREAT | tmpfile) {
		if errno := t.takeUmask(); errno != 0 {
			return failed(errno)
		}
	}
	if o.has(tmpfile) {
		return t.openTemporary(o)
	}
	return t.openName(o)
}

func isDir(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// openTemporary makes a file without a name. Linking it to one is judged then.
func (t *task) openTemporary(o *opening) answer {
	dir, errno := t.object(o.start, o.path, !o.has(unix.O_NOFOLLOW))
	if errno != 0 {
		return failed(errno)
	}
	if !isDir(dir.fd) {
		return failed(unix.ENOTDIR)
	}
	defer t.letGo()
	if errno := t.holdFile(&dir); errno != 0 {
		return failed(errno)
	}
	if d := t.write(dir.path); !d.Allowed {
		return t.refused("create", d, dir.fd)
	}
	return t.finish(o, dir.fd, ".", unix.OpenHow{Flags: uint64(o.flags), Mode: o.mode})
}

// openName opens by name, following a final link itself, so that what it leads to is judged too.
func (t *task) openName(o *opening) answer {
	start, path := o.start, o.path
	for range maxLinks + 1 {
		p, errno := t.place(start, path)
		if errno != 0 {
			return failed(errno)
		}
		if p.special {
			f, errno := t.object(start, path, true)
			if errno != 0 {
				return failed(errno)
			}
			return t.openObject(o, f)
		}
		a, isLink := t.openPlace(o, &p)
		if !isLink || o.has(unix.O_NOFOLLOW) && !p.slashes() {
			return a
		}
		text, fd, errno := t.follow(p.dir, p.base)
		switch {
		case errno != 0:
			return failed(errno)
		case text == "":
			f, errno := t.name(fd)
			if errno != 0 {
				return failed(errno)
			}
			return t.openObject(o, f)
		}
		start, path = p.dir, text+p.name[len(p.base):]
		if strings.HasPrefix(path, "/") {
			start = unix.AT_FDCWD
		}
	}
	return failed(unix.ELOOP)
}

// openPlace opens one name in one directory. It never follows a link; isLink says that the name is one.
func (t *task) openPlace(o *opening, p *place) (a answer, isLink bool) {
	if o.writes() && inProc(p.path) && t.isThreadName(p.path) {
		return t.finish(o, t.Threads, strings.TrimPrefix(p.path, "/proc/"), unix.OpenHow{Flags: uint64(o.flags), Mode: o.mode, Resolve: unix.RESOLVE_NO_SYMLINKS}), false
	}
	defer t.letGo()
	if o.writes() || o.has(unix.O_CREAT) {
		if errno := t.hold(false, p); errno != 0 {
			return failed(errno), false
		}
	}
	if d := t.decide(p.path, o.writes() || o.has(unix.O_CREAT)); !d.Allowed {
		return t.refuseOpen(o, p, d)
	}
	if t.withheld(p.path) {
		return failed(unix.EACCES), false
	}
	a = t.finish(o, p.dir, p.name, unix.OpenHow{Flags: uint64(o.flags), Mode: o.mode, Resolve: unix.RESOLVE_NO_SYMLINKS})
	return a, a.errno == unix.ELOOP
}

// openObject opens what has been found already: it exists, so nothing is made.
func (t *task) openObject(o *opening, f found) answer {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return result(err)
	}
	dir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case o.flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return failed(unix.EEXIST)
	case dir && (o.writes() || o.has(unix.O_CREAT)):
		return failed(unix.EISDIR)
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return failed(unix.ELOOP)
	}
	defer t.letGo()
	if o.writes() {
		if errno := t.holdFile(&f); errno != 0 {
			return failed(errno)
		}
	}
	if d := t.decide(f.path, o.writes()); !d.Allowed && !t.ownObject(f) {
		return t.refused(o.operation(), d, f.fd)
	}
	if t.withheld(f.path) {
		return failed(unix.EACCES)
	}
	flags := o.flags &^ (unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW)
	return t.finish(o, unix.AT_FDCWD, selfPath(f.fd), unix.OpenHow{Flags: uint64(flags)})
}

// isThreadName says whether a path is the name of a thread of the jail, which its own process may write: the kernel
// refuses every other writer.
func (t *task) isThreadName(path string) bool {
	parts := strings.Split(path, "/") // "", "proc", process, and then "comm", or "task", thread and "comm"
	if t.Threads < 0 || t.ours(path) || parts[len(parts)-1] != "comm" {
		return false
	}
	return len(parts) == 4 || len(parts) == 6 && parts[3] == "task"
}

func (o *opening) operation() string {
	if o.writes() {
		return "write"
	}
	return "read"
}

// ownObject says whether an open file has no path at all: a pipe, a socket, a memfd. Only a process that has it can
// name it.
func (t *task) ownObject(f found) bool {
	var st unix.Stat_t
	return f.path == "" || f.path[0] != '/' || unix.Fstat(f.fd, &st) == nil && st.Dev == t.memfdDev && st.Nlink == 0
}

// finish opens, with what the caller does not see: never blocking, never taking a terminal, never inherited.
func (t *task) finish(o *opening, dir int, name string, how unix.OpenHow) answer {
	how.Flags |= unix.O_NOCTTY | unix.O_CLOEXEC
	if o.truncatesLater() {
		how.Flags &^= unix.O_TRUNC
	}
	waits := !o.has(unix.O_NONBLOCK)
	if how.Flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL {
		waits = false // what is made now keeps nobody waiting
	} else {
		how.Flags |= unix.O_NONBLOCK
	}
	fd, errno := openat2(dir, name, &how)
	t.letGo()                          // whatever waits from here on is there already, and was judged
	if errno == unix.EAGAIN && waits { // a lease that somebody must give up first
		how.Flags &^= unix.O_NONBLOCK
		fd, errno = openat2(dir, name, &how)
	}
	if errno == unix.ENXIO {
		fd, errno = t.openDevice(o, dir, name, how.Resolve, waits)
	}
	if errno != 0 {
		return failed(errno)
	}
	t.keep(fd)
	if !o.writes() && waits && isFIFO(fd) {
		return t.openReader(o, fd)
	}
	if waits {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, o.flags&settable); err != nil {
			return result(err)
		}
	}
	return o.hand(fd)
}

// settable are the flags of an open file that can be set later; setting any sets all.
const settable = unix.O_APPEND | unix.O_ASYNC | unix.O_DIRECT | unix.O_NOATIME

// refuseOpen is the answer for an open that was denied. What the kernel would say before it came to ask for
// permission, it says here too, and then nothing was denied.
func (t *task) refuseOpen(o *opening, p *place, d policy.Decision) (a answer, isLink bool) {
	st, errno := statName(p)
	switch {
	case errno == unix.EACCES && o.has(unix.O_CREAT): // a covered directory
		return t.refused("create", d, p.dir), false
	case errno == unix.EACCES:
		return t.refused(o.operation(), d, p.dir), false
	case errno != 0 && (errno != unix.ENOENT || !o.has(unix.O_CREAT)):
		return failed(errno), false
	}
	if errno == unix.ENOENT {
		if p.slashes() {
			return failed(unix.EISDIR), false
		}
		return t.refused("create", d, p.dir), false
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case o.flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return failed(unix.EEXIST), false
	case kind == unix.S_IFLNK && (!o.has(unix.O_NOFOLLOW) || p.slashes()):
		if d.Rule.List == policy.ListMandatory { // writing through it is writing what the name stands for
			return t.refused(o.operation(), d, p.dir), false
		}
		return failed(unix.ELOOP), true
	case kind == unix.S_IFLNK:
		return failed(unix.ELOOP), false
	case kind == unix.S_IFDIR && (o.writes() || o.has(unix.O_CREAT)):
		return failed(unix.EISDIR), false
	case kind != unix.S_IFDIR && p.slashes():
		return failed(unix.ENOTDIR), false
	case !o.writes() && o.has(unix.O_CREAT): // it exists, so it is only read
		f, errno := t.object(p.dir, p.base, false)
		if errno != 0 {
			return failed(errno), false
		}
		plain := *o
		plain.flags &^= unix.O_CREAT
		return t.openObject(&plain, f), false
	}
	return t.refused(o.operation(), d, t.nameOrDir(p)), false
}

// nameOrDir opens a name itself, to see what it is mounted on: a file can be a mount of its own.
func (t *task) nameOrDir(p *place) int {
	fd, errno := openat2(p.dir, p.base, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC})
	if errno != 0 {
		return p.dir
	}
	return t.keep(fd)
}
