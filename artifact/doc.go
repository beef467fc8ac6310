// Package artifact keeps whole outputs, and answers questions about them.
//
// Whatever a tool brings back is spooled to disk as it arrives: with bounded memory and no cap. What a model is shown
// is a handle, and it asks the artifact behind it for a head, a tail, some lines or what a pattern matches.
//
//	store, err := artifact.Open(artifact.Options{})
//	turn := store.Turn()
//	w, err := turn.Create(artifact.Spec{Kind: artifact.KindText})
//	io.Copy(w, output)              // readable from the first byte on
//	err = w.Close()
//	text, err := w.Artifact().Tail(10)
//	turn.Release()                  // the handles end with the turn, and the bytes with them
//
// # Writing
//
// [Writer.Write] returns when the bytes are with the kernel, so that a slow disk slows the writer and nothing piles up.
// It never fails because there is too much: the command behind it would be killed by that. When the disk is full, or
// the store's quota is used up, or the disk fails, the rest is discarded and counted, and the last lines of the artifact
// say how many bytes are missing and why. Lines that are given to [Writer.Final] are not lost then.
//
// # Handles
//
// A handle is valid until its turn is released, and only in its turn. Ids are random and cannot be guessed; a caller may
// give its own, and one that is taken is [ErrCollision]. Results of queries are plain values: a query cannot be asked of
// them.
//
// # Queries
//
// Every artifact has [Artifact.Head], [Artifact.Tail], [Artifact.Cat], [Artifact.Grep], [Artifact.ByteLength],
// [Artifact.LineCount] and [Artifact.EstimateTokens]. They work while the artifact is written, and on what was there
// when they began. A line is what ends with "\n", or the rest after the last one; text is never changed, so a CR stays.
// Lines are numbered from 0 in Cat, which takes a half-open range, and from 1 in what Grep finds, as editors do.
//
// Every artifact can be read as JSON ([Artifact.JSON]) or as Markdown ([Artifact.Markdown]) too, if it is that. One that is
// not stays text: the error is [ErrNotJSON], and the seven queries above go on working. These two hold the whole document in
// memory, and so have limits: [MaxJSONBytes], [MaxJSONMemory] and [MaxMarkdownBytes]. Text has none.
//
// Patterns are RE2, in time linear in the text, without look-around and back-references. A path is JSONPath as RFC 9535 has
// it, and what would make the cost of one explode is refused: see [JSON]. Parsing Markdown is given [MaxMarkdownTime],
// because documents exist that take minutes.
//
// # Where the bytes are
//
// By default in files without a name, so that nothing is left when the program is killed. They are in os.TempDir(),
// which may be memory: set Options.Temp to a directory on a disk for large outputs. With Options.Dir the store is kept
// in a directory, of mode 0700 and not a symbolic link, and what was closed is there after a crash, whole: an entry is synced
// before it gets its name, and the next [Open] removes what was not finished. Two stores cannot share a directory
// ([ErrLocked]). Keeping needs a lock, which is there on Linux, macOS and the BSDs.
//
// # Media
//
// A [Media] is a value with bytes that are read again each time, from memory or from a file that stays where it is. It
// cannot be written into a history until it was saved: encoding it is [ErrNotDescribable].
//
// # What it does not do
//
// It encrypts nothing and judges nothing: who may read a file, and where one may be written, is decided before.
//
// # Errors
//
// Every error is an [*Error]; compare with errors.Is and the sentinels. Error() names nothing of the host and can be shown
// to a model; the cause is behind Unwrap.
package artifact
