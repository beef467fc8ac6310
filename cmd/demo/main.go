// Command demo is the guided tour: a command and a script that nobody trusts, a gate that is asked each time, and what
// the boundaries make of it.
//
//	go run ./cmd/demo
//
// It makes a throw-away git repository with a secret in it, and removes it at the end. At a terminal you are the gate:
// every step is asked. Without one (a pipe, a build) a decider in this program's own code answers, and prints what it
// decides: it knows the calls of the tour and refuses all else. Nothing here can be taken for a gate of your own.
//
// The status is 0 when every step ended as it should: what should be denied was denied, what should work worked. Whether
// something was denied is looked up on the host and never taken from what the command printed. It is 1 when a step
// ended otherwise or was not run, and 125 when no boundary can be put up here.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// The exit statuses.
const (
	statusUnexpected = 1
	statusTrouble    = 125
)

func main() {
	s := newScreen(os.Stdout)
	// Ctrl-C ends the tour early, and what it made is removed all the same. A second one ends the program at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	unexpected, err := tourOf(ctx, s)
	switch {
	case err != nil:
		s.trouble(err)
		os.Exit(statusTrouble)
	case len(unexpected) > 0:
		os.Exit(statusUnexpected)
	}
}

// tourOf runs the whole tour and removes everything it made, also when it goes wrong.
func tourOf(ctx context.Context, s *screen) (unexpected []string, err error) {
	place, err := newPlace()
	if err != nil {
		return nil, fmt.Errorf("make the throw-away directory: %w", err)
	}
	defer func() {
		if removeErr := place.remove(); err == nil {
			err = removeErr
		}
	}()
	t := &tour{screen: s, place: place}
	if err := t.appointGate(); err != nil {
		return nil, err
	}
	defer t.close()
	return t.run(ctx)
}
