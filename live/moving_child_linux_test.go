package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

func init() { attackers["moving-repository"] = movingRepository }

// movingRepository makes configuration and hooks in a repository while another thread moves it to and fro: a name that was looked at before a move is
// another one after it.
func movingRepository([]string) (finding, error) {
	for _, dir := range []string{"r/objects", "r/refs", "r/hooks"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return finding{}, err
		}
	}
	if err := os.WriteFile("r/HEAD", []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		return finding{}, err
	}
	inside, err := unix.Open("r", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return finding{}, err
	}
	defer unix.Close(inside)
	var stop atomic.Bool
	var moves atomic.Int64
	var done sync.WaitGroup
	done.Go(func() {
		for !stop.Load() {
			if os.Rename("r", "q") == nil && os.Rename("q", "r") == nil {
				moves.Add(1)
			}
		}
	})
	defer done.Wait()
	defer stop.Store(true)
	refusals := 0
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		for way, open := range map[string]func() (int, error){
			"config by path": func() (int, error) { return unix.Open("r/config", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644) },
			"config by descriptor": func() (int, error) {
				return unix.Openat(inside, "config", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
			},
			"a hook by descriptor": func() (int, error) {
				return unix.Openat(inside, "hooks/post-update", unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o755)
			},
		} {
			fd, err := open()
			switch {
			case err == nil:
				unix.Close(fd)
				return got("%s after %d moves", way, moves.Load())
			case errors.Is(err, unix.EACCES):
				refusals++
			case !errors.Is(err, unix.ENOENT):
				return finding{}, fmt.Errorf("%s: %w", way, err)
			}
		}
	}
	if moves.Load() < 100 || refusals < 100 {
		return finding{}, fmt.Errorf("%d moves and %d refusals: nothing raced", moves.Load(), refusals)
	}
	return finding{refused, fmt.Sprintf("%d moves, %d refusals", moves.Load(), refusals)}, nil
}

// executedAtOnce runs programs right after they were written: a file that somebody still has open for writing cannot be executed.
func executedAtOnce(p *protocol) {
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		p.got("read a program", err)
		return
	}
	busy := 0
	for i := range 300 {
		name := fmt.Sprintf("./run%d", i%3)
		_ = os.Remove(name)
		if err := os.WriteFile(name, program, 0o755); err != nil {
			p.got("write a program", err)
			return
		}
		if err := exec.Command(name).Run(); err != nil {
			busy++
		}
		_ = os.Remove(name)
	}
	p.say("programs that could not be run: %d", busy)
}
