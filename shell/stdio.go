package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// stdio holds the descriptors of a command and the goroutines that serve them.
type stdio struct {
	child    []*os.File // what the command gets as 0, 1, 2, …
	close    []*os.File // ours to close once the command has its copies, or on failure
	parent   []*os.File // our ends of pipes that the caller reads or writes; closed by Wait
	output   []func() error
	input    func(result chan<- error)
	results  chan error
	inputErr chan error
	pipes    [3]*os.File // the command's end of StdinPipe, StdoutPipe, StderrPipe
}

// StdinPipe gives a pipe to the command's standard input. Close it to end the input; Wait closes it too.
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if c.Stdin != nil || c.stdio.pipes[0] != nil || c.started {
		return nil, invalid("make a pipe", errors.New("the field Stdin is set already, or the command was started"))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, &Error{Code: CodeFailed, Detail: "make a pipe", Err: err}
	}
	c.stdio.pipes[0] = r
	c.stdio.close = append(c.stdio.close, r)
	c.stdio.parent = append(c.stdio.parent, w)
	return w, nil
}

// StdoutPipe gives a pipe from the command's standard output. Read it to the end before calling Wait, which closes it.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) { return c.outputPipe(1, c.Stdout) }

// StderrPipe gives a pipe from the command's standard error. Read it to the end before calling Wait, which closes it.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) { return c.outputPipe(2, c.Stderr) }

func (c *Cmd) outputPipe(n int, set io.Writer) (io.ReadCloser, error) {
	if set != nil || c.stdio.pipes[n] != nil || c.started {
		return nil, invalid("make a pipe", errors.New("the output is set already, or the command was started"))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, &Error{Code: CodeFailed, Detail: "make a pipe", Err: err}
	}
	c.stdio.pipes[n] = w
	c.stdio.close = append(c.stdio.close, w)
	c.stdio.parent = append(c.stdio.parent, r)
	return r, nil
}

// open prepares the command's descriptors.
func (s *stdio) open(c *Cmd) error {
	stdin, err := s.reader(c.Stdin)
	if err == nil {
		s.child = append(s.child, stdin)
		err = s.writers(c)
	}
	if err != nil {
		s.abort()
		return &Error{Code: CodeFailed, Detail: "open the command's standard files", Err: err}
	}
	if len(c.ExtraFiles) > maxExtraFiles {
		s.abort()
		return invalid("ExtraFiles", fmt.Errorf("%d files are more than the %d that fit into one message to the jail", len(c.ExtraFiles), maxExtraFiles))
	}
	for i, f := range c.ExtraFiles {
		if err := checkExtra(f); err != nil {
			s.abort()
			return invalid(fmt.Sprintf("ExtraFiles[%d]", i), err)
		}
	}
	s.child = append(s.child, c.ExtraFiles...)
	return nil
}

// maxExtraFiles: the kernel takes 253 descriptors in one message, and the standard files and cgroups need some.
const maxExtraFiles = 232

// checkExtra refuses what would hand over more than a file.
func checkExtra(f *os.File) error {
	if f == nil {
		return errors.New("it is nil")
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory: a command could reach everything below it", f.Name())
	}
	return nil
}

func (s *stdio) writers(c *Cmd) error {
	stdout, err := s.writer(1, c.Stdout)
	if err != nil {
		return err
	}
	stderr := stdout
	if c.Stderr == nil || s.pipes[1] != nil || s.pipes[2] != nil || !sameWriter(c.Stdout, c.Stderr) {
		if stderr, err = s.writer(2, c.Stderr); err != nil {
			return err
		}
	}
	s.child = append(s.child, stdout, stderr)
	return nil
}

// sameWriter compares two writers. A type can be comparable and still hold a value that is not, which panics.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}

func (s *stdio) reader(r io.Reader) (*os.File, error) {
	if s.pipes[0] != nil {
		return s.pipes[0], nil
	}
	if r == nil {
		return s.null(os.O_RDONLY)
	}
	if f, ok := r.(*os.File); ok {
		if direct, err := handOver(f); err != nil || direct {
			return f, err
		}
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, pr)
	s.parent = append(s.parent, pw)
	s.input = func(result chan<- error) {
		_, err := io.Copy(pw, r)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
			err = nil // the command ended before it had read everything: its affair
		}
		result <- err // before the pipe closes: a command that ends for it is waited for afterwards
		_ = pw.Close()
	}
	return pr, nil
}

func (s *stdio) writer(n int, w io.Writer) (*os.File, error) {
	if s.pipes[n] != nil {
		return s.pipes[n], nil
	}
	if w == nil {
		return s.null(os.O_WRONLY)
	}
	if f, ok := w.(*os.File); ok {
		if direct, err := handOver(f); err != nil || direct {
			return f, err
		}
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, pw)
	s.parent = append(s.parent, pr)
	s.output = append(s.output, func() error { return drain(pr, w) })
	return pw, nil
}

// handOver says whether a standard file can be handed over as it is. A regular file cannot: through a descriptor of it
// a command can change mode and times, truncate it, and open it anew, past every mount; it gets a pipe. A directory is
// refused: everything below it could be opened through it.
func handOver(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		return false, fmt.Errorf("%s is a directory: a command could reach everything below it", f.Name())
	}
	return !info.Mode().IsRegular(), nil
}

// drain copies a stream to its writer. When the writer fails, the stream is still read to its end: the command must
// not block on a full pipe for it.
func drain(r io.Reader, w io.Writer) error {
	_, err := io.Copy(w, r)
	if err != nil {
		_, _ = io.Copy(io.Discard, r)
	}
	if errors.Is(err, os.ErrClosed) {
		return nil // Wait gave up after WaitDelay, and says so itself
	}
	return err
}

func (s *stdio) null(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		s.close = append(s.close, f)
	}
	return f, err
}

// start closes the command's ends and begins copying.
func (s *stdio) start() {
	closeAll(s.close)
	s.close = nil
	s.results = make(chan error, len(s.output))
	for _, copyOut := range s.output {
		go func() { s.results <- copyOut() }()
	}
	s.inputErr = make(chan error, 1)
	if s.input != nil {
		go s.input(s.inputErr)
	}
}

// finish joins the goroutines that write output, for at most delay when it is not zero. One that still reads the
// caller's Stdin is not waited for: only the caller's reader can end that.
func (s *stdio) finish(delay time.Duration) error {
	defer closeAll(s.parent)
	var late <-chan time.Time
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		late = timer.C
	}
	var first error
	for range s.output {
		select {
		case err := <-s.results:
			if first == nil {
				first = err
			}
		case <-late:
			return &Error{Code: CodeFailed, Detail: "write the command's output", Err: errors.New("the writer was not done within WaitDelay")}
		}
	}
	select {
	case err := <-s.inputErr:
		if first == nil && err != nil {
			first = fmt.Errorf("read the command's input: %w", err)
		}
	default: // still reading
	}
	return first
}

// abort gives everything back when the command could not be started.
func (s *stdio) abort() {
	closeAll(s.close)
	closeAll(s.parent)
	s.close, s.parent = nil, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // a pipe's end: nothing is buffered, nothing can be lost
	}
}
