//go:build linux

package shell_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// Open sessions that belong together: what the first may reach is an upper bound for the others. One command gets a policy of
// its own, which replaces the session's for that command alone.
func ExampleManager() {
	work, err := os.MkdirTemp("", "work")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(work)
	ctx := context.Background()
	m := shell.NewManager(shell.ManagerOptions{})
	s, err := m.Open(ctx, shell.SessionOptions{
		Policy:     policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths("/etc/passwd")}},
		ProbeSpawn: true, // fail now, and not at the first command
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Dispose()

	_, err = m.Open(ctx, shell.SessionOptions{}) // lets /etc/passwd be read
	var wider *policy.SubsetError
	fmt.Println(shell.CodeOf(err), errors.As(err, &wider) && wider.Axis == "filesystem.denyRead")

	for _, own := range []*policy.Policy{nil, {Filesystem: policy.Filesystem{AllowWrite: policy.Paths(work)}}} {
		cmd := s.Command(ctx, "sh", "-c", `touch "$1/x" 2>/dev/null && echo made || echo denied`, "sh", work)
		cmd.Dir, cmd.Stdout, cmd.Policy = "/", os.Stdout, own
		if err := cmd.Run(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// E_SANDBOX_POLICY_CONFLICT true
	// denied
	// made
}

// Take something away from a session that runs. Nothing gives it back.
func ExampleSession_Narrow() {
	work, err := os.MkdirTemp("", "work")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(work)
	ctx := context.Background()
	wide := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(work)}}
	s, err := shell.NewManager(shell.ManagerOptions{}).Open(ctx, shell.SessionOptions{Policy: wide})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Dispose()
	for _, p := range []policy.Policy{wide, {}, wide} {
		fmt.Print(shell.CodeOf(s.Narrow(ctx, p)), " ")
		rules, err := s.EffectivePolicy()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rules.Write(work + "/x").Rule.List)
	}
	// Output:
	//  allowWrite
	//  private
	// E_SANDBOX_POLICY_CONFLICT private
}

// Watch what sessions do, as records of log/slog. Paths of the host are not in them.
func ExampleLogEvents() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	shell.LogEvents(log)(shell.Event{Kind: shell.EventBypass, Loud: true, Subject: "ffprobe", Detail: "run by the inner executor, outside of every boundary"})
	// Output:
	// level=WARN msg="sandbox bypass" kind=bypass loud=true subject=ffprobe detail="run by the inner executor, outside of every boundary"
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

// Take a host away from commands that run: its connections are cut, and the next attempt is refused.
func ExampleSandbox_SetNetwork() {
	ctx := context.Background()
	list := policy.Network{AllowedDomains: []string{"api.example.com:443", "*.example.org"}}
	box, err := shell.Open(ctx, policy.Policy{Network: list}, shell.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()
	fmt.Println(box.Rules().Connect("api.example.com", 443).Allowed)
	list.AllowedDomains = list.AllowedDomains[1:]
	if err := box.SetNetwork(list); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(box.Rules().Connect("api.example.com", 443).Reason)
	// Output:
	// true
	// tried to connect to api.example.com:443, which is not on the allow-list
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
