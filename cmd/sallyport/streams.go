package main

import (
	"errors"
	"io"
	"os"
)

// A stream of ours that is a file on a disk does not reach the command as it is. With the descriptor the command could
// change the file's mode and times, and truncate a log that it was to append to, past every rule of the policy. It
// gets a pipe instead.

// onDisk says whether a stream is a file or a disk, with contents that stay. A terminal, a pipe and a device such as
// /dev/null are not.
func onDisk(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	mode := info.Mode()
	return mode.IsRegular() || mode&os.ModeDevice != 0 && mode&os.ModeCharDevice == 0
}

// throughPipe is a file that is written to by us and not by the command: what is no *os.File, package shell serves by a
// pipe.
type throughPipe struct{ file *os.File }

func (p *throughPipe) Write(b []byte) (int, error) { return p.file.Write(b) }

// commandOutputs are what the command gets as standard output and standard error. When both are one file, both are one
// writer, so that what is written stays in order.
func commandOutputs(out, err *os.File) (stdout, stderr io.Writer) {
	stdout, stderr = out, err
	if onDisk(out) {
		stdout = &throughPipe{out}
	}
	if onDisk(err) {
		stderr = &throughPipe{err}
		if sameFile(out, err) {
			stderr = stdout
		}
	}
	return stdout, stderr
}

func sameFile(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// feeder is our standard input on its way to the command.
type feeder struct {
	file    *os.File // ours
	command *os.File // what the command gets
	write   *os.File // our end of the pipe; nil when the command gets the file itself
	start   int64    // where the file stood
	given   int64    // bytes that went into the pipe
	done    chan struct{}
}

// feed prepares standard input. A directory is refused: whoever holds it open can read past what covers its parts.
func feed(file *os.File) (*feeder, error) {
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, &trouble{text: "standard input is a directory", hint: "name it with --allow-read, or redirect a file"}
	}
	f := &feeder{file: file, command: file, done: make(chan struct{})}
	if !onDisk(file) {
		close(f.done)
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
