package hostfuncs

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"sallyport/compartment"
)

// randomBytesMax is the most that one call of randomBytes gives, as crypto.getRandomValues of browsers.
const randomBytesMax = 65536

// Random is two powers: random() is a number from 0 to below 1, with 53 bits, and randomBytes(count) is a Uint8Array of up to
// 65,536 bytes. source is read for both, by one call at a time; nil stands for the random source of the system, which is
// good enough for keys. A source of your own makes runs that can be repeated.
//
// Math.random of the language stays withheld. They are not gated by themselves: see Gated.
func Random(source io.Reader) []compartment.Power {
	if source == nil {
		source = rand.Reader
	}
	var mu sync.Mutex
	read := func(n int) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		b := make([]byte, n)
		if _, err := io.ReadFull(source, b); err != nil {
			return nil, fmt.Errorf("read %d random bytes: %w", n, err)
		}
		return b, nil
	}
	return []compartment.Power{randomNumber(read), randomBytes(read)}
}

func randomNumber(read func(int) ([]byte, error)) compartment.Power {
	return compartment.Power{
		Name:       "random",
		Summary:    "Gives a random number from 0 to below 1.",
		TypeScript: "random(): Promise<number>",
		Returns:    compartment.Param{Types: []compartment.Type{compartment.TypeNumber}, Min: 0, Max: 1},
		OnCancel:   compartment.CancelDiscards, // it changes nothing that anybody can see
		Do: func(context.Context, *compartment.Call) (compartment.Value, error) {
			b, err := read(8)
			if err != nil {
				return compartment.Value{}, err
			}
			// 53 bits are all that a number has; with 64 the rounding could give 1.
			return compartment.OfNumber(float64(binary.BigEndian.Uint64(b)>>11) / (1 << 53)), nil
		},
	}
}

func randomBytes(read func(int) ([]byte, error)) compartment.Power {
	return compartment.Power{
		Name:       "randomBytes",
		Summary:    "Gives so many random bytes, at most 65,536.",
		TypeScript: "randomBytes(count: number): Promise<Uint8Array>",
		Params: []compartment.Param{{Name: "count", Types: []compartment.Type{compartment.TypeNumber},
			Integer: true, Min: 0, Max: randomBytesMax}},
		Returns:  compartment.Param{Types: []compartment.Type{compartment.TypeBytes}, MaxBytes: randomBytesMax},
		OnCancel: compartment.CancelDiscards, // as random
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			n, _ := c.Arg(0).AsNumber()
			b, err := read(int(n))
			if err != nil {
				return compartment.Value{}, err
			}
			return compartment.OfBytes(b), nil
		},
	}
}
