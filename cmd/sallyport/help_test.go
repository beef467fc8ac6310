package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestHelpNamesEveryFlag: no flag is secret, and no text promises one that is not there.
func TestHelpNamesEveryFlag(t *testing.T) {
	for _, c := range commands() {
		set := flagsOf(c.name)
		set.VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand
			}
			require.Contains(t, c.help, "\n  "+name, "%s --help does not explain %s", c.name, name)
		})
		for _, line := range strings.Split(c.help, "\n") {
			word, _, _ := strings.Cut(strings.TrimPrefix(line, "  "), " ")
			if name, ok := strings.CutPrefix(word, "--"); ok && line != word {
				require.NotNil(t, set.Lookup(name), "%s --help explains %s, which is no flag", c.name, word)
			}
		}
	}
}

// TestHelpFitsAScreen: 80 columns, and few enough lines to read.
func TestHelpFitsAScreen(t *testing.T) {
	texts := map[string]string{"": topHelp()}
	for _, c := range commands() {
		texts[c.name] = c.help
	}
	for name, text := range texts {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		require.LessOrEqual(t, len(lines), 34, name)
		for _, line := range lines {
			require.LessOrEqual(t, len(line), 80, fmt.Sprintf("%s: %s", name, line))
		}
	}
}

// flagsOf registers the flags of one command.
func flagsOf(name string) *pflag.FlagSet {
	set := newFlags(name)
	switch name {
	case "run":
		(&runFlags{}).register(set)
	case "explain":
		(&explainFlags{}).register(set)
	case "tool":
		(&toolFlags{}).register(set)
	case "doctor":
		(&doctorFlags{}).register(set)
	case "eval":
		(&evalFlags{}).register(set)
	}
	return set
}
