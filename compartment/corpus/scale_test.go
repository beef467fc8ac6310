package corpus

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// proportional is the memory of the process with its share of what is shared (PSS), in bytes.
func proportional(t testing.TB) int64 {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		skip(t, "the kernel does not say how much memory is used: %v", err)
	}
	_, rest, _ := strings.Cut(string(b), "\nPss:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kb << 10
}

// descriptors counts the open files of the process.
func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// state is what a run must leave as it was.
type state struct {
	memory            int64
	files, goroutines int
}

func stateNow(t testing.TB) state {
	return state{memory: proportional(t), files: descriptors(t), goroutines: runtime.NumGoroutine()}
}

// requireFlat waits for goroutines that are on their way out, and then compares.
func requireFlat(t testing.TB, before state, memory int64) {
	t.Helper()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before.goroutines+5 }, 10*time.Second, 10*time.Millisecond)
	after := stateNow(t)
	t.Logf("memory %d MB before, %d MB after; %d and %d files; %d and %d goroutines",
		before.memory>>20, after.memory>>20, before.files, after.files, before.goroutines, after.goroutines)
	require.Equal(t, before.files, after.files)
	if raceFactor == 1 { // the race detector keeps memory of its own, of all that ever was
		require.Less(t, after.memory-before.memory, memory)
	}
}

// idleMemory is what a thousand idle compartments may take. wasm's are copies of one image; goja has all objects of the language once more for each.
var idleMemory = map[string]int64{"wasm": 500 << 20, "goja": 1500 << 20}

// TestThousandAtOnce opens a thousand compartments at once, then runs something in all of them at once, and lets them be. None sees another, and when they are closed
// everything is as it was.
func TestThousandAtOnce(t *testing.T) {
	const n = 1000
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		evaluate(t, e, "1", compartment.Config{}) // what the first one costs is not theirs
		before := stateNow(t)
		rooms := make([]compartment.Compartment, n)
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range rooms {
			wg.Go(func() {
				rooms[i], errs[i] = e.Open(context.Background(), compartment.Config{Powers: newWorld().powers("readFile readFileAsync")})
			})
		}
		wg.Wait() // what opening takes is not what an evaluation takes
		for i := range rooms {
			require.NoError(t, errs[i])
			wg.Go(func() { errs[i] = use(rooms[i], i) })
		}
		wg.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		idle := proportional(t) - before.memory
		t.Logf("%s: %d KB for each of %d, %d MB in all", e.Name(), idle/n>>10, n, idle>>20)
		require.Less(t, idle, idleMemory[e.Name()]*raceFactor)
		for i, r := range rooms {
			o, err := r.Evaluate(t.Context(), "[mine, [1, 2].map((x) => x * mine).length, typeof other]")
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf(`[%d,2,"undefined"]`, i), string(o.Data))
			require.NoError(t, r.Close())
		}
		clear(rooms)
		requireFlat(t, before, 64<<20)
	})
}

// use runs something in a compartment that is told apart from the others.
func use(r compartment.Compartment, i int) error {
	o, err := r.Evaluate(context.Background(), fmt.Sprintf("globalThis.mine = %d; const rows = Array.from({ length: 50 }, (_, i) => ({ i })); await readFileAsync('ok.txt')", i))
	if err == nil && string(o.Data) != `"hello"` {
		err = fmt.Errorf("%d: %s %s", i, o.Kind, o.Value.Text)
	}
	return err
}

// inSequence is how many compartments follow each other: fewer than the hundred thousand that SALLYPORT_SCALE=100000 asks for, which takes minutes.
func inSequence(t testing.TB) int {
	if s := os.Getenv("SALLYPORT_SCALE"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return n
	}
	return 3000
}

// sequenceSources are what they run, in turn: answers, errors, calls, waiting, much memory, and now and then what has to be stopped.
var sequenceSources = []string{"1 + 1", "const a = []; for (let i = 0; i < 1000; i++) a.push({ i }); a.length", "throw new Error('x')", "readFile('ok.txt')",
	"await readFileAsync('ok.txt')", "let s = 'x'; while (s.length < 1e5) s += s; s.length", "null.x", "const x = ;"}

// TestInSequence opens, uses and closes very many compartments, one after the other: memory, descriptors and goroutines are flat.
func TestInSequence(t *testing.T) {
	n := inSequence(t)
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		run := func(n int) {
			for i := range n {
				source := sequenceSources[i%len(sequenceSources)]
				limits := compartment.Limits{}
				if i%1000 == 999 {
					source, limits.Time = "for (;;);", 5*time.Millisecond
				}
				r, err := e.Open(t.Context(), compartment.Config{Powers: newWorld().powers("readFile readFileAsync"), Limits: limits})
				require.NoError(t, err)
				_, err = r.Evaluate(t.Context(), source)
				require.NoError(t, err)
				require.NoError(t, r.Close())
			}
		}
		run(min(n/10+200, 2000))
		before, begun := stateNow(t), time.Now()
		run(n)
		took := time.Since(begun)
		t.Logf("%s: %d in %v, %v each", e.Name(), n, took.Round(time.Millisecond), (took / time.Duration(n)).Round(time.Microsecond))
		requireFlat(t, before, 16<<20)
	})
}
