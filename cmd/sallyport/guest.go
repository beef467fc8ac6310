package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"sallyport/compartment/wasm/guest"
)

// cmdGuest is `sallyport guest`: where the JavaScript engine of eval is, and bringing it.
func cmdGuest(p *program, args []string) (int, error) {
	set := newFlags("guest")
	if err := set.Parse(args); err != nil {
		return 0, usage("guest", err.Error())
	}
	switch {
	case set.NArg() == 1 && set.Arg(0) == "status":
		return 0, guestStatus(p)
	case set.NArg() == 1 && set.Arg(0) == "install":
		return 0, guestInstall(p)
	case set.NArg() > 1:
		return 0, usage("guest", fmt.Sprintf("unexpected argument %q", set.Arg(1)))
	}
	return 0, usage("guest", "install or status?")
}

// guestStatus says where eval would take the guest from. It is an error when that is nowhere, or the file is not the
// guest.
func guestStatus(p *program) error {
	module, place, err := guest.Find("")
	if errors.Is(err, guest.ErrAbsent) {
		return &trouble{text: err.Error(), hint: guestHint()}
	}
	from := "built into this program"
	if place != guest.Embedded {
		path, pathErr := guest.Path("")
		if pathErr != nil {
			return errors.Join(err, pathErr)
		}
		from = path
	}
	if err != nil {
		return &trouble{text: "the guest cannot be used: " + from, err: err, hint: guestHint()}
	}
	return p.print(fmt.Sprintf("guest   %s %s\nsha256  %s\nfrom    %s\nsize    %d bytes\n", guest.Package, guest.Version,
		guest.Sum(module), from, len(module)))
}

// guestHint is how the guest is brought.
func guestHint() string {
	return fmt.Sprintf("bring it with `%s` and build again, or with `%s`; both need npm", guest.Commands[0], guest.Commands[1])
}

// guestInstall puts the guest where every program of the user finds it. A file that is there and is not the guest is
// replaced.
func guestInstall(p *program) error {
	path, err := guest.Path("")
	if err != nil {
		return err
	}
	if b, err := os.ReadFile(path); err == nil && guest.Verify(b) == nil {
		return p.print("it is there already: " + path + "\n")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // npm's directory is removed also then
	defer stop()
	if err := guest.Install(ctx, p.npm, path); err != nil {
		return err
	}
	return p.print("installed: " + path + "\n")
}

// npmDelay is how long a killed npm may keep its messages open.
const npmDelay = 5 * time.Second

// npm is the guest.Runner: it starts npm with its messages on our standard error.
func (p *program) npm(ctx context.Context, dir string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, p.err, p.err, npmDelay
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return &trouble{text: strings.Join(argv, " "), err: err, hint: "npm comes with Node.js, 18 or newer"}
	}
	return err
}
