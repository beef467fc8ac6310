package seek

import (
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
)

// directory is one that is still to be looked into.
type directory struct {
	rel   string // from where the search begins; "" is there
	depth int
	above *level // of the directory that it is in
}

// walker hands directories out to workers. The last ones found come first, so that few wait.
type walker struct {
	mu      sync.Mutex
	wake    sync.Cond
	queue   []directory
	working int
}

// walk looks into every directory, with a worker a processor, and returns when there is none left.
func (s *search) walk(first directory) {
	w := &walker{queue: []directory{first}}
	w.wake.L = &w.mu
	var done sync.WaitGroup
	for range max(1, min(runtime.GOMAXPROCS(0), 12)) {
		done.Go(func() {
			buffer := &lineBuffer{}
			for {
				d, ok := w.take()
				if !ok {
					return
				}
				w.finish(s.look(d, buffer))
			}
		})
	}
	done.Wait()
}

// take waits for a directory; false says that all have been looked into.
func (w *walker) take() (directory, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && w.working > 0 {
		w.wake.Wait()
	}
	if len(w.queue) == 0 {
		return directory{}, false
	}
	last := len(w.queue) - 1
	d := w.queue[last]
	w.queue = w.queue[:last]
	w.working++
	return d, true
}

func (w *walker) finish(found []directory) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, found...)
	w.working--
	w.wake.Broadcast()
}

// look visits the files of a directory, and gives the directories in it.
func (s *search) look(d directory, buffer *lineBuffer) (found []directory) {
	f, err := os.OpenFile(path.Join(".", d.rel), os.O_RDONLY|openFlags, 0)
	if err != nil {
		s.complain(err)
		return nil
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		s.complain(err)
	}
	var here *level
	if !s.NoIgnore && s.Only == "" {
		here = s.newLevel(d.above, path.Join(s.cwd, d.rel), func(name string) bool { return has(entries, name) })
	}
	for _, e := range entries {
		rel := e.Name()
		if d.rel != "" {
			rel = d.rel + "/" + rel
		}
		switch {
		case s.skipped(here, rel, e):
		case e.IsDir():
			if s.MaxDepth == nil || d.depth < *s.MaxDepth {
				found = append(found, directory{rel: rel, depth: d.depth + 1, above: here})
			}
		case e.Type().IsRegular():
			s.file(rel, buffer)
		}
	}
	return found
}

func has(entries []iofs.DirEntry, name string) bool {
	for _, e := range entries {
		if e.Name() == name {
			return true
		}
	}
	return false
}

// skipped says whether a name is passed over: for a glob, then for an ignore file, then for being hidden.
func (s *search) skipped(here *level, rel string, e iofs.DirEntry) bool {
	if s.Only != "" {
		return rel != s.Only
	}
	if v := s.globs.decide(rel, e.IsDir()); v != nothing {
		return v == ignored
	}
	if v := here.decide(s.cwd+"/"+rel, e.IsDir()); v != nothing {
		return v == ignored
	}
	return !s.Hidden && strings.HasPrefix(e.Name(), ".")
}
