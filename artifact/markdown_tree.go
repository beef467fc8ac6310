package artifact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// walk visits every node, a parent before its children. It does not recurse: hostile documents are nested deeply.
func (m *Markdown) walk(visit func(ast.Node)) { walkFrom(m.root, visit, func(ast.Node) {}) }

// walkFrom visits top and everything below it; leave is called after a node's children.
func walkFrom(top ast.Node, visit, leave func(ast.Node)) {
	n := top
	for {
		visit(n)
		if c := n.FirstChild(); c != nil {
			n = c
			continue
		}
		for {
			leave(n)
			if n == top {
				return
			}
			if s := n.NextSibling(); s != nil {
				n = s
				break
			}
			n = n.Parent()
		}
	}
}

// plain is the text below a node, without marks.
func (m *Markdown) plain(top ast.Node) string {
	var b strings.Builder
	walkFrom(top, func(n ast.Node) { m.write(&b, n) }, func(ast.Node) {})
	return strings.TrimSpace(b.String())
}

// write adds a node's own text.
func (m *Markdown) write(b *strings.Builder, n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		b.Write(n.Segment.Value(m.source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			b.WriteByte('\n')
		}
	case *ast.String:
		b.Write(n.Value)
	case *ast.AutoLink:
		b.Write(n.Label(m.source))
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		b.Write(n.Lines().Value(m.source))
	}
}

// Text is the document without marks: what a reader reads, with an empty line between blocks. HTML is left out.
func (m *Markdown) Text() string {
	var b strings.Builder
	walkFrom(m.root, func(n ast.Node) { m.write(&b, n) }, func(n ast.Node) {
		if n.Type() != ast.TypeBlock || n == m.root {
			return
		}
		switch end := b.String(); {
		case end == "" || strings.HasSuffix(end, "\n\n"):
		case strings.HasSuffix(end, "\n"):
			b.WriteByte('\n')
		default:
			b.WriteString("\n\n")
		}
	})
	return strings.TrimSpace(b.String())
}

// Node is a node of the tree, in the order of the document.
type Node struct {
	// Depth is how many nodes are above it.
	Depth int    `json:"depth"`
	Kind  string `json:"kind"`
	Line  int    `json:"line,omitempty"`
	// Text is the node's own text, without that of nodes below it.
	Text string `json:"text,omitempty"`
}

// AST lists every node of the tree, each before those below it. It is a list, since a tree would be as deep as the
// document says.
func (m *Markdown) AST() []Node {
	all := []Node{}
	depth := 0
	walkFrom(m.root, func(n ast.Node) {
		var b strings.Builder
		m.write(&b, n)
		node := Node{Depth: depth, Kind: n.Kind().String(), Text: b.String()}
		if h, ok := n.(*ast.Heading); ok {
			node.Kind = fmt.Sprintf("Heading%d", h.Level)
		}
		if n.Type() == ast.TypeBlock && n != m.root {
			node.Line = m.line(n)
		}
		all = append(all, node)
		depth++
	}, func(ast.Node) { depth-- })
	return all
}

// offset is where a node begins in the body; for a code block the fence.
func (m *Markdown) offset(n ast.Node) int {
	return min(max(0, n.Pos()), len(m.source))
}

// line is the number of the line in the artifact.
func (m *Markdown) line(n ast.Node) int {
	before, _ := slices.BinarySearch(m.ends, m.offset(n))
	return m.skipped + 1 + before
}

// newlines lists where the newlines of a text are.
func newlines(text []byte) []int {
	all := make([]int, 0, bytes.Count(text, newline))
	for i, c := range text {
		if c == '\n' {
			all = append(all, i)
		}
	}
	return all
}

// lineStart is where the line begins that a place is in.
func lineStart(text []byte, at int) int {
	return bytes.LastIndexByte(text[:min(at, len(text))], '\n') + 1
}

// nextLine is where the next line begins.
func nextLine(text []byte, at int) int {
	if at >= len(text) {
		return len(text)
	}
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
