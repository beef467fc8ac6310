package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"sallyport/policy"
)

// secret is what must not come out of the repository's .env. It opens nothing.
const secret = "TOKEN=not-a-real-token"

// place is everything of the host that the tour is about: a directory with the repository, a process to kill, a
// port to reach and a port that may be reached. All of it is the tour's own.
type place struct {
	dir     string // the repository and a neighbour of it are below
	repo    string
	policy  policy.Policy
	victim  *exec.Cmd
	ended   chan struct{} // closed when the victim has ended
	service net.Listener
	reached atomic.Int64 // connections that the service accepted
	granted net.Listener // the one server that a command may reach
}

// newPlace makes the directory, starts the process and opens the port.
func newPlace() (*place, error) {
	dir, err := os.MkdirTemp("", "sallyport-demo-")
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir}
	if err := p.fill(); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

func (p *place) fill() (err error) {
	if p.dir, err = filepath.EvalSymlinks(p.dir); err != nil {
		return err
	}
	p.repo = filepath.Join(p.dir, "repo")
	for _, dir := range []string{p.repo, filepath.Join(p.dir, "neighbour")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"README.md":  "# A throw-away repository\n\nIt is removed when the tour ends.\n",
		".env":       secret + "\n",
		".gitignore": ".env\n",
	} {
		if err := os.WriteFile(filepath.Join(p.repo, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := p.startVictim(); err != nil {
		return err
	}
	if err := p.listen(); err != nil {
		return err
	}
	if err := p.serve(); err != nil {
		return err
	}
	p.policy = p.tourPolicy()
	return nil
}

// startVictim starts the process that a confined command will try to kill.
func (p *place) startVictim() error {
	victim := exec.Command("sleep", "600")
	if err := victim.Start(); err != nil {
		return fmt.Errorf("start a process to be left alone: %w", err)
	}
	p.victim, p.ended = victim, make(chan struct{})
	go func() {
		_ = victim.Wait() // killed at the end, by us
		close(p.ended)
	}()
	return nil
}

// victimAlive says whether the process still runs.
func (p *place) victimAlive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return p.victim.Process.Signal(syscall.Signal(0)) == nil
	}
}

// listen opens a port on the host's own loopback and counts who comes.
func (p *place) listen() error {
	var err error
	if p.service, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("open a port to be left alone: %w", err)
	}
	go func() {
		for {
			c, err := p.service.Accept()
			if err != nil {
				return // closed
			}
			p.reached.Add(1)
			_ = c.Close()
		}
	}()
	return nil
}

// visitors counts the connections from anybody but the tour. Asking makes one itself and waits until the service has
// seen it: a port that does not answer the host proves nothing about who could not reach it.
func (p *place) visitors() int64 {
	before := p.reached.Load()
	c, err := net.Dial("tcp", p.service.Addr().String())
	if err != nil {
		return before + 1 // not shown to be unreached
	}
	// The service takes connections in the order they came, and closes each: when ours ends, all before it are counted.
	_, _ = c.Read(make([]byte, 1))
	_ = c.Close()
	return p.reached.Load() - 1
}

// port is where the service listens.
func (p *place) port() int { return p.service.Addr().(*net.TCPAddr).Port }

// published is what the granted server answers, whatever it is asked: the branches of a repository, as git reads them from a plain web server.
const published = "0123456789012345678901234567890123456789\trefs/heads/published\n"

// serve opens the port of the server that the policy grants. It speaks as much HTTP as one answer takes.
func (p *place) serve() error {
	var err error
	if p.granted, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("open a port to be reached: %w", err)
	}
	go func() {
		for {
			c, err := p.granted.Accept()
			if err != nil {
				return // closed
			}
			go answer(c)
		}
	}()
	return nil
}

// answer reads the head of one request and gives what is published. A client that says nothing is left after a while.
func answer(c net.Conn) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(commandTime)) != nil {
		return
	}
	for lines := bufio.NewScanner(c); lines.Scan() && lines.Text() != ""; {
	}
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(published), published) // who left does not read
}

// grant is the one entry of the list of hosts.
func (p *place) grant() string {
	return fmt.Sprintf("localhost:%d", p.granted.Addr().(*net.TCPAddr).Port)
}

// tourPolicy is what the commands of the tour may reach. The directory is below /tmp, of which every command has its
// own, so it is named to be seen; only the repository may be written; the secret in it may not be read; one host may be reached.
func (p *place) tourPolicy() policy.Policy {
	return policy.Policy{Network: policy.Network{AllowedDomains: []string{p.grant()}}, Filesystem: policy.Filesystem{
		AllowRead:          policy.Paths(p.dir),
		AllowWrite:         policy.Paths(p.repo),
		DenyRead:           policy.Paths(p.at(".env")),
		GitSafeDirectories: []string{p.repo},
		AllowGitConfig:     true, // git init writes it
	}}
}

// at is a path of the repository.
func (p *place) at(name string) string { return filepath.Join(p.repo, filepath.FromSlash(name)) }

// absent says whether nothing is at a path of the host.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// remove ends the process, closes the port and removes the directory.
func (p *place) remove() error {
	if p.service != nil {
		_ = p.service.Close() // nobody is connected
	}
	if p.granted != nil {
		_ = p.granted.Close() // who is connected is answered or left
	}
	if p.victim != nil {
		_ = p.victim.Process.Kill() // it may be dead, which the tour has told by then
		<-p.ended
	}
	return os.RemoveAll(p.dir)
}
