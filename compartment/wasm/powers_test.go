package wasm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sallyport/compartment"
)

// snippetWorld is what the powers of the snippets act on.
type snippetWorld struct{ kept compartment.Value }

// powers are the powers of the snippets:
//
//	echo(v) and later(v) give back what they are given, at once or as a promise
//	path(p: string), percent(n: 0..100), sum(list: number[], at most 10) take only that
//	options({path: string, force?: boolean}) takes only that, and gives the path
//	store.put(v), store.get() keep one value
//	no() refuses; trouble() fails; panics() panics; huge() returns more than may cross; big() is 2^60
//	console.log
func (w *snippetWorld) powers() []compartment.Power {
	str, num := []compartment.Type{compartment.TypeString}, []compartment.Type{compartment.TypeNumber}
	first := func(c *compartment.Call) (compartment.Value, error) { return c.Arg(0), nil }
	fail := func(err error) func(*compartment.Call) (compartment.Value, error) {
		return func(*compartment.Call) (compartment.Value, error) { return compartment.Value{}, err }
	}
	ps := []compartment.Power{
		syncPower("echo", first, compartment.Param{Name: "v"}),
		syncPower("path", first, compartment.Param{Name: "p", Types: str}),
		syncPower("percent", first, compartment.Param{Name: "n", Types: num, Integer: true, Min: 0, Max: 100}),
		syncPower("sum", first, compartment.Param{Name: "list", Types: []compartment.Type{compartment.TypeArray}, MaxItems: 10}),
		syncPower("options", func(c *compartment.Call) (compartment.Value, error) { p, _ := c.Arg(0).Get("path"); return p, nil },
			compartment.Param{Name: "o", Types: []compartment.Type{compartment.TypeObject}, Fields: []compartment.Param{{Name: "path", Types: str},
				{Name: "force", Types: []compartment.Type{compartment.TypeBool}, Optional: true}}}),
		syncPower("store.put", func(c *compartment.Call) (compartment.Value, error) {
			w.kept = c.Arg(0)
			return compartment.Value{}, nil
		}, compartment.Param{Name: "v"}),
		syncPower("store.get", func(*compartment.Call) (compartment.Value, error) { return w.kept, nil }),
		syncPower("no", fail(compartment.Refuse("not_today", "not today"))),
		syncPower("trouble", fail(errors.New("open /home/ann/x.go: goroutine 7 at 0xdeadbeef"))),
		syncPower("panics", func(*compartment.Call) (compartment.Value, error) { panic("a fault of the power in /home/ann/x.go") }),
		syncPower("big", func(*compartment.Call) (compartment.Value, error) { return compartment.OfInt(1 << 60), nil }),
		syncPower("huge", func(*compartment.Call) (compartment.Value, error) {
			return compartment.OfBytes(make([]byte, 2_000_000)), nil
		}),
	}
	async := syncPower("later", first, compartment.Param{Name: "v"})
	async.Sync = false
	logs := syncPower("console.log", func(c *compartment.Call) (compartment.Value, error) {
		var text strings.Builder
		for _, a := range c.Args {
			text.WriteString(a.Line(1000) + " ")
		}
		c.Log("log", text.String())
		return compartment.Value{}, nil
	}, compartment.Param{Name: "values", Rest: true, Shown: true})
	logs.Local = true
	return append(ps, async, logs)
}

// syncPower makes a synchronous power.
func syncPower(name string, do func(*compartment.Call) (compartment.Value, error), params ...compartment.Param) compartment.Power {
	return compartment.Power{Name: name, Params: params, Sync: true, OnCancel: compartment.CancelDiscards,
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) { return do(c) }}
}

// asyncPower makes an asynchronous one.
func asyncPower(name string, policy compartment.CancelPolicy, do func(context.Context) (compartment.Value, error)) compartment.Power {
	return compartment.Power{Name: name, OnCancel: policy,
		Do: func(ctx context.Context, _ *compartment.Call) (compartment.Value, error) { return do(ctx) }}
}

// numbered are many powers.
func numbered(n int) []compartment.Power {
	var ps []compartment.Power
	for i := range n {
		ps = append(ps, syncPower(fmt.Sprintf("f%d", i), func(*compartment.Call) (compartment.Value, error) { return compartment.OfNumber(float64(i)), nil }))
	}
	return ps
}
