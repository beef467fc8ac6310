package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGrep: each line by itself, with the meaning that flags have (R273).
func TestGrep(t *testing.T) {
	text := "Alpha\nbeta\r\n\ngamma alpha\nÄpfel\nlast"
	a := closed(t, KindText, text)
	for _, c := range []struct {
		pattern, flags string
		want           []string
	}{
		{"alpha", "", []string{"4:gamma alpha"}},
		{"alpha", "i", []string{"1:Alpha", "4:gamma alpha"}},
		{"^a", "i", []string{"1:Alpha"}},
		{"a$", "", []string{"1:Alpha", "2:beta", "4:gamma alpha"}},
		{"a$", "m", []string{"1:Alpha", "2:beta", "4:gamma alpha"}},
		{"^$", "", []string{"3:"}},
		{"a.g", "s", []string{}},
		{"beta\\s", "", []string{}},
		{"alpha\nbeta", "i", []string{}},
		{"äpfel", "iu", []string{"5:Äpfel"}},
		{"^.pfel", "u", []string{"5:Äpfel"}},
		{"last|beta", "imsu", []string{"2:beta", "6:last"}},
		{"(?:t)+$", "", []string{"6:last"}},
		{"", "", []string{"1:Alpha", "2:beta", "3:", "4:gamma alpha", "5:Äpfel", "6:last"}},
	} {
		require.Equal(t, c.want, found(t, a, c.pattern, c.flags), "%+v", c)
	}
	require.Equal(t, found(t, a, "alpha", ""), found(t, a, "alpha", ""), "no state between two")
}

// TestGrepRefuses: what RE2 has not is said in a sentence that a model can act on (L14).
func TestGrepRefuses(t *testing.T) {
	a := closed(t, KindText, "x")
	for _, c := range [][2]string{
		{"(", ""}, {"(?=x)", ""}, {`(x)\1`, ""}, {"a)(b", ""}, {"x{2000}", ""}, {"x", "g"}, {"x", "ii"}, {strings.Repeat("x", maxPattern+1), ""},
	} {
		err := a.Grep(t.Context(), c[0], c[1], func(Match) error { return nil })
		require.ErrorIs(t, err, ErrArgument, "%q", c)
		require.NotContains(t, err.Error(), "\n")
	}
	err := a.Grep(t.Context(), "(?=x)", "", nil)
	require.ErrorContains(t, err, "without look-around and back-references")
}

// TestGrepStops: at the caller's error, and when the context ends.
func TestGrepStops(t *testing.T) {
	a := closed(t, KindText, strings.Repeat("x\n", 1<<20))
	enough := errors.New("enough")
	n := 0
	err := a.Grep(t.Context(), "x", "", func(Match) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 3, n)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	require.ErrorIs(t, a.Grep(ctx, "y", "", nil), enough)
}

// TestGrepIsLinear: patterns on which backtracking takes longer than anybody lives, on a line of more than a megabyte (L14).
func TestGrepIsLinear(t *testing.T) {
	a := closed(t, KindText, strings.Repeat("a", longLine+1000)+"!\n"+strings.Repeat("a", 100_000)+"!\n")
	for _, pattern := range []string{`^(a+)+$`, `^(a|aa)+$`, `^(a*)*b`, `^(.*a){9}x`} {
		begin := time.Now()
		require.Empty(t, found(t, a, pattern, ""), pattern)
		t.Logf("%s: %v", pattern, time.Since(begin).Round(time.Millisecond))
		require.Less(t, time.Since(begin), time.Minute, pattern)
	}
}

// TestGrepLongLines: a line of 16 MB is matched, and found, without being in memory.
func TestGrepLongLines(t *testing.T) {
	turn := newTurn(t, Options{})
	w := create(t, turn, Spec{})
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	write := func(p []byte) {
		_, err := w.Write(p)
		require.NoError(t, err)
	}
	write([]byte("short needle\n"))
	for range 16 {
		write(chunk)
	}
	write([]byte("needle end\r\nnext needle\n"))
	for range 4 {
		write(chunk)
	}
	require.NoError(t, w.Close())
	runtime.GC()
	base := heap()
	type hit struct{ number, length int64 }
	var hits []hit
	for _, pattern := range []string{"needle", "ne+dle", "needle end$"} {
		hits = nil
		err := w.Artifact().Grep(t.Context(), pattern, "", func(m Match) error {
			hits = append(hits, hit{m.Number, m.Line.Len()})
			return nil
		})
		require.NoError(t, err)
		long := hit{2, 16<<20 + 10}
		if pattern == "needle end$" {
			require.Equal(t, []hit{long}, hits)
		} else {
			require.Equal(t, []hit{{1, 12}, long, {3, 11}}, hits)
		}
		require.Less(t, int64(heap())-int64(base), int64(8<<20))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.Artifact().Grep(ctx, "^(.*a){9}x", "", nil), context.DeadlineExceeded)
}

// FuzzGrep compares with matching every line by itself.
func FuzzGrep(f *testing.F) {
	f.Add("a.*b", "", "xab\nb\r\n", uint16(3))
	f.Add("(foo|bar)baz+", "i", "FOOBAZZ\n\nx", uint16(700))
	f.Add("\uFFFD", "", "\xff\n\xc3", uint16(1))
	f.Add("a{2,3}$", "ms", "aa\r\naaa\r", uint16(0))
	f.Add("x\ny|z", "u", "x\ny\nz", uint16(9))
	turn := newTurn(f, Options{})
	f.Fuzz(func(t *testing.T, pattern, flags, text string, pad uint16) {
		text = strings.Repeat(text, 1+int(pad)%64) // across the pieces in which it is read
		a := closedIn(t, turn, KindText, text)
		defer forget(turn, a)
		got := []string{}
		err := a.Grep(t.Context(), pattern, flags, func(m Match) error {
			p, err := m.Line.Bytes()
			got = append(got, fmt.Sprintf("%d:%q", m.Number, p))
			return err
		})
		if err != nil {
			require.ErrorIs(t, err, ErrArgument)
			return
		}
		prefix := "(?:"
		if strings.Contains(flags, "i") {
			prefix = "(?i:"
		}
		re := regexp.MustCompile(prefix + pattern + ")")
		want := []string{}
		n := 0
		for line := range strings.Lines(text) {
			n++
			if strings.HasSuffix(line, "\n") {
				line = strings.TrimSuffix(line[:len(line)-1], "\r")
			}
			if re.MatchString(line) {
				want = append(want, fmt.Sprintf("%d:%q", n, line))
			}
		}
		require.Equal(t, want, got)
	})
}

// forget drops one artifact of a turn, so that fuzzing does not gather thousands.
func forget(turn *Turn, a *Artifact) {
	turn.mu.Lock()
	delete(turn.artifacts, a.id)
	turn.order = nil
	turn.mu.Unlock()
	turn.drop(a)
}

// A costly pattern on one long line, or on many short ones, ends with the context, and not with the line.
func TestGrepCostlyPatternEnds(t *testing.T) {
	for name, text := range map[string]string{
		"one line":   strings.Repeat("x", 900_000),
		"many lines": strings.Repeat(strings.Repeat("x", 2000)+"\n", 120),
	} {
		t.Run(name, func(t *testing.T) {
			a := closed(t, KindText, text)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := a.Grep(ctx, "(x*){1000}[yz]", "", func(Match) error { return nil })
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Less(t, time.Since(start), 8*time.Second) // it takes a minute, and 12 seconds, to the end
		})
	}
}
