package broker

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// task is one call that waits for its answer.
type task struct {
	*worker
	id   uint64
	tid  int // the thread that called
	nr   int
	args [6]uint64

	files  [8]int // to be closed when it is answered
	opened int
	more   []int
	opaque bool   // the caller's memory or descriptors may not be looked at
	known  bool   // that it was the caller that was looked at, so far
	held   func() // unlocks moves; nil when this call holds it not
}

// handle judges and makes the call.
func (t *task) handle() answer {
	if t.tid == t.Main {
		return t.probe()
	}
	if t.nr < 0 || t.nr >= len(handlers) || handlers[t.nr] == nil {
		return t.refusedCall()
	}
	a := handlers[t.nr](t)
	if t.opaque && !a.goOn {
		t.recordOpaque(a.errno)
	}
	return a
}

// keep closes a descriptor once the call is answered.
func (t *task) keep(fd int) int {
	if t.opened < len(t.files) {
		t.files[t.opened] = fd
		t.opened++
	} else {
		t.more = append(t.more, fd)
	}
	return fd
}

// release closes what was kept. It may be called twice.
func (t *task) release() {
	for _, fd := range t.files[:t.opened] {
		unix.Close(fd)
	}
	for _, fd := range t.more {
		unix.Close(fd)
	}
	t.opened, t.more = 0, nil
}

// valid says whether the caller still waits. When it does not, its number may be another's, and whatever was read under
// that number with it.
func (t *task) valid() bool {
	id := t.id
	_, _, errno := syscall.RawSyscall(unix.SYS_IOCTL, uintptr(t.Listener), ioctlValid, uintptr(unsafe.Pointer(&id)))
	t.known = errno == 0
	return t.known
}

// validSoFar is valid, without asking again what the last look has left known.
func (t *task) validSoFar() bool { return t.known || t.valid() }

// read copies the caller's memory. It may read less than asked when what follows is not mapped.
func (t *task) read(addr uint64, into []byte) (int, unix.Errno) {
	if !t.validSoFar() {
		return 0, unix.ESRCH
	}
	n, errno := t.readMemory(addr, into)
	if !t.valid() {
		return 0, unix.ESRCH
	}
	if errno == unix.EPERM || errno == unix.EACCES {
		t.opaque = true
		return 0, unix.EACCES
	}
	return n, errno
}

func (t *task) readMemory(addr uint64, into []byte) (int, unix.Errno) {
	local := unix.Iovec{Base: &into[0], Len: uint64(len(into))}
	// Cut at the next page: a string may end just before memory that is not there.
	var remote [2]unix.RemoteIovec
	page := uint64(os.Getpagesize())
	first := min(len(into), int(page-addr%page))
	remote[0] = unix.RemoteIovec{Base: uintptr(addr), Len: first}
	parts := 1
	if first < len(into) {
		remote[1] = unix.RemoteIovec{Base: uintptr(addr) + uintptr(first), Len: len(into) - first}
		parts = 2
	}
	n, _, errno := syscall.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(t.tid), uintptr(unsafe.Pointer(&local)), 1,
		uintptr(unsafe.Pointer(&remote[0])), uintptr(parts), 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// readAll copies so many bytes, or fails.
func (t *task) readAll(addr uint64, size int) ([]byte, unix.Errno) {
	buf := make([]byte, size)
	for done := 0; done < size; {
		n, errno := t.read(addr+uint64(done), buf[done:])
		if errno == 0 && n == 0 {
			errno = unix.EFAULT
		}
		if errno != 0 {
			return nil, errno
		}
		done += n
	}
	return buf, 0
}

// text copies a string. Without an end within size bytes it is too long, or runs into memory that is not there.
func (t *task) text(addr uint64, size int, tooLong unix.Errno) (string, unix.Errno) {
	buf := t.memory[:size]
	n, errno := t.read(addr, buf)
	if errno != 0 {
		return "", errno
	}
	if i := bytes.IndexByte(buf[:n], 0); i >= 0 {
		return string(buf[:i]), 0
	}
	if n < size {
		return "", unix.EFAULT
	}
	return "", tooLong
}

// path copies a path. An empty one names nothing, unless empty allows it.
func (t *task) path(arg int, empty bool) (string, unix.Errno) {
	p, errno := t.text(t.args[arg], unix.PathMax, unix.ENAMETOOLONG)
	if errno == 0 && p == "" && !empty {
		errno = unix.ENOENT
	}
	return p, errno
}

// base opens where a path begins: the caller's descriptor or working directory. An absolute path needs neither, since
// nobody in a jail can change the root.
func (t *task) base(dirfd int32, path string) (int, unix.Errno) {
	if strings.HasPrefix(path, "/") {
		return unix.AT_FDCWD, 0
	}
	if dirfd == unix.AT_FDCWD {
		return t.openOwn("cwd")
	}
	return t.descriptor(dirfd)
}

// pidfdThread is PIDFD_THREAD: a handle of one thread. It needs Linux 6.9.
const pidfdThread = unix.O_EXCL

// descriptor takes a descriptor of the caller: the same open file. It is never handed to anybody.
func (t *task) descriptor(fd int32) (int, unix.Errno) {
	if fd < 0 {
		return -1, unix.EBADF
	}
	id, flags := t.tid, pidfdThread
	if !t.hasThreadHandles { // every thread of a process has the same descriptors, unless it went out of its way
		var errno unix.Errno
		if id, errno = t.process(); errno != 0 {
			return -1, errno
		}
		flags = 0
	}
	handle, err := unix.PidfdOpen(id, flags)
	if err != nil {
		return -1, unix.ESRCH
	}
	defer unix.Close(handle)
	if !t.valid() {
		return -1, unix.ESRCH
	}
	got, err := unix.PidfdGetfd(handle, int(fd), 0)
	if err != nil {
		t.opaque = t.opaque || err == unix.EPERM || err == unix.EACCES
		return -1, errnoOf(err)
	}
	return t.keep(got), 0
}

// openOwn opens an entry of the caller's directory in /proc.
func (t *task) openOwn(entry string) (int, unix.Errno) {
	if !t.validSoFar() {
		return -1, unix.ESRCH
	}
	fd, err := unix.Openat(t.proc, strconv.Itoa(t.tid)+"/"+entry, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.opaque = t.opaque || err == unix.EACCES || err == unix.EPERM
		return -1, errnoOf(err)
	}
	t.keep(fd)
	if !t.valid() {
		return -1, unix.ESRCH
	}
	return fd, 0
}

// status gives a line of the caller's status file.
func (t *task) status(key string) (string, bool) {
	lines, ok := t.statusLines()
	line, has := lines[key]
	return line, ok && has
}

func (t *task) statusLines() (map[string]string, bool) {
	fd, err := unix.Openat(t.proc, strconv.Itoa(t.tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	var buf [2048]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil || !t.valid() {
		return nil, false
	}
	lines := map[string]string{}
	for line := range strings.SplitSeq(string(buf[:n]), "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok {
			lines[key] = strings.TrimSpace(value)
		}
	}
	return lines, true
}

// takeUmask gives this thread the caller's umask. Until somebody in the jail calls umask, all have the one they were
// born with, and nothing needs to be read.
func (t *task) takeUmask() unix.Errno {
	mask := t.umask
	if t.umaskMoved.Load() {
		text, ok := t.status("Umask")
		n, err := strconv.ParseUint(text, 8, 32)
		if !ok || err != nil {
			return unix.ESRCH
		}
		mask = int(n)
	}
	if mask != t.umaskNow {
		unix.Umask(mask)
		t.worker.umaskNow = mask
	}
	return 0
}

// process is the number of the process that the calling thread belongs to.
func (t *task) process() (int, unix.Errno) {
	text, ok := t.status("Tgid")
	pid, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0, unix.ESRCH
	}
	return pid, 0
}

// who is for the record: the process and the program it runs, as the kernel knows it. A name that the process gave
// itself would be its own word.
func (t *task) who() (int, string) {
	pid, errno := t.process()
	if errno != 0 {
		pid = t.tid
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(t.proc, strconv.Itoa(pid)+"/exe", buf[:])
	if err != nil || !t.valid() {
		return pid, ""
	}
	return pid, string(buf[:n])
}
