package tools

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// field is one argument of a tool.
type field struct {
	name     string
	required bool
	schema   *jsonschema.Schema
}

// object makes the schema of a tool's arguments. Nothing beside the fields is taken.
func object(fields ...field) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, // false, as the library writes it
	}
	for _, f := range fields {
		s.Properties[f.name] = f.schema
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// need makes a field that must be there.
func need(name string, s *jsonschema.Schema) field {
	return field{name: name, required: true, schema: s}
}

// may makes a field that can be left out.
func may(name string, s *jsonschema.Schema) field { return field{name: name, schema: s} }

// text is a string.
func text(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description}
}

// filled is a string that is not empty.
func filled(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description, MinLength: jsonschema.Ptr(1)}
}

// root is a path that is the root of the workspace when it is left out.
func root(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description, Default: json.RawMessage(`""`)}
}

// whole is a whole number from least on.
func whole(description string, least float64) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Description: description, Minimum: &least, Maximum: jsonschema.Ptr(float64(math.MaxInt32))}
}

// longestSeconds is how long a call can be told to take: a day, which is also what an engine is given at most.
const longestSeconds = 24 * 3600

// seconds is a time limit.
func seconds(description string, standard int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "number", Description: description, Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(longestSeconds)),
		Default: json.RawMessage(strconv.Itoa(standard))}
}

// flag is true or false, and false when it is left out.
func flag(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "boolean", Description: description, Default: json.RawMessage(`false`)}
}

// oneOf is one of some strings.
func oneOf(description string, values []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: description}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// wanted says in words what a schema takes.
func wanted(s *jsonschema.Schema) string {
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			b, _ := json.Marshal(v) // strings and booleans of our own
			values = append(values, string(b))
		}
		if len(values) == 1 {
			return values[0]
		}
		return "one of " + strings.Join(values, ", ")
	}
	words := map[string]string{"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list", "object": "an object"}
	said := words[s.Type]
	switch {
	case s.MinLength != nil:
		said += " that is not empty"
	case s.Minimum != nil && s.Maximum != nil && *s.Maximum < math.MaxInt32:
		said += " from " + number(*s.Minimum) + " to " + number(*s.Maximum)
	case s.Minimum != nil:
		said += " of at least " + number(*s.Minimum)
	}
	return said
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// names are the fields of a schema, in their order.
func names(s *jsonschema.Schema) []string { return slices.Clone(s.PropertyOrder) }
