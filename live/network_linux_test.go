package live

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

// serve greets everyone who connects to a listener of the host.
func serve(t *testing.T, l net.Listener) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(greeting)) // the attacker may be gone
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		<-done
	})
}

func tcpServer(f *field) []string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(f.t, err)
	serve(f.t, l)
	return []string{strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
}

func mptcpServer(f *field) []string {
	config := net.ListenConfig{}
	config.SetMultipathTCP(true)
	l, err := config.Listen(f.t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(f.t, err)
	serve(f.t, l)
	return []string{strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
}

func udpServer(f *field) []string {
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(f.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64)
		for {
			_, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo([]byte(greeting), from) // the attacker may be gone
		}
	}()
	f.t.Cleanup(func() {
		require.NoError(f.t, c.Close())
		<-done
	})
	return []string{strconv.Itoa(c.LocalAddr().(*net.UDPAddr).Port)}
}

func abstractServer(f *field) []string {
	name := "sallyport-live-" + filepath.Base(f.dir)
	l, err := net.Listen("unix", "@"+name)
	require.NoError(f.t, err)
	serve(f.t, l)
	return []string{name}
}

// pathServer listens in the very directory that the command may write: the way to it is open.
func pathServer(f *field) []string {
	l, err := net.Listen("unix", f.ws+"/socket")
	require.NoError(f.t, err)
	serve(f.t, l)
	return []string{f.ws + "/socket"}
}

// datagramServer takes datagrams; what it got tells whether one came through.
func datagramServer(f *field) []string {
	c, err := net.ListenPacket("unixgram", f.ws+"/datagrams")
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, c.Close()) })
	return []string{f.ws + "/datagrams"}
}

// networkAttacks reach for servers of the host on its loopback interface and in its file system (R39; process cases 19,
// 28, 29; conformance 25).
var networkAttacks = []attack{
	{
		name:  "reach-host-by-tcp",
		why:   "servers on loopback trust whoever reaches them; MSG_FASTOPEN walks past rules on connect",
		alone: [][]string{{"network"}},
		notBy: [][]string{landlockAlone, seccompAlone},
		args:  tcpServer,
	},
	{
		name:        "reach-host-by-mptcp",
		why:         "Landlock's rules and many filters know TCP by another number",
		alone:       [][]string{{"network"}, seccompAlone},
		mayBeAbsent: "MPTCP",
		args:        mptcpServer,
	},
	{
		name:  "reach-host-by-udp",
		why:   "DNS tunnels; Landlock knows no UDP here",
		alone: [][]string{{"network"}},
		notBy: [][]string{landlockAlone},
		args:  udpServer,
	},
	{
		name:  "reach-abstract-socket",
		why:   "X servers and session buses listen without a file",
		alone: [][]string{{"network"}, landlockAlone, seccompAlone},
		args:  abstractServer,
	},
	{
		name:  "reach-path-socket",
		why:   "docker.sock, D-Bus and ssh-agent act for their owner; a read-only mount does not stop connect",
		alone: [][]string{seccompAlone},
		notBy: [][]string{mountsAlone, landlockAlone, {"network"}},
		args:  pathServer,
	},
	{
		name:  "reach-path-by-datagram-pair",
		why:   "a pair needs no socket call and no connect",
		alone: [][]string{seccompAlone},
		notBy: [][]string{landlockAlone, {"network"}},
		args:  datagramServer,
	},
}

// TestNetworkAttacks runs the table.
func TestNetworkAttacks(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, a := range networkAttacks {
			a.test(t)
		}
	})
}

// kindsHere are the kinds of sockets that this kernel has for this user, and those that it lacks.
func kindsHere(root bool) (have, lack []string) {
	for _, k := range socketKinds {
		if k.root != root {
			continue
		}
		switch err := k.make(uintptr(k.family), uintptr(k.kind)); err {
		case unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT, unix.EPROTOTYPE:
			lack = append(lack, k.name)
		default:
			have = append(have, k.name)
		}
	}
	return have, lack
}

// TestSocketKinds: only TCP, UDP, ping and netlink route sockets can be made (process case 19).
func TestSocketKinds(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, root := range []bool{false, true} {
			have, lack := kindsHere(root)
			if len(lack) > 0 {
				record(entry{Kind: "note", Test: t.Name(), Detail: "not in this kernel, so asserted on the compiled filter alone: " + inPart(lack)})
			}
			if len(have) == 0 {
				continue
			}
			attack{
				name:     "make-sockets",
				why:      "families that no network namespace separates, and protocols that walk past rules",
				alone:    [][]string{seccompAlone},
				rootOnly: root,
				args:     func(*field) []string { return have },
			}.test(t)
		}
	})
}

// TestLoopbackInside: a server inside is reached from inside and not from the host (conformance 24).
func TestLoopbackInside(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		found := attackIn(t, open(t, f.writable(), shell.Options{}), f.ws, nil, "serve-inside")
		require.Equal(t, through, found.verdict, found.detail)
	})
}

// TestUnrestrictedNetworkIsTheHosts: without network rules the host's servers are reached, and the report says that the
// layer is absent; everything else stays up (R40).
func TestUnrestrictedNetworkIsTheHosts(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		p := f.writable()
		p.Network = policy.Network{Unrestricted: true}
		box := open(t, p, shell.Options{})
		require.Equal(t, shell.Absent, box.Report().Layer("network").State)
		port := tcpServer(f)
		found := attackIn(t, box, f.ws, nil, "reach-host-by-tcp", port...)
		require.Equal(t, through, found.verdict, found.detail)
		refusedAll := attackIn(t, box, f.ws, nil, "write-outside", f.ws, f.outside)
		require.Equal(t, refused, refusedAll.verdict, refusedAll.detail)
		require.Empty(t, f.touched())
	})
}

// TestNoNetworkMeansNoPacket: with no list there is no interface but loopback, so nothing can leave (R39).
func TestNoNetworkMeansNoPacket(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		code, out := f.run(f.writable(), "sh", "-c", "tail -n +3 /proc/net/dev | cut -d: -f1; tail -n +2 /proc/net/route")
		require.Equal(t, 0, code)
		require.Equal(t, "lo", trimmed(out))
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		address := l.Addr().(*net.TCPAddr)
		found := attackIn(t, open(t, f.writable(), shell.Options{}), f.ws, nil, "reach-host-by-tcp", strconv.Itoa(address.Port))
		require.Equal(t, refused, found.verdict, found.detail)
		require.False(t, knocked(t, l), "a connection arrived")
		c, err := net.Dial("tcp4", l.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		require.True(t, knocked(t, l), "the test itself does not see a connection")
	})
}

// knocked says whether a connection waits at a listener.
func knocked(t *testing.T, l net.Listener) bool {
	t.Helper()
	raw, err := l.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	waiting := 0
	require.NoError(t, raw.Control(func(fd uintptr) {
		waiting, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	}))
	require.NoError(t, err)
	return waiting > 0
}
