package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
	"sallyport/shell/search"
)

// source is a small workspace: a repository with ignore files in several places.
var source = map[string]string{
	"main.go":             "package main\n\nfunc main() {\n\tRun(1)\n}\n",
	"README.md":           "# Title\nrun it\n",
	"lib/run.go":          "package lib\n\n// Run runs.\nfunc Run(n int) {}\n",
	"lib/run_test.go":     "package lib\n\nfunc TestRun() { Run(2) }\n",
	"lib/deep/er/x.go":    "package er\nvar Run = 3\n",
	"lib/vendor/v.go":     "package v\n// Run\n",
	"build/out.go":        "Run in build\n",
	"notes.log":           "Run logged\n",
	"keep.log":            "Run kept\n",
	"lib/notes.log":       "Run logged in lib\n",
	".hidden/h.go":        "Run hidden\n",
	".env":                "RUN=1\n",
	".gitignore":          "*.log\n!keep.log\n/build/\n\n# a comment\nlib/**/er\n",
	"lib/.gitignore":      "vendor/\n!notes.log\n",
	".ignore":             "README.md\n",
	".git/HEAD":           "ref: Run\n",
	".git/config":         "[Run]\n",
	"with space/-dash.go": "Run -e dashes\n--Run\n",
	"-e":                  "Run in -e\n",
	"--files":             "Run in --files\n",
	"crlf.txt":            "Run\r\nrun\r\n",
	"last.txt":            "first\nRun without an end",
	"empty.txt":           "",
	"bin.dat":             "Run before\n\x00 after Run\n",
	"latin.txt":           "caf\xe9 Run\n",
	"ünï/cödé.txt":        "Rün Run ÄÖ\n",
	"a{b}[c].txt":         "Run odd\n",
}

func depth(n int) *int { return &n }

// TestLines is the suite for both engines: what is found, in which file, on which line, as a whole (R240, R244, R251).
func TestLines(t *testing.T) {
	root := tree(t, source)
	each(t, root, policy.Filesystem{}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		for _, c := range []struct {
			why  string
			q    search.Query
			want []string
		}{
			{"ignored and hidden names are left out, also by a nested file, and negation brings one back", search.Query{Pattern: `^Run|Run\(n`},
				[]string{"--files:1:Run in --files", "-e:1:Run in -e", "a{b}[c].txt:1:Run odd", "crlf.txt:1:Run\r", "keep.log:1:Run kept",
					"last.txt:2:Run without an end", "lib/notes.log:1:Run logged in lib", "lib/run.go:4:func Run(n int) {}", "with space/-dash.go:1:Run -e dashes"}},
			{"everything but git's own", search.Query{Pattern: `^(Run |RUN)`, Hidden: true, NoIgnore: true},
				[]string{"--files:1:Run in --files", "-e:1:Run in -e", ".env:1:RUN=1", ".hidden/h.go:1:Run hidden", "a{b}[c].txt:1:Run odd", "build/out.go:1:Run in build", "keep.log:1:Run kept",
					"last.txt:2:Run without an end", "lib/notes.log:1:Run logged in lib", "notes.log:1:Run logged", "with space/-dash.go:1:Run -e dashes"}},
			{"git's own where it is asked for", search.Query{Path: ".git", Pattern: "Run"}, []string{".git/HEAD:1:ref: Run", ".git/config:1:[Run]"}},
			{"a directory, with the ignore files above it", search.Query{Path: "lib", Pattern: "Run"},
				[]string{"lib/notes.log:1:Run logged in lib", "lib/run.go:3:// Run runs.", "lib/run.go:4:func Run(n int) {}", "lib/run_test.go:3:func TestRun() { Run(2) }"}},
			{"one level", search.Query{Path: "/lib/", Pattern: "package", MaxDepth: depth(0)}, []string{"lib/run.go:1:package lib", "lib/run_test.go:1:package lib"}},
			{"two levels", search.Query{Path: "lib", Pattern: "package", MaxDepth: depth(1), NoIgnore: true}, []string{"lib/run.go:1:package lib", "lib/run_test.go:1:package lib", "lib/vendor/v.go:1:package v"}},
			{"a file", search.Query{Path: "lib/run.go", Pattern: "Run"}, []string{"lib/run.go:3:// Run runs.", "lib/run.go:4:func Run(n int) {}"}},
			{"a file that is ignored, hidden, and not what the glob says", search.Query{Path: ".hidden/h.go", Pattern: "Run", Glob: "*.md", MaxDepth: depth(0)}, []string{".hidden/h.go:1:Run hidden"}},
			{"a file with an odd name", search.Query{Path: "a{b}[c].txt", Pattern: "Run"}, []string{"a{b}[c].txt:1:Run odd"}},
			{"names that look like flags (R247)", search.Query{Path: "-e", Pattern: "-e"}, []string{"-e:1:Run in -e"}},
			{"a pattern that looks like a flag (R247)", search.Query{Path: "with space", Pattern: "--Run"}, []string{"with space/-dash.go:2:--Run"}},
			{"a glob that looks like a flag", search.Query{Pattern: "-e", Glob: "-*"}, []string{"-e:1:Run in -e", "with space/-dash.go:1:Run -e dashes"}},
			{"a glob for the last name", search.Query{Pattern: "Run", Glob: "*_test.go"}, []string{"lib/run_test.go:3:func TestRun() { Run(2) }"}},
			{"a glob with a path, from the directory of the search", search.Query{Path: "lib", Pattern: "Run", Glob: "deep/**/*.go", NoIgnore: true}, []string{"lib/deep/er/x.go:2:var Run = 3"}},
			{"alternatives", search.Query{Pattern: "(?i)title|odd", Glob: "*.{md,txt}"}, []string{"README.md:1:# Title", "a{b}[c].txt:1:Run odd"}},
			{"a glob brings back what is ignored", search.Query{Pattern: "Run", Glob: "*.log", Path: ""},
				[]string{"keep.log:1:Run kept", "lib/notes.log:1:Run logged in lib", "notes.log:1:Run logged"}},
			{"a glob turned around", search.Query{Path: "lib", Pattern: "Run", Glob: "!*_test.go"}, []string{"lib/notes.log:1:Run logged in lib", "lib/run.go:3:// Run runs.", "lib/run.go:4:func Run(n int) {}"}},
			{"without regard to case", search.Query{Pattern: "Run", IGlob: "*_TEST.GO"}, []string{"lib/run_test.go:3:func TestRun() { Run(2) }"}},
			{"", search.Query{Path: "crlf.txt", Pattern: "RUN", IgnoreCase: true}, []string{"crlf.txt:1:Run\r", "crlf.txt:2:run\r"}},
			{"an end of a line is not before a carriage return", search.Query{Path: "crlf.txt", Pattern: "Run$"}, []string{}},
			{"a text", search.Query{Pattern: "Run(1)", Literal: true}, []string{"main.go:4:\tRun(1)"}},
			{"", search.Query{Pattern: "rUN(1)", Literal: true, IgnoreCase: true}, []string{"main.go:4:\tRun(1)"}},
			{"braces that repeat nothing are themselves", search.Query{Pattern: `func main() {`, Literal: false}, []string{}},
			{"", search.Query{Pattern: `func main\(\) {`}, []string{"main.go:3:func main() {"}},
			{"the ends of lines", search.Query{Path: "main.go", Pattern: `^}$`}, []string{"main.go:5:}"}},
			{"every line", search.Query{Path: "main.go", Pattern: ``}, []string{"main.go:1:package main", "main.go:2:", "main.go:3:func main() {", "main.go:4:\tRun(1)", "main.go:5:}"}},
			{"an empty line", search.Query{Path: "main.go", Pattern: `^$`}, []string{"main.go:2:"}},
			{"a class that has a line feed does not cross lines", search.Query{Path: "main.go", Pattern: `main\s+func|\)\s`}, []string{"main.go:3:func main() {"}},
			{"what is no UTF-8 is given as it is", search.Query{Path: "latin.txt", Pattern: "Run"}, []string{"latin.txt:1:caf\xe9 Run"}},
			{"classes and word boundaries are ASCII", search.Query{Path: "ünï", Pattern: `\bn Run\b`}, []string{"ünï/cödé.txt:1:Rün Run ÄÖ"}},
			{"", search.Query{Path: "ünï", Pattern: `R\wn Run|Run \w`}, []string{}},
			{"letters fold beyond ASCII", search.Query{Path: "ünï", Pattern: `äö`, IgnoreCase: true}, []string{"ünï/cödé.txt:1:Rün Run ÄÖ"}},
			{"a file with a NUL is no text", search.Query{Path: "bin.dat", Pattern: "Run"}, []string{}},
			{"no match (R241)", search.Query{Pattern: "nowhere at all"}, []string{}},
		} {
			got, res := lines(t, s, c.q)
			require.Equal(t, c.want, got, "%s: %+v", c.why, c.q)
			require.False(t, res.More)
			require.Zero(t, res.Unreadable, res.Complaints)
			require.Equal(t, "full", res.Report.Tier, "it was confined (R239)")
		}
	})
}

// TestFiles is the suite for names.
func TestFiles(t *testing.T) {
	root := tree(t, source)
	each(t, root, policy.Filesystem{}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		for _, c := range []struct {
			q    search.Query
			want []string
		}{
			{search.Query{Glob: "*.go"}, []string{"lib/run.go", "lib/run_test.go", "main.go", "with space/-dash.go"}},
			{search.Query{Glob: "*.go", Hidden: true, NoIgnore: true},
				[]string{".hidden/h.go", "build/out.go", "lib/deep/er/x.go", "lib/run.go", "lib/run_test.go", "lib/vendor/v.go", "main.go", "with space/-dash.go"}},
			{search.Query{Glob: "**"}, []string{"--files", "-e", ".env", ".gitignore", ".hidden/h.go", ".ignore", "README.md", "a{b}[c].txt", "bin.dat", "crlf.txt", "empty.txt", "keep.log", "last.txt", "latin.txt",
				"lib/.gitignore", "lib/notes.log", "lib/run.go", "lib/run_test.go", "main.go", "notes.log", "with space/-dash.go", "ünï/cödé.txt"}},
			{search.Query{Path: "lib"}, []string{"lib/notes.log", "lib/run.go", "lib/run_test.go"}},
			{search.Query{Path: "lib", MaxDepth: depth(0), Glob: "*.go"}, []string{"lib/run.go", "lib/run_test.go"}},
			{search.Query{Glob: "/*.md"}, []string{"README.md"}},
			{search.Query{Glob: "/run.go"}, []string{}},
			{search.Query{IGlob: "readme.*"}, []string{"README.md"}},
			{search.Query{Glob: "[-a]*"}, []string{"--files", "-e", "a{b}[c].txt", "with space/-dash.go"}},
			{search.Query{Glob: "lib/", NoIgnore: true}, []string{}},
			{search.Query{Glob: `a\{b\}\[c\].txt`}, []string{"a{b}[c].txt"}},
			{search.Query{Path: "-e"}, []string{"-e"}},
			{search.Query{Path: ".git", Glob: "HEAD"}, []string{".git/HEAD"}},
			{search.Query{IGlob: "**/.GIT/**", Hidden: true}, []string{}},
		} {
			got, res := files(t, s, c.q)
			if c.q.Glob == "**" { // a directory that is ignored is not looked into, whatever the glob says of what is in it
				require.Subset(t, got, []string{".env", "notes.log", "README.md"})
				require.NotContains(t, got, ".git/HEAD")
				continue
			}
			require.Equal(t, c.want, got, "%+v", c.q)
			require.False(t, res.More)
			require.Zero(t, res.Unreadable, res.Complaints)
		}
	})
}
