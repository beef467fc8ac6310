package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// MaxJSONBytes is how long a document can be that is read as JSON.
const MaxJSONBytes = 16 << 20

// MaxJSONMemory is how much memory a document may take that is read as JSON, in bytes, as estimated from its brackets and
// commas. Ordinary documents take five to ten times their length; one of tiny objects, more than fifty times.
const MaxJSONMemory = 256 << 20

// JSON is a document that was read as JSON, to be asked about. It is in memory, and valid after the turn.
//
// A path is JSONPath (RFC 9535): $.a.b, $['a b'], $[0], $[-1], $[1:3], $.*, $..name, $[?@.size > 10]. An empty path is $.
// Members of an object are taken in the order of their names. Of two members with one name the last counts. Numbers keep
// their digits.
//
// What can make the cost of a path explode is refused (ErrTooCostly): "..", another filter, or several selectors with
// commas, inside a filter; more than MaxResults results; results of more than MaxResultBytes; more than ten seconds. A
// query can be cancelled.
type JSON struct {
	id   string
	root any
}

// JSON reads the artifact as one JSON value; of KindItems, as an array with the value of each line. Errors are ErrNotJSON,
// naming the place, and ErrTooLarge above MaxJSONBytes or MaxJSONMemory: the artifact stays text, and can be asked about
// as such.
func (a *Artifact) JSON(ctx context.Context) (*JSON, error) {
	text, err := a.document(ctx, MaxJSONBytes)
	if err != nil {
		return nil, err
	}
	if memory := jsonMemory(text); memory > MaxJSONMemory {
		return nil, &Error{Kind: ErrTooLarge, What: a.id, Detail: fmt.Sprintf(
			"it would take some %d bytes of memory, and may take %d; read it as text, with grep, head, tail and cat", memory, MaxJSONMemory)}
	}
	var root any
	if a.kind == KindItems {
		root, err = decodeLines(ctx, text)
	} else {
		root, err = decodeOne(text)
	}
	if err != nil {
		return nil, a.named(err)
	}
	return &JSON{id: a.id, root: root}, nil
}

// document reads all of the artifact into memory, if it is not too long for that.
func (a *Artifact) document(ctx context.Context, most int64) ([]byte, error) {
	v, err := a.s.view()
	if err != nil {
		return nil, a.named(err)
	}
	if v.all > most {
		return nil, &Error{Kind: ErrTooLarge, What: a.id,
			Detail: fmt.Sprintf("%d bytes, and at most %d can be read in this way; read it as text, with grep, head, tail and cat", v.all, most)}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text, err := Text{v: v, end: v.all}.Bytes()
	return text, a.named(err)
}

// jsonMemory estimates what a text takes when it is decoded: a map for each object, a slice for each array, a value for
// each comma, and the strings.
func jsonMemory(text []byte) int64 {
	n := int64(len(text))
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			n += 320
		case '[':
			n += 56
		case ',', '\n':
			n += 40
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}

// decodeOne decodes a text that is one value.
func decodeOne(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, notJSON(text, err, dec.InputOffset())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, notJSON(text, errors.New("something stands after the value"), dec.InputOffset())
	}
	return v, nil
}

// notJSON names the line at which a text stops being JSON.
func notJSON(text []byte, err error, at int64) error {
	if e := (*json.SyntaxError)(nil); errors.As(err, &e) {
		at = e.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err, at = errors.New("it ends too early"), int64(len(text))
	}
	line := 1 + bytes.Count(text[:min(int64(len(text)), at)], newline)
	return &Error{Kind: ErrNotJSON, Detail: fmt.Sprintf("line %d: %v; it can still be read as text", line, err), Err: err}
}

// decodeLines decodes a text that has one value a line. Empty lines are none.
func decodeLines(ctx context.Context, text []byte) (any, error) {
	items := []any{}
	row := 0
	for line := range bytes.Lines(text) {
		row++
		if row%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		v, err := decodeOne(line)
		if e := (*Error)(nil); errors.As(err, &e) {
			return nil, &Error{Kind: ErrNotJSON, Detail: fmt.Sprintf("line %d is not a JSON value: %v; it can still be read as text", row, e.Err), Err: e.Err}
		}
		items = append(items, v)
	}
	return items, nil
}

// Get gives every value that the path leads to; none is no error.
func (j *JSON) Get(ctx context.Context, path string) ([]any, error) { return j.query(ctx, path) }

// one gives the value that a path leads to: the first, when it is several.
func (j *JSON) one(ctx context.Context, path string) (any, error) {
	all, err := j.query(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, j.noMatch(path, "the path leads to nothing")
	}
	return all[0], nil
}

func (j *JSON) noMatch(path, detail string) error {
	return &Error{Kind: ErrNoMatch, What: fmt.Sprintf("path %.200q", path), Detail: detail}
}

// Type names the type of what the path leads to: object, array, string, number, boolean or null.
func (j *JSON) Type(ctx context.Context, path string) (string, error) {
	v, err := j.one(ctx, path)
	if err != nil {
		return "", err
	}
	return typeOf(v), nil
}

func typeOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

// Keys lists the names of an object's members, in order. Anything else is ErrNoMatch.
func (j *JSON) Keys(ctx context.Context, path string) ([]string, error) {
	v, err := j.one(ctx, path)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, j.noMatch(path, "it is of type "+typeOf(v)+", and only an object has keys")
	}
	return slices.Sorted(maps.Keys(object)), nil
}

// Length counts the elements of an array, the members of an object, or the characters of a string. Anything else is
// ErrNoMatch.
func (j *JSON) Length(ctx context.Context, path string) (int, error) {
	v, err := j.one(ctx, path)
	if err != nil {
		return 0, err
	}
	switch v := v.(type) {
	case map[string]any:
		return len(v), nil
	case []any:
		return len(v), nil
	case string:
		return utf8.RuneCountInString(v), nil
	}
	return 0, j.noMatch(path, "it is of type "+typeOf(v)+", which has no length")
}

// Filter gives the elements, or members, of what the path leads to for which the expression holds, such as
// `@.size > 10 && @.kind == "file"`.
func (j *JSON) Filter(ctx context.Context, path, expression string) ([]any, error) {
	if path == "" {
		path = "$"
	}
	return j.query(ctx, path+"[?"+expression+"]")
}

// Slice gives the elements of an array in a half-open range, counted from 0; a negative number counts from the end. Use
// ToEnd for the rest. Anything but an array is ErrNoMatch.
func (j *JSON) Slice(ctx context.Context, path string, start, end int64) ([]any, error) {
	array, err := j.array(ctx, path)
	if err != nil {
		return nil, err
	}
	n := int64(len(array))
	at := func(i int64) int64 {
		if i < 0 {
			i = max(0, i+n)
		}
		return min(i, n)
	}
	from, to := at(start), at(end)
	return j.bounded(ctx, array[from:max(from, to)])
}

// Pluck gives one member of each element of an array, those that have it. Anything but an array is ErrNoMatch.
func (j *JSON) Pluck(ctx context.Context, path, key string) ([]any, error) {
	array, err := j.array(ctx, path)
	if err != nil {
		return nil, err
	}
	found := []any{}
	for _, v := range array {
		if object, ok := v.(map[string]any); ok {
			if member, ok := object[key]; ok {
				found = append(found, member)
			}
		}
	}
	return j.bounded(ctx, found)
}

func (j *JSON) array(ctx context.Context, path string) ([]any, error) {
	v, err := j.one(ctx, path)
	if err != nil {
		return nil, err
	}
	array, ok := v.([]any)
	if !ok {
		return nil, j.noMatch(path, "it is of type "+typeOf(v)+", and not an array")
	}
	return array, nil
}
