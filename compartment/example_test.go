package compartment_test

import (
	"context"
	"fmt"
	"time"

	"sallyport/compartment"
	"sallyport/compartment/goja"
)

// A power of one's own: what it takes, what it gives, and what cancelling it means.
func ExamplePower() {
	lookUp := compartment.Power{
		Name:     "population",
		Summary:  "Says how many people live in a city.",
		Params:   []compartment.Param{{Name: "city", Types: []compartment.Type{compartment.TypeString}, MaxBytes: 100}},
		Returns:  compartment.Param{Types: []compartment.Type{compartment.TypeNumber}},
		Limits:   compartment.PowerLimits{Calls: 10},
		OnCancel: compartment.CancelDiscards,
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			city, _ := c.Arg(0).AsString() // it was checked to be one
			if city != "Delft" {
				return compartment.Value{}, compartment.Refuse("unknown_city", "only Delft is known")
			}
			return compartment.OfInt(106086), nil
		},
	}
	c, err := goja.NewWithoutMemoryLimit().Open(context.Background(), compartment.Config{
		Powers: []compartment.Power{lookUp},
		Limits: compartment.Limits{Time: time.Second},
	})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	fmt.Println(lookUp.Signature())
	for _, source := range []string{`population("Delft")`, `population("Atlantis")`, `population({ toString: () => "Delft" })`} {
		o, err := c.Evaluate(context.Background(), source)
		if err != nil {
			panic(err)
		}
		fmt.Println(o.Status, o.Value.Text)
	}
	// Output:
	// population(city: string): Promise<number>
	// ok 106086
	// refused [Error: only Delft is known]
	// refused [TypeError: population: city.toString is a function, not data]
}

// A limit that is out of bounds is found before any guest runs.
func ExampleLimits() {
	_, err := compartment.Limits{Time: -1}.Resolve()
	fmt.Println(err)
	// Output:
	// limits.time: -1ns is not allowed, want 1ms to 24h0m0s
}
