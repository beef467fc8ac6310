package artifact

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultEncoding is the encoding of an estimate when none is named.
const DefaultEncoding = "o200k_base"

// Samples of a long text: this many pieces of this many bytes, evenly apart. Shorter texts are read whole.
const (
	samples     = 64
	sampleBytes = 16 << 10
)

// weights says what a piece of text costs in an encoding, in tokens. They were fitted once to English, source code, JSON,
// logs, base64, Chinese and Russian, counted with the real encodings; see the test for how far off they are.
type weights struct {
	Name  string
	wide  float64 // a rune of Chinese, Japanese or Korean
	other float64 // any other rune that is not ASCII
	space float64 // a run of spaces longer than one, and each space of it where runs are not merged
	merge bool    // runs of spaces are one token
}

// encodings are those whose estimates are known.
var encodings = []weights{
	{Name: "o200k_base", wide: 0.62, other: 0.27, space: 1, merge: true},
	{Name: "cl100k_base", wide: 1.02, other: 0.43, space: 1, merge: true},
	{Name: "p50k_base", wide: 2.1, other: 1.15, space: 1, merge: true},
	{Name: "r50k_base", wide: 2.1, other: 1.15, space: 1},
}

// EstimateTokens estimates how many tokens the artifact has in an encoding; empty means DefaultEncoding, and one that is not
// known is ErrArgument, naming those that are. It is an estimate: for ordinary text within a third. Of more than a
// megabyte it reads samples.
func (a *Artifact) EstimateTokens(encoding string) (int64, error) {
	if encoding == "" {
		encoding = DefaultEncoding
	}
	i := slices.IndexFunc(encodings, func(w weights) bool { return w.Name == encoding })
	if i < 0 {
		return 0, argument(fmt.Sprintf("encoding %.40q", encoding), "known are "+strings.Join(Encodings(), ", "))
	}
	v, err := a.s.view()
	if err != nil {
		return 0, a.named(err)
	}
	tokens, err := v.tokens(encodings[i])
	return tokens, a.named(err)
}

// Encodings lists the encodings that EstimateTokens knows.
func Encodings() []string {
	var names []string
	for _, w := range encodings {
		names = append(names, w.Name)
	}
	return names
}

// tokens counts pieces, of all of the text or of samples.
func (v view) tokens(w weights) (int64, error) {
	step, count := int64(sampleBytes), (v.all+sampleBytes-1)/sampleBytes
	if count > samples {
		count, step = samples, (v.all-sampleBytes)/(samples-1)
	}
	var tokens float64
	var read int64
	buf := make([]byte, sampleBytes)
	for i := range count {
		n, err := v.ReadAt(buf[:min(sampleBytes, v.all-i*step)], i*step)
		if err != nil && err != io.EOF {
			return 0, err
		}
		read += int64(n)
		tokens += w.count(buf[:n])
	}
	if read == 0 {
		return 0, nil
	}
	return int64(tokens*float64(v.all)/float64(read) + 0.5), nil
}

// class is what a rune is to an encoding.
type class int

const (
	classSpace class = iota
	classNewline
	classLower
	classUpper
	classDigit
	classSign
	classWide
	classOther
)

func classify(r rune) class {
	switch {
	case r == '\n' || r == '\r':
		return classNewline
	case r == ' ' || r == '\t':
		return classSpace
	case 'a' <= r && r <= 'z':
		return classLower
	case 'A' <= r && r <= 'Z':
		return classUpper
	case '0' <= r && r <= '9':
		return classDigit
	case r < utf8.RuneSelf:
		return classSign
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return classWide
	}
	return classOther
}

// count adds up the runs of one class. A word may begin with one capital letter.
func (w weights) count(p []byte) float64 {
	var tokens float64
	was, run := classSpace, 0
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		p = p[n:]
		c := classify(r)
		if c == was || was == classUpper && c == classLower && run == 1 {
			was, run = c, run+1
			continue
		}
		tokens += w.cost(was, run)
		was, run = c, 1
	}
	return tokens + w.cost(was, run)
}

// cost is what a run costs. A single space belongs to the word after it.
func (w weights) cost(c class, run int) float64 {
	n := float64(run)
	switch c {
	case classSpace:
		switch {
		case run < 2:
			return 0
		case w.merge:
			return w.space
		}
		return (n - 1) * w.space
	case classNewline:
		return min(n, 1)
	case classLower:
		return 0.75 + n/20
	case classUpper:
		return 0.5 + n/4
	case classDigit:
		return 0.5 + n/4
	case classSign:
		return 0.4 + n*0.35
	case classWide:
		return n * w.wide
	}
	return n * w.other
}
