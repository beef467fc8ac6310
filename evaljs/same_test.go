package evaljs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/evaljs"
)

// differences are the programs that mean something else in a session that lasts, or as TypeScript, by their titles, with the reason.
var differences = map[string]string{
	"await is a name where nothing is awaited (typed)": "what reads TypeScript takes await for the word",
	"this and arguments are as without (typed)":        "it takes a source that waits for a module, where this is undefined",
	"import as a statement (typed)":                    "an import whose names are not used may be of types, and is erased",
}

// TestSameAnswers: reading a program for a session that lasts, or as TypeScript, does not change what it does. The programs are those that all engines are
// tested with; a power that one calls is missing here, and missing in the same way each time.
func TestSameAnswers(t *testing.T) {
	files, err := filepath.Glob("../compartment/testdata/guest/*.js")
	require.NoError(t, err)
	limits := compartment.Limits{Time: 3 * time.Second} // none of them loops; a busy machine is slow
	for engine, e := range engines(t) {
		plain, err := evaljs.New(evaljs.Options{Engine: e, Limits: limits, Language: evaljs.JavaScript})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, plain.Close()) })
		typed, err := evaljs.New(evaljs.Options{Engine: e, Limits: limits, Language: evaljs.TypeScript})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, typed.Close()) })
		compared := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, part := range strings.Split("\n"+string(text), "\n//// ")[1:] {
				title, code, _ := strings.Cut(part, "\n")
				if strings.Contains(title, "stop") || strings.Contains(code, "for (;;)") || strings.Contains(code, "while (") {
					continue // these take their whole time
				}
				code, _, _ = strings.Cut(code, "\n// then ")
				want := evaluate(t, plain, code)
				if want.Status == compartment.StatusStopped || want.Status == compartment.StatusEngineLost {
					continue
				}
				compared++
				kept := evaluate(t, lasting(t, evaljs.Options{Engine: e, Limits: limits, Language: evaljs.JavaScript}), code)
				compare(t, engine, title+" (kept)", code, want, kept)
				if want.Status != compartment.StatusSyntax {
					compare(t, engine, title+" (typed)", code, want, evaluate(t, typed, code))
				}
			}
		}
		require.Greater(t, compared, 100)
	}
}

// compare holds two outcomes of one program against each other.
func compare(t *testing.T, engine, what, code string, want, got compartment.Outcome) {
	t.Helper()
	if _, known := differences[what]; known {
		return
	}
	same := want.Kind == got.Kind && string(want.Data) == string(got.Data) && want.Value.Text == got.Value.Text && len(want.Console.Entries) == len(got.Console.Entries)
	if !same {
		t.Errorf("%s: %s\n%s\nwant %s %s\ngot  %s %s", engine, what, code, want.Kind, want.Value.Text, got.Kind, got.Value.Text)
	}
	if want.Where != nil && got.Where != nil && want.Where.Line != got.Where.Line {
		t.Errorf("%s: %s\n%s\nline %d, got %d: %+v", engine, what, code, want.Where.Line, got.Where.Line, got.Where)
	}
}
