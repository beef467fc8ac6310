package live

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
)

// listen serves a TCP protocol on every address of the world until the test ends.
func (w *world) listen(l net.Listener, serve func(net.Conn)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
			_ = c.Close()
		}
	}()
	w.t.Cleanup(func() {
		require.NoError(w.t, l.Close())
		<-done
	})
}

// serveSSH says what a server says first, notes what the client says, and leaves: a client that came so far has reached
// it.
func (w *world) serveSSH() {
	w.listen(w.sshLn, func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-world\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		if strings.HasPrefix(line, "SSH-2.0-") {
			w.note("ssh at " + c.LocalAddr().String())
		}
	})
}

// servePostgres refuses TLS, takes the start-up packet, and answers with an error that psql prints.
func (w *world) servePostgres() {
	l, err := net.Listen("tcp4", "0.0.0.0:5432")
	require.NoError(w.t, err)
	w.listen(l, func(c net.Conn) {
		for range 2 {
			var head [8]byte
			if _, err := io.ReadFull(c, head[:]); err != nil {
				return
			}
			const sslRequest = 80877103
			if binary.BigEndian.Uint32(head[4:]) == sslRequest {
				_, _ = c.Write([]byte("N"))
				continue
			}
			if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[:]))-8); err != nil {
				return
			}
			w.note("postgres at " + c.LocalAddr().String())
			body := "SFATAL\x00C28000\x00Mwelcome to the database\x00\x00"
			_, _ = c.Write(append(binary.BigEndian.AppendUint32([]byte("E"), uint32(len(body)+4)), body...))
			return
		}
	})
}

// serveGit serves a repository with one commit below /git/.
func (w *world) serveGit() {
	root := filepath.Join(w.dir, "git")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", root + "/work"},
		{"-C", root + "/work", "-c", "user.name=w", "-c", "user.email=w@example.test", "commit", "-q", "--allow-empty", "-m", "welcome"},
		{"clone", "-q", "--bare", root + "/work", root + "/repo.git"},
	} {
		out, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(w.t, err, "%s", out)
	}
	git, err := exec.LookPath("git")
	require.NoError(w.t, err)
	w.mux.Handle("/git/", &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	})
}
