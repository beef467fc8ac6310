package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// resident is how much memory the process has for itself, in bytes. Pages of the image that compartments share are not in it.
func resident(t testing.TB) int {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("SKIPPED: no /proc here: %v", err)
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(t, err)
			return kb << 10
		}
	}
	require.Fail(t, "no RssAnon")
	return 0
}

// descriptors counts the open files of the process.
func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("SKIPPED: no /proc here: %v", err)
	}
	return len(entries)
}

// TestPromises: it promises everything, and says what it is.
func TestPromises(t *testing.T) {
	e := testEngine(t)
	require.Equal(t, "wasm", e.Name())
	require.Equal(t, compartment.Promises{Capabilities: true, Time: true, Memory: true, Stack: true}, e.Promises())
	require.Equal(t, runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64", e.Compiled())
}

// TestMemoryIsFlat: ten thousand compartments, one after the other, some of them stopped, leave nothing behind.
func TestMemoryIsFlat(t *testing.T) {
	e := testEngine(t)
	sources := []string{"1+1", "const a = []; for (let i = 0; i < 1000; i++) a.push({ i }); a.length", "throw new Error('x')", "echo([1, 2])", "await later(1)"}
	round := func(n int) {
		for i := range n {
			w := &snippetWorld{}
			r, err := e.Open(context.Background(), compartment.Config{Powers: w.powers(), Limits: compartment.Limits{MemoryBytes: 8 << 20, Time: 20 * time.Second}})
			require.NoError(t, err)
			source := sources[i%len(sources)]
			if i%500 == 499 {
				source = "const k = []; for (;;) k.push(new Uint8Array(1 << 20))"
			}
			_, err = r.Evaluate(context.Background(), source)
			require.NoError(t, err)
			require.NoError(t, r.Close())
		}
	}
	n := 10_000
	if testing.Short() {
		n = 500
	}
	round(n / 10)
	before, files, running := resident(t), descriptors(t), runtime.NumGoroutine()
	round(n)
	after := resident(t)
	require.Equal(t, files, descriptors(t))
	require.LessOrEqual(t, runtime.NumGoroutine(), running+10)
	t.Logf("%d compartments: resident %d KB before, %d KB after", n, before>>10, after>>10)
	require.Less(t, after-before, 8<<20)
}

// TestIdleCompartments: a thousand realms that have run something cost less than 300 KB each, besides the image that they share.
func TestIdleCompartments(t *testing.T) {
	e := testEngine(t)
	n := 1000
	if testing.Short() {
		n = 100
	}
	before := resident(t)
	rooms := make([]compartment.Compartment, n)
	for i := range rooms {
		r, err := e.Open(context.Background(), compartment.Config{})
		require.NoError(t, err)
		_, err = r.Evaluate(context.Background(), "1+1")
		require.NoError(t, err)
		rooms[i] = r
	}
	each := (resident(t) - before) / n
	for _, r := range rooms {
		require.NoError(t, r.Close())
	}
	t.Logf("%d KB for each of %d", each>>10, n)
	require.Less(t, each, 300_000)
}

// TestManyAtOnce: two hundred compartments at once, well-behaved and hostile ones, each with its own answers.
func TestManyAtOnce(t *testing.T) {
	e := testEngine(t)
	var wg sync.WaitGroup
	var wrong atomic.Int32
	for i := range 200 {
		wg.Go(func() {
			r, err := e.Open(context.Background(), compartment.Config{Limits: compartment.Limits{Time: 30 * time.Second, MemoryBytes: 4 << 20},
				Powers: []compartment.Power{syncPower("id", func(*compartment.Call) (compartment.Value, error) { return compartment.OfNumber(float64(i)), nil })}})
			if err != nil {
				wrong.Add(1)
				return
			}
			defer r.Close()
			for range 3 {
				source, want := fmt.Sprintf("globalThis.mine = (globalThis.mine ?? 0) + 1; [id(), %d, [3, 1].sort()]", i), fmt.Sprintf("[%d, %d, [1, 3]]", i, i)
				if i%10 == 0 {
					source, want = "const k = []; for (;;) k.push(new Array(1000).fill(id()))", ""
				}
				o, err := r.Evaluate(context.Background(), source)
				if err != nil || o.Value.Text != want || i%10 == 0 && o.Kind != compartment.KindMemory {
					wrong.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, wrong.Load())
}

// TestNothingIsLeftForTheNext: an instance that is used again has no trace of the compartment before.
func TestNothingIsLeftForTheNext(t *testing.T) {
	e := newTestEngine(t, Options{})
	first, err := e.Open(context.Background(), compartment.Config{Powers: numbered(5)})
	require.NoError(t, err)
	evaluate(t, first, "globalThis.secret = 'left behind'; let s = 'x'; Symbol.for('k').a; var arr = new Uint8Array(100).fill(7); f3()")
	in := first.(*room).in
	require.NoError(t, first.Close())
	require.Len(t, e.idle, 1)
	image := make([]byte, len(in.mem.bytes()))
	copy(image, in.mem.bytes())
	require.NotContains(t, string(image), "left behind")
	second := open(t, e, compartment.Config{})
	require.Same(t, in, second.(*room).in, "the instance is not used again")
	o := evaluate(t, second, "[typeof secret, typeof s, typeof arr, typeof f3]")
	require.Equal(t, `["undefined", "undefined", "undefined", "undefined"]`, o.Value.Text)
}

// TestInstancesThatAreNotUsedAgain: one that was stopped, and one whose memory grew.
func TestInstancesThatAreNotUsedAgain(t *testing.T) {
	e := newTestEngine(t, Options{})
	for _, source := range []string{"for (;;);", "const a = new Uint8Array(4 << 20); a.length"} {
		r, err := e.Open(context.Background(), compartment.Config{Limits: compartment.Limits{Time: brief}})
		require.NoError(t, err)
		evaluate(t, r, source)
		require.NoError(t, r.Close())
		require.Empty(t, e.idle, source)
	}
}

// TestSessionsRollBack: what was before a stopped evaluation is there again, as often as it happens, and says so.
func TestSessionsRollBack(t *testing.T) {
	r := open(t, testEngine(t), compartment.Config{Limits: compartment.Limits{Time: brief}})
	o := evaluate(t, r, "for (;;);")
	require.Equal(t, compartment.SessionRolledBack, o.Session.State, "the first evaluation: back to the fresh realm")
	o = evaluate(t, r, "let rows = []; const big = new Uint8Array(6 << 20).fill(3); rows.length")
	require.Equal(t, compartment.SessionKept, o.Session.State)
	for i := range 4 {
		o = evaluate(t, r, "rows.push(1); big[0]++; [rows.length, big[0], big[big.length - 1]]")
		require.Equal(t, fmt.Sprintf("[%d, %d, 3]", i+1, i+4), o.Value.Text)
		o = evaluate(t, r, "rows.push(9, 9, 9); big.fill(0); globalThis.junk = 1; for (;;);")
		require.Equal(t, compartment.SessionRolledBack, o.Session.State)
	}
	require.Equal(t, `"undefined"`, evaluate(t, r, "typeof junk").Value.Text)
}

// TestPowerThatNeverReturns: the evaluation ends at its time all the same, and the outcome says what is not known.
func TestPowerThatNeverReturns(t *testing.T) {
	release := make(chan struct{})
	hang := func(context.Context) (compartment.Value, error) { <-release; return compartment.Value{}, nil }
	nowHang := asyncPower("now", compartment.CancelUnknown, hang)
	nowHang.Sync = true
	r := open(t, testEngine(t), compartment.Config{Limits: compartment.Limits{Time: brief},
		Powers: []compartment.Power{asyncPower("later", compartment.CancelUnknown, hang), nowHang}})
	defer close(release)
	for _, source := range []string{"await later()", "later(); 1", "now()", "try { now() } catch (e) { 1 }"} {
		begun := time.Now()
		o := evaluate(t, r, source)
		require.Less(t, time.Since(begun), brief+250*time.Millisecond, source)
		require.Equal(t, compartment.KindTime, o.Kind, source)
		require.Len(t, o.Effects.Unknown, 1, source)
		require.Equal(t, compartment.SessionRolledBack, o.Session.State)
	}
	require.Equal(t, "2", evaluate(t, r, "1 + 1").Value.Text)
}

// TestPowerThatReturnsLate: an answer that comes after the evaluation ended reaches nobody, and not the next evaluation.
func TestPowerThatReturnsLate(t *testing.T) {
	release, returned := make(chan struct{}), make(chan struct{})
	r := open(t, testEngine(t), compartment.Config{Limits: compartment.Limits{Time: brief},
		Powers: []compartment.Power{asyncPower("later", compartment.CancelDiscards, func(context.Context) (compartment.Value, error) {
			defer close(returned)
			<-release
			return compartment.OfString("late"), nil
		})}})
	o := evaluate(t, r, "globalThis.p = later(); await p")
	require.Equal(t, compartment.KindTime, o.Kind)
	close(release)
	<-returned
	require.Equal(t, `"undefined"`, evaluate(t, r, "typeof p").Value.Text)
}

// TestPowerThatPanicsOrEndsItsGoroutine: that call fails, or at worst that evaluation; the compartment goes on.
func TestPowerThatPanicsOrEndsItsGoroutine(t *testing.T) {
	local := syncPower("ends", func(*compartment.Call) (compartment.Value, error) { runtime.Goexit(); return compartment.Value{}, nil })
	local.Local = true
	r := open(t, testEngine(t), compartment.Config{Powers: []compartment.Power{local,
		syncPower("panics", func(*compartment.Call) (compartment.Value, error) { panic(errors.New("no")) }),
		asyncPower("goes", compartment.CancelDiscards, func(context.Context) (compartment.Value, error) { runtime.Goexit(); return compartment.Value{}, nil })}})
	evaluate(t, r, "let kept = 1")
	require.Equal(t, compartment.KindPowerPanic, evaluate(t, r, "panics()").Kind)
	require.Equal(t, compartment.KindPowerPanic, evaluate(t, r, "await goes()").Kind)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.Evaluate(context.Background(), "kept = 2; ends()")
	}()
	<-ended
	require.Equal(t, "1", evaluate(t, r, "kept").Value.Text)
}

// TestCancel: the end of the caller's context is an outcome, also when it had ended before.
func TestCancel(t *testing.T) {
	r := open(t, testEngine(t), compartment.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(brief/2, cancel)
	o, err := r.Evaluate(ctx, "for (;;);")
	require.NoError(t, err)
	require.Equal(t, compartment.KindCancelled, o.Kind)
	o, err = r.Evaluate(ctx, "1 + 1")
	require.NoError(t, err)
	require.Equal(t, compartment.KindCancelled, o.Kind)
	require.Equal(t, "2", evaluate(t, r, "1 + 1").Value.Text)
}

// TestClose ends what runs, refuses what comes, and can be done twice.
func TestClose(t *testing.T) {
	e := newTestEngine(t, Options{})
	running := make(chan struct{})
	r := open(t, e, compartment.Config{Powers: []compartment.Power{syncPower("running", func(*compartment.Call) (compartment.Value, error) {
		close(running)
		return compartment.Value{}, nil
	})}})
	ended := make(chan compartment.Outcome, 1)
	go func() {
		o, _ := r.Evaluate(context.Background(), "running(); for (;;);")
		ended <- o
	}()
	<-running
	require.NoError(t, r.Close())
	require.Equal(t, compartment.KindClosed, (<-ended).Kind)
	_, err := r.Evaluate(context.Background(), "1")
	require.ErrorIs(t, err, compartment.ErrClosed)
	require.NoError(t, r.Close())
}

// TestCloseOfTheEngine ends its compartments first: their code is gone afterwards.
func TestCloseOfTheEngine(t *testing.T) {
	e := newTestEngine(t, Options{})
	running := make(chan struct{})
	busy := open(t, e, compartment.Config{Powers: []compartment.Power{syncPower("running", func(*compartment.Call) (compartment.Value, error) {
		close(running)
		return compartment.Value{}, nil
	})}})
	idle := open(t, e, compartment.Config{})
	ended := make(chan compartment.Outcome, 1)
	go func() {
		o, _ := busy.Evaluate(context.Background(), "running(); for (;;);")
		ended <- o
	}()
	<-running
	require.NoError(t, e.Close())
	require.Equal(t, compartment.KindClosed, (<-ended).Kind)
	_, err := idle.Evaluate(context.Background(), "1")
	require.ErrorIs(t, err, compartment.ErrClosed)
	_, err = e.Open(context.Background(), compartment.Config{})
	require.ErrorIs(t, err, compartment.ErrClosed)
	require.NoError(t, e.Close())
}

// TestEvaluationsOfOneCompartmentFollowEachOther: they can be asked for at once.
func TestEvaluationsOfOneCompartmentFollowEachOther(t *testing.T) {
	r := open(t, testEngine(t), compartment.Config{})
	evaluate(t, r, "let n = 0")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := r.Evaluate(context.Background(), "{ const was = n; for (let i = 0; i < 1000; i++); n = was + 1 }")
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.Equal(t, "20", evaluate(t, r, "n").Value.Text)
}

// TestNothingLeaksInTheGuest: evaluations that leave nothing take no memory of the guest, however many there are, and whatever crosses.
func TestNothingLeaksInTheGuest(t *testing.T) {
	w := &snippetWorld{}
	r := open(t, testEngine(t), compartment.Config{Powers: w.powers()})
	sources := []string{"1 + 1", "({ a: [1, { b: 'x'.repeat(100) }], m: new Map([[1, 2]]), d: new Date(0), r: /x/g, e: new Error('x'), big: 2n ** 100n })",
		"echo({ a: [1, 'x', new Uint8Array(100), 2n ** 70n, new Date(0)] })", "await later({ a: 1 })", "throw new Error('x', { cause: new Error('y') })",
		"let y = ;", "no()", "path(1)", "Promise.reject(1); 5", "import('x')", "console.log({ a: 1 }, [2])", "eval('1')"}
	peak := func() int64 {
		var most int64
		for _, s := range sources {
			most = max(most, evaluate(t, r, s).Used.PeakBytes.Used)
		}
		return most
	}
	for range 200 {
		peak()
	}
	before := peak()
	for range 1500 {
		peak()
	}
	require.Equal(t, before, peak())
}
