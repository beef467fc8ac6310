package wasm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// A file of testdata/snippets holds programs of guests. A line that begins with "//#" begins one, with its title. "//>" says how it must end: "ok" or a
// kind (several with a bar between), and, when it is given, what the rendering of the value must be; between slashes it is a regular expression. What
// follows the expectation is the next program for the same compartment.

// snippet is one program and its end.
type snippet struct {
	source, want, value string
}

// snippetCase is the programs of one compartment.
type snippetCase struct {
	title string
	steps []snippet
}

func readSnippets(t *testing.T, path string) []snippetCase {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var cases []snippetCase
	var source []string
	for line := range strings.SplitSeq(string(b), "\n") {
		title, begins := strings.CutPrefix(line, "//# ")
		want, ends := strings.CutPrefix(line, "//> ")
		switch {
		case begins:
			cases = append(cases, snippetCase{title: title})
			source = nil
		case ends:
			kind, value, _ := strings.Cut(want, " ")
			c := &cases[len(cases)-1]
			c.steps = append(c.steps, snippet{strings.Join(source, "\n"), kind, value})
			source = nil
		default:
			source = append(source, line)
		}
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		require.NotEmpty(t, c.steps, "%s has no end", c.title)
	}
	return cases
}

// TestSnippets runs the programs of every file, each with the powers of snippetPowers (R252 to R257).
func TestSnippets(t *testing.T) {
	e := testEngine(t)
	files, err := filepath.Glob("testdata/snippets/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		limit := 30 * time.Second
		if name == "stops" {
			limit = 3 * brief
		}
		t.Run(name, func(t *testing.T) { runSnippets(t, e, readSnippets(t, file), limit) })
	}
}

func runSnippets(t *testing.T, e *Engine, cases []snippetCase, limit time.Duration) {
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			w := &snippetWorld{}
			r := open(t, e, compartment.Config{Powers: w.powers(), Limits: compartment.Limits{Time: limit}})
			for _, s := range c.steps {
				begun := time.Now()
				o := evaluate(t, r, s.source)
				require.Less(t, time.Since(begun), limit+250*time.Millisecond, "too late")
				checkSnippet(t, s, o)
			}
			// Whatever it did, the next compartment is a clean one.
			o := evaluate(t, open(t, e, compartment.Config{}), "[3, 1, 2].sort().map((x) => x * 2).join() + typeof leak + JSON.stringify({ a: [1] })")
			require.Equal(t, `"2,4,6undefined{\"a\":[1]}"`, o.Value.Text)
		})
	}
}

// hostWords are what no guest may see of the host.
var hostWords = regexp.MustCompile(`goroutine|wazero|wasm\[|0x[0-9a-f]{6}|\.go\b|/(home|root|tmp|work|usr)/`)

func checkSnippet(t *testing.T, s snippet, o compartment.Outcome) {
	t.Helper()
	kind := string(o.Kind)
	if kind == "" {
		kind = string(o.Status)
	}
	require.Contains(t, strings.Split(s.want, "|"), kind, "%s: %s %+v %v", s.source, o.Value.Text, o.Value.Exception, o.Cause)
	switch {
	case s.value == "":
	case strings.HasPrefix(s.value, "/"):
		require.Regexp(t, strings.Trim(s.value, "/"), o.Value.Text, s.source)
	default:
		require.Equal(t, s.value, o.Value.Text, s.source)
	}
	b, err := json.Marshal(o)
	require.NoError(t, err)
	require.True(t, utf8.Valid(b))
	require.NotRegexp(t, hostWords, string(b))
	require.LessOrEqual(t, o.Used.PeakBytes.Used, o.Used.PeakBytes.Limit)
}
