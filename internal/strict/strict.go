// Package strict tells JSON that every reader reads alike from JSON that two readers can take for two things: a gate
// that saw one path and a tool that uses another is how a gate is passed.
//
//	if err := strict.Check(data); err != nil {
//		return err
//	}
//	err := json.Unmarshal(data, &fields) // a map: the keys of a struct would be compared without regard to case
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// deepest is how deep a document may nest. Arguments and verdicts nest two or three levels.
const deepest = 64

// Check refuses what is not one JSON value in UTF-8, and a key that is twice in its object, half of a surrogate pair,
// text after the value, and nesting deeper than 64. The error is one line.
func Check(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("not valid UTF-8")
	}
	if !json.Valid(data) {
		return syntax(data)
	}
	if err := surrogates(data); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number is not looked at here, however large
	return value(d, 0)
}

// syntax says where a document stops being JSON.
func syntax(data []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(data, &v)
	var at *json.SyntaxError
	if errors.As(err, &at) {
		return fmt.Errorf("not JSON, at byte %d: %s", at.Offset, at.Error())
	}
	return fmt.Errorf("not JSON: %w", err)
}

// value reads one value, of which the document is known to be JSON.
func value(d *json.Decoder, depth int) error {
	if depth > deepest {
		return fmt.Errorf("nested deeper than %d", deepest)
	}
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		return object(d, depth)
	case json.Delim('['):
		for d.More() {
			if err := value(d, depth+1); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

// object reads the rest of an object.
func object(d *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return io.ErrUnexpectedEOF // cannot be: the document is JSON
		}
		if seen[key] {
			return fmt.Errorf("the key %q is there twice", key)
		}
		seen[key] = true
		if err := value(d, depth+1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// surrogates refuses \ud800 and the like without their other half: some readers keep them, some put another character
// in their place. In valid JSON a backslash stands in strings only.
func surrogates(data []byte) error {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++
		if data[i] != 'u' {
			continue
		}
		r := unit(data[i+1:])
		i += 4
		if !utf16.IsSurrogate(r) {
			continue
		}
		rest := data[i+1:]
		if !bytes.HasPrefix(rest, []byte(`\u`)) || utf16.DecodeRune(r, unit(rest[2:])) == utf8.RuneError {
			return errors.New("half of a surrogate pair")
		}
		i += 6
	}
	return nil
}

// unit reads four hexadecimal digits, which valid JSON has here.
func unit(data []byte) rune {
	var r rune
	for _, c := range data[:4] {
		switch {
		case c <= '9':
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}
