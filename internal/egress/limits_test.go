package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// tunnelTo opens a tunnel through SOCKS5.
func tunnelTo(t *testing.T, proxy, host string, port int) net.Conn {
	t.Helper()
	c := dialTest(t, proxy)
	c.Write(socksRequest(1, host, port))
	answer := make([]byte, 12)
	_, err := io.ReadFull(c, answer)
	require.NoError(t, err)
	require.Zero(t, answer[3])
	return c
}

// TestConnectionLimit: one more than the limit is told so, in the words of its protocol; twice as many are closed.
func TestConnectionLimit(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{Connections: 2})
	w.host("good.test", 80, echo(t).Addr())
	proxy := w.proxy()
	first, second := tunnelTo(t, proxy, "good.test", 80), tunnelTo(t, proxy, "good.test", 80)
	resp, text := w.raw(proxy, "CONNECT good.test:80 HTTP/1.1\r\n\r\n")
	require.Equal(t, 503, resp.StatusCode)
	require.Contains(t, text, "connections at once")
	eventually(t, "it is gone", func() bool { return w.Stats().Clients == 2 })
	require.Equal(t, byte(socksFailed), socksAnswer(t, proxy, socksRequest(1, "good.test", 80))[3])
	for _, r := range w.records.all() {
		require.Equal(t, ListLimit, r.Rule.List)
	}
	require.Len(t, w.records.all(), 2)

	eventually(t, "it is gone", func() bool { return w.Stats().Clients == 2 })
	dialTest(t, proxy)
	dialTest(t, proxy)
	eventually(t, "they are taken", func() bool { return w.Stats().Clients == 4 })
	_, err := io.ReadAll(dialTest(t, proxy))
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "closed at once")
	first.Close()
	second.Close()
	eventually(t, "there is room again", func() bool { return w.Stats().Clients == 2 })
}

// TestSlowHeads: who sends a byte now and then does not hold a connection.
func TestSlowHeads(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{Head: 50 * time.Millisecond, KeepAlive: 100 * time.Millisecond})
	proxy := w.proxy()
	ln := listen(t)
	w.ServeDNS(ln)
	for _, c := range []struct{ address, send string }{{proxy, ""}, {proxy, "GET http://good"}, {proxy, "GET http://good.test/ HTTP/1.1\r\nA: "}, {proxy, "\x05"}, {proxy, "\x05\x01\x00\x05\x01\x00\x03\xff"},
		{ln.Addr().String(), "\x00"}, {ln.Addr().String(), "\x00\x20aaaa"}, {ln.Addr().String(), ""}} {
		conn := dialTest(t, c.address)
		io.WriteString(conn, c.send)
		begun := time.Now()
		_, err := io.ReadAll(conn)
		require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "%q", c.send)
		require.Less(t, time.Since(begun), 5*time.Second)
	}
	eventually(t, "they are gone", func() bool { return w.Stats().Clients == 0 })
}

// TestIdle: a tunnel over which nothing goes is ended; one that is used in one direction only is not.
func TestIdle(t *testing.T) {
	const idle = 200 * time.Millisecond
	w := newWorld(t, allow(t, "good.test"), Limits{Idle: idle})
	var ticks atomic.Int64
	w.host("good.test", 80, serveTCP(t, func(c net.Conn) {
		for range ticks.Load() {
			time.Sleep(idle / 4)
			c.Write([]byte("x"))
		}
		io.Copy(io.Discard, c)
	}).Addr())
	proxy := w.proxy()
	for _, n := range []int64{0, 8} {
		ticks.Store(n)
		begun := time.Now()
		c := tunnelTo(t, proxy, "good.test", 80)
		all, err := io.ReadAll(c)
		require.False(t, errors.Is(err, os.ErrDeadlineExceeded))
		require.Len(t, all, int(n))
		require.GreaterOrEqual(t, time.Since(begun), idle)
	}
	// A peer that takes nothing more is idle as well.
	full := make(chan bool)
	w.host("good.test", 80, serveTCP(t, func(c net.Conn) { <-full }).Addr())
	defer close(full)
	c := tunnelTo(t, proxy, "good.test", 80)
	require.NoError(t, c.SetDeadline(time.Time{}))
	begun := time.Now()
	_, err := io.Copy(c, neverEnding{})
	require.Error(t, err)
	require.Less(t, time.Since(begun), patience)
}

type neverEnding struct{}

func (neverEnding) Read(b []byte) (int, error) { return len(b), nil }

// TestByteLimit: what goes beyond is cut, and recorded.
func TestByteLimit(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{Bytes: 3 << 20})
	w.host("good.test", 80, serveTCP(t, func(c net.Conn) { io.Copy(c, neverEnding{}) }).Addr())
	c := tunnelTo(t, w.proxy(), "good.test", 80)
	n, _ := io.Copy(io.Discard, c)
	require.LessOrEqual(t, n, int64(3<<20))
	eventually(t, "a record", func() bool { return len(w.records.all()) == 1 })
	require.Equal(t, ListLimit, w.records.all()[0].Rule.List)
}

// descriptors counts the open ones of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("descriptors are counted in /proc")
	}
	d, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(d)
}

// TestCloseLeavesNothing: connections in every state, and none of them, no goroutine and no descriptor is left.
func TestCloseLeavesNothing(t *testing.T) {
	ln := echo(t)
	mute := serveTCP(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	warm := listen(t) // the poller's own descriptors are there before the count
	warm.Close()
	before, goroutines := descriptors(t), goleak.IgnoreCurrent()
	resolving := make(chan bool, 1)
	for range 3 {
		w := newWorld(t, allow(t, "good.test", "mute.test", "slow.test", "example.com"), Limits{})
		w.host("good.test", 80, ln.Addr())
		w.host("mute.test", 81, mute.Addr())
		w.servers[public+":443"] = ln.Addr().String()
		w.zone["example.com."] = []string{public}
		w.resolver = blockingResolver{w.zone, resolving}
		proxy := w.proxy()
		w.nameServer()
		capture := listen(t)
		w.ServeCaptured(capture, func(net.Conn) (Meant, error) { return Meant{Host: "good.test", Port: 80}, nil })
		var clients []net.Conn
		open := func(c net.Conn, send string) {
			io.WriteString(c, send)
			clients = append(clients, c)
		}
		open(tunnelTo(t, proxy, "good.test", 80), "x")
		open(tunnelTo(t, proxy, "example.com", 443), "\x16\x03")
		open(dialTest(t, capture.Addr().String()), "x")
		open(dialTest(t, proxy), "")
		open(dialTest(t, proxy), "GET http://")
		open(dialTest(t, proxy), "\x05\x01")
		open(dialTest(t, proxy), "GET http://mute.test:81/ HTTP/1.1\r\nHost: mute.test:81\r\n\r\n")
		open(dialTest(t, proxy), "POST http://mute.test:81/ HTTP/1.1\r\nHost: mute.test:81\r\nContent-Length: 9\r\n\r\nx")
		open(dialTest(t, proxy), "POST http://mute.test:81/ HTTP/1.1\r\nHost: mute.test:81\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx")
		open(dialTest(t, proxy), "CONNECT slow.test:80 HTTP/1.1\r\n\r\n")
		<-resolving
		eventually(t, "all are served", func() bool {
			s := w.Stats()
			return s.Clients == 10 && s.Upstreams == 6
		})
		begun := time.Now()
		require.NoError(t, w.Close())
		require.Less(t, time.Since(begun), 2*time.Second)
		for _, c := range clients {
			_, err := io.ReadAll(c)
			require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "cut")
			c.Close()
		}
		_, err := net.Dial("tcp", proxy)
		require.Error(t, err)
		w.ServeProxy(listen(t)) // after Close it is closed at once
		require.Zero(t, w.Stats().Upstreams)
		_, err = w.ConnectCaptured(t.Context(), "good.test", 80)
		require.Error(t, err)
	}
	eventually(t, "no descriptor is left", func() bool { return descriptors(t) <= before })
	eventually(t, "no goroutine is left", func() bool { return goleak.Find(goroutines) == nil })
}

type blockingResolver struct {
	zone
	asked chan bool
}

func (b blockingResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if host != "slow.test." {
		return b.zone.LookupNetIP(ctx, network, host)
	}
	b.asked <- true
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestRace: the next address is tried when one fails or does not answer, and the loser is closed.
func TestRace(t *testing.T) {
	w := newWorld(t, allow(t, "many.test"), Limits{Dial: 3 * time.Second})
	ln := echo(t)
	w.zone["many.test."] = []string{"2606:4700::1", "2606:4700::2", "8.8.4.4", "8.8.8.8", "10.0.0.1"}
	var mu sync.Mutex
	var tried []string
	hang := map[string]bool{}
	w.dialAddress = func(ctx context.Context, d target, to netip.AddrPort) (net.Conn, error) {
		mu.Lock()
		tried = append(tried, to.Addr().String())
		mu.Unlock()
		if to.Addr().String() == public {
			return dialTCP(ctx, d, netip.MustParseAddrPort(ln.Addr().String()))
		}
		if hang[to.Addr().String()] {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("refused")
	}
	u, err := w.dial(t.Context(), "many.test", 80)
	require.NoError(t, err)
	require.NoError(t, u.Close())
	require.Equal(t, []string{"2606:4700::1", "8.8.4.4", "2606:4700::2", "8.8.8.8"}, tried, "the families in turn, and no address that was refused")

	hang["2606:4700::1"], hang["8.8.4.4"], hang["2606:4700::2"] = true, true, true
	begun := time.Now()
	u, err = w.dial(t.Context(), "many.test", 80)
	require.NoError(t, err)
	require.NoError(t, u.Close())
	require.GreaterOrEqual(t, time.Since(begun), 3*nextAddress)
	require.Less(t, time.Since(begun), 2*time.Second)

	w.zone["many.test."] = []string{"8.8.4.4"}
	_, err = w.dial(t.Context(), "many.test", 80)
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, "ETIMEDOUT", f.Errno)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.dial(ctx, "many.test", 80)
	require.ErrorIs(t, err, context.Canceled)
}

// TestCaptured: a connection that was meant for another host goes there, dialled before or after it came in.
func TestCaptured(t *testing.T) {
	w := newWorld(t, allow(t, "good.test", "example.com", "9.9.9.9:80"), Limits{})
	ln := echo(t)
	w.host("good.test", 80, ln.Addr())
	w.host("example.com", 443, ln.Addr())
	w.servers["9.9.9.9:80"] = ln.Addr().String()
	var mu sync.Mutex
	meant := map[string]Meant{}
	capture := listen(t)
	w.ServeCaptured(capture, func(c net.Conn) (Meant, error) {
		mu.Lock()
		defer mu.Unlock()
		m, ok := meant[c.RemoteAddr().String()]
		if !ok {
			return m, errors.New("nobody said so")
		}
		return m, nil
	})
	send := func(m *Meant, text string) (string, error) {
		mu.Lock()
		c := dialTest(t, capture.Addr().String())
		if m != nil {
			meant[c.LocalAddr().String()] = *m
		}
		mu.Unlock()
		_, wrote := io.WriteString(c, text)
		ended := c.(*net.TCPConn).CloseWrite()
		all, err := io.ReadAll(c)
		return string(all), errors.Join(wrote, ended, err) // a reset is told once, to whoever asks first
	}
	u, err := w.ConnectCaptured(t.Context(), "good.test", 80)
	require.NoError(t, err)
	for _, m := range []Meant{{Host: w.names.address("good.test").String(), Port: 80}, {Host: "9.9.9.9", Port: 80}, {Host: "good.test", Port: 80, Upstream: u}} {
		got, err := send(&m, "hello")
		require.NoError(t, err)
		require.Equal(t, "hellobye", got)
	}
	require.Empty(t, w.records.all())
	for _, m := range []*Meant{nil, {Host: "9.9.9.8", Port: 80}, {Host: "9.9.9.9", Port: 81}, {Host: "127.0.0.1", Port: portOf(ln.Addr())}, {Host: "10.0.0.1", Port: 80}} {
		_, err := send(m, "hello")
		require.Error(t, err, "a reset, not an end")
	}
	require.Len(t, w.records.all(), 4)

	// The server name counts in a captured connection too.
	got, err := send(&Meant{Host: w.names.address("example.com").String(), Port: 443}, string(clientHello(t, clientConfig("evil.test"))))
	require.NoError(t, err)
	require.Equal(t, string(alertAccessDenied), got)
	eventually(t, "nothing stays open", func() bool { s := w.Stats(); return s.Clients == 0 && s.Upstreams == 0 })
}

// TestManyAtOnce: children of disjoint lists, at once; none reaches what another may.
func TestManyAtOnce(t *testing.T) {
	ln := echo(t)
	const children = 16
	var wg sync.WaitGroup
	for i := range children {
		w := newWorld(t, allow(t, fmt.Sprintf("c%d.test", i)), Limits{})
		for j := range children {
			w.host(fmt.Sprintf("c%d.test", j), 80, ln.Addr())
		}
		proxy := w.proxy()
		wg.Go(func() {
			for j := range children {
				c, err := net.Dial("tcp", proxy)
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprintf(c, "CONNECT c%d.test:80 HTTP/1.1\r\n\r\n", j)
				line, err := bufio.NewReader(c).ReadString('\n')
				c.Close()
				if ok := len(line) > 12 && line[9:12] == "200"; err != nil || ok != (i == j) {
					t.Errorf("child %d to %d: %s %v", i, j, line, err)
				}
			}
		})
	}
	wg.Wait()
}
