package tools

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAllowedCommands: a line is one plain command of the list, or it is refused: every way a shell has to do more than that
// (R212).
func TestAllowedCommands(t *testing.T) {
	allowed := []string{"git", "ls", "make"}
	for line, words := range map[string][]string{
		"git status":                        {"git", "status"},
		"git log --format=%h -n 3 ":         {"git", "log", "--format=%h", "-n", "3"},
		`git commit -m "a; b" 'c $d | e' f`: {"git", "commit", "-m", "a; b", "c $d | e", "f"},
		"make -C sub/dir test.one,two@3":    {"make", "-C", "sub/dir", "test.one,two@3"},
	} {
		got, why := plainCommand(line, allowed)
		require.Empty(t, why, line)
		require.Equal(t, words, got, line)
	}
	refused := []string{
		"git status; rm x", "git status && rm x", "git status || rm x", "git log | sh", "git status &", "git diff > x", "git apply < x",
		"git log $(rm x)", "git log `rm x`", "git log $HOME", "git log \"$HOME\"", "GIT_SSH=x git fetch", "git log *.go", "git log {a,b}",
		"ls ~", "! git status", "git status # x", "git log\nrm x", "(git status)", "{ git status; }", "if git status; then ls; fi",
		"time git status", "git log <(ls)", "g\\it status", "'git' status", "rm x",
	}
	require.Len(t, refused, 26)
	more := []string{
		"", "  ", "git log \"", "git log 'x", "/usr/bin/git status", "./git status", "GIT status", "git() { rm x; }", "git log a\\;b", "git log \"a\\$b\"",
		"git log $'a'", "git log $\"a\"", "git log a?", "git log [a-b]", "git log !!", "git log ^a^b", "git log \x00x", "git log a\rb", "git\tlog\x1b",
		"git log 2>&1", "git log <<E", "git log ${x:-y}", "git log $((1+1))", "coproc git log", "git log &>x", "git log |& sh", "git log;", "[[ git ]]",
		"export git=1", "let git=1", "declare git", "x=(git)", "git log ~root", "=git log", "git log \"a!b\"", "git log \u2028; rm x",
	}
	for _, line := range append(refused, more...) {
		_, why := plainCommand(line, allowed)
		require.NotEmpty(t, why, "%q", line)
	}
	for _, line := range []string{"git status", "ls"} {
		_, why := plainCommand(line, nil)
		require.NotEmpty(t, why, "an empty list allows nothing")
	}
}

// FuzzPlainCommand: what is accepted has no character outside of quotes that a shell acts on.
func FuzzPlainCommand(f *testing.F) {
	for _, s := range []string{"git status", `git -m "a b"`, "git $(x)", "git 'a", "git \\\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, why := plainCommand(line, []string{"git"})
		if why != "" {
			return
		}
		require.Equal(t, "git", words[0])
		quote := rune(0)
		for _, r := range line {
			switch {
			case quote == 0 && (r == '\'' || r == '"'):
				quote = r
			case r == quote:
				quote = 0
			case quote == 0:
				require.NotContains(t, ";&|<>$`\\(){}*?[]~!#\n", string(r), "%q", line)
			}
		}
	})
}
