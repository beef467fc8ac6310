package artifact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sallyport/artifact"
)

// open is a store for an example, with one turn.
func open(o artifact.Options) (*artifact.Store, *artifact.Turn) {
	store, err := artifact.Open(o)
	if err != nil {
		panic(err)
	}
	turn, err := store.Turn()
	if err != nil {
		panic(err)
	}
	return store, turn
}

// put makes an artifact of a text.
func put(turn *artifact.Turn, kind artifact.Kind, text string) *artifact.Artifact {
	w, err := turn.Create(artifact.Spec{Kind: kind})
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return w.Artifact()
}

// Keep the whole output of a command, and look at the end of it.
func Example() {
	store, turn := open(artifact.Options{})
	defer store.Close()

	w, err := turn.Create(artifact.Spec{Label: "run_shell_command"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 100_000 {
		fmt.Fprintf(w, "test %d passed\n", i)
	}
	_ = w.Final("exit status 1")
	_ = w.Close()

	a, _ := turn.Artifact(w.Artifact().ID())
	rows, _ := a.LineCount()
	text, _ := a.Tail(2)
	fmt.Println(rows, "lines")
	_, _ = text.WriteTo(os.Stdout)
	// Output:
	// 100001 lines
	// test 99999 passed
	// exit status 1
}

// Find lines without reading all of them into memory.
func ExampleArtifact_Grep() {
	store, turn := open(artifact.Options{})
	defer store.Close()
	a := put(turn, artifact.KindText, "ok\nError: disk\nok\nerror: net\n")
	err := a.Grep(context.Background(), "^error: (.*)", "i", func(m artifact.Match) error {
		line, err := m.Line.Bytes()
		fmt.Printf("%d: %s\n", m.Number, line)
		return err
	})
	fmt.Println(err)
	err = a.Grep(context.Background(), "(?=ok)", "", nil)
	fmt.Println(err)
	// Output:
	// 2: Error: disk
	// 4: error: net
	// <nil>
	// pattern "(?=ok)": not a valid argument: invalid or unsupported Perl syntax: "(?="; patterns are RE2, without look-around and back-references
}

// Give a store less room than is needed: nothing is lost in silence.
func ExampleWriter_Write() {
	store, turn := open(artifact.Options{Quota: 20})
	defer store.Close()
	w, _ := turn.Create(artifact.Spec{})
	n, err := io.WriteString(w, strings.Repeat("0123456789\n", 10))
	fmt.Println(n, err)
	_ = w.Close()
	text, _ := w.Artifact().Cat(0, artifact.ToEnd)
	_, _ = text.WriteTo(os.Stdout)
	// Output:
	// 110 <nil>
	// 0123456789
	// 012345678
	// [90 bytes are missing from here on: the store's quota of 20 bytes is used up]
}

// Ask a JSON document; one that is none is still text.
func ExampleArtifact_JSON() {
	store, turn := open(artifact.Options{})
	defer store.Close()
	ctx := context.Background()
	a := put(turn, artifact.KindItems, `{"path":"a.go","size":120}`+"\n"+`{"path":"b.go","size":7}`+"\n")
	doc, err := a.JSON(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	small, _ := doc.Filter(ctx, "$", "@.size < 100")
	text, _ := json.Marshal(small)
	fmt.Println(string(text))

	bad, err := turn.Create(artifact.Spec{ID: "call_1", Kind: artifact.KindJSON})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.WriteString(bad, "{\n  \"a\": 1,\n}\n")
	_ = bad.Close()
	_, err = bad.Artifact().JSON(ctx)
	fmt.Println(errors.Is(err, artifact.ErrNotJSON), err)
	rows, _ := bad.Artifact().LineCount()
	fmt.Println(rows, "lines")
	// Output:
	// [{"path":"b.go","size":7}]
	// true call_1: is not valid JSON: line 3: invalid character '}' looking for beginning of object key string; it can still be read as text
	// 3 lines
}

// List what is in a Markdown document.
func ExampleArtifact_Markdown() {
	store, turn := open(artifact.Options{})
	defer store.Close()
	a := put(turn, artifact.KindMarkdown, "---\ntitle: Notes\n---\n# One\n\nSee [this](https://a.example).\n\n```sh\nmake test\n```\n")
	doc, err := a.Markdown(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	front, _ := doc.Frontmatter()
	fmt.Println(front["title"])
	fmt.Println(doc.Headings())
	fmt.Println(doc.Links()[0].URL)
	fmt.Print(doc.CodeBlocks("sh")[0].Code)
	// Output:
	// Notes
	// [{1 One 4}]
	// https://a.example
	// make test
}

// Media is not text, and cannot be written into a history before it was saved.
func ExampleMedia() {
	store, turn := open(artifact.Options{})
	defer store.Close()
	m, err := turn.AddMedia("logo.png", "", artifact.Bytes([]byte("\x89PNG\r\n\x1a\n")))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.MIME())
	_, err = json.Marshal(m)
	fmt.Println(errors.Is(err, artifact.ErrNotDescribable))
	m.MarkSaved("out/logo.png")
	_, err = json.Marshal(m)
	fmt.Println(err)
	// Output:
	// image/png
	// true
	// <nil>
}
