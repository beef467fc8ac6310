//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/gate"
	"sallyport/policy"
	"sallyport/shell"
	"sallyport/shell/search"
)

// find calls one of the search pair and gives its lines, sorted but for the last.
func find(t testing.TB, r *Registry, store *memory, tool string, fields map[string]any) ([]string, Result) {
	t.Helper()
	res, err := r.Call(t.Context(), tool, args(t, fields))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(store.made[res.ID].text(), "\n"), "\n")
	slices.Sort(lines[:len(lines)-1])
	return lines, res
}

const complete = `{"kind":"end","complete":true}`

var searched = map[string]string{
	"a.go": "package a\nfunc A() {}\n", "sub/b.go": "package b\n// A <b>\n", "sub/deep/c.txt": "A\n", ".hidden": "A\n",
	"secret/key": "A secret\n", "denied.secret": "A\n", ".gitignore": "ignored\n", "ignored": "A\n",
}

// searchable makes a registry whose policy denies some of the files.
func searchable(t testing.TB, change func(*policy.Policy, *Options)) (*Registry, *memory, string) {
	return confined(t, searched, func(p *policy.Policy, o *Options) {
		p.Filesystem.DenyRead = policy.Paths(o.Workspace+"/secret", o.Workspace+"/**/*.secret")
		if change != nil {
			change(p, o)
		}
	})
}

// TestSearch: whole lines with their path and number, one object a line, and a last one that says that this is all. It runs under the kernel's
// boundary, and what is denied is not found and not told (R239, R240, R242, R251, D12).
func TestSearch(t *testing.T) {
	r, store, _ := searchable(t, nil)
	lines, res := find(t, r, store, SearchFiles, map[string]any{"pattern": `\bA\b`})
	require.Equal(t, []string{
		`{"kind":"item","path":"a.go","line":2,"text":"func A() {}"}`, `{"kind":"item","path":"ignored","line":1,"text":"A"}`,
		`{"kind":"item","path":"sub/b.go","line":2,"text":"// A <b>"}`, `{"kind":"item","path":"sub/deep/c.txt","line":1,"text":"A"}`, complete,
	}, lines)
	require.Equal(t, Kernel, res.Tier)
	require.Equal(t, "full", res.Report.Tier)
	require.Empty(t, res.Notes, "of what was denied nothing is told: it would be a list of it")
	for _, c := range []struct {
		fields string
		want   []string
	}{
		{`{"pattern":"A","path":"sub","max_depth":0}`, []string{"sub/b.go"}},
		{`{"pattern":"A","path":"/sub/deep"}`, []string{"sub/deep/c.txt"}},
		{`{"pattern":"a() {","literal":true,"ignore_case":true}`, []string{"a.go"}},
		{`{"pattern":"A","glob":"*.txt"}`, []string{"sub/deep/c.txt"}},
		{`{"pattern":"A","iglob":"*.TXT"}`, []string{"sub/deep/c.txt"}},
		{`{"pattern":"^A$","hidden":true,"path":".hidden"}`, []string{".hidden"}},
		{`{"pattern":"A","path":"sub/b.go"}`, []string{"sub/b.go"}},
	} {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.fields), &fields))
		lines, _ := find(t, r, store, SearchFiles, fields)
		var paths []string
		for _, l := range lines[:len(lines)-1] {
			var f frame
			require.NoError(t, json.Unmarshal([]byte(l), &f))
			paths = append(paths, f.Path)
		}
		require.Equal(t, c.want, paths, c.fields)
	}
}

// TestFind: names, and nothing of what may not be read (R246).
func TestFind(t *testing.T) {
	r, store, _ := searchable(t, nil)
	lines, _ := find(t, r, store, FindFiles, map[string]any{"glob": "*.go"})
	require.Equal(t, []string{`{"kind":"item","path":"a.go"}`, `{"kind":"item","path":"sub/b.go"}`, complete}, lines)
	lines, res := find(t, r, store, FindFiles, map[string]any{"glob": "*key*"})
	require.Equal(t, []string{complete}, lines)
	require.Contains(t, res.Notes[0], `No matches for "*key*".`)
}

// TestNoMatches: nothing found is a result that says so (R241), and the limit one that says that there may be more (R242).
func TestNoMatches(t *testing.T) {
	r, store, _ := searchable(t, nil)
	lines, res := find(t, r, store, SearchFiles, map[string]any{"pattern": "nowhere"})
	require.Equal(t, []string{complete}, lines)
	require.Equal(t, []string{`No matches for "nowhere". Check the pattern and the path, or search elsewhere.`}, res.Notes)
	lines, res = find(t, r, store, SearchFiles, map[string]any{"pattern": "A", "limit": 2})
	require.Len(t, lines, 3)
	require.Equal(t, `{"kind":"end","complete":false,"stopped":"limit"}`, lines[2])
	require.Equal(t, []string{"Stopped at the limit of 2 results; there may be more. For more, set limit higher or narrow the search."}, res.Notes)
	lines, res = find(t, r, store, SearchFiles, map[string]any{"pattern": "A", "limit": 4})
	require.Equal(t, complete, lines[4], "as many as there are is all")
	require.Empty(t, res.Notes)
}

// TestSearchRefused: a pattern that is none is not a search that broke (R250), and paths are refused as by every other tool (R220, R247).
func TestSearchRefused(t *testing.T) {
	r, store, _ := searchable(t, nil)
	for _, c := range []struct {
		tool, args string
		want       Outcome
	}{
		{SearchFiles, `{"pattern":"["}`, InvalidPattern}, {SearchFiles, `{"pattern":"(?=x)"}`, InvalidPattern}, {FindFiles, `{"glob":"[z"}`, InvalidPattern},
		{SearchFiles, `{"pattern":"A","path":"none"}`, NotFound}, {SearchFiles, `{"pattern":"A","path":"secret"}`, DeniedByPolicy},
		{SearchFiles, `{"pattern":"A","path":"../x"}`, PathRejected}, {FindFiles, `{"glob":"*","path":"~"}`, PathRejected},
	} {
		_, err := r.Call(t.Context(), c.tool, json.RawMessage(c.args))
		require.ErrorIs(t, err, &Error{Code: CodeRefused, Outcome: c.want}, "%s %s", c.tool, c.args)
	}
	for _, pattern := range []string{"--files", "-e", "--pre=id", "--"} {
		lines, _ := find(t, r, store, SearchFiles, map[string]any{"pattern": pattern})
		require.Equal(t, []string{complete}, lines, "a pattern is no flag")
	}
}

// TestClassificationOrder: what is wrong with the pattern, then what the search was denied, and only then that it broke (R249).
func TestClassificationOrder(t *testing.T) {
	r := &Registry{}
	c := &call{tool: &tool{Tool: Tool{Name: SearchFiles}}}
	denied := search.Result{Violations: []shell.Violation{{Operation: "read"}}}
	broke := &search.Error{Kind: search.ErrFailed, Detail: "exit status 2"}
	for _, row := range []struct {
		found search.Result
		err   error
		want  Outcome
	}{
		{denied, &search.Error{Kind: search.ErrPattern, Given: "["}, InvalidPattern}, {denied, broke, DeniedByPolicy}, {search.Result{}, broke, IOFailure},
		{search.Result{}, &shell.Error{Code: shell.CodeNotInitialized}, IOFailure},
	} {
		require.ErrorIs(t, r.searchFailed(c, searchArgs{}, row.found, row.err), &Error{Outcome: row.want})
	}
	require.Equal(t, shell.CodeNotInitialized, CodeOf(r.searchFailed(c, searchArgs{}, search.Result{}, &shell.Error{Code: shell.CodeNotInitialized})))
}

// TestWholeLine: a line of a megabyte is given as it is (R240).
func TestWholeLine(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	r, store, _ := confined(t, map[string]string{"f": "needle" + long + "\n"}, nil)
	lines, _ := find(t, r, store, SearchFiles, map[string]any{"pattern": "needle"})
	require.Equal(t, fmt.Sprintf(`{"kind":"item","path":"f","line":1,"text":"needle%s"}`, long), lines[0])
}

// TestSearchInSession: the pair works in a session as in a sandbox.
func TestSearchInSession(t *testing.T) {
	r, _, _ := inSession(t, nil, nil)
	store := &memory{}
	r.keepIn(store)
	lines, _ := find(t, r, store, SearchFiles, map[string]any{"pattern": "x"})
	require.Equal(t, []string{`{"kind":"item","path":"a","line":1,"text":"x"}`, complete}, lines)
}

// TestSearchFilesPower: a program searches, each time asked about as search_files, and a bad pattern can be caught (R253).
func TestSearchFilesPower(t *testing.T) {
	var asked record
	r, store, _ := searchable(t, func(_ *policy.Policy, o *Options) {
		o.Scripts.Engine = goja.NewWithoutMemoryLimit()
		o.Gate = func(_ context.Context, c gate.Call) (gate.Verdict, error) {
			asked.add(c.Tool)
			return gate.Verdict{Approved: true}, nil
		}
	})
	o, res := evaluate(t, r, store, `
const found = await searchFiles("A", "sub");
const bad = await searchFiles("[").catch(e => e.code);
({files: found.matches.map(m => m.path).sort(), more: (await searchFiles("A", "", 1)).more, bad})`, 30)
	require.Equal(t, compartment.StatusOK, o.Status, store.made[res.ID].text())
	require.JSONEq(t, `{"files":["sub/b.go","sub/deep/c.txt"],"more":true,"bad":"invalid_pattern"}`, string(o.Data))
	require.Equal(t, []string{EvaluateJavaScript, SearchFiles, SearchFiles, SearchFiles}, asked.all())
}
