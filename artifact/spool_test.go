package artifact

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestByteFaithful: what was written is what is read, to the last CR and the last missing newline (R274).
func TestByteFaithful(t *testing.T) {
	for _, text := range []string{
		"", "\n", "a", "a\n", "a\r\nb\r\n", "a\rb", "\r", "\n\n\n", "\x00\xff\xfe\n\x80", "no newline\nat the end",
		strings.Repeat("x", bufferBytes), strings.Repeat("x\n", bufferBytes), strings.Repeat("y", 3*bufferBytes+1),
	} {
		a := closed(t, KindText, text)
		require.Equal(t, text, whole(t, a))
		n, err := a.ByteLength()
		require.NoError(t, err)
		require.Equal(t, int64(len(text)), n)
		rows, err := a.LineCount()
		require.NoError(t, err)
		want := strings.Count(text, "\n")
		if text != "" && !strings.HasSuffix(text, "\n") {
			want++
		}
		require.Equal(t, int64(want), rows, "%.20q", text)
	}
}

// TestBaseTools: the base queries, their defaults, and the half-open range (R269, R273).
func TestBaseTools(t *testing.T) {
	var b strings.Builder
	for i := range 25 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	b.WriteString("the rest")
	a := closed(t, KindText, b.String())
	lines := strings.SplitAfter(b.String(), "\n")
	join := func(from, to int) string { return strings.Join(lines[from:to], "") }

	for _, n := range []int64{0, 1, DefaultLines, 25, 26, 27, 1 << 40} {
		text, err := a.Head(n)
		require.Equal(t, join(0, int(min(n, 26))), read(t, text, err), "head %d", n)
		text, err = a.Tail(n)
		require.Equal(t, join(int(26-min(n, 26)), 26), read(t, text, err), "tail %d", n)
	}
	for _, r := range [][2]int64{{0, 0}, {0, 1}, {3, 3}, {3, 5}, {25, 26}, {26, 30}, {0, ToEnd}, {90, 99}} {
		text, err := a.Cat(r[0], r[1])
		require.Equal(t, join(int(min(r[0], 26)), int(min(r[1], 26))), read(t, text, err), "%v", r)
	}
	for _, err := range []error{second(a.Head(-1)), second(a.Tail(-1)), second(a.Cat(-1, 2)), second(a.Cat(2, 1))} {
		require.ErrorIs(t, err, ErrArgument)
	}
}

func second[T any](_ T, err error) error { return err }

// TestReadWhileWriting: bytes can be asked about before the writing ends (R203), and a query sees what was there when it
// began.
func TestReadWhileWriting(t *testing.T) {
	turn := newTurn(t, Options{})
	w := create(t, turn, Spec{})
	a, err := turn.Artifact(w.Artifact().ID())
	require.NoError(t, err)
	var early Text
	for i := range 1000 {
		_, err := fmt.Fprintf(w, "%06d\n", i)
		require.NoError(t, err)
		n, err := a.ByteLength()
		require.NoError(t, err)
		require.Equal(t, int64(7*(i+1)), n)
		if i == 499 {
			early, err = a.Cat(0, ToEnd)
			require.NoError(t, err)
		}
	}
	text, err := a.Tail(1)
	require.Equal(t, "000999\n", read(t, text, err))
	require.Equal(t, int64(3500), early.Len())
	require.True(t, strings.HasSuffix(read(t, early, nil), "000499\n"))
	done, missing := a.Complete()
	require.False(t, done)
	require.Zero(t, missing)
	require.NoError(t, w.Close())
	done, _ = a.Complete()
	require.True(t, done)
	_, err = w.Write([]byte("x"))
	require.ErrorIs(t, err, ErrReleased)
	require.NoError(t, w.Close(), "twice is nothing")
}

// TestConcurrentReaders: several writers and readers at once; each write stays in one piece.
func TestConcurrentReaders(t *testing.T) {
	turn := newTurn(t, Options{})
	w := create(t, turn, Spec{})
	a := w.Artifact()
	var writers, readers sync.WaitGroup
	for i := range 4 {
		line := strings.Repeat(string(rune('a'+i)), 99) + "\n"
		writers.Go(func() {
			for range 2000 {
				if _, err := io.WriteString(w, line); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				text, err := a.Tail(3)
				p, err2 := text.Bytes()
				if err != nil || err2 != nil || len(p)%100 != 0 {
					t.Errorf("%q %v %v", p, err, err2)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	require.NoError(t, w.Close())
	for line := range strings.Lines(whole(t, a)) {
		require.Equal(t, strings.Repeat(line[:1], 99)+"\n", line)
	}
	rows, err := a.LineCount()
	require.NoError(t, err)
	require.Equal(t, int64(8000), rows)
}

// slow is a file on a disk that takes its time, and counts what is under way.
type slow struct {
	file
	wait    time.Duration
	written atomic.Int64
}

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(s.wait) // the disk's time, not the test's
	n, err := s.file.Write(p)
	s.written.Add(int64(n))
	return n, err
}

// TestNoByteCap: 300 MB go through a store that is slower than the writer, whole, while memory stays flat; nothing is written
// faster than it is stored (R193, R319, D8).
func TestNoByteCap(t *testing.T) {
	const size = 300_000_000
	turn := newTurn(t, Options{})
	w := create(t, turn, Spec{})
	disk := &slow{file: w.a.s.file, wait: 100 * time.Microsecond}
	w.a.s.file = disk

	runtime.GC()
	base, most := heap(), uint64(0)
	chunk := make([]byte, 64<<10)
	for left := size; left > 0; {
		n, err := w.Write(chunk[:min(len(chunk), left)])
		require.NoError(t, err)
		left -= n
		require.LessOrEqual(t, int64(size-left)-disk.written.Load(), int64(bufferBytes), "written ahead of the disk")
		if left%(16<<20) < len(chunk) {
			most = max(most, heap())
		}
	}
	require.NoError(t, w.Close())
	require.Less(t, int64(most)-int64(base), int64(8<<20), "memory grew")
	n, err := w.Artifact().ByteLength()
	require.NoError(t, err)
	require.Equal(t, int64(size), n)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestQuota: what is beyond the quota is discarded and counted, the writer is not told to stop (R194), and the last lines
// say what is missing. The quota is of the store, and what is released is given back.
func TestQuota(t *testing.T) {
	turn := newTurn(t, Options{Quota: 100_000})
	w := create(t, turn, Spec{})
	line := strings.Repeat("x", 99) + "\n"
	for range 2000 {
		n, err := io.WriteString(w, line)
		require.NoError(t, err)
		require.Equal(t, 100, n)
	}
	require.NoError(t, w.Final("exit status 3"))
	require.NoError(t, w.Close())
	a := w.Artifact()
	text, err := a.Tail(3)
	require.Equal(t, line+"[100000 bytes are missing from here on: the store's quota of 100000 bytes is used up]\nexit status 3\n", read(t, text, err))
	rows, err := a.LineCount()
	require.NoError(t, err)
	require.Equal(t, int64(1002), rows)
	_, missing := a.Complete()
	require.Equal(t, int64(100_000), missing)
	require.Equal(t, []string{"1002:exit status 3"}, found(t, a, "exit", ""))

	other := closedIn(t, turn, KindText, "no room")
	require.Equal(t, "[7 bytes are missing from here on: the store's quota of 100000 bytes is used up]\n", whole(t, other))
	require.Equal(t, int64(100_000), turn.store.Used())
	store := turn.store
	turn.Release()
	require.Zero(t, store.Used())
	next, err := store.Turn()
	require.NoError(t, err)
	require.Equal(t, "room", whole(t, closedIn(t, next, KindText, "room")))
}

// TestQuotaCutsInTheMiddle: the quota is exact, and the notice stands on a line of its own.
func TestQuotaCutsInTheMiddle(t *testing.T) {
	a := closedIn(t, newTurn(t, Options{Quota: 5}), KindText, "abcdefgh\n")
	require.Equal(t, "abcde\n[4 bytes are missing from here on: the store's quota of 5 bytes is used up]\n", whole(t, a))
}

// TestFinalLines: they come last, on lines of their own, and are bounded.
func TestFinalLines(t *testing.T) {
	turn := newTurn(t, Options{})
	w := create(t, turn, Spec{})
	require.NoError(t, w.Final("timed out"))
	_, err := io.WriteString(w, "text")
	require.NoError(t, err)
	require.ErrorIs(t, w.Final(strings.Repeat("x", maxFinalBytes)), ErrArgument)
	require.NoError(t, w.Close())
	require.Equal(t, "text\ntimed out\n", whole(t, w.Artifact()))
	require.ErrorIs(t, w.Final("late"), ErrReleased)
}

// failing is a file whose disk fails after some bytes.
type failing struct {
	file
	room int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	m, err := f.file.Write(p[:n])
	if n < len(p) && err == nil {
		err = f.err
	}
	return m, err
}

// TestDiskFails: whatever the disk says, the writer goes on and the artifact tells (R190, D7).
func TestDiskFails(t *testing.T) {
	for err, says := range map[error]string{
		syscall.ENOSPC: "the disk is full", syscall.EDQUOT: "the disk is full", syscall.EIO: "the disk failed", io.ErrShortWrite: "the disk failed",
	} {
		w := create(t, newTurn(t, Options{}), Spec{})
		w.a.s.file = &failing{file: w.a.s.file, room: 100_000, err: &os.PathError{Op: "write", Path: "/secret/place", Err: err}}
		for range 10 {
			n, err := w.Write(bytes.Repeat([]byte("0123456789"), 5000))
			require.NoError(t, err)
			require.Equal(t, 50_000, n)
		}
		require.NoError(t, w.Close())
		text, err2 := w.Artifact().Tail(1)
		last := read(t, text, err2)
		require.Equal(t, "[400000 bytes are missing from here on: "+says+"]\n", last)
		n, err2 := w.Artifact().ByteLength()
		require.NoError(t, err2)
		require.Equal(t, int64(100_001+len(last)), n)
		require.Equal(t, int64(100_000), w.store.Used())
	}
}

// TestIndex: every line of random texts is where a plain search says, however long the lines are.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		var b strings.Builder
		for b.Len() < 300_000 {
			b.WriteString(strings.Repeat("x", int(rng.ExpFloat64()*float64(rng.IntN(3000)))))
			b.WriteByte('\n')
		}
		lines := strings.SplitAfter(b.String(), "\n")
		a := closed(t, KindText, b.String())
		at := int64(0)
		v, err := a.s.view()
		require.NoError(t, err)
		for i, line := range lines {
			got, err := v.lineStart(int64(i))
			require.NoError(t, err)
			require.Equal(t, at, got, "line %d", i)
			at += int64(len(line))
		}
	}
}

// TestIndexIsBounded: with 400 MB of text the index has as many blocks as with 40, and still says where each begins.
func TestIndexIsBounded(t *testing.T) {
	var x index
	chunk := bytes.Repeat([]byte("0123456\n"), 12345)
	for range 4000 {
		x.add(chunk)
	}
	require.Equal(t, int64(4000*len(chunk)), x.size)
	require.Equal(t, x.size/8, x.lines)
	require.Less(t, len(x.counts), maxBlocks)
	for n := int64(1); n < x.lines; n += 99_991 {
		at, count := x.before(n)
		require.Zero(t, at%x.block)
		require.Equal(t, at/8, count)
		require.Less(t, 8*n-at, x.block+8, "more than a block would be scanned")
	}
}

// TestSmallNeedsNoFile: a short output opens nothing, and its text survives that the file cannot be made later.
func TestSmallNeedsNoFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "temp")
	require.NoError(t, os.Mkdir(dir, 0o700))
	turn := newTurn(t, Options{Temp: dir})
	require.NoError(t, os.Remove(dir))
	text := strings.Repeat("x", smallBytes)
	require.Equal(t, text, whole(t, closedIn(t, turn, KindText, text)))
	w := create(t, turn, Spec{})
	for _, part := range []string{text, "y"} {
		_, err := io.WriteString(w, part)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.Equal(t, text+"\n[1 bytes are missing from here on: the disk failed]\n", whole(t, w.Artifact()))
	require.Equal(t, int64(2*smallBytes), turn.store.Used())
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}
