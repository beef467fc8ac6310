// Benchtable runs the benchmarks of all rooms and prints one table in Markdown: what was done, what it took here, what it took another way in the same run,
// and the ratio of the two. Progress goes to the error stream.
//
// The programs of others take part where they are installed: bubblewrap and ripgrep as found, and with BENCH_PEERS=1 what npm brings into a directory
// that is gone afterwards (Anthropic's sandbox-runtime, QuickJS in WebAssembly, V8 of Node itself).
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	began := time.Now()
	values := results{}
	list := steps
	if os.Getenv("BENCH_PEERS") != "" {
		checkout, err := os.Getwd()
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "bench-peers")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		list = append(list, peers(checkout, dir)...)
	}
	for i, s := range list {
		fmt.Fprintf(os.Stderr, "%d of %d: %s (after %d s)\n", i+1, len(list), s.name, int(time.Since(began).Seconds()))
		out, err := s.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		values.add(out)
	}
	for _, key := range missing(rows, values) {
		fmt.Fprintln(os.Stderr, "not measured:", key)
	}
	fmt.Printf("%s\n\n", machine(ctx))
	_, err := os.Stdout.WriteString(table(rows, values))
	return err
}

// step is one program that prints benchmark lines.
type step struct {
	name string
	dir  string
	argv []string
}

func (s step) run(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.argv[0], s.argv[1:]...)
	cmd.Dir = s.dir
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(strings.TrimSpace(told.String()+string(out))))
	}
	return out, nil
}

// peers brings the programs of npm into dir and runs them.
func peers(checkout, dir string) []step {
	scripts := filepath.Join(checkout, "internal/benchtable/peers")
	programs := filepath.Join(checkout, "compartment/testdata/bench")
	return []step{
		{"npm brings the peers", dir, []string{"npm", "install", "--silent", "--no-audit", "--no-fund", runtimePackage, "quickjs-emscripten@0.32.0"}},
		{"true in the Node runtime", dir, []string{"node", filepath.Join(scripts, "runtime.mjs")}},
		{"JavaScript on Node", dir, []string{"node", filepath.Join(scripts, "engines.mjs"), programs}},
	}
}

const runtimePackage = "@anthropic-ai/sandbox-runtime@0.0.83"

// machine tells where and when the figures were taken.
func machine(ctx context.Context) string {
	said := func(argv ...string) string {
		out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
		if err != nil {
			return argv[0] + " not found"
		}
		line, _, _ := strings.Cut(string(out), "\n")
		return line
	}
	return fmt.Sprintf("%s, %s, %d cores of %s, %s, %s, %s; load %s", time.Now().UTC().Format(time.DateOnly), said("uname", "-sr"), runtime.NumCPU(), processor(),
		runtime.Version(), said("bwrap", "--version"), said("rg", "--version"), load())
}

func processor() string { return field("/proc/cpuinfo", "model name") }

// field gives what follows the colon of a line of a file of the kernel.
func field(file, name string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "an unknown processor"
	}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown processor"
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(b), " ")
	return one
}
