//go:build linux

package shell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sallyport/policy"
	"sallyport/shell"
)

// Run one command that can write nothing of the host's and reach no network.
func Example() {
	ctx := context.Background()
	box, err := shell.Open(ctx, policy.Policy{}, shell.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()

	cmd := box.Command(ctx, "sh", "-c", "echo hello; touch /etc/x 2>/dev/null; echo status $?")
	cmd.Dir = "/"
	out, err := cmd.Output()
	fmt.Print(string(out))
	fmt.Println(err, cmd.Completion.ExitCode)
	// Output:
	// hello
	// status 1
	// <nil> 0
}

// Let a command write in one directory. The names that other programs act on stay as they are in there.
func Example_workspace() {
	work, err := os.MkdirTemp("", "work")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, ".bashrc"), nil, 0o644); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	box, err := shell.Open(ctx, policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(work)}}, shell.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()

	cmd := box.Command(ctx, "sh", "-c", "echo made >made; cat made; (echo evil >.bashrc) 2>/dev/null || echo kept")
	cmd.Dir, cmd.Stdout = work, os.Stdout
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(box.Rules().Write(filepath.Join(work, ".bashrc")).Rule.List)
	// Output:
	// made
	// kept
	// mandatory
}

// End a command at a deadline, with everything that it started.
func ExampleSandbox_Command_deadline() {
	box, err := shell.Open(context.Background(), policy.Policy{}, shell.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	cmd := box.Command(ctx, "sh", "-c", "setsid sleep 600 & sleep 600")
	cmd.Dir = "/"
	err = cmd.Run()
	fmt.Println(errors.Is(err, context.DeadlineExceeded), cmd.Completion.TimedOut, cmd.Completion.Signal)
	// Output: true true SIGKILL
}

// Tell apart what a caller may want to answer differently.
func ExampleError() {
	ctx := context.Background()
	_, err := shell.Open(ctx, policy.Policy{Filesystem: policy.Filesystem{AllowRead: policy.Paths("data")}}, shell.Options{})
	fmt.Println(shell.CodeOf(err))

	box, err := shell.Open(ctx, policy.Policy{}, shell.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := box.Command(ctx, "no-such-command")
	cmd.Dir = "/"
	fmt.Println(errors.Is(cmd.Run(), shell.ErrNotFound))
	if err := box.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(box.Command(ctx, "true").Run())
	// Output:
	// E_INVALID_SANDBOX_CONFIG
	// true
	// run a command: sandbox is closed
}

// Say what was in force, from what the kernel confirmed.
func ExampleReport() {
	ctx := context.Background()
	box, err := shell.Open(ctx, policy.Policy{}, shell.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()
	report := box.Report()
	fmt.Println(report.Tier)
	fmt.Println(report.Layer("network").State)
	fmt.Println(report.Layer("no_new_privs").Evidence)
	// Output:
	// full
	// enforced
	// NoNewPrivs: 1
}

// Explain a decision without running anything.
func ExampleCompile() {
	rules, err := shell.Compile(policy.Policy{Filesystem: policy.Filesystem{
		DenyRead: policy.Paths("/etc"), AllowRead: policy.Paths("/etc/hosts"),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/etc/passwd", "/etc/hosts", "/tmp/x"} {
		d := rules.Read(path)
		fmt.Println(path, d.Allowed, d.Rule.List)
	}
	// Output:
	// /etc/passwd false denyRead
	// /etc/hosts true allowRead
	// /tmp/x false private
}
