package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"maps"
	"slices"
	"sync"

	"sallyport/artifact"
	"sallyport/fs"
)

// media is a staged file, or what was made of one. It is as long there as the turn.
type media struct {
	*artifact.Media
	MediaHandle
	source *source
}

// source is where media come from: a file, opened and judged anew for each reading (R224), or bytes.
type source struct {
	mu   sync.Mutex
	from artifact.Source
}

func (s *source) now() artifact.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from
}

// Open opens it for one reading.
func (s *source) Open() (io.ReadCloser, error) { return s.now().Open() }

// Size is its length now.
func (s *source) Size() (int64, error) { return s.now().Size() }

// pin has every later reading give these bytes.
func (s *source) pin(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = artifact.Bytes(b)
}

// stageFile is stage_file. The file is judged now and each time it is read; its bytes stay where they are (R221).
func stageFile(r *Registry, _ context.Context, c *call) (Result, error) {
	var args pathArgs
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	clean, err := fs.Clean(args.Path)
	if err != nil {
		return Result{}, r.unusable(c, args.Path, err)
	}
	m, err := c.turn.stage(clean, r.options.Trust, artifact.File(func() (iofs.File, error) { return r.openFile(clean) }))
	if err != nil {
		return Result{}, r.unusable(c, args.Path, err)
	}
	return Result{Media: &m.MediaHandle}, nil
}

// stage adds media to the turn. Its type is told from its first bytes, and nothing stays open (D11).
func (t *turn) stage(name string, trust Trust, from artifact.Source) (*media, error) {
	src := &source{from: from}
	size, err := src.Size()
	if err != nil {
		return nil, err
	}
	made, err := t.outputs.addMedia(name, src)
	if err != nil {
		return nil, err
	}
	m := &media{Media: made, source: src, MediaHandle: MediaHandle{ID: made.ID(), Path: name, MIME: made.MIME(), Bytes: size, Trust: trust}}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.media == nil {
		t.media = map[string]*media{}
	}
	t.media[m.MediaHandle.ID], t.tools = m, nil
	return m, nil
}

// medium finds media by its id.
func (t *turn) medium(id string) (*media, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.media[id]
	return m, ok
}

// Media gives media of this turn, for a program that shows it or writes it into a history: it cannot be encoded before it was saved (R223).
func (r *Registry) Media(id string) (*artifact.Media, bool) {
	r.turns.mu.Lock()
	now := r.turns.now
	r.turns.mu.Unlock()
	m, ok := now.medium(id)
	if !ok {
		return nil, false
	}
	return m.Media, true
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
	from, err := m.source.Open()
	if err != nil {
		return Result{}, r.unusable(c, m.MediaHandle.Path, err)
	}
	defer from.Close()
	n, err := r.workspace.Save(clean, reader{ctx, from})
	if err != nil {
		return Result{}, r.unusable(c, args.Path, err)
	}
	m.MarkSaved(clean)
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
	from, err := m.source.Open()
	if err != nil {
		return p, err
	}
	if p.New, p.TooLong, err = readShort(from); err != nil || p.TooLong {
		return p, err
	}
	m.source.pin(p.New)
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

// mostEdited bounds all the edits of a turn together: no gate is asked about them, and each is in memory until the turn ends.
// What one takes besides its bytes is counted too, so that there are not endlessly many.
const (
	mostEdited = 64 << 20
	editBytes  = 4 << 10
)

// room takes so many bytes for one edit, when there are as many left.
func (t *turn) room(n int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.edited+n+editBytes > mostEdited {
		return false
	}
	t.edited += n + editBytes
	return true
}

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
	from, err := m.source.Open()
	if err != nil {
		return Result{}, r.unusable(c, m.MediaHandle.Path, err)
	}
	whole, err := io.ReadAll(io.LimitReader(from, longestEdit+1))
	if err = errors.Join(err, from.Close()); err != nil {
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: m.MediaHandle.Path}, err)
	}
	if len(whole) > longestEdit {
		return Result{}, r.fail(c, Facts{Outcome: OverBudget, Input: m.MediaHandle.Path, Note: "media of up to 16 MiB can be edited"}, nil)
	}
	if n := bytes.Count(whole, []byte(args.Old)); n != 1 {
		return Result{}, r.fail(c, Facts{Outcome: InvalidPattern, Input: args.Old, Note: fmt.Sprintf("it is there %d times, and has to be there once", n)}, nil)
	}
	if !c.turn.room(int64(len(whole) - len(args.Old) + len(args.New))) {
		return Result{}, r.fail(c, Facts{Outcome: OverBudget, Input: m.MediaHandle.Path, Note: "the edits of one turn can have 64 MiB in all"}, nil)
	}
	edited := bytes.Replace(whole, []byte(args.Old), []byte(args.New), 1)
	made, err := c.turn.stage(m.MediaHandle.Path, Untrusted, artifact.Bytes(edited))
	if err != nil {
		return Result{}, r.unusable(c, m.MediaHandle.Path, err)
	}
	return Result{Media: &made.MediaHandle}, nil
}
