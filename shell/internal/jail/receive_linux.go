package jail

import (
	"encoding/json"
	"io"

	"golang.org/x/sys/unix"
)

// receive reads one message from the host, with the descriptors that came with it. io.EOF says the host is gone.
func receive() (Message, []int, error) {
	var m Message
	buf := make([]byte, 4096)
	control := make([]byte, unix.CmsgSpace(4*maxFiles))
	var n, cn, flags int
	var err error
	for {
		n, cn, flags, _, err = unix.Recvmsg(SocketFD, buf, control, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return m, nil, err
	}
	if n == 0 {
		return m, nil, io.EOF
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		return m, nil, &Failure{Detail: "a message of the host was cut"}
	}
	files, err := descriptors(control[:cn])
	if err != nil {
		return m, nil, err
	}
	return m, files, json.Unmarshal(buf[:n], &m)
}

// maxFiles is the kernel's own bound on descriptors in one message (SCM_MAX_FD).
const maxFiles = 253

func descriptors(control []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	var files []int
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		files = append(files, fds...)
	}
	return files, nil
}
