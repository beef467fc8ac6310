package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/artifact"
	"sallyport/gate"
)

// record is a list that several goroutines write to.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *record) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

// approve is a gate for tests; no such thing is exported.
func approve(context.Context, gate.Call) (gate.Verdict, error) {
	return gate.Verdict{Approved: true}, nil
}

// object makes arguments.
func args(t testing.TB, fields map[string]any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(fields)
	require.NoError(t, err)
	return b
}

// good is one call of each tool that its schema takes.
var good = map[string]string{
	RunShellCommand: `{"command":"true"}`, OpenFile: `{"path":"a"}`, OpenJSONFile: `{"path":"a"}`, OpenMarkdownFile: `{"path":"a"}`,
	StageFile: `{"path":"a"}`, SaveMedia: `{"media_id":"m","path":"a"}`, ListDirectory: `{"path":""}`, SearchFiles: `{"pattern":"x"}`,
	FindFiles: `{"glob":"*"}`, EvaluateJavaScript: `{"source":"1"}`,
}

// traced makes a registry of all ten tools, none of which does anything but write its name to the record after the gate has.
func traced(t *testing.T, ask gate.Func, o Options) (*Registry, *record) {
	t.Helper()
	log := &record{}
	o.Gate = func(ctx context.Context, c gate.Call) (gate.Verdict, error) {
		log.add("gate " + c.Tool)
		return ask(ctx, c)
	}
	r := &Registry{options: o, prefix: "t"}
	r.keepIn(&memory{})
	require.NoError(t, r.make(definitions()))
	for _, made := range r.tools {
		made.run = func(_ *Registry, ctx context.Context, c *call) (Result, error) {
			log.add("run " + c.tool.Name)
			return Result{Text: "done"}, nil
		}
	}
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, log
}

// memory keeps artifacts in memory: what a test looks at afterwards, and what can be made to fail.
type memory struct {
	mu    sync.Mutex
	made  map[string]*kept
	fail  error          // of create
	write error          // of the artifacts
	slow  time.Duration  // a write takes so long, and of what is written only the number of bytes is kept
	real  *artifact.Turn // of the media
}

// keepIn has a registry keep its artifacts in memory, from now on.
func (r *Registry) keepIn(m *memory) {
	r.newOutputs = func() (outputs, error) { return m, nil }
	r.turns.now = newTurn(m)
}

// kept is one artifact in memory.
type kept struct {
	mu       sync.Mutex
	of       *memory
	b        bytes.Buffer
	ended    bool
	released bool
	dropped  int64
}

func (m *memory) release() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.real != nil {
		m.real.Release()
	}
	m.real = nil
	return nil
}

func (m *memory) addMedia(name string, from artifact.Source) (*artifact.Media, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.real == nil {
		store, err := artifact.Open(artifact.Options{})
		if err != nil {
			return nil, err
		}
		if m.real, err = store.Turn(); err != nil {
			return nil, err
		}
	}
	return m.real.AddMedia(name, "", from)
}

func (m *memory) create(id, _ string, _ artifact.Kind) (output, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, m.fail
	}
	if m.made == nil {
		m.made = map[string]*kept{}
	}
	m.made[id] = &kept{of: m}
	return m.made[id], nil
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of.write != nil {
		return 0, k.of.write
	}
	if k.of.slow > 0 {
		time.Sleep(k.of.slow)
		k.dropped += int64(len(p))
		return len(p), nil
	}
	return k.b.Write(p)
}

func (k *kept) end(lines []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	for _, l := range lines {
		if b := k.b.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
			k.b.WriteByte('\n')
		}
		k.b.WriteString(l + "\n")
	}
	return k.of.write
}

func (k *kept) size() (int64, int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return int64(k.b.Len()) + k.dropped, int64(bytes.Count(k.b.Bytes(), []byte("\n")))
}

func (k *kept) query(context.Context, answer, queryArgs) (string, error) { return k.text(), nil }

func (k *kept) open() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(k.text())), nil }

func (k *kept) release() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.released {
		return errors.New("released twice")
	}
	k.released = true
	return nil
}

func (k *kept) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.String()
}

// files makes files below a directory; a name that ends in a slash is a directory.
func files(t testing.TB, dir string, contents map[string]string) {
	t.Helper()
	for name, content := range contents {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if name[len(name)-1] == '/' {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}
