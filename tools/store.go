package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// directory keeps artifacts as files of a directory.
type directory struct {
	path string
	own  bool // it was made here, and goes with the registry
}

func openDirectory(path string) (*directory, error) {
	if path != "" {
		return &directory{path: path}, os.MkdirAll(path, 0o700)
	}
	made, err := os.MkdirTemp("", "sallyport-artifacts-*")
	return &directory{path: made, own: true}, err
}

func (d *directory) close() error {
	if !d.own {
		return nil
	}
	return os.RemoveAll(d.path)
}

func (d *directory) create(id string, _ format) (output, error) {
	f, err := os.OpenFile(filepath.Join(d.path, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &file{f: f}, nil
}

// file is an artifact in a file.
type file struct {
	f *os.File

	mu           sync.Mutex
	bytes, lines int64
	last         byte
}

func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.f.Write(p)
	f.bytes += int64(n)
	f.lines += int64(strings.Count(string(p[:n]), "\n"))
	if n > 0 {
		f.last = p[n-1]
	}
	return n, err
}

func (f *file) end(lines []string) error {
	for _, l := range lines {
		f.mu.Lock()
		open := f.bytes > 0 && f.last != '\n'
		f.mu.Unlock()
		if open {
			l = "\n" + l
		}
		if _, err := f.Write([]byte(l + "\n")); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) size() (int64, int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := f.lines
	if f.bytes > 0 && f.last != '\n' {
		lines++
	}
	return f.bytes, lines
}

func (f *file) open() (io.ReadCloser, error) {
	n, _ := f.size()
	return io.NopCloser(io.NewSectionReader(f.f, 0, n)), nil
}

func (f *file) release() error {
	return errors.Join(f.f.Close(), os.Remove(f.f.Name()))
}

func (f *file) query(_ context.Context, name string, raw []byte) (string, error) {
	var args struct {
		N              int64
		Pattern, Flags string
		Start, End     *int64
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return "", err
	}
	bytes, lines := f.size()
	switch name {
	case "artifact_byte_length":
		return strconv.FormatInt(bytes, 10), nil
	case "artifact_line_count":
		return strconv.FormatInt(lines, 10), nil
	case "artifact_estimate_tokens":
		return strconv.FormatInt((bytes+3)/4, 10), nil
	case "artifact_head":
		return f.between(0, args.N, nil)
	case "artifact_tail":
		return f.between(max(0, lines-args.N), lines, nil)
	case "artifact_cat":
		from, to := int64(0), lines
		if args.Start != nil {
			from = *args.Start
		}
		if args.End != nil {
			to = *args.End
		}
		return f.between(from, to, nil)
	case "artifact_grep":
		expr, err := regexp.Compile("(?" + args.Flags + ":" + args.Pattern + ")")
		if err != nil {
			return "", &patternError{args.Pattern, err.Error()}
		}
		return f.between(0, lines, expr)
	}
	return "", errors.ErrUnsupported
}

func (f *file) between(from, to int64, match *regexp.Regexp) (string, error) {
	all, err := f.open()
	if err != nil {
		return "", err
	}
	in := bufio.NewReader(all)
	var b strings.Builder
	for i := int64(0); i < to; i++ {
		line, err := in.ReadString('\n')
		switch {
		case line == "" || i < from:
		case match == nil:
			b.WriteString(line)
		case match.MatchString(strings.TrimSuffix(line, "\n")):
			fmt.Fprintf(&b, "%d:%s", i+1, line)
		}
		if err != nil {
			break
		}
	}
	return b.String(), nil
}
