package main

import (
	"os"
	"os/signal"
	"sync"

	"sallyport/shell"
)

// signals holds what arrives from the moment the command is being prepared. A signal that comes before the command
// runs waits for it: the command then ends by it, and the exit status is the same as if it had come later.
type signals struct {
	arrived chan os.Signal
}

// catchSignals takes the signals that are passed on to the command.
func catchSignals() *signals {
	s := &signals{arrived: make(chan os.Signal, 64)} // the kernel merges equal signals too; 64 kinds exist
	signal.Notify(s.arrived, forwarded...)
	return s
}

func (s *signals) stop() { signal.Stop(s.arrived) }

// forwarding is the goroutine that passes signals on to one command.
type forwarding struct {
	done chan struct{}
	gone sync.WaitGroup
}

// passTo passes what arrives on to the command until stop is called.
func (s *signals) passTo(cmd *shell.Cmd) *forwarding {
	f := &forwarding{done: make(chan struct{})}
	f.gone.Go(func() {
		for {
			select {
			case sig := <-s.arrived:
				// The command may have ended this moment; Wait says how, and that is what counts.
				_ = cmd.Signal(sig)
			case <-f.done:
				return
			}
		}
	})
	return f
}

func (f *forwarding) stop() {
	close(f.done)
	f.gone.Wait()
}
