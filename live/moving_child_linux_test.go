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

// movingRepository changes configuration and hooks of a repository while another thread moves it to and fro: a name that was looked at before a move is
// another one after it.
func movingRepository([]string) (finding, error) {
	inside, err := unix.Open("r", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return finding{}, err
	}
	config, err := unix.Open("r/config", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return finding{}, err
	}
	hook, err := unix.Open("r/hooks/pre-commit", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return finding{}, err
	}
	self := fmt.Sprintf("/proc/self/fd/%d", config)
	const write, create = unix.O_WRONLY | unix.O_CLOEXEC, unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC
	ways := map[string]func() error{
		"config by path":       func() error { return closed(unix.Open("r/config", write, 0)) },
		"config by descriptor": func() error { return closed(unix.Openat(inside, "config", write, 0)) },
		"config opened again":  func() error { return closed(unix.Open(self, write, 0)) },
		"config truncated":     func() error { return unix.Truncate(self, 7) },
		"a hook made":          func() error { return closed(unix.Openat(inside, "hooks/post-update", create, 0o755)) },
		"a hook's mode":        func() error { return unix.Fchmod(hook, 0o755) },
	}
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
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		for way, change := range ways {
			switch err := change(); {
			case err == nil:
				return got("%s after %d moves", way, moves.Load())
			case errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS):
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
