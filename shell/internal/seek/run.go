package seek

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

// Query is one search, in the working directory of the process.
type Query struct {
	// Lines says that lines are wanted that match Pattern, in the spelling that the function Pattern gives; otherwise names.
	Lines   bool
	Pattern string
	// Only is the one file of the directory that is searched, whatever else is said. Empty for all.
	Only string
	// MaxDepth is how many levels below the directory are looked into; nil for all.
	MaxDepth *int
	// MaxPerFile ends the search of a file after so many lines; 0 for no bound.
	MaxPerFile int
	// Hidden takes names that begin with a dot, NoIgnore what ignore files say to leave out.
	Hidden, NoIgnore bool
	// Glob and IGlob say which files; IGlob without regard to case.
	Glob, IGlob string
}

// search is a Query at work.
type search struct {
	Query
	cwd   string
	match *matcher
	globs globs

	mu        sync.Mutex // guards what follows
	out, errs io.Writer
	outErr    error
}

// Run searches, and writes what it finds to out: a JSON object a line and a last one of the type "summary", as ripgrep does
// with --json, or names that each end in a NUL, as with --files and --null. What cannot be read is told on errs, a line each. The error is about
// the query or about writing.
func Run(q Query, out, errs io.Writer) error {
	s := &search{Query: q, globs: newGlobs(q.Glob, q.IGlob), out: out, errs: errs}
	var err error
	if q.Lines {
		if s.match, err = newMatcher(q.Pattern); err != nil {
			return err
		}
	}
	if s.cwd, err = os.Getwd(); err != nil {
		return err
	}
	first := directory{}
	if !q.NoIgnore && q.Only == "" {
		first.above = s.levelsAbove(s.cwd)
	}
	s.walk(first)
	if q.Lines {
		s.write([]byte(`{"type":"summary"}` + "\n"))
	}
	return s.outErr
}

// write writes whole records. After the first error nobody is there to read.
func (s *search) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outErr == nil && len(b) > 0 {
		_, s.outErr = s.out.Write(b)
	}
}

func (s *search) name(rel string) { s.write(append(append([]byte("./"), rel...), 0)) }

// complain says that something could not be read: on one line, whatever its name is.
func (s *search) complain(err error) {
	line := bytes.ReplaceAll([]byte(err.Error()), newline, []byte{'?'})
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.errs.Write(append(line, '\n')) // there is nowhere else to say that this failed
}

// text is a piece of output: as it is, or where it is no UTF-8 in base64.
type text struct {
	Text  *string `json:"text,omitempty"`
	Bytes []byte  `json:"bytes,omitempty"`
}

func textOf(b []byte) text {
	if utf8.Valid(b) {
		s := string(b)
		return text{Text: &s}
	}
	return text{Bytes: b}
}

type message struct {
	Type string `json:"type"`
	Data struct {
		Path       text `json:"path"`
		Lines      text `json:"lines"`
		LineNumber int  `json:"line_number"`
	} `json:"data"`
}

func appendMatch(out []byte, rel string, line []byte, number int) []byte {
	m := message{Type: "match"}
	m.Data.Path, m.Data.Lines, m.Data.LineNumber = textOf([]byte("./"+rel)), textOf(line), number
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // these types can always be written
	}
	return append(append(out, b...), '\n')
}
