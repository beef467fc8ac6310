package main

import (
	"errors"
	"io"
	"os"
)

// regular says whether a stream is a file with contents that stay. Package shell hands such a file on as a pipe: with the
// descriptor itself a command could change the file's mode and times, and truncate a log that it was to append to.
func regular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// commandOutputs are what the command gets as standard output and standard error. When both are one file, both are one
// writer, so that one pipe serves both and what is written stays in order.
func commandOutputs(out, err *os.File) (stdout, stderr io.Writer) {
	if regular(out) && sameFile(out, err) {
		return out, out
	}
	return out, err
}

func sameFile(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// feeder is our standard input on its way to the command. It is here, and not left to package shell, because only the
// program knows that somebody else may go on reading the same file.
type feeder struct {
	file    *os.File // ours
	command *os.File // what the command gets
	write   *os.File // our end of the pipe; nil when the command gets the file itself
	start   int64    // where the file stood
	given   int64    // bytes that went into the pipe
	done    chan struct{}
}

// feed prepares standard input.
func feed(file *os.File) (*feeder, error) {
	f := &feeder{file: file, command: file, done: make(chan struct{})}
	if !regular(file) {
		return f, nil
	}
	var err error
	if f.command, f.write, err = os.Pipe(); err != nil {
		return nil, &trouble{text: "a pipe for standard input", err: err}
	}
	if f.start, err = file.Seek(0, io.SeekCurrent); err != nil {
		return nil, errors.Join(&trouble{text: "standard input", err: err}, f.write.Close(), f.command.Close())
	}
	go func() {
		defer close(f.done)
		// An error of reading ends the input; the end of the pipe's other side ends the copying.
		f.given, _ = io.Copy(struct{ io.Writer }{f.write}, struct{ io.Reader }{file})
		_ = f.write.Close()
	}()
	return f, nil
}

// end is called when the command and everything it started are gone. It puts the file back to where the command stopped
// reading, as if the command had read it itself: the lines after it belong to whoever runs us in a loop over a file.
func (f *feeder) end() error {
	if f.write == nil {
		return nil
	}
	_ = f.write.Close() // ends a copying that waits for room
	<-f.done
	left, err := io.Copy(io.Discard, f.command)
	if err == nil {
		_, err = f.file.Seek(f.start+f.given-left, io.SeekStart)
	}
	return errors.Join(err, f.command.Close())
}
