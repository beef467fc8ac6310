// Command bring writes the guest to the file it is given, with npm: `go generate ./compartment/wasm` runs it. When the file is already
// the guest it does nothing, so that it can be run before every test.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"sallyport/compartment/wasm/guest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bring FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bring(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "bring:", err)
		os.Exit(1)
	}
}

func bring(ctx context.Context, path string) error {
	if b, err := os.ReadFile(path); err == nil && guest.Verify(b) == nil {
		return nil
	}
	return guest.Install(ctx, run, path)
}

// run starts npm with its messages on our standard error.
func run(ctx context.Context, dir string, argv ...string) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = dir
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	err := c.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w (npm comes with Node.js, 18 or newer)", err)
	}
	return err
}
