package wasm_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"sallyport/compartment"
	"sallyport/compartment/wasm"
)

// A program that may be hostile computes, and calls the one function it was given.
func Example() {
	ctx := context.Background()
	engine, err := wasm.New(ctx, wasm.Options{NoCache: true})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	price := compartment.Power{
		Name:     "price",
		Params:   []compartment.Param{{Name: "item", Types: []compartment.Type{compartment.TypeString}}},
		Returns:  compartment.Param{Types: []compartment.Type{compartment.TypeNumber}},
		OnCancel: compartment.CancelDiscards,
		Do: func(context.Context, *compartment.Call) (compartment.Value, error) {
			return compartment.OfNumber(4.5), nil
		},
	}
	c, err := engine.Open(ctx, compartment.Config{Powers: []compartment.Power{price}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	o, err := c.Evaluate(ctx, `const items = ["tea", "bread"]
		const prices = await Promise.all(items.map((i) => price(i)))
		prices.reduce((a, b) => a + b)`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Status, o.Value.Text, len(o.Effects.Done), "calls")
	// Output: ok 9 2 calls
}

// A program that does not end, or takes all the memory there is, is stopped; the compartment goes on with what it had before.
func Example_stopped() {
	ctx := context.Background()
	engine, err := wasm.New(ctx, wasm.Options{NoCache: true})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	c, err := engine.Open(ctx, compartment.Config{Limits: compartment.Limits{Time: time.Second, MemoryBytes: 16 << 20}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, source := range []string{
		`let total = 41`,
		`total = 0; for (;;) {}`,
		`total = 0; const k = []; for (;;) k.push(new Uint8Array(1 << 20))`,
		`total + 1`,
	} {
		o, err := c.Evaluate(ctx, source)
		if err != nil {
			log.Fatal(err)
		}
		end := o.Value.Text
		if o.Status != compartment.StatusOK {
			end = string(o.Kind)
		}
		fmt.Println(o.Session.State, end)
	}
	// Output:
	// kept undefined
	// rolled_back stopped/time
	// rolled_back stopped/memory
	// kept 42
}
