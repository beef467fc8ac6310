package hostfuncs

import (
	"context"
	"encoding/json"

	"sallyport/compartment"
)

// ToolCaller makes the calls of CallTool: whoever keeps the tools has one. Both functions get the id of the call, which
// tells it from every other one, and the copied arguments, one JSON object.
type ToolCaller struct {
	// Ask checks the call and puts it to the gate of the tool. It comes first, and nothing is done before it. An error is a
	// refusal.
	Ask func(ctx context.Context, id, tool string, args json.RawMessage) error
	// Call makes a call that Ask let through, and no other one.
	Call func(ctx context.Context, id, tool string, args json.RawMessage) (compartment.Value, error)
}

// longestToolName is longer than any name of a tool.
const longestToolName = 64

// CallTool is the power callTool(name, args): a call of another tool, as the model itself could make it. Each call goes through
// the schema and the gate of that tool. What is refused there is a refusal that the program can catch, and so is a tool that could not
// do it when the error is a *compartment.Refusal.
//
// What a call that is cut off has done by then is not known, and the outcome lists it so.
func CallTool(tools ToolCaller) compartment.Power {
	p := compartment.Power{
		Name:       "callTool",
		Summary:    "Calls one of the other tools, as you would.",
		TypeScript: "callTool(name: string, args: object): Promise<{ id: string, text: string, notes: string[], artifact: { id: string, format: string, bytes: number, lines: number } | null }>",
		Params: []compartment.Param{
			{Name: "name", Types: []compartment.Type{compartment.TypeString}, MaxBytes: longestToolName},
			{Name: "args", Types: []compartment.Type{compartment.TypeObject}, Optional: true},
		},
		Returns:  compartment.Param{Types: []compartment.Type{compartment.TypeObject}},
		OnCancel: compartment.CancelUnknown,
		Gated:    true,
		Ask: func(ctx context.Context, c *compartment.Call) error {
			name, args, err := toolArgs(c)
			if err != nil {
				return err
			}
			return tools.Ask(ctx, c.ID, name, args)
		},
		Do: func(ctx context.Context, c *compartment.Call) (compartment.Value, error) {
			name, args, err := toolArgs(c)
			if err != nil {
				return compartment.Value{}, err
			}
			return tools.Call(ctx, c.ID, name, args)
		},
	}
	if tools.Ask == nil {
		p.Ask = nil // a compartment refuses a gated power without a gate when it is opened
	}
	return p
}

// toolArgs are the arguments as the tool gets them. What has no exact JSON is refused, not rounded: the gate must see what the
// tool uses.
func toolArgs(c *compartment.Call) (name string, args json.RawMessage, err error) {
	name, _ = c.Arg(0).AsString()
	given := c.Arg(1)
	if given.Type() == compartment.TypeUndefined {
		return name, json.RawMessage("{}"), nil
	}
	args, ok := given.JSON()
	if !ok {
		return "", nil, compartment.Refuse("not_json", "callTool: the arguments are not exactly JSON: leave out undefined, NaN, dates and the like")
	}
	return name, args, nil
}
