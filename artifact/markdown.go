package artifact

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/yuin/goldmark/ast"
	"go.yaml.in/yaml/v3"
)

// MaxMarkdownBytes is how long a document can be that is read as Markdown.
const MaxMarkdownBytes = 1 << 20

// maxFrontmatter bounds the YAML before a document, in bytes.
const maxFrontmatter = 64 << 10

// Markdown is a document that was read as Markdown (CommonMark), to be asked about. It is in memory, and valid after the
// turn. Lines are counted from 1, in the artifact.
type Markdown struct {
	id      string
	source  []byte // of the body
	skipped int    // lines before the body
	ends    []int  // where the newlines of the body are
	front   []byte
	root    ast.Node
}

// Markdown reads the artifact as Markdown. Every text is Markdown, so the errors are ErrTooLarge above MaxMarkdownBytes, and
// ErrTooCostly for one that takes more than MaxMarkdownTime, as made-up ones can: the artifact stays text.
func (a *Artifact) Markdown(ctx context.Context) (*Markdown, error) {
	return a.markdown(ctx, MaxMarkdownTime)
}

func (a *Artifact) markdown(ctx context.Context, most time.Duration) (*Markdown, error) {
	text, err := a.document(ctx, MaxMarkdownBytes)
	if err != nil {
		return nil, err
	}
	front, body := cutFrontmatter(text)
	m := &Markdown{id: a.id, source: body, front: front, ends: newlines(body)}
	m.skipped = bytes.Count(text[:len(text)-len(body)], newline)
	m.root, err = parseMarkdown(ctx, body, most)
	return m, a.named(err)
}

// cutFrontmatter splits off what stands between a first line "---" and the next one, or "...". Without the second there is no frontmatter.
func cutFrontmatter(text []byte) (front, body []byte) {
	rest := text
	at := 0
	for i := 0; len(rest) > 0; i++ {
		line, more, _ := bytes.Cut(rest, newline)
		line = bytes.TrimRight(line, " \t\r")
		end := len(text) - len(more)
		switch fence := string(line); {
		case i == 0 && fence != "---":
			return nil, text
		case i == 0:
			at = end
		case fence == "---" || fence == "...":
			return text[at : len(text)-len(rest)], text[end:]
		}
		rest = more
	}
	return nil, text
}

// Frontmatter gives the YAML before the document; nil when there is none. What is not a YAML mapping is ErrNoMatch, and
// more than 64 KiB is ErrTooLarge.
func (m *Markdown) Frontmatter() (map[string]any, error) {
	if len(m.front) > maxFrontmatter {
		return nil, &Error{Kind: ErrTooLarge, What: m.id, Detail: fmt.Sprintf("the frontmatter is longer than %d bytes", maxFrontmatter)}
	}
	var front map[string]any
	if err := decodeYAML(m.front, &front); err != nil {
		return nil, &Error{Kind: ErrNoMatch, What: m.id, Detail: "the frontmatter is not a YAML mapping", Err: err}
	}
	return front, nil
}

// decodeYAML decodes; the library is known to have panicked on hostile text.
func decodeYAML(text []byte, into *map[string]any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return yaml.Unmarshal(text, into)
}

// Heading is a heading.
type Heading struct {
	Level int    `json:"level"`
	Text  string `json:"text"`
	Line  int    `json:"line"`
}

// Headings lists the headings, in order.
func (m *Markdown) Headings() []Heading {
	all := []Heading{}
	m.walk(func(n ast.Node) {
		if h, ok := n.(*ast.Heading); ok {
			all = append(all, Heading{Level: h.Level, Text: m.plain(h), Line: m.line(h)})
		}
	})
	return all
}

// CodeBlock is a block of code.
type CodeBlock struct {
	Language string `json:"language"`
	Code     string `json:"code"`
	Line     int    `json:"line"`
}

// CodeBlocks lists the blocks of code, in order; with a language, those that are fenced with it.
func (m *Markdown) CodeBlocks(language string) []CodeBlock {
	all := []CodeBlock{}
	m.walk(func(n ast.Node) {
		lang := ""
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			lang = string(n.Language(m.source))
		case *ast.CodeBlock:
		default:
			return
		}
		if language == "" || strings.EqualFold(lang, language) {
			all = append(all, CodeBlock{Language: lang, Code: string(n.Lines().Value(m.source)), Line: m.line(n)})
		}
	})
	return all
}

// Section is a heading with what follows it, up to the next heading of its level or a higher one.
type Section struct {
	Heading
	// Body is the Markdown after the heading, subsections included.
	Body string `json:"body"`
}

// maxSectionBytes bounds the text of all sections together: each holds its subsections again.
const maxSectionBytes = 4 * MaxMarkdownBytes

// Sections lists the sections whose heading has this text, without regard to case; with an empty text, all of them. Headings in
// quotes and lists begin none.
func (m *Markdown) Sections(heading string) ([]Section, error) {
	var heads []*ast.Heading
	for n := m.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			heads = append(heads, h)
		}
	}
	all, left := []Section{}, maxSectionBytes
	for i, h := range heads {
		text := m.plain(h)
		if heading != "" && !strings.EqualFold(text, strings.TrimSpace(heading)) {
			continue
		}
		end := len(m.source)
		for _, next := range heads[i+1:] {
			if next.Level <= h.Level {
				end = lineStart(m.source, m.offset(next))
				break
			}
		}
		body := m.source[min(m.bodyStart(h), end):end]
		if left -= len(body); left < 0 {
			return nil, &Error{Kind: ErrTooCostly, What: m.id, Detail: "the sections hold each other too often; name one by its heading"}
		}
		all = append(all, Section{Heading: Heading{Level: h.Level, Text: text, Line: m.line(h)}, Body: string(body)})
	}
	return all, nil
}

// bodyStart is where the line after a heading begins; after the underline, for one that is underlined.
func (m *Markdown) bodyStart(h *ast.Heading) int {
	at := m.offset(h)
	underlined := at < len(m.source) && m.source[at] != '#'
	if n := h.Lines().Len(); n > 0 {
		at = h.Lines().At(n - 1).Start
	}
	at = nextLine(m.source, at)
	if underlined {
		at = nextLine(m.source, at)
	}
	return at
}

// Link is a link or an image.
type Link struct {
	Text  string `json:"text"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Line  int    `json:"line"`
}

// Links lists the links, in order; <https://a.example> is one.
func (m *Markdown) Links() []Link {
	all := []Link{}
	m.walk(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Link:
			all = append(all, Link{Text: m.plain(n), URL: string(n.Destination), Title: string(n.Title), Line: m.line(n)})
		case *ast.AutoLink:
			all = append(all, Link{Text: string(n.Label(m.source)), URL: string(n.URL(m.source)), Line: m.line(n)})
		}
	})
	return all
}

// Images lists the images, in order; Text is what stands for the image. An image in the text of another is part of that
// text.
func (m *Markdown) Images() []Link {
	all := []Link{}
	var outer ast.Node
	walkFrom(m.root, func(n ast.Node) {
		if n, ok := n.(*ast.Image); ok && outer == nil {
			outer = n
			all = append(all, Link{Text: m.plain(n), URL: string(n.Destination), Title: string(n.Title), Line: m.line(n)})
		}
	}, func(n ast.Node) {
		if n == outer {
			outer = nil
		}
	})
	return all
}
