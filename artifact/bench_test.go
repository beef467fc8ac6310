package artifact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"
)

// BenchmarkSpool writes 256 MB in pieces of 32 KiB, to a store and to a plain file in the same directory. Both end when the
// bytes are with the kernel.
func BenchmarkSpool(b *testing.B) {
	const size = 256 << 20
	line := bytes.Repeat([]byte("x"), 79)
	chunk := bytes.Repeat(append(line, '\n'), 32<<10/80)
	run := func(b *testing.B, open func() (io.Writer, func())) {
		b.SetBytes(size)
		for b.Loop() {
			w, done := open()
			for n := 0; n < size; n += len(chunk) {
				if _, err := w.Write(chunk); err != nil {
					b.Fatal(err)
				}
			}
			done()
		}
	}
	dir := b.TempDir()
	b.Run("file", func(b *testing.B) {
		run(b, func() (io.Writer, func()) {
			f, err := os.CreateTemp(dir, "x")
			if err != nil {
				b.Fatal(err)
			}
			return struct{ io.Writer }{f}, func() { _, _ = f.Close(), os.Remove(f.Name()) }
		})
	})
	b.Run("store", func(b *testing.B) {
		store, err := Open(Options{Temp: dir})
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close()
		run(b, func() (io.Writer, func()) {
			turn, err := store.Turn()
			if err != nil {
				b.Fatal(err)
			}
			w, err := turn.Create(Spec{})
			if err != nil {
				b.Fatal(err)
			}
			return w, func() { _ = w.Close(); turn.Release() }
		})
	})
}

// BenchmarkShort is what an artifact of a few lines costs: made, written, closed, asked for its head, released.
func BenchmarkShort(b *testing.B) {
	for name, o := range map[string]Options{"nameless": {Temp: b.TempDir()}, "kept": {Dir: b.TempDir() + "/kept"}} {
		b.Run(name, func(b *testing.B) {
			store, err := Open(o)
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			for b.Loop() {
				turn, _ := store.Turn()
				w, err := turn.Create(Spec{})
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.WriteString(w, "one\ntwo\nthree\n")
				_ = w.Close()
				text, _ := w.Artifact().Head(2)
				if p, err := text.Bytes(); err != nil || len(p) != 8 {
					b.Fatal(err)
				}
				turn.Release()
			}
		})
	}
}

// gigabyte is an artifact of 1 GB in lines of 20 to 180 bytes.
func gigabyte(b *testing.B) *Artifact {
	w := create(b, newTurn(b, Options{}), Spec{})
	var chunk bytes.Buffer
	for i := 0; chunk.Len() < 1<<20; i++ {
		fmt.Fprintf(&chunk, "%08d %s\n", i, bytes.Repeat([]byte("abc def "), 1+i%20))
	}
	for range 1 << 30 / chunk.Len() {
		if _, err := w.Write(chunk.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := io.WriteString(w, "the needle of this haystack\n"); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return w.Artifact()
}

// BenchmarkGigabyte asks an artifact of 1 GB. The aim for a head, a tail and a range is 5 ms.
func BenchmarkGigabyte(b *testing.B) {
	if testing.Short() {
		b.Skip("it writes a gigabyte")
	}
	a := gigabyte(b)
	rows, err := a.LineCount()
	if err != nil {
		b.Fatal(err)
	}
	at := int64(0)
	for _, q := range []struct {
		name string
		ask  func() (Text, error)
	}{
		{"head", func() (Text, error) { return a.Head(DefaultLines) }},
		{"tail", func() (Text, error) { return a.Tail(DefaultLines) }},
		{"range", func() (Text, error) {
			at = (at + 7_654_321) % (rows - 100)
			return a.Cat(at, at+100)
		}},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				text, err := q.ask()
				if err == nil {
					_, err = text.WriteTo(io.Discard)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("tokens", func(b *testing.B) {
		for b.Loop() {
			if _, err := a.EstimateTokens(""); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, pattern := range map[string]string{"literal": "needle", "expression": `n[e]+dle\s+of`, "no literal": `[x-z]{3}`} {
		b.Run("grep "+name, func(b *testing.B) {
			b.SetBytes(1 << 30)
			for b.Loop() {
				if err := a.Grep(context.Background(), pattern, "", func(Match) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDocuments reads a megabyte of JSON and of Markdown.
func BenchmarkDocuments(b *testing.B) {
	ctx := context.Background()
	items := closed(b, KindItems, string(bytes.Repeat([]byte(`{"kind":"item","path":"a/b/c.go","line":12,"text":"some text"}`+"\n"), 1<<20/64)))
	document := closed(b, KindMarkdown, string(bytes.Repeat([]byte("# Heading\n\nSome *text* with a [link](x).\n\n- one\n- two\n\n```go\ncode\n```\n\n"), 1<<20/75)))
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			j, err := items.JSON(ctx)
			if err == nil {
				_, err = j.Filter(ctx, "", "@.line > 12")
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("markdown", func(b *testing.B) {
		for b.Loop() {
			m, err := document.Markdown(ctx)
			if err != nil || len(m.Headings()) == 0 {
				b.Fatal(err)
			}
		}
	})
}
