package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"sallyport/compartment"
	"sallyport/internal/nearest"
	"sallyport/internal/strict"
)

// longestArgs bounds the arguments of one call: more than any command line that a kernel takes, or any source that an
// engine does.
const longestArgs = 1 << 20

// mostFaults bounds how many faults of one call are told.
const mostFaults = 5

// checker checks the arguments of one tool.
type checker struct {
	tool   string
	schema *jsonschema.Schema
	whole  *jsonschema.Resolved
	fields map[string]*jsonschema.Resolved
}

// newChecker resolves the schema of a tool and of each of its fields. An error is a fault of this package.
func newChecker(tool string, s *jsonschema.Schema) (*checker, error) {
	c := &checker{tool: tool, schema: s, fields: map[string]*jsonschema.Resolved{}}
	var err error
	if c.whole, err = s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", tool, err)
	}
	for name, f := range s.Properties {
		alone := *f // a schema is resolved once only
		if c.fields[name], err = alone.Resolve(nil); err != nil {
			return nil, fmt.Errorf("the schema of %s, %s: %w", tool, name, err)
		}
	}
	return c, nil
}

// arguments are the arguments of a call.
type arguments struct {
	// made is what the caller wrote, in one spelling: the gate reads it, and the tool reads nothing else (R178).
	made json.RawMessage
	// full is made with the defaults.
	full json.RawMessage
}

// check reads the arguments (R199). Its error is an *Error with CodeInvalidArgs that names every fault.
func (c *checker) check(raw []byte) (arguments, error) {
	given, err := c.decode(raw)
	if err != nil {
		return arguments{}, err
	}
	if faults := c.faults(given); len(faults) > 0 {
		return arguments{}, c.invalid(strings.Join(faults, "; "))
	}
	made, err := json.Marshal(given)
	if err != nil {
		return arguments{}, c.invalid(err.Error())
	}
	if err := c.whole.ApplyDefaults(&given); err != nil {
		return arguments{}, c.invalid(err.Error())
	}
	if err := c.whole.Validate(given); err != nil { // the schema as it is shown has the last word
		return arguments{}, c.invalid(err.Error())
	}
	full, err := json.Marshal(given)
	if err != nil {
		return arguments{}, c.invalid(err.Error())
	}
	return arguments{made: made, full: full}, nil
}

// decode reads one object. Nothing and null stand for an empty one.
func (c *checker) decode(raw []byte) (map[string]any, error) {
	if len(raw) > longestArgs {
		return nil, c.invalid(fmt.Sprintf("the arguments have %d bytes, and at most %d are taken", len(raw), longestArgs))
	}
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if err := strict.Check(raw); err != nil {
		return nil, c.invalid("the arguments are " + err.Error())
	}
	given := map[string]any{}
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, c.invalid("the arguments are not an object of numbers, strings and the like")
	}
	if given == nil {
		given = map[string]any{}
	}
	return given, nil
}

// faults lists what is wrong: unknown fields first, with what was probably meant.
func (c *checker) faults(given map[string]any) []string {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if c.fields[name] == nil {
			faults = append(faults, c.unknown(name))
		}
	}
	for _, name := range names(c.schema) {
		value, there := given[name]
		switch {
		case !there && slices.Contains(c.schema.Required, name):
			faults = append(faults, name+" is missing: "+wanted(c.schema.Properties[name]))
		case there && c.fields[name].Validate(value) != nil:
			shown, _ := json.Marshal(value) // it was JSON a moment ago
			faults = append(faults, name+" is "+compartment.Shown(string(shown), 80)+", and takes "+wanted(c.schema.Properties[name]))
		}
	}
	if len(faults) > mostFaults {
		faults = append(faults[:mostFaults], fmt.Sprintf("and %d more", len(faults)-mostFaults))
	}
	return faults
}

func (c *checker) unknown(name string) string {
	said := "unknown field " + quoted(name)
	if meant := nearest.Of(name, names(c.schema)); meant != "" {
		return said + " (did you mean " + quoted(meant) + "?)"
	}
	if len(c.schema.Properties) == 0 {
		return said + " (it takes none)"
	}
	return said + " (there are " + strings.Join(names(c.schema), ", ") + ")"
}

func (c *checker) invalid(says string) error {
	return &Error{Code: CodeInvalidArgs, Tool: c.tool, Text: "Invalid arguments for " + c.tool + ": " + says + ". Correct them and call again; nothing was done."}
}
