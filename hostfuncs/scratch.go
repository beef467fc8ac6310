package hostfuncs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"sallyport/compartment"
)

// The bounds of a scratch.
const (
	scratchBytes   = 1 << 20 // what it keeps unless the host says otherwise
	scratchEntries = 1000    // so that all keys cross in one call
	scratchKey     = 256     // bytes of one key
	// scratchEntryCost is added to each entry's own bytes, about what the table takes: empty entries are not free.
	scratchEntryCost = 64
)

// Scratch is a place for notes in the memory of the host: scratch.set(key, value), get, delete and keys. Values are
// strings; JSON.stringify makes one of anything. It keeps at most maxBytes, counted as the bytes of keys and values and
// 64 for each entry; 0 stands for 1 MiB. It keeps at most 1,000 entries, and a key has at most 256 bytes. What does not
// fit is refused, and nothing is dropped to make room.
//
// What is kept stays as long as the powers of this call: every compartment that has them sees the same notes, and a new
// call of Scratch is a new, empty place. So notes are as trustworthy as all programs together that could write them.
// A set or delete that was begun is always carried out whole, also when the evaluation is stopped.
//
// They are not gated by themselves: see Gated.
func Scratch(maxBytes int) []compartment.Power {
	if maxBytes <= 0 {
		maxBytes = scratchBytes
	}
	n := &notes{max: maxBytes, values: map[string]string{}}
	return []compartment.Power{n.get(), n.set(), n.delete(), n.keys()}
}

// notes is what a scratch keeps.
type notes struct {
	max int

	mu     sync.Mutex
	values map[string]string
	bytes  int
}

// put keeps a value, or says why it does not.
func (n *notes) put(key, value string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	old, there := n.values[key]
	bytes := n.bytes + cost(key, value)
	if there {
		bytes -= cost(key, old)
	}
	switch {
	case bytes > n.max:
		return compartment.Refuse("scratch_full", fmt.Sprintf("scratch.set: it would keep %d bytes, and %d is the most", bytes, n.max))
	case !there && len(n.values) >= scratchEntries:
		return compartment.Refuse("scratch_full", fmt.Sprintf("scratch.set: it keeps %d entries, which is the most", scratchEntries))
	}
	n.values[key], n.bytes = value, bytes
	return nil
}

func cost(key, value string) int { return len(key) + len(value) + scratchEntryCost }

var (
	scratchText    = []compartment.Type{compartment.TypeString}
	scratchNothing = compartment.Param{Types: []compartment.Type{compartment.TypeUndefined}}
	scratchKeyArg  = compartment.Param{Name: "key", Types: scratchText, MaxBytes: scratchKey}
)

func (n *notes) get() compartment.Power {
	return compartment.Power{
		Name:       "scratch.get",
		Summary:    "Gives the note of that key, or undefined.",
		TypeScript: "scratch.get(key: string): Promise<string | undefined>",
		Params:     []compartment.Param{scratchKeyArg},
		Returns:    compartment.Param{Types: []compartment.Type{compartment.TypeString, compartment.TypeUndefined}, Optional: true},
		OnCancel:   compartment.CancelDiscards, // a read
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			key, _ := c.Arg(0).AsString()
			n.mu.Lock()
			defer n.mu.Unlock()
			if value, ok := n.values[key]; ok {
				return compartment.OfString(value), nil
			}
			return compartment.Value{}, nil
		},
	}
}

func (n *notes) set() compartment.Power {
	return compartment.Power{
		Name:       "scratch.set",
		Summary:    "Keeps a note under that key, for this evaluation and later ones.",
		TypeScript: "scratch.set(key: string, value: string): Promise<void>",
		Params:     []compartment.Param{scratchKeyArg, {Name: "value", Types: scratchText}},
		Returns:    scratchNothing,
		OnCancel:   compartment.CancelFinishes, // so that it is always known what is kept
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			key, _ := c.Arg(0).AsString()
			value, _ := c.Arg(1).AsString()
			return compartment.Value{}, n.put(key, value)
		},
	}
}

func (n *notes) delete() compartment.Power {
	return compartment.Power{
		Name:       "scratch.delete",
		Summary:    "Removes the note of that key, and says whether there was one.",
		TypeScript: "scratch.delete(key: string): Promise<boolean>",
		Params:     []compartment.Param{scratchKeyArg},
		Returns:    compartment.Param{Types: []compartment.Type{compartment.TypeBool}},
		OnCancel:   compartment.CancelFinishes, // as set
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			key, _ := c.Arg(0).AsString()
			n.mu.Lock()
			defer n.mu.Unlock()
			value, ok := n.values[key]
			if ok {
				n.bytes -= cost(key, value)
				delete(n.values, key)
			}
			return compartment.OfBool(ok), nil
		},
	}
}

func (n *notes) keys() compartment.Power {
	return compartment.Power{
		Name:       "scratch.keys",
		Summary:    "Lists the keys that have notes, sorted.",
		TypeScript: "scratch.keys(): Promise<string[]>",
		Returns:    compartment.Param{Types: []compartment.Type{compartment.TypeArray}, MaxItems: scratchEntries},
		OnCancel:   compartment.CancelDiscards, // a read
		Do: func(context.Context, *compartment.Call) (compartment.Value, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			items := make([]compartment.Value, 0, len(n.values))
			for _, key := range slices.Sorted(maps.Keys(n.values)) {
				items = append(items, compartment.OfString(key))
			}
			return compartment.OfArray(items...), nil
		},
	}
}
