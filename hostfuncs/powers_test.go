package hostfuncs_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/gate"
	"sallyport/hostfuncs"
)

// all are the powers of this package that need no directory.
func all() []compartment.Power {
	powers := append([]compartment.Power{hostfuncs.Clock(0), hostfuncs.Timers(0)}, hostfuncs.Random(nil)...)
	return append(powers, hostfuncs.Scratch(0)...)
}

// calls is one good call of each power of all.
var calls = map[string]string{
	"clock": "clock()", "sleep": "sleep(0)", "random": "random()", "randomBytes": "randomBytes(1)",
	"scratch.get": "scratch.get('k')", "scratch.set": "scratch.set('k', 'v')", "scratch.delete": "scratch.delete('k')", "scratch.keys": "scratch.keys()",
	"readFile": "readFile('ok.txt')", "listDirectory": "listDirectory('docs')",
}

// policies is what the end of an evaluation means for a call that runs: reads are dropped, and what changes a note is
// carried out whole.
var policies = map[string]compartment.CancelPolicy{
	"clock": compartment.CancelDiscards, "sleep": compartment.CancelDiscards, "random": compartment.CancelDiscards,
	"randomBytes": compartment.CancelDiscards, "scratch.get": compartment.CancelDiscards, "scratch.keys": compartment.CancelDiscards,
	"scratch.set": compartment.CancelFinishes, "scratch.delete": compartment.CancelFinishes,
	"readFile": compartment.CancelDiscards, "listDirectory": compartment.CancelDiscards,
}

// TestNoneByDefault: what is not handed in does not exist, and the language has no clock and no chance of its own (R5,
// R253, R254).
func TestNoneByDefault(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{})
		require.Equal(t, `["undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`,
			data(t, c, "[typeof readFile, typeof listDirectory, typeof clock, typeof sleep, typeof random, typeof randomBytes, typeof scratch]"))
		for _, p := range all() {
			require.NotEqual(t, compartment.StatusOK, run(t, c, calls[p.Name]).Status, p.Name)
		}
		c = open(t, e, compartment.Limits{}, all()...)
		require.Equal(t, compartment.KindWithheld, run(t, c, "Date.now()").Kind, "a power changes nothing of the language")
		require.Equal(t, compartment.KindWithheld, run(t, c, "Math.random()").Kind)
	})
}

// TestEachPower: every power can be called, counts, has its own limit, can be gated and can be taken back (R175, R253,
// R258, R259).
func TestEachPower(t *testing.T) {
	_, dir := workspace(t)
	powers := append(all(), hostfuncs.ReadFile(dir), hostfuncs.ListDirectory(dir))
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		for _, p := range powers {
			source := calls[p.Name]
			require.NotEmpty(t, source, p.Name)
			require.Equal(t, policies[p.Name], p.OnCancel, p.Name)
			require.False(t, p.Sync || p.Local || p.Gated, "it is a promise, it is counted, and the gate is the host's to add")
			require.True(t, strings.HasPrefix(p.TypeScript, p.Name+"("), p.TypeScript)
			o := run(t, open(t, e, compartment.Limits{}, p), source)
			require.Equal(t, compartment.StatusOK, o.Status, "%s: %v", source, o.Cause)
			require.Equal(t, int64(1), o.Used.Calls[p.Name].Used)
			require.Equal(t, "ok", o.Effects.Done[0].Result)

			few := p
			few.Limits.Calls = 1
			require.Equal(t, compartment.KindCalls, run(t, open(t, e, compartment.Limits{}, few), "await "+source+"; "+source).Kind, p.Name)

			back, revoke := hostfuncs.Revocable(p)
			c := open(t, e, compartment.Limits{}, back)
			require.Equal(t, compartment.StatusOK, run(t, c, source).Status)
			revoke()
			require.Equal(t, compartment.KindRevoked, run(t, c, source).Kind, p.Name)

			no := hostfuncs.Gated(p, func(context.Context, gate.Call) (gate.Verdict, error) { return gate.Verdict{}, nil }, hostfuncs.Scope{})
			require.Equal(t, compartment.KindGate, run(t, open(t, e, compartment.Limits{}, no), source).Kind, p.Name)
		}
	})
}

// TestDescribeAll: a model is told of each power, in the words of its signature.
func TestDescribeAll(t *testing.T) {
	text := hostfuncs.Describe(append(all(), hostfuncs.ListDirectory(nil)))
	for _, want := range []string{
		"clock(): Promise<number> // ", "random(): Promise<number> // ", "randomBytes(count: number): Promise<Uint8Array> // ",
		"sleep(ms: number): Promise<void> // Waits for so many milliseconds, at most 5s.\n", "scratch.get(key: string): Promise<string | undefined> // ",
		"scratch.set(key: string, value: string): Promise<void> // ", "scratch.delete(key: string): Promise<boolean> // ", "scratch.keys(): Promise<string[]> // ",
		`listDirectory(path: string): Promise<{ name: string; type: "file" | "directory" | "link" | "other" }[]> // `,
	} {
		require.Contains(t, text, want)
	}
}

// TestClock: a date can be made of it, and it is as coarse as it says.
func TestClock(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, hostfuncs.Clock(0))
		before := time.Now().Add(-100 * time.Millisecond)
		o := run(t, c, "const t = await clock(); [t % 100, new Date(t).toISOString(), (await clock()) >= t]")
		require.Equal(t, compartment.StatusOK, o.Status, o.Value.Text)
		text := string(o.Data)
		require.Regexp(t, `^\[0,"[0-9T:.-]+Z",true\]$`, text)
		when, err := time.Parse(time.RFC3339, strings.Split(text, `"`)[1])
		require.NoError(t, err)
		require.WithinRange(t, when, before, time.Now())
		code, _ := refused(t, c, "clock(1)")
		require.Equal(t, "arguments", code)
	})
}

// TestRandom: numbers in their range from all 53 bits, bytes as many as asked, and a source that can be chosen.
func TestRandom(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, hostfuncs.Random(nil)...)
		require.Equal(t, "[true,true]", data(t, c, `
			const all = await Promise.all(Array.from({ length: 100 }, () => random()));
			[all.every(x => x >= 0 && x < 1), new Set(all).size === 100]`))
		require.Equal(t, "[0,7,65536,true]", data(t, c, `
			const [a, b, c] = [await randomBytes(0), await randomBytes(7), await randomBytes(65536)];
			[a.length, b.length, c.length, new Set(c).size > 200]`))
		for _, bad := range []string{"randomBytes(65537)", "randomBytes(-1)", "randomBytes(1.5)", "randomBytes(NaN)", "randomBytes('8')", "randomBytes()", "random(1)"} {
			code, _ := refused(t, c, bad)
			require.Equal(t, "arguments", code, bad)
		}

		largest := open(t, e, compartment.Limits{}, hostfuncs.Random(bytes.NewReader(bytes.Repeat([]byte{255}, 8)))...)
		require.Equal(t, "[true,0.9999999999999999]", data(t, largest, "const x = await random(); [x < 1, x]"), "no rounding gives 1")
		o := run(t, largest, "random()")
		require.Equal(t, compartment.KindPowerError, o.Kind, "a source that has ended gives no number")
		require.Equal(t, "random could not do it", o.Value.Exception.Message)

		chosen := open(t, e, compartment.Limits{}, hostfuncs.Random(strings.NewReader("abc"))...)
		require.Equal(t, "[97,98,99]", data(t, chosen, "Array.from(await randomBytes(3))"))
	})
}

// TestTimersOrder: sleeps end in the order of their lengths, beside each other.
func TestTimersOrder(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, hostfuncs.Timers(0))
		require.Equal(t, `["c","b","a"]`, data(t, c, `
			const order = [];
			await Promise.all([["a", 800], ["b", 400], ["c", 0]].map(([name, ms]) => sleep(ms).then(() => order.push(name))));
			order`))
		for _, bad := range []string{"sleep(5001)", "sleep(-1)", "sleep(NaN)", "sleep(Infinity)", "sleep('5')", "sleep()", "sleep(0, () => 1)"} {
			code, _ := refused(t, c, bad)
			require.Equal(t, "arguments", code, bad)
		}
	})
}

// TestTimersLength: a sleep is as long as asked, four at one time, and ends with its context (on a clock of the test's).
func TestTimersLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c, err := goja.NewWithoutMemoryLimit().Open(t.Context(), compartment.Config{Powers: []compartment.Power{hostfuncs.Timers(time.Minute)},
			Limits: compartment.Limits{Time: time.Hour, CallTime: 2 * time.Minute}})
		require.NoError(t, err)
		defer c.Close()
		o, err := c.Evaluate(t.Context(), "await sleep(1500.5); await Promise.all([1, 2, 3, 4, 5].map(() => sleep(60000)))")
		require.NoError(t, err)
		require.Equal(t, compartment.StatusOK, o.Status, o.Value.Text)
		require.Equal(t, 2*time.Minute+1500*time.Millisecond+500*time.Microsecond, time.Since(begin), "the fifth began when one of the four had ended")

		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("over")
		time.AfterFunc(time.Second, func() { cancel(why) })
		begin = time.Now()
		_, err = hostfuncs.Timers(time.Minute).Do(ctx, &compartment.Call{Args: []compartment.Value{compartment.OfNumber(60_000)}})
		require.ErrorIs(t, err, why)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

// TestTimersAreStopped: no program outstays its time by sleeping, and the sleep ends with it.
func TestTimersAreStopped(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		begin := time.Now()
		o := run(t, open(t, e, compartment.Limits{Time: 100 * time.Millisecond}, hostfuncs.Timers(0)), "await sleep(5000)")
		require.Equal(t, compartment.KindTime, o.Kind)
		require.Less(t, time.Since(begin), 3*time.Second)
		require.Empty(t, o.Effects.Unknown, "a sleep leaves nothing to wonder about")
		o = run(t, open(t, e, compartment.Limits{CallTime: 50 * time.Millisecond}, hostfuncs.Timers(0)), "await sleep(5000)")
		require.Equal(t, compartment.KindPowerTime, o.Kind)
	})
}

// TestScratch: what was kept is there, in every compartment that has the powers, until it is deleted.
func TestScratch(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		powers := hostfuncs.Scratch(0)
		c := open(t, e, compartment.Limits{}, powers...)
		require.Equal(t, `[true,"two","__proto__ value",["__proto__","a",""],true,false]`, data(t, c, `
			const none = await scratch.get("a");
			await scratch.set("a", "one"); await scratch.set("a", "two"); await scratch.set("", "empty"); await scratch.set("__proto__", "__proto__ value");
			const keys = (await scratch.keys()).reverse().sort((x, y) => y.length - x.length);
			[none === undefined, await scratch.get("a"), await scratch.get("__proto__"), keys, await scratch.delete(""), await scratch.delete("")]`))
		other := open(t, e, compartment.Limits{}, powers...)
		require.Equal(t, `"two"`, data(t, other, `scratch.get("a")`))
		require.Equal(t, `["__proto__","a"]`, data(t, other, `scratch.keys()`))
		require.Equal(t, "[]", data(t, open(t, e, compartment.Limits{}, hostfuncs.Scratch(0)...), "scratch.keys()"), "another call is another place")
		for _, bad := range []string{"scratch.set('a')", "scratch.set('a', 1)", "scratch.set(1, 'a')", "scratch.get(null)", "scratch.set('x'.repeat(257), '')", `scratch.set("\ud800", "")`} {
			code, _ := refused(t, c, bad)
			require.Equal(t, "arguments", code, bad)
		}
	})
}

// TestScratchIsBounded: what does not fit is refused, nothing is dropped for it, and what is removed makes room (R258).
func TestScratchIsBounded(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, hostfuncs.Scratch(1000)...)
		require.Equal(t, "1", data(t, c, `await scratch.set("a", "x".repeat(935)); 1`), "1 + 935 + 64")
		code, text := refused(t, c, `scratch.set("b", "")`)
		require.Equal(t, "scratch_full", code)
		require.Equal(t, "scratch.set: it would keep 1065 bytes, and 1000 is the most", text)
		code, _ = refused(t, c, `scratch.set("a", "x".repeat(936))`)
		require.Equal(t, "scratch_full", code)
		require.Equal(t, "935", data(t, c, `(await scratch.get("a")).length`))
		require.Equal(t, "[1,true,2]", data(t, c, `await scratch.set("a", "y"); const d = [1, await scratch.delete("a")];
			await scratch.set("b", "x".repeat(435)); await scratch.set("c", "x".repeat(435)); [...d, (await scratch.keys()).length]`))

		c = open(t, e, compartment.Limits{HostCalls: 2000}, hostfuncs.Scratch(0)...)
		require.Equal(t, "1000", data(t, c, `for (let i = 0; i < 1000; i++) await scratch.set("k" + i, ""); (await scratch.keys()).length`))
		code, text = refused(t, c, `scratch.set("one more", "")`)
		require.Equal(t, "scratch_full", code)
		require.Equal(t, "scratch.set: it keeps 1000 entries, which is the most", text)
	})
}

// TestScratchFinishes: a set that was begun before the stop is carried out, and the outcome says so (R259).
func TestScratchFinishes(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		powers := hostfuncs.Scratch(0)
		o := run(t, open(t, e, compartment.Limits{Time: 500 * time.Millisecond}, powers...), `scratch.set("a", "kept"); for (;;) {}`)
		require.Equal(t, compartment.KindTime, o.Kind)
		require.Len(t, o.Effects.Done, 1)
		require.Equal(t, "ok", o.Effects.Done[0].Result)
		require.Equal(t, `"kept"`, data(t, open(t, e, compartment.Limits{}, powers...), `scratch.get("a")`))
	})
}
