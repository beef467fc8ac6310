package compartment

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON writes v as strict JSON that reads back as the same value, and true; or nothing and false when there is no
// such JSON: a NaN, undefined, a BigInt, a date, a mark, text with a lone surrogate, or a part that was left out
// (R257). Characters that cannot be seen are written as \u escapes, so the text is as safe to show as Escape makes
// it.
func (v Value) JSON() (json.RawMessage, bool) {
	b, ok := v.appendJSON(nil)
	if !ok {
		return nil, false
	}
	return b, true
}

// appendJSON appends v to b; false means that v has no exact JSON.
func (v Value) appendJSON(b []byte) ([]byte, bool) {
	if v.omitted != 0 || v.lossy {
		return b, false
	}
	switch v.typ {
	case TypeNull:
		return append(b, "null"...), true
	case TypeBool:
		return strconv.AppendBool(b, v.num != 0), true
	case TypeNumber:
		if math.IsNaN(v.num) || math.IsInf(v.num, 0) {
			return b, false
		}
		return append(b, numberText(v.num)...), true
	case TypeString:
		return appendJSONString(b, v.text), true
	case TypeArray, TypeObject:
		return v.appendJSONParts(b)
	default:
		return b, false
	}
}

// appendJSONParts appends an array or an object.
func (v Value) appendJSONParts(b []byte) ([]byte, bool) {
	open, end := byte('['), byte(']')
	if v.typ == TypeObject {
		open, end = '{', '}'
	}
	b = append(b, open)
	for i, it := range v.items {
		if i > 0 {
			b = append(b, ',')
		}
		if v.typ == TypeObject {
			if !utf8.ValidString(v.keys[i]) {
				return b, false
			}
			b = append(appendJSONString(b, v.keys[i]), ':')
		}
		var ok bool
		if b, ok = it.appendJSON(b); !ok {
			return b, false
		}
	}
	return append(b, end), true
}

// appendJSONString appends s, quoted, with all that Escape would escape as \u escapes.
func appendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r > 0xffff && unseen(r):
			hi, lo := utf16.EncodeRune(r)
			b = appendU(appendU(b, hi), lo)
		case unseen(r):
			b = appendU(b, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// appendU appends one \u escape.
func appendU(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// isoTime writes t as toISOString does.
func isoTime(t time.Time) string {
	if y := t.Year(); y >= 0 && y <= 9999 {
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	sign, y := "+", t.Year()
	if y < 0 {
		sign, y = "-", -y
	}
	year := strconv.Itoa(y)
	return sign + strings.Repeat("0", max(0, 6-len(year))) + year + t.UTC().Format("-01-02T15:04:05.000Z")
}
