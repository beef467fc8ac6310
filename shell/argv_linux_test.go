package shell_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestArgvExact: words arrive as they are: nothing is quoted, split, expanded or recoded (R157).
func TestArgvExact(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	words := []string{
		"plain", "two words", "", " ", "a'b", `a"b`, `a\b`, "$HOME", "${PATH}", "`id`", "$(id)", "*", "?", "[a]", "~", "a;b", "a|b", "a&b",
		">x", "#", "!", "line\nbreak", "tab\there", "ü€😀", "\xff\xfe not utf-8 \x80", "-n", "--", "%s", strings.Repeat("long", 5000),
	}
	got := output(t, command(t, box, "printf", append([]string{`%s\0`}, words...)...))
	require.Equal(t, strings.Join(words, "\x00")+"\x00", got)
}

// TestArgvZero: the first word is the caller's to choose; the program that runs is Path.
func TestArgvZero(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := command(t, box, "cat")
	cmd.Args = []string{"another name", "/proc/self/cmdline"}
	require.Equal(t, "another name\x00/proc/self/cmdline\x00", output(t, cmd))

	cmd = command(t, box, "true")
	cmd.Args = nil
	require.Empty(t, output(t, cmd), "without Args the program's name is its only word")
}

// TestArgvNUL: a NUL cannot be a part of a word; cutting the word there would run something else (R158).
func TestArgvNUL(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	for name, set := range map[string]func(*shell.Cmd){
		"argument":  func(c *shell.Cmd) { c.Args = append(c.Args, "a\x00b") },
		"name":      func(c *shell.Cmd) { c.Path = "true\x00x" },
		"directory": func(c *shell.Cmd) { c.Dir = "/\x00tmp" },
		"env name":  func(c *shell.Cmd) { c.Env = []string{"A\x00B=c"} },
		"env value": func(c *shell.Cmd) { c.Env = []string{"A=b\x00C=d"} },
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, box, "true")
			set(cmd)
			code(t, cmd.Run(), shell.CodeInvalidConfig)
			require.Nil(t, cmd.Completion)
		})
	}
}

// TestArgvHuge: the longest word that the kernel takes arrives; what is longer is a typed error.
func TestArgvHuge(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	longest := strings.Repeat("w", 128<<10-1) // MAX_ARG_STRLEN with its NUL
	require.Equal(t, longest, output(t, command(t, box, "printf", "%s", longest)))

	for name, args := range map[string][]string{
		"one word":   {longest + "w"},
		"many words": make([]string, 2_000_000),
		"much":       {strings.Repeat("much", 4<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			err := command(t, box, "true", args...).Run()
			e := code(t, err, shell.CodeFailed)
			require.ErrorIs(t, err, syscall.E2BIG)
			require.NotEmpty(t, e.Hints)
		})
	}
	require.Equal(t, "fine\n", output(t, command(t, box, "echo", "fine")))
}

// TestArgvMany: thousands of words arrive in order.
func TestArgvMany(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	words := strings.Fields(strings.Repeat("a bb ccc ", 10_000))
	require.Equal(t, strings.Join(words, "\n")+"\n", output(t, command(t, box, "printf", append([]string{`%s\n`}, words...)...)))
}
