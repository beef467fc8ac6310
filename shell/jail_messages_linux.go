package shell

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"sallyport/shell/internal/jail"

	"golang.org/x/sys/unix"
)

func (j *jailProcess) send(m jail.Message, rights []byte) error {
	b, err := json.Marshal(m)
	if err != nil {
		return &Error{Code: CodeFailed, Detail: "talk to the jail", Err: err}
	}
	raw, err := j.sock.SyscallConn()
	if err != nil {
		return &Error{Code: CodeFailed, Detail: "talk to the jail", Err: err}
	}
	var sendErr error
	err = raw.Write(func(fd uintptr) bool {
		sendErr = unix.Sendmsg(int(fd), b, rights, nil, unix.MSG_NOSIGNAL)
		return sendErr != unix.EAGAIN && sendErr != unix.EINTR
	})
	if err = errors.Join(err, sendErr); err != nil {
		return &Error{Code: CodeFailed, Detail: "talk to the jail", Err: err}
	}
	return nil
}

// receive waits for one message, keeps the records that come before it, and has the network do what is asked of it. When
// the first process is gone instead, the error says what it left behind.
func (j *jailProcess) receive() (jail.Message, error) {
	for {
		m, files, err := j.receiveAny()
		switch {
		case err != nil:
			closeAll(files)
			return m, err
		case m.Denied != nil:
			j.record(m.Denied)
		case m.Listeners != nil:
			err = j.openNetwork(files)
			files = nil
		case m.Connect != nil:
			j.network.connect(m.Connect)
		case m.Dialled != nil:
			files = j.exposed.dialled(m.Dialled, files)
		default:
			closeAll(files)
			return m, nil
		}
		closeAll(files)
		if err != nil {
			return m, err
		}
	}
}

// receiveAny reads one packet, with the descriptors that came along.
func (j *jailProcess) receiveAny() (jail.Message, []*os.File, error) {
	buf, control := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*jail.ListenerCount))
	var n, cn int
	raw, err := j.sock.SyscallConn()
	if err == nil {
		var readErr error
		err = raw.Read(func(fd uintptr) bool {
			n, cn, _, _, readErr = unix.Recvmsg(int(fd), buf, control, unix.MSG_CMSG_CLOEXEC)
			return readErr != unix.EAGAIN && readErr != unix.EINTR
		})
		err = errors.Join(err, readErr)
	}
	m, err := j.decode(buf[:max(n, 0)], err)
	return m, received(control[:max(cn, 0)]), err
}

// received are the descriptors of a control message. What cannot be read has none.
func received(control []byte) (files []*os.File) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "of the jail"))
		}
	}
	return files
}

func (j *jailProcess) decode(packet []byte, err error) (jail.Message, error) {
	var m jail.Message
	if failure, ok := j.plan.setup.ParseFailure(packet); ok {
		return jail.Message{Failure: failure}, nil
	}
	if err == nil && len(packet) > 0 {
		if err = json.Unmarshal(packet, &m); err == nil {
			return m, nil
		}
	}
	e := &Error{Code: CodeFailed, Detail: "the jail's first process ended before its time", Err: j.lastWords()}
	if err != nil && err != io.EOF {
		e.Err = errors.Join(err, e.Err)
	}
	return m, e
}

// lastWords is the beginning of what a crashing first process printed.
func (j *jailProcess) lastWords() error {
	buf := make([]byte, 2<<10)
	n, err := j.trace.ReadAt(buf, 0)
	text := strings.TrimSpace(string(buf[:n]))
	if err != nil && err != io.EOF {
		return err
	}
	if text == "" {
		return nil
	}
	return errors.New(text)
}

func toBytes(in []string) [][]byte {
	out := make([][]byte, len(in))
	for i, s := range in {
		out[i] = []byte(s)
	}
	return out
}

// socketPair makes the channel to a jail. Our end works with the runtime's poller.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, systemError("socketpair", err, "make the channel to the jail")
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, systemError("fcntl", err, "make the channel to the jail")
	}
	return os.NewFile(uintptr(fds[0]), "jail"), os.NewFile(uintptr(fds[1]), "host"), nil
}

// memfd makes an anonymous file with the given contents; with contents it cannot be changed any more.
func memfd(name string, contents []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, systemError("memfd_create", err, "hand data to the jail")
	}
	f := os.NewFile(uintptr(fd), name)
	if contents == nil {
		return f, nil
	}
	if _, err := f.Write(contents); err != nil {
		f.Close()
		return nil, &Error{Code: CodeFailed, Detail: "hand data to the jail", Err: err}
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, systemError("fcntl(F_ADD_SEALS)", err, "hand data to the jail")
	}
	return f, nil
}

// systemError is the error for a system call of the host's own that failed.
func systemError(call string, err error, detail string) *Error {
	e := &Error{Code: CodeFailed, Syscall: call, Detail: detail}
	if !errors.As(err, &e.Errno) {
		e.Err = err
	}
	if e.Errno == unix.EMFILE {
		e.Hints = []string{descriptorHint}
	}
	return e
}
