package archtest

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testFunctions lists the tests, fuzz targets, benchmarks and examples of every room, as "room.TestName".
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, s := range sources(t) {
		for _, d := range s.AST.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && s.Test && f.Recv == nil && testName.MatchString(f.Name.Name) {
				found[s.Dir+"."+f.Name.Name] = true
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

var (
	testName  = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)[A-Z]`)
	namedTest = regexp.MustCompile("`([a-z][a-z/]*\\.(?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*)`")
)

// TestNamedTestsExist: a document that points to a test points to one that is there.
func TestNamedTestsExist(t *testing.T) {
	have := testFunctions(t)
	count := 0
	for name, text := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
			count++
			if !have[m[1]] {
				t.Errorf("%s names %s, and there is no such test", name, m[1])
			}
		}
	}
	require.Greater(t, count, 40, "the documents were not read")
}

// TestThreatModelIsComplete: every attacker has a table, every row names its answer and at least one test.
func TestThreatModelIsComplete(t *testing.T) {
	text := files(t)["docs/threat-model.md"]
	require.NotEmpty(t, text)
	rows := tableRows(text)
	for _, attacker := range []string{"A prompt", "A guest shell", "A guest script", "A policy's author", "An embedder"} {
		require.NotEmpty(t, rows[attacker], "no table about %s", attacker)
		for _, row := range rows[attacker] {
			require.Len(t, row, 3, "%s: %v", attacker, row)
			for _, cell := range row[:2] {
				require.NotEmpty(t, cell, "%s: %v", attacker, row)
			}
			require.Regexp(t, namedTest, row[2], "%s: %s: no test is named", attacker, row[0])
		}
	}
}

// tableRows gives the rows of each table below its heading, without the head of the table.
func tableRows(text string) map[string][][]string {
	rows := map[string][][]string{}
	heading, inTable := "", false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "## "):
			heading, inTable = strings.TrimPrefix(line, "## "), false
		case strings.HasPrefix(line, "|---"):
			inTable = true
		case strings.HasPrefix(line, "|") && inTable:
			var row []string
			for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
				row = append(row, strings.TrimSpace(cell))
			}
			rows[heading] = append(rows[heading], row)
		}
	}
	return rows
}

// statements are what the documents must say. They are compared without regard to line ends and case.
var statements = []struct{ requirement, file, says string }{
	{"R7", "README.md", "Neither boundary substitutes for the other. Who deploys one has one, not two."},
	{"R7", "docs/rationale.md", "a deployment that has one is not told it has two"},
	{"R13", "docs/rationale.md", "It confines untrusted code for authority: what it may reach. It is not the same thing as isolating trusted code for stability."},
	{"R48", "docs/errors.md", "detected dubious ownership"},
	{"R54", "docs/rationale.md", "A case-insensitive volume can still resolve a name that the profile did not cover"},
	{"R67", "README.md", "Real secrets live outside"},
	{"R72", "docs/rationale.md", "one policy per process is no longer needed"},
	{"R89", "shell/manager.go", "It runs nothing outside of a boundary: every command still goes to the enforcer"},
	{"R110", "docs/rationale.md", "Rules of an adopted sandbox are compared literally"},
	{"R114", "docs/rationale.md", "widens nothing, and is refused all the same"},
	{"R120", "docs/rationale.md", "Detection is not prevention: a command that runs already keeps what it has for its whole life"},
	{"R120", "shell/doc.go", "Detection is not prevention"},
	{"R267", "shell/executor.go", "Never let it name an interpreter"},
	{"R174", "docs/rationale.md", "every token, password and key in the host's environment is then readable by the command"},
	{"R174", "shell/options.go", "Tokens, passwords and keys in the environment are then readable by the untrusted command"},
	{"R188", "docs/rationale.md", "A gate that approves whatever it is asked is never a default"},
	{"R187", "docs/rationale.md", "a search finds secrets faster than a reader does"},
	{"R213", "tools/allowed.go", "It is a check of a name, not the boundary"},
	{"R215", "tools/shell.go", "The model can read all of it"},
	{"R276", "docs/errors.md", "a handle stands where text was expected"},
	{"R305", "CONTRIBUTING.md", "A green run with skipped boundary tests is no evidence"},
	{"R313", "README.md", "not a guarantee that arbitrary code is safe"},
}

// TestDocumentsSay holds the statements (R7, R13, R48, R54, R67, R72, R89, R110, R114, R120, R174, R267, R305, R313).
func TestDocumentsSay(t *testing.T) {
	all := files(t)
	for _, s := range statements {
		require.Contains(t, squeeze(all[s.file]), squeeze(s.says), "%s: %s must say it", s.requirement, s.file)
	}
}

// squeeze takes out what differs between a sentence and the same sentence in a document or a comment.
func squeeze(text string) string {
	text = strings.NewReplacer("//", " ", "**", "").Replace(strings.ToLower(text))
	return strings.Join(strings.Fields(text), " ")
}

// TestErrorsAreDocumented: docs/errors.md has every code, and no other.
func TestErrorsAreDocumented(t *testing.T) {
	text := files(t)["docs/errors.md"]
	all := sources(t)
	codes := map[string]bool{}
	for _, room := range []string{"shell", "compartment", "tools", "artifact"} {
		for c := range codesOf(t, all, room) {
			codes[strings.Trim(c, `"`)] = true
		}
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`(E_[A-Z_]+)`").FindAllStringSubmatch(text, -1) {
		documented[m[1]] = true
	}
	require.Equal(t, codes, documented)
}

// TestLinksLead: every relative link in a document leads to a file.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	count := 0
	for name, text := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			count++
			_, err := os.Stat(filepath.Join(root, path.Dir(name), m[1]))
			require.NoError(t, err, "%s links to %s", name, m[1])
		}
	}
	require.Positive(t, count)
}
