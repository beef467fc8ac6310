package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

func init() { modes["echo-server"] = echoServer }

// echoServer listens on loopback, says at which port, and answers each line with itself until it is killed.
func echoServer([]string) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}
}

// A server of a command is reached from the host by a port that the host asked for, and by no other; with the command the
// port is gone. What is not loopback is refused, and so is a command that has ended.
func TestExpose(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for name, network := range map[string]policy.Network{"none": {}, "list": {AllowedDomains: []string{"example.com"}}} {
			t.Run(name, func(t *testing.T) {
				f := newField(t)
				p := f.writable()
				p.Network = network
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				cmd := open(t, p, shell.Options{}).Command(ctx, attacker(), "echo-server")
				cmd.Dir = "/"
				_, err := cmd.Expose("127.0.0.1:0", 80)
				require.Error(t, err, "it does not run yet")
				stdout, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, explain(cmd.Start()))
				line, err := bufio.NewReader(stdout).ReadString('\n')
				require.NoError(t, err)
				port := atoi(strings.TrimSpace(line))
				_, err = net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(port))
				require.Error(t, err, "the port inside is not the host's")
				for _, bad := range []string{"0.0.0.0:0", "192.0.2.1:0", "localhost:0", "", "127.0.0.1"} {
					_, err := cmd.Expose(bad, port)
					require.Error(t, err, bad)
				}
				for _, own := range []int{53, 3128, 1} { // the host's, where it has any: a client would be taken for the command
					_, err := cmd.Expose("127.0.0.1:0", own)
					require.Equal(t, name == "list", err != nil, "%d: %v", own, err)
				}
				address, err := cmd.Expose("127.0.0.1:0", port)
				require.NoError(t, explain(err))
				for range 20 {
					require.Equal(t, "hello\n", echoed(t, address))
				}
				nobody, err := cmd.Expose("127.0.0.1:0", 2)
				require.NoError(t, explain(err))
				c, err := net.Dial("tcp4", nobody.String())
				if err == nil { // the end of it can come before Dial has looked
					_, err = c.Read(make([]byte, 1))
					require.NoError(t, c.Close())
				}
				require.Error(t, err, "no server listens there")
				cancel()
				_ = cmd.Wait() // killed
				_, err = net.Dial("tcp4", address.String())
				require.Error(t, err, "the port is still there")
				_, err = cmd.Expose("127.0.0.1:0", port)
				require.Error(t, err, "the command has ended")
			})
		}
	})
}

func echoed(t *testing.T, address net.Addr) string {
	t.Helper()
	c, err := net.Dial("tcp4", address.String())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "hello\n")
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	b, err := io.ReadAll(c)
	require.NoError(t, err)
	return string(b)
}
