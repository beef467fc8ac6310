//go:build linux

package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
	"sallyport/policy"
	"sallyport/shell/search"
)

// The benchmarks show what a call costs over the bare operation: run each pair in one run.

// benched makes a registry with its own artifacts.
func benched(b *testing.B, contents map[string]string) (*Registry, string) {
	b.Helper()
	r, _, dir := confined(b, contents, nil)
	return r, dir
}

// calls repeats a call, each in a turn of its own.
func calls(b *testing.B, r *Registry, tool, args string) {
	b.Helper()
	for b.Loop() {
		_, err := r.Call(b.Context(), tool, json.RawMessage(args))
		require.NoError(b, err)
		require.NoError(b, r.EndTurn())
	}
}

// BenchmarkTrue runs the program true: in the sandbox, and by run_shell_command.
func BenchmarkTrue(b *testing.B) {
	r, dir := benched(b, nil)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			cmd := r.options.Commands.Command(b.Context(), r.shell, "-c", "true")
			cmd.Dir, cmd.Env = dir, r.shellEnv()
			cmd.Stdout = &bytes.Buffer{}
			cmd.Stderr = cmd.Stdout
			require.NoError(b, cmd.Run())
		}
	})
	b.Run("tool", func(b *testing.B) { calls(b, r, RunShellCommand, `{"command":"true"}`) })
}

// BenchmarkOpen1MB reads a file of a megabyte into another one: below a directory handle, and by open_file.
func BenchmarkOpen1MB(b *testing.B) {
	r, dir := benched(b, map[string]string{"f": string(bytes.Repeat([]byte("a line of text, as files have\n"), 1<<20/30))})
	bare, err := fs.OpenDir(dir)
	require.NoError(b, err)
	defer bare.Close()
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			from, err := bare.Open("f")
			require.NoError(b, err)
			to, err := os.CreateTemp(b.TempDir(), "")
			require.NoError(b, err)
			_, err = io.Copy(to, from)
			require.NoError(b, err)
			require.NoError(b, from.Close())
			require.NoError(b, to.Close())
			require.NoError(b, os.Remove(to.Name()))
		}
	})
	b.Run("tool", func(b *testing.B) { calls(b, r, OpenFile, `{"path":"f"}`) })
}

// BenchmarkList10000 lists ten thousand entries: with the standard library, which asks no policy, with the package that does, and by
// list_directory, which keeps the list.
func BenchmarkList10000(b *testing.B) {
	contents := map[string]string{}
	for i := range 9900 {
		contents[fmt.Sprintf("d%02d/f%d", i%100, i)] = ""
	}
	r, dir := benched(b, contents)
	b.Run("standard", func(b *testing.B) {
		for b.Loop() {
			n := 0
			require.NoError(b, filepath.WalkDir(dir, func(string, os.DirEntry, error) error { n++; return nil }))
			require.Equal(b, 10001, n)
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			n := 0
			_, err := r.workspace.Walk(b.Context(), "", 20, func(fs.Entry) error { n++; return nil })
			require.NoError(b, err)
			require.Equal(b, 10000, n)
		}
	})
	b.Run("tool", func(b *testing.B) { calls(b, r, ListDirectory, `{"path":""}`) })
}

// BenchmarkSearch searches the sources of the Go tools: with ripgrep alone, with ripgrep in the sandbox, and by search_files, which keeps what is
// found.
func BenchmarkSearch(b *testing.B) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(b, err)
	tree := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	box := sandbox(b, policy.Policy{})
	r, err := New(Options{Gate: approve, Workspace: tree, Rules: box, Commands: box, Only: []string{SearchFiles}})
	require.NoError(b, err)
	defer func() { require.NoError(b, r.Close()) }()
	const pattern = `func \w+Handler`
	b.Run("ripgrep", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("rg", "--no-config", "--line-number", pattern, tree)
			_, err := cmd.Output()
			require.NoError(b, err)
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			n := 0
			_, err := r.searcher.Lines(b.Context(), search.Query{Pattern: pattern}, func(search.Match) error { n++; return nil })
			require.NoError(b, err)
			require.Greater(b, n, 50)
		}
	})
	b.Run("tool", func(b *testing.B) { calls(b, r, SearchFiles, `{"pattern":"func \\w+Handler"}`) })
}

// BenchmarkCall is what every call costs before its tool begins: schema, gate, events.
func BenchmarkCall(b *testing.B) {
	r := &Registry{options: Options{Gate: approve, OnEvent: func(Event) {}}, prefix: "t"}
	r.keepIn(&memory{})
	require.NoError(b, r.make(definitions()))
	for _, made := range r.tools {
		made.run = func(*Registry, context.Context, *call) (Result, error) { return Result{}, nil }
	}
	for b.Loop() {
		_, err := r.Call(b.Context(), SearchFiles, json.RawMessage(`{"pattern":"x","path":"docs","limit":10,"ignore_case":true}`))
		require.NoError(b, err)
	}
}
