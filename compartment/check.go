package compartment

import (
	"fmt"
	"math"
)

// checkArgs compares the copied arguments with the power's parameters. It returns them filled up with undefined, or
// says, for the guest, which one is wrong and why. Nothing is converted: what is not already right is refused. The slice is
// the caller's no more.
func (p *Power) checkArgs(args []Value, maxBytes int) ([]Value, string) {
	size := 0
	for i, a := range args {
		param, ok := p.paramAt(i)
		if !ok {
			return nil, fmt.Sprintf("%s takes %s, not %d", p.Name, countText(len(p.Params)), len(args))
		}
		size += a.size()
		if why := param.check(a, param.Name); why != "" {
			return nil, fmt.Sprintf("%s: %s", p.Name, why)
		}
	}
	for i := len(args); i < len(p.Params); i++ {
		if param := p.Params[i]; !param.Rest {
			if why := param.check(Value{}, param.Name); why != "" {
				return nil, fmt.Sprintf("%s: %s", p.Name, why)
			}
			args = append(args, Value{})
		}
	}
	if size > maxBytes && !p.Local {
		return nil, fmt.Sprintf("%s: the arguments are %d bytes, at most %d may cross in one call", p.Name, size, maxBytes)
	}
	return args, ""
}

// paramAt is the parameter that argument i belongs to.
func (p *Power) paramAt(i int) (Param, bool) {
	if i < len(p.Params) {
		return p.Params[i], true
	}
	if n := len(p.Params); n > 0 && p.Params[n-1].Rest {
		return p.Params[n-1], true
	}
	return Param{}, false
}

// countText says how many arguments there are.
func countText(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

// check says what is wrong with v at the place at; empty when nothing is.
func (a Param) check(v Value, at string) string {
	if a.Shown {
		return ""
	}
	if v.typ == TypeUndefined && (a.Optional || a.Rest) {
		return ""
	}
	if why := v.notData(at); why != "" {
		return why
	}
	if !a.takes(v.typ) {
		return fmt.Sprintf("%s must be %s, not %s", at, typesText(a.Types), article(v.typ))
	}
	switch v.typ {
	case TypeNumber:
		return a.checkNumber(v.num, at)
	case TypeString, TypeBytes:
		if n := len(v.text) + len(v.bytes); a.MaxBytes > 0 && n > a.MaxBytes {
			return fmt.Sprintf("%s is %d bytes, at most %d are taken", at, n, a.MaxBytes)
		}
	case TypeArray:
		if a.MaxItems > 0 && len(v.items) > a.MaxItems {
			return fmt.Sprintf("%s has %d items, at most %d are taken", at, len(v.items), a.MaxItems)
		}
	case TypeObject:
		return a.checkFields(v, at)
	}
	return ""
}

func (a Param) takes(t Type) bool {
	for _, ok := range a.Types {
		if ok == t {
			return true
		}
	}
	return len(a.Types) == 0
}

func (a Param) checkNumber(f float64, at string) string {
	switch {
	case a.Integer && (math.Trunc(f) != f || math.Abs(f) > 1<<53):
		return fmt.Sprintf("%s must be an integer, not %s", at, numberText(f))
	case a.Max > a.Min && !(f >= a.Min && f <= a.Max): // written so that NaN is refused
		return fmt.Sprintf("%s must be between %s and %s, not %s", at, numberText(a.Min), numberText(a.Max), numberText(f))
	}
	return ""
}

// checkFields compares an object with the fields it may have.
func (a Param) checkFields(v Value, at string) string {
	if a.Fields == nil {
		return ""
	}
	known := make(map[string]bool, len(a.Fields))
	for _, f := range a.Fields {
		known[f.Name] = true
		part, _ := v.Get(f.Name)
		if why := f.check(part, at+"."+f.Name); why != "" {
			return why
		}
	}
	for _, k := range v.keys {
		if !known[k] {
			return fmt.Sprintf("%s has no field %s", at, `"`+Shown(k, 60)+`"`)
		}
	}
	return ""
}

// isExact tells whether all of v is whole, exact data.
func (v Value) isExact() bool {
	if !v.typ.IsData() || v.lossy || v.omitted != 0 {
		return false
	}
	for _, it := range v.items {
		if !it.isExact() {
			return false
		}
	}
	return true
}

// notData finds the first part of v that is not whole, exact data.
func (v Value) notData(at string) string {
	switch {
	case v.isExact():
		return "" // no place needs a name
	case v.typ == TypeHole:
		return at + " is a hole, not a value"
	case v.typ == TypeCircular:
		return at + " is circular"
	case v.typ == TypeTooDeep:
		return at + " is nested too deeply"
	case !v.typ.IsData():
		return fmt.Sprintf("%s is %s, not data", at, article(v.typ))
	case v.lossy:
		return at + " has a lone surrogate or bytes that are not text"
	case v.omitted != 0:
		return at + " is too large, or has parts that are not data"
	}
	for i, it := range v.items {
		where := fmt.Sprintf("%s[%d]", at, i)
		if v.typ == TypeObject {
			where = at + "." + Shown(v.keys[i], 60)
		}
		if why := it.notData(where); why != "" {
			return why
		}
	}
	return ""
}

// size is about how many bytes v is when it is written down.
func (v Value) size() int {
	n := 8 + len(v.text) + len(v.bytes)
	for _, k := range v.keys {
		n += len(k)
	}
	for _, it := range v.items {
		n += it.size()
	}
	return n
}

// article is the type with its article, for a sentence.
func article(t Type) string {
	switch t {
	case TypeUndefined, TypeNull, TypeBytes:
		return t.String()
	case TypeArray, TypeObject, TypeErrorObject:
		return "an " + t.String()
	}
	return "a " + t.String()
}

// typesText lists the types for a sentence.
func typesText(ts []Type) string {
	s := ""
	for i, t := range ts {
		if i > 0 {
			s += " or "
		}
		s += article(t)
	}
	return s
}
