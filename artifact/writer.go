package artifact

// Writer writes an artifact. It is safe for use by several goroutines; a call of Write stays in one piece.
type Writer struct {
	a     *Artifact
	store *Store
}

// Artifact is what is written, readable while it is.
func (w *Writer) Artifact() *Artifact { return w.a }

// Write appends p and returns when it is with the kernel. It takes everything: what the disk or the quota has no room for is
// discarded, counted and told at the end, and is no error, since a command is not to be killed by the amount of its
// output. The only error is ErrReleased, after Close or the end of the turn.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.a.s.write(p)
	return n, w.a.named(err)
}

// Final keeps a line that will stand at the end, after the line about missing bytes, also when the disk is full: an exit
// status, a timeout. All of them may have 64 KiB.
func (w *Writer) Final(line string) error { return w.a.named(w.a.s.addFinal(line)) }

// Close ends the artifact and writes its final lines. With a kept store it returns when the entry is on the disk, and an
// error (ErrIO) means that the entry will not be there after the turn; in the turn it can be read all the same. A second call
// does nothing.
func (w *Writer) Close() error {
	if !w.a.s.seal() || w.store.keep == nil {
		return nil
	}
	return w.a.named(w.store.keep.commit(w.a))
}
