package search

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/shell/internal/seek"
)

// known are the flags that may ever be given (R248).
var known = map[string]bool{
	"--no-config": true, "--no-follow": true, "--no-ignore-global": true, "--no-ignore-exclude": true, "--color": true, "--json": true, "--encoding": true, "--no-mmap": true,
	"--no-pre": true, "--no-search-zip": true, "--no-multiline": true, "--max-columns": true, "--files": true, "--null": true, "--hidden": true, "--no-ignore": true,
	"--glob": true, "--iglob": true, "--max-depth": true, "--max-count": true, "--regexp": true, "--threads": true,
}

// FuzzArguments: whatever a model writes, only known flags are given, each value is in the flag's own word, and what is searched comes after "--"
// (R247, R248).
func FuzzArguments(f *testing.F) {
	f.Add("-e", "--pre=sh", "-g*", "-", 0, true)
	f.Add("--", "--files", "!", "--follow", 7, false)
	f.Add("", "", "", "-f/etc/passwd", -1, true)
	f.Fuzz(func(t *testing.T, pattern, glob, iglob, only string, number int, flag bool) {
		q := seek.Query{Lines: flag, Pattern: pattern, Glob: glob, IGlob: iglob, Only: only, MaxPerFile: number, Hidden: flag, NoIgnore: !flag}
		if number >= 0 {
			q.MaxDepth = &number
		}
		args := arguments(q)
		require.Equal(t, "rg", args[0])
		end := len(args) - 2
		require.Equal(t, []string{"--", "./"}, args[end:])
		for _, a := range args[1:end] {
			name, _, _ := strings.Cut(a, "=")
			require.True(t, known[name], "%q", a)
		}
	})
}

// TestArgvNoDepth: without a depth, a limit or a glob no flag stands for one (R244).
func TestArgvNoDepth(t *testing.T) {
	for _, q := range []seek.Query{{}, {Lines: true, Pattern: "x"}} {
		for _, a := range arguments(q) {
			require.False(t, strings.HasPrefix(a, "--max-depth") || strings.HasPrefix(a, "--max-count") || strings.HasPrefix(a, "--glob"), a)
		}
	}
	zero := 0
	require.Contains(t, arguments(seek.Query{MaxDepth: &zero}), "--max-depth=1", "ripgrep counts the directory itself")
	for _, f := range append(append(always[:len(always):len(always)], forLines...), forFiles...) {
		require.NotEmpty(t, f.why, f.flag)
		name, _, _ := strings.Cut(f.flag, "=")
		require.True(t, known[name], f.flag)
	}
}
