package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sallyport/gate"
)

// A gate that denies what it does not know. A real one would ask a person, or a service that does (R188).
func ExampleAsk() {
	readsOnly := func(_ context.Context, c gate.Call) (gate.Verdict, error) {
		if c.Tool != "open_file" {
			return gate.Verdict{Note: "only files may be opened here"}, nil
		}
		return gate.Verdict{Approved: true}, nil
	}
	for _, tool := range []string{"open_file", "run_shell_command"} {
		call := gate.Call{ID: "1", Tool: tool, Args: json.RawMessage(`{}`), Workspace: "/w"}
		fmt.Println(gate.Ask(context.Background(), readsOnly, call))
	}
	// Output:
	// <nil>
	// run_shell_command: refused by the gate: only files may be opened here
}

// What a caller does with each kind of "no".
func ExampleError() {
	nobody := func(context.Context, gate.Call) (gate.Verdict, error) {
		return gate.Verdict{}, errors.New("the decider is not at home")
	}
	err := gate.Ask(context.Background(), nobody, gate.Call{Tool: "open_file"})
	switch {
	case errors.Is(err, gate.ErrRefused):
		fmt.Println("do not try again")
	case errors.Is(err, gate.ErrUnavailable):
		fmt.Println("nobody answered:", err)
	case errors.Is(err, gate.ErrAborted):
		fmt.Println("the question was withdrawn")
	}
	// Output:
	// nobody answered: open_file: gate unavailable: the decider is not at home
}
