package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"sallyport/fs"
)

// media is a staged file, or what was made of one. It is as long there as the turn.
type media struct {
	MediaHandle

	mu sync.Mutex
	// open opens it for one reading. A staged file is opened anew, and judged anew, each time (R224).
	open func() (io.ReadCloser, error)
}

func (m *media) reader() (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open()
}

// pin has every later reading give these bytes.
func (m *media) pin(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
}

// stageFile is stage_file. The file is judged now and each time it is read; its bytes stay where they are (R221).
func stageFile(r *Registry, _ context.Context, c *call) (Result, error) {
	var args pathArgs
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	f, err := r.workspace.Open(args.Path)
	if err != nil {
		return Result{}, r.unusable(c, args.Path, err)
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil { // opened once, closed at once (D11)
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, err)
	}
	clean, err := fs.Clean(args.Path)
	if err != nil {
		return Result{}, r.unusable(c, args.Path, err)
	}
	m := &media{MediaHandle: MediaHandle{ID: c.id, Path: clean, Bytes: info.Size(), Trust: r.options.Trust}}
	m.open = func() (io.ReadCloser, error) { return r.workspace.Open(clean) }
	c.turn.stage(m)
	return Result{Media: &m.MediaHandle}, nil
}

// stage adds media to the turn.
func (t *turn) stage(m *media) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.media == nil {
		t.media = map[string]*media{}
	}
	t.media[m.ID], t.tools = m, nil
}

// medium finds media by its id.
func (t *turn) medium(id string) (*media, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.media[id]
	return m, ok
}

// saveMedia is save_media.
func saveMedia(r *Registry, ctx context.Context, c *call) (Result, error) {
	var args struct {
		MediaID string `json:"media_id"`
		Path    string `json:"path"`
	}
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	m, ok := c.turn.medium(args.MediaID)
	if !ok {
		return Result{}, r.fail(c, Facts{Outcome: UnknownMedia, Input: args.MediaID}, nil)
	}
	clean, err := fs.Clean(args.Path)
	if err != nil {
		return Result{}, r.unusable(c, args.Path, err)
	}
	from, err := m.reader()
	if err != nil {
		return Result{}, r.unusable(c, m.Path, err)
	}
	defer from.Close()
	n, err := r.workspace.Save(clean, reader{ctx, from})
	if err != nil {
		return Result{}, r.unusable(c, args.Path, err)
	}
	return Result{Text: fmt.Sprintf("Saved %s (%d bytes)", clean, n)}, nil
}

// Preview is what save_media would change: the file as it is, and as it would be.
type Preview struct {
	Path     string
	Old, New []byte
	// Absent: there is no such file, or it may not be read.
	Absent bool
	// TooLong: one of them is longer than anybody can judge by looking at it, and neither is here.
	TooLong bool
}

// longestPreview bounds what is read for a preview, of each side. What is longer cannot be judged by looking at it.
const longestPreview = 1 << 20

// Preview says what a save_media of these arguments would change, for a gate that shows it. It reads both files as the
// tool would. From then on the media is what was shown, whatever becomes of the file that it was staged from: somebody
// may approve it.
func (r *Registry) Preview(mediaID, name string) (Preview, error) {
	t, err := r.begin()
	if err != nil {
		return Preview{}, err
	}
	defer t.running.Done()
	p := Preview{Path: name}
	m, ok := t.medium(mediaID)
	if !ok {
		return p, fmt.Errorf("there is no media %q", mediaID)
	}
	from, err := m.reader()
	if err != nil {
		return p, err
	}
	if p.New, p.TooLong, err = readShort(from); err != nil || p.TooLong {
		return p, err
	}
	m.pin(p.New)
	old, err := r.workspace.Open(name)
	if err != nil {
		p.Absent = true
		return p, nil
	}
	p.Old, p.TooLong, err = readShort(old)
	return p, err
}

// readShort reads a file whole and closes it.
func readShort(f io.ReadCloser) (b []byte, tooLong bool, err error) {
	b, err = io.ReadAll(io.LimitReader(f, longestPreview+1))
	if err = errors.Join(err, f.Close()); err != nil || len(b) > longestPreview {
		return nil, err == nil, err
	}
	return b, false, nil
}

// MediaReplace is the tool with which staged text is edited. It is there only as long as the turn has media, changes nothing on disk,
// and what it gives is media again (R222).
const MediaReplace = "media_replace"

// editor makes the tool that edits the media of the turn.
func (t *turn) editor() *tool {
	ids := slices.Sorted(maps.Keys(t.media))
	schema := object(need("media_id", oneOf("The id of the media.", ids)), need("old", filled("The text to replace; it has to be there exactly once.")),
		need("new", text("What to put in its place.")))
	check, err := newChecker(MediaReplace, schema)
	if err != nil {
		panic(err) // the schema is ours, and a test makes it
	}
	return &tool{args: check, run: replaceInMedia, Tool: Tool{
		Name: MediaReplace, Title: "Replace text in media", Schema: schema, Tier: Evaluator, ReadOnly: true,
		Description: "Makes new media of staged text, with one text replaced. Nothing on disk changes until it is saved.",
	}}
}

// longestEdit bounds media that are edited: they are in memory until they are saved.
const longestEdit = 16 << 20

// replaceInMedia is media_replace.
func replaceInMedia(r *Registry, _ context.Context, c *call) (Result, error) {
	var args struct {
		MediaID string `json:"media_id"`
		Old     string `json:"old"`
		New     string `json:"new"`
	}
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	m, ok := c.turn.medium(args.MediaID)
	if !ok {
		return Result{}, r.fail(c, Facts{Outcome: UnknownMedia, Input: args.MediaID}, nil)
	}
	from, err := m.reader()
	if err != nil {
		return Result{}, r.unusable(c, m.Path, err)
	}
	whole, err := io.ReadAll(io.LimitReader(from, longestEdit+1))
	if err = errors.Join(err, from.Close()); err != nil {
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: m.Path}, err)
	}
	if len(whole) > longestEdit {
		return Result{}, r.fail(c, Facts{Outcome: OverBudget, Input: m.Path, Note: "media of up to 16 MiB can be edited"}, nil)
	}
	if n := bytes.Count(whole, []byte(args.Old)); n != 1 {
		return Result{}, r.fail(c, Facts{Outcome: InvalidPattern, Input: args.Old, Note: fmt.Sprintf("it is there %d times, and has to be there once", n)}, nil)
	}
	edited := bytes.Replace(whole, []byte(args.Old), []byte(args.New), 1)
	made := &media{MediaHandle: MediaHandle{ID: c.id, Path: m.Path, Bytes: int64(len(edited)), Trust: Untrusted}}
	made.pin(edited)
	c.turn.stage(made)
	return Result{Media: &made.MediaHandle}, nil
}
