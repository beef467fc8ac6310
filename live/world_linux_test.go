package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A world is a network of the tests' own: a namespace in which every address there is leads to servers of the test,
// so that what a command reaches, allowed or not, is seen, and nothing of it can leave the machine. It has a name server
// of its own behind /etc/resolv.conf. The tests run in it as the user that they would run as anyway, without any
// capability; the process that makes it does nothing else.
//
// Every address is local by one route (RTN_LOCAL for 0.0.0.0/0 and ::/0), and not by being given to an interface: an
// address of the host's own is refused, and that is not what these tests are about.

const envWorld = "SALLYPORT_LIVE_WORLD"

func init() { modes["world"] = worldMain }

// worldSockets are made while there is the right to, and inherited by the tests in this order after the journal.
var worldSockets = []struct {
	network, address string
}{
	{"tcp4", "0.0.0.0:80"}, {"tcp4", "0.0.0.0:443"}, {"tcp4", "127.0.0.1:53"}, {"udp4", "127.0.0.1:53"}, {"tcp6", "[::]:80"},
	{"tcp4", "0.0.0.0:22"},
}

const firstWorldFD = 4 // behind the journal

// inWorld runs a test in a world, as root and as an ordinary user.
func inWorld(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	if os.Getenv(envWorld) != "" {
		t.Run(os.Getenv(envWorld), func(t *testing.T) {
			confined(t, func(t *testing.T) { body(t, openWorld(t)) })
		})
		return
	}
	if os.Getuid() == 0 {
		t.Run("root", func(t *testing.T) { rerunInWorld(t, os.Getuid()) })
		t.Run("user", func(t *testing.T) { rerunInWorld(t, userID) })
		return
	}
	t.Run("user", func(t *testing.T) { rerunInWorld(t, os.Getuid()) })
}

// rerunInWorld runs the test that t belongs to once more, in a world of its own.
func rerunInWorld(t *testing.T, uid int) {
	cmd := again("world", strings.Split(t.Name(), "/")[0]+"/"+filepath.Base(t.Name()))
	cmd.Env = append(cmd.Env, envWorld+"="+filepath.Base(t.Name()))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_NET_BIND_SERVICE},
	}
	if os.Getuid() == 0 {
		// Root stays what it is: a world of root's is no user namespace, and an ordinary user's is entered by that user.
		if uid == 0 {
			cmd.SysProcAttr.Cloneflags &^= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = nil, nil
		} else {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: true}
		}
	}
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "--- SKIP: "+t.Name()) && !required() {
		t.Skipf("skipped in the world:\n%s", out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in a world (%v):\n%s", err, out)
	}
	t.Logf("%s", out)
}

// worldMain makes the world and runs the tests in it, with its sockets and without its rights.
func worldMain(args []string) int {
	base = os.Getenv(envBase)
	files, err := makeWorld()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make the world:", err)
		return 1
	}
	var pattern []string
	for _, p := range strings.Split(args[0], "/") {
		pattern = append(pattern, "^"+p+"$")
	}
	cmd := exec.Command(attacker(), "-test.run="+strings.Join(pattern, "/"), "-test.v", "-test.timeout=300s")
	cmd.Dir, cmd.Stdout, cmd.Stderr = base, os.Stdout, os.Stderr
	cmd.ExtraFiles = append([]*os.File{os.NewFile(3, "journal")}, files...)
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "run the test in the world:", err)
		return 1
	}
	return 0
}

// makeWorld sets the namespace up and gives its sockets.
func makeWorld() ([]*os.File, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make the mounts private: %w", err)
	}
	if err := errors.Join(raiseLoopback(), everyAddressIsLocal(unix.AF_INET), everyAddressIsLocal(unix.AF_INET6), ownFiles()); err != nil {
		return nil, err
	}
	var files []*os.File
	for _, s := range worldSockets {
		f, err := worldSocket(s.network, s.address)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	// From here on nothing needs a right: what is executed next has none.
	return files, unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

func worldSocket(network, address string) (*os.File, error) {
	if network == "udp4" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return nil, err
		}
		return c.(*net.UDPConn).File()
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener).File()
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// everyAddressIsLocal adds the route local 0.0.0.0/0 or ::/0 by lo.
func everyAddressIsLocal(family byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return err
	}
	const size = unix.SizeofNlMsghdr + unix.SizeofRtMsg + unix.SizeofRtAttr + 4
	b := make([]byte, size)
	e := binary.NativeEndian
	e.PutUint32(b[0:], size)
	e.PutUint16(b[4:], unix.RTM_NEWROUTE)
	e.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_CREATE|unix.NLM_F_ACK)
	b[16] = family
	b[20], b[21], b[22], b[23] = unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL
	e.PutUint16(b[28:], unix.SizeofRtAttr+4)
	e.PutUint16(b[30:], unix.RTA_OIF)
	e.PutUint32(b[32:], uint32(lo.Index))
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < 20 || e.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("add a local route: an answer of %d bytes", n)
	}
	if errno := -int32(e.Uint32(answer[16:])); errno != 0 {
		return fmt.Errorf("add a local route of family %d: %w", family, unix.Errno(errno))
	}
	return nil
}

// ownFiles puts the world's name server in front of the machine's, and gives the ordinary user, whom no account has, a
// name: ssh asks for it.
func ownFiles() error {
	const users = "/etc/passwd"
	b, err := os.ReadFile(users)
	if err != nil {
		return err
	}
	account := fmt.Sprintf("%s\nliveuser:x:%d:%d::/nonexistent:/bin/sh\n", strings.TrimSpace(string(b)), userID, userID)
	return errors.Join(cover("/etc/resolv.conf", "nameserver 127.0.0.1\n"), cover(users, account))
}

// cover mounts a file with the text over one, in this namespace alone.
func cover(path, text string) error {
	file := filepath.Join(os.TempDir(), fmt.Sprintf("sallyport-live-%d-%s", os.Getpid(), filepath.Base(path)))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	defer os.Remove(file) // the mount keeps it
	if err := unix.Mount(file, path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", path, err)
	}
	return nil
}
