package artifact

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const doc = "---\ntitle: A document\ntags: [x, y]\n---\n# One *bold* `code`\n\nText with a [link](https://a.example \"title\") and <https://b.example>.\n\n" +
	"```go\nfunc main() {}\n```\n\n## Two\n\n![alt ![in](b.png)](a.png)\n\n    indented\n\n> # quoted\n\nUnder\nlined\n=====\n\nlast\n"

func markdown(t testing.TB, text string) *Markdown {
	t.Helper()
	m, err := closed(t, KindMarkdown, text).Markdown(context.Background())
	require.NoError(t, err)
	return m
}

// TestMarkdownTools: the eight queries (R275).
func TestMarkdownTools(t *testing.T) {
	m := markdown(t, doc)
	front, err := m.Frontmatter()
	require.Equal(t, `{"tags":["x","y"],"title":"A document"}`, asJSON(t, front, err))
	require.Equal(t, []Heading{{1, "One bold code", 5}, {2, "Two", 13}, {1, "quoted", 19}, {1, "Under\nlined", 21}}, m.Headings())
	require.Equal(t, []CodeBlock{{"go", "func main() {}\n", 9}, {"", "indented\n", 17}}, m.CodeBlocks(""))
	require.Equal(t, []CodeBlock{{"go", "func main() {}\n", 9}}, m.CodeBlocks("GO"))
	require.Empty(t, m.CodeBlocks("rust"))
	require.Equal(t, []Link{{"link", "https://a.example", "title", 7}, {"https://b.example", "https://b.example", "", 7}}, m.Links())
	require.Equal(t, []Link{{"alt in", "a.png", "", 15}}, m.Images())

	sections, err := m.Sections("")
	require.NoError(t, err)
	require.Len(t, sections, 3)
	require.Equal(t, "\nlast\n", sections[2].Body)
	require.True(t, strings.HasPrefix(sections[0].Body, "\nText with"), sections[0].Body)
	require.True(t, strings.HasSuffix(sections[0].Body, "> # quoted\n\n"), sections[0].Body)
	sections, err = m.Sections("two ")
	require.NoError(t, err)
	require.Equal(t, []Section{{Heading{2, "Two", 13}, "\n![alt ![in](b.png)](a.png)\n\n    indented\n\n> # quoted\n\n"}}, sections)

	require.Equal(t, "One bold code\n\nText with a link and https://b.example.\n\nfunc main() {}\n\nTwo\n\nalt in\n\nindented\n\nquoted\n\nUnder\nlined\n\nlast", m.Text())
	tree := m.AST()
	require.Equal(t, Node{Depth: 0, Kind: "Document"}, tree[0])
	require.Equal(t, Node{Depth: 1, Kind: "Heading1", Line: 5}, tree[1])
	require.Equal(t, Node{Depth: 2, Kind: "Text", Text: "One "}, tree[2])
	require.Equal(t, Node{Depth: 2, Kind: "Text", Text: "last"}, tree[len(tree)-1])
}

// TestFrontmatter: what is frontmatter and what is not.
func TestFrontmatter(t *testing.T) {
	for text, want := range map[string]string{
		"": "null", "# x": "null", "---\na: 1": "null", "---\n---\nx": "null", "---\r\na: 1\r\n---\r\nx": `{"a":1}`, "---\na: 1\n...\n": `{"a":1}`, " ---\na: 1\n---\n": "null",
	} {
		front, err := markdown(t, text).Frontmatter()
		require.Equal(t, want, asJSON(t, front, err), "%q", text)
	}
	for text, kind := range map[string]error{
		"---\n- a\n---\n": ErrNoMatch, "---\na: [\n---\n": ErrNoMatch, "---\na: " + strings.Repeat("x", maxFrontmatter) + "\n---\n": ErrTooLarge,
		// every alias doubles what the one before it has
		"---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n---\n": ErrNoMatch,
	} {
		m := markdown(t, text)
		_, err := m.Frontmatter()
		require.ErrorIs(t, err, kind, "%.30q", text)
		require.NotNil(t, m.Headings(), "the document can be read all the same")
	}
}

// bombs are documents on which a parser may take far longer than on others of their length.
var bombs = map[string]string{
	"quotes":      strings.Repeat(">", 200_000),
	"lists":       strings.Repeat("- ", 100_000) + "a",
	"numbers":     strings.Repeat("1. ", 60_000) + "a",
	"links":       strings.Repeat("[a](", 100_000),
	"angles":      strings.Repeat("[a](<b", 60_000),
	"images":      strings.Repeat("![", 100_000) + strings.Repeat("](x)", 100_000),
	"emphasis":    strings.Repeat("*a_b", 100_000),
	"stars":       strings.Repeat("*a **b ", 60_000),
	"backticks":   backticks(400_000),
	"brackets":    strings.Repeat("[", 400_000),
	"table":       strings.Repeat("|a", 50_000) + "|\n" + strings.Repeat("|-", 50_000) + "|\n" + strings.Repeat("|\n", 50_000),
	"references":  strings.Repeat("[a]: b\n\n", 50_000) + strings.Repeat("[a]", 50_000),
	"definitions": strings.Repeat("[a]: b\n", 140_000),
	"html":        strings.Repeat("<a b='", 60_000),
	"comments":    "a" + strings.Repeat("<!--", 100_000),
}

// backticks is code spans that never close: each run is one longer than the last.
func backticks(size int) string {
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		b.WriteString("e" + strings.Repeat("`", i))
	}
	return b.String()
}

// TestMarkdownIsBounded: such a document is read, or refused, in about the time that parsing may take, which is a second
// here; every query over it is answered in that time too.
func TestMarkdownIsBounded(t *testing.T) {
	for name, text := range bombs {
		t.Run(name, func(t *testing.T) {
			a := closed(t, KindMarkdown, text)
			begin := time.Now()
			m, err := a.markdown(t.Context(), time.Second)
			took := time.Since(begin)
			t.Logf("%v, %v", took.Round(time.Millisecond), err)
			require.Less(t, took, 5*time.Second)
			if err != nil {
				require.ErrorIs(t, err, ErrTooCostly)
				require.Equal(t, CodeCost, err.(*Error).Code())
				require.Len(t, whole(t, a), len(text))
				return
			}
			begin = time.Now()
			everyQuery(t, m)
			require.Less(t, time.Since(begin), MaxMarkdownTime)
		})
	}
}

// everyQuery asks everything.
func everyQuery(t *testing.T, m *Markdown) {
	t.Helper()
	_, _ = m.Frontmatter()
	sections, err := m.Sections("")
	if err != nil {
		require.ErrorIs(t, err, ErrTooCostly)
	}
	for i, s := range sections {
		if i < 10 && !strings.Contains(string(m.source), s.Body) {
			t.Errorf("%q is not of the document", s.Body)
		}
	}
	rows := m.skipped + len(m.ends) + 1
	for _, h := range m.Headings() {
		if h.Line < 1 || h.Line > rows {
			t.Errorf("line %d of %d", h.Line, rows)
		}
	}
	_, _, _, _, _ = m.CodeBlocks(""), m.Links(), m.Images(), m.Text(), m.AST()
}

// TestMarkdownLimits: too long stays text, and a context that ends ends the parsing.
func TestMarkdownLimits(t *testing.T) {
	a := closed(t, KindMarkdown, strings.Repeat("x", MaxMarkdownBytes+1))
	require.ErrorIs(t, second(a.Markdown(t.Context())), ErrTooLarge)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(20*time.Millisecond, func() { cancel(enough) })
	defer timer.Stop()
	begin := time.Now()
	_, err := closed(t, KindMarkdown, bombs["lists"]).Markdown(ctx)
	require.ErrorIs(t, err, enough)
	require.Less(t, time.Since(begin), MaxMarkdownTime)

	nested := strings.Repeat("# a\n## b\n", 100_000)
	_, err = markdown(t, nested).Sections("")
	require.NoError(t, err, "two levels hold each other once")
	steps := ""
	for range 200 {
		steps += "# a\n## a\n### a\n#### a\n##### a\n###### a\n" + strings.Repeat("x", 900_000/200) + "\n"
	}
	_, err = markdown(t, steps).Sections("")
	require.ErrorIs(t, err, ErrTooCostly)
}

// FuzzMarkdown: no document breaks a query.
func FuzzMarkdown(f *testing.F) {
	f.Add(doc)
	for _, text := range bombs {
		f.Add(text[:200])
	}
	f.Add("---\na: *a\n---\n#\n\n# #\n===\n- #\n")
	turn := newTurn(f, Options{})
	f.Fuzz(func(t *testing.T, text string) {
		a := closedIn(t, turn, KindMarkdown, text)
		defer forget(turn, a)
		m, err := a.Markdown(t.Context())
		if err != nil {
			require.ErrorIs(t, err, ErrTooCostly)
			return
		}
		everyQuery(t, m)
	})
}
