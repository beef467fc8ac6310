package broker

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func isFIFO(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// openDevice opens what said ENXIO: a FIFO that nobody reads yet, or the caller's terminal, which this process has none
// of.
func (t *task) openDevice(o *opening, dir int, name string, resolve uint64, waits bool) (int, unix.Errno) {
	fd, errno := openat2(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
	if errno != 0 {
		return -1, errno
	}
	t.keep(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, errnoOf(err)
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFIFO && waits:
		return t.openWriter(o, fd)
	case kind == unix.S_IFCHR && st.Rdev == unix.Mkdev(5, 0):
		return t.openTerminal(o)
	}
	return -1, unix.ENXIO
}

// patience is how long a wait for the other end of a FIFO sleeps between two looks. Nothing tells when somebody comes.
const patience = 2 * time.Millisecond

// openWriter waits until somebody reads the FIFO. Somebody who waits for a writer reads it already.
func (t *task) openWriter(o *opening, fifo int) (int, unix.Errno) {
	t.pass(t.number) // this takes long
	how := unix.OpenHow{Flags: uint64(o.flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)) | unix.O_NONBLOCK | unix.O_CLOEXEC}
	for {
		fd, errno := openat2(unix.AT_FDCWD, selfPath(fifo), &how)
		if errno != unix.ENXIO {
			return fd, errno
		}
		if errno := t.pause(); errno != 0 {
			return -1, errno
		}
	}
}

// maxReaders bounds the threads that wait for the writer of a FIFO. One whose caller was killed goes on waiting, since nothing wakes it but a writer, and
// a process that has ten thousand threads ends. Past the bound the answer is that the system has too many files open.
const maxReaders = 512

// openReader waits until somebody writes the FIFO that was opened for reading. The kernel does the waiting, on a
// thread of its own; when the caller is gone by then, nobody gets the descriptor.
func (t *task) openReader(o *opening, fd int) answer {
	if t.readers.Add(1) > maxReaders {
		t.readers.Add(-1)
		return failed(unix.ENFILE)
	}
	fifo, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.readers.Add(-1)
		return result(err)
	}
	type opened struct {
		fd    int
		errno unix.Errno
	}
	t.pass(t.number) // this takes long
	done, gone := make(chan opened), make(chan struct{})
	defer close(gone)
	how := unix.OpenHow{Flags: uint64(o.flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)) | unix.O_CLOEXEC}
	go func() {
		fd, errno := openat2(unix.AT_FDCWD, selfPath(fifo), &how)
		unix.Close(fifo)
		t.readers.Add(-1)
		select {
		case done <- opened{fd, errno}:
		case <-gone:
			unix.Close(fd)
		}
	}()
	for {
		select {
		case r := <-done:
			if r.errno != 0 {
				return failed(r.errno)
			}
			return o.hand(t.keep(r.fd))
		case <-time.After(patience):
			if !t.valid() {
				return failed(unix.ESRCH)
			}
			if errno := t.signalled(); errno != 0 {
				return failed(errno)
			}
		}
	}
}

// restart is ERESTARTSYS. The kernel takes it from us as from a call of its own: it delivers the signal that has come,
// and then makes the call again or says EINTR, as the handler was set up. Without a signal the caller would see it.
const restart = unix.Errno(512)

// pause waits a moment, and looks whether it has to end.
func (t *task) pause() unix.Errno {
	time.Sleep(patience)
	return t.signalled()
}

// signalled tells whether a signal has come for the caller, which cannot wake it while it waits for us.
func (t *task) signalled() unix.Errno {
	status, ok := t.statusLines()
	if !ok {
		return unix.ESRCH
	}
	set := func(key string) uint64 {
		n, err := strconv.ParseUint(status[key], 16, 64)
		if err != nil {
			return 0
		}
		return n
	}
	come := set("SigPnd")
	if status["Threads"] == "1" { // of several threads another one may take it
		come |= set("ShdPnd")
	}
	if come&^(set("SigBlk")|set("SigIgn")) != 0 {
		return restart
	}
	return 0
}

// openTerminal opens the caller's controlling terminal, which is what /dev/tty means.
func (t *task) openTerminal(o *opening) (int, unix.Errno) {
	device, ok := t.terminal()
	if !ok {
		return -1, unix.ENXIO
	}
	// Pseudo-terminals have the majors 136 to 143.
	number := int(unix.Minor(device)) + (int(unix.Major(device))-136)*256
	if number < 0 {
		return -1, unix.ENXIO
	}
	how := unix.OpenHow{Flags: uint64(o.flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)) | unix.O_NOCTTY | unix.O_CLOEXEC}
	fd, errno := openat2(unix.AT_FDCWD, "/dev/pts/"+strconv.Itoa(number), &how)
	if errno != 0 {
		return -1, unix.ENXIO
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Rdev != device {
		unix.Close(fd)
		return -1, unix.ENXIO
	}
	return fd, 0
}

// terminal is the device number of the caller's controlling terminal.
func (t *task) terminal() (uint64, bool) {
	fd, err := unix.Openat(t.proc, strconv.Itoa(t.tid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil || !t.valid() {
		return 0, false
	}
	// The program's name stands in parentheses and may hold anything; behind it: state, parent, group, session, terminal.
	text := string(buf[:n])
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 5 {
		return 0, false
	}
	number, err := strconv.ParseInt(fields[4], 10, 32)
	if err != nil || number == 0 {
		return 0, false
	}
	// As the kernel packs it: minor in bits 0-7 and 20-31, major in bits 8-19.
	packed := uint32(number)
	return unix.Mkdev(packed>>8&0xfff, packed&0xff|packed>>12&0xfff00), true
}
