package search

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxRecord bounds one record, in bytes, and so the memory that a search takes here: a line of 64 MiB, written as JSON.
const maxRecord = 128 << 20

// read reads records until the output ends, or one more is not wanted.
func (w *work) read(out io.Reader) error {
	r := bufio.NewReaderSize(out, 64<<10)
	end, take := byte(0), w.takeName
	if w.wire.Lines {
		end, take = '\n', w.takeMessage
	}
	var record []byte
	for {
		record = record[:0]
		for {
			piece, err := r.ReadSlice(end)
			record = append(record, piece...)
			if err == nil {
				break
			}
			switch {
			case len(record) > maxRecord:
				return &Error{Kind: ErrFailed, Detail: "a line that matches is too long"}
			case errors.Is(err, bufio.ErrBufferFull):
			case errors.Is(err, io.EOF):
				return nil // what is left, if anything, is half a record of a process that was killed
			default:
				return &Error{Kind: ErrFailed, Detail: "read what the process found", Err: err}
			}
		}
		if err := take(record[:len(record)-1]); err != nil {
			return err
		}
		if cap(record) > 1<<20 {
			record = nil // the long line is the caller's now
		}
	}
}

func (w *work) takeName(name []byte) error { return w.give(Match{Path: string(name)}) }

// text is a piece of a message: as it is, or where it is no UTF-8 in base64.
type text struct {
	Text  string `json:"text"`
	Bytes []byte `json:"bytes"`
}

func (t text) String() string {
	if t.Bytes != nil {
		return string(t.Bytes)
	}
	return t.Text
}

// message is what is needed of one.
type message struct {
	Data struct {
		Path       text `json:"path"`
		Lines      text `json:"lines"`
		LineNumber int  `json:"line_number"`
	} `json:"data"`
}

// Every message tells its type first, but the last one, which tells it at the end.
var (
	matchStart = []byte(`{"type":"match",`)
	summaryEnd = []byte(`"type":"summary"}`)
)

func (w *work) takeMessage(record []byte) error {
	if !bytes.HasPrefix(record, matchStart) {
		w.summary = w.summary || bytes.HasSuffix(record, summaryEnd)
		return nil
	}
	var m message
	if err := json.Unmarshal(record, &m); err != nil {
		return &Error{Kind: ErrFailed, Detail: "read what the process found", Err: err}
	}
	line := m.Data.Lines.String()
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	return w.give(Match{Path: m.Data.Path.String(), Line: m.Data.LineNumber, Text: line})
}
