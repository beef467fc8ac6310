package search

import (
	"strconv"
	"strings"

	"sallyport/shell/internal/seek"
)

// always are the flags that every search has. No other flag is ever given but those that arguments adds (R248).
var always = []struct{ flag, why string }{
	{"--no-config", "neither RIPGREP_CONFIG_PATH nor a file of it changes what a search means"},
	{"--no-follow", "a link is no way out of the directory"},
	{"--no-ignore-global", "the host's own ignore file is not the workspace's"},
	{"--no-ignore-exclude", "nor is what git keeps outside of the tree"},
	{"--color=never", "the output is read by a program"},
}

// forLines and forFiles are those of the two searches.
var (
	forLines = []struct{ flag, why string }{
		{"--json", "a path or a line may hold anything, and each record is one line"},
		{"--encoding=none", "bytes are bytes: no guessing by byte order marks"},
		{"--no-mmap", "a file that is cut short while it is read is no fault"},
		{"--no-pre", "no program is started"},
		{"--no-search-zip", "the same"},
		{"--no-multiline", "lines are searched one by one"},
		{"--max-columns=0", "lines are given whole (R240)"},
	}
	forFiles = []struct{ flag, why string }{
		{"--files", "names are wanted"},
		{"--null", "a name may hold a line feed"},
	}
)

// arguments are those of ripgrep. What a model wrote is only ever the value of a flag, after "=" (R247).
func arguments(q seek.Query) []string {
	args := []string{"rg"}
	add := func(flag string) { args = append(args, flag) }
	table := forFiles
	if q.Lines {
		table = forLines
	}
	for _, f := range append(always[:len(always):len(always)], table...) {
		add(f.flag)
	}
	if q.Only != "" {
		// The one file, whatever its name is and ignore files say; with one thread what is found comes at once.
		return append(append(args, "--threads=1", "--hidden", "--no-ignore", "--max-depth=1", "--glob=/"+escapeGlob(q.Only)), ending(q)...)
	}
	if q.MaxDepth != nil && *q.MaxDepth < maxDepth {
		add("--max-depth=" + strconv.Itoa(*q.MaxDepth+1)) // ripgrep counts the directory itself
	}
	if q.Hidden {
		add("--hidden")
	}
	if q.NoIgnore {
		add("--no-ignore")
	}
	if q.Glob != "" {
		add("--glob=" + q.Glob)
	}
	if q.IGlob != "" {
		add("--iglob=" + q.IGlob)
	}
	add("--iglob=!.git") // the last one wins: it must come after what the model asks for
	return append(args, ending(q)...)
}

// maxDepth is more than any path is deep.
const maxDepth = 1 << 20

// ending is the pattern and what is searched: the working directory.
func ending(q seek.Query) (args []string) {
	if q.MaxPerFile > 0 && q.Lines {
		args = append(args, "--max-count="+strconv.Itoa(q.MaxPerFile))
	}
	if q.Lines {
		args = append(args, "--regexp="+seek.ForRipgrep(q.Pattern))
	}
	return append(args, "--", "./")
}

// escapeGlob makes a name mean itself.
func escapeGlob(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch c {
		case '*', '?', '[', '{', '}', ' ', '\t', '\r', '\v', '\f':
			b.WriteString("[" + string(c) + "]")
		case '\\':
			b.WriteString(`\\`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
