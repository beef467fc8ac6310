package compartment

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nothing is a power's function that does nothing.
func nothing(context.Context, *Call) (Value, error) { return Value{}, nil }

// TestCapabilityCancellationRequired: a power that does not say what cancelling does is refused when the compartment
// is opened (R259).
func TestCapabilityCancellationRequired(t *testing.T) {
	_, err := NewHost(Config{Powers: []Power{{Name: "f", Do: nothing}}})
	require.ErrorIs(t, err, ErrConfig)
	require.EqualError(t, err, "powers.f.on_cancel: every power says what cancelling does; there is no default")
	for _, p := range []CancelPolicy{CancelDiscards, CancelUnknown, CancelFinishes} {
		_, err := NewHost(Config{Powers: []Power{{Name: "f", Do: nothing, OnCancel: p}}})
		require.NoError(t, err)
	}
}

// TestPowersAreChecked: what is wrong with a declaration is found before any guest runs, and named (R22).
func TestPowersAreChecked(t *testing.T) {
	good := Power{Name: "f", Do: nothing, OnCancel: CancelDiscards}
	with := func(change func(*Power)) []Power {
		p := good
		change(&p)
		return []Power{p}
	}
	for _, c := range []struct {
		name, field string
		powers      []Power
	}{
		{"no function", "powers.f.do", with(func(p *Power) { p.Do = nil })},
		{"gated without a gate", "powers.f.ask", with(func(p *Power) { p.Gated = true })},
		{"local but asynchronous", "powers.f.local", with(func(p *Power) { p.Local = true })},
		{"local and gated", "powers.f.local", with(func(p *Power) {
			p.Local, p.Sync = true, true
			p.Ask = func(context.Context, *Call) error { return nil }
		})},
		{"a negative limit", "powers.f.limits", with(func(p *Power) { p.Limits.Calls = -1 })},
		{"a rest parameter in the middle", "powers.f.params.a", with(func(p *Power) { p.Params = []Param{{Name: "a", Rest: true}, {Name: "b"}} })},
		{"twice", "powers.f", []Power{good, good}},
		{"a function that is an object too", "powers.f.g", append(with(func(p *Power) {}), with(func(p *Power) { p.Name = "f.g" })...)},
		{"an object that is a function too", "powers.f", append(with(func(p *Power) { p.Name = "f.g" }), good)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewHost(Config{Powers: c.powers})
			var typed *Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, CodeConfig, typed.Code)
			require.Equal(t, c.field, typed.Field)
		})
	}
	for _, name := range []string{"", "1a", "a b", "a-b", "a.b.c", ".a", "a.", "__proto__", "a.constructor", "prototype", "ä", "a\n", "f()",
		"await", "Array", "undefined", "Object.get", "delete"} {
		_, err := NewHost(Config{Powers: with(func(p *Power) { p.Name = name })})
		require.ErrorIs(t, err, ErrConfig, "%q", name)
	}
	for _, name := range []string{"readFile", "$", "_a1", "store.get", "store.delete"} {
		_, err := NewHost(Config{Powers: with(func(p *Power) { p.Name = name })})
		require.NoError(t, err, name)
	}
}

// TestSignature: what a model is shown comes from the schema, unless the author wrote it.
func TestSignature(t *testing.T) {
	p := Power{Name: "store.put", Params: []Param{
		{Name: "key", Types: []Type{TypeString}}, {Name: "value", Optional: true}, {Name: "opts", Types: []Type{TypeObject, TypeNull}, Fields: []Param{
			{Name: "ttl", Types: []Type{TypeNumber}, Optional: true}, {Name: "tag", Types: []Type{TypeString}}}},
		{Name: "rest", Types: []Type{TypeBytes}, Rest: true}}, Returns: Param{Types: []Type{TypeUndefined}}}
	require.Equal(t, "store.put(key: string, value?: unknown, opts: { ttl?: number; tag: string } | null, ...rest: Uint8Array[]): Promise<void>", p.Signature())
	p.Sync = true
	require.Contains(t, p.Signature(), "): void")
	p.TypeScript = "store.put(anything)"
	require.Equal(t, "store.put(anything)", p.Signature())
}

// TestArgumentsAreChecked: nothing is converted or rounded; what is not exactly right is refused with the place and
// the reason.
func TestArgumentsAreChecked(t *testing.T) {
	str, num, obj, arr := []Type{TypeString}, []Type{TypeNumber}, []Type{TypeObject}, []Type{TypeArray}
	take := Param{Name: "n", Types: num, Integer: true, Min: 0, Max: 100}
	open := Param{Name: "o", Types: obj, Fields: []Param{{Name: "path", Types: str}, {Name: "n", Types: num, Optional: true}}}
	for _, c := range []struct {
		name   string
		params []Param
		args   []Value
		want   string // empty: taken
	}{
		{"right", []Param{take}, []Value{OfNumber(5)}, ""},
		{"NaN", []Param{take}, []Value{OfNumber(math.NaN())}, "f: n must be an integer, not NaN"},
		{"infinity", []Param{take}, []Value{OfNumber(math.Inf(1))}, "f: n must be an integer, not Infinity"},
		{"a fraction", []Param{take}, []Value{OfNumber(1.5)}, "f: n must be an integer, not 1.5"},
		{"below", []Param{take}, []Value{OfNumber(-1)}, "f: n must be between 0 and 100, not -1"},
		{"far above", []Param{take}, []Value{OfNumber(math.Pow(2, 63))}, "f: n must be an integer, not 9223372036854776000"},
		{"NaN between bounds", []Param{{Name: "n", Types: num, Min: 0, Max: 1}}, []Value{OfNumber(math.NaN())}, "f: n must be between 0 and 1, not NaN"},
		{"a text for a number", []Param{take}, []Value{OfString("5")}, "f: n must be a number, not a string"},
		{"a BigInt for a number", []Param{take}, []Value{OfInt(math.MaxInt64)}, "f: n must be a number, not a bigint"},
		{"null", []Param{take}, []Value{OfNull()}, "f: n must be a number, not null"},
		{"nothing", []Param{take}, nil, "f: n must be a number, not undefined"},
		{"too many", []Param{take}, []Value{OfNumber(1), OfNumber(2)}, "f takes 1 argument, not 2"},
		{"optional", []Param{{Name: "s", Types: str, Optional: true}}, nil, ""},
		{"a boxed text", []Param{{Name: "s", Types: str}}, []Value{OfMark(TypeBoxed, "String", OfString("x"))}, "f: s is a boxed, not data"},
		{"a function", []Param{{Name: "s"}}, []Value{OfMark(TypeFunction, "g")}, "f: s is a function, not data"},
		{"a power inside", []Param{{Name: "v"}}, []Value{OfObject(Field{"cb", OfMark(TypeCapability, "readFile")})}, "f: v.cb is a capability, not data"},
		{"a getter inside", []Param{{Name: "v"}}, []Value{OfObject(Field{"y", OfMark(TypeGetter, "")})}, "f: v.y is a getter, not data"},
		{"a proxy in a list", []Param{{Name: "v"}}, []Value{OfArray(OfNull(), OfMark(TypeProxy, ""))}, "f: v[1] is a proxy, not data"},
		{"a hole", []Param{{Name: "v"}}, []Value{OfArray(OfMark(TypeHole, ""))}, "f: v[0] is a hole, not a value"},
		{"a cycle", []Param{{Name: "v"}}, []Value{OfArray(OfMark(TypeCircular, ""))}, "f: v[0] is circular"},
		{"too deep", []Param{{Name: "v"}}, []Value{OfArray(OfMark(TypeTooDeep, "").Omitting(1))}, "f: v[0] is nested too deeply"},
		{"cut", []Param{{Name: "v"}}, []Value{OfArray().Omitting(3)}, "f: v is too large, or has parts that are not data"},
		{"a lone surrogate", []Param{{Name: "s", Types: str}}, []Value{OfString("\uFFFD").Lossily()}, "f: s has a lone surrogate or bytes that are not text"},
		{"a long text", []Param{{Name: "s", Types: str, MaxBytes: 3}}, []Value{OfString("abcd")}, "f: s is 4 bytes, at most 3 are taken"},
		{"a long list", []Param{{Name: "l", Types: arr, MaxItems: 1}}, []Value{OfArray(OfNull(), OfNull())}, "f: l has 2 items, at most 1 are taken"},
		{"fields", []Param{open}, []Value{OfObject(Field{"path", OfString("a")})}, ""},
		{"a field is missing", []Param{open}, []Value{OfObject()}, "f: o.path must be a string, not undefined"},
		{"a field too many", []Param{open}, []Value{OfObject(Field{"path", OfString("a")}, Field{"mode\n", OfNull()})}, `f: o has no field "mode\n"`},
		{"a field of another type", []Param{open}, []Value{OfObject(Field{"path", OfString("a")}, Field{"n", OfString("1")})}, "f: o.n must be a number, not a string"},
		{"one of two types", []Param{{Name: "v", Types: []Type{TypeString, TypeArray}}}, []Value{OfNull()}, "f: v must be a string or an array, not null"},
		{"rest", []Param{{Name: "a", Types: num}, {Name: "r", Types: str, Rest: true}}, []Value{OfNumber(1), OfString("x"), OfString("y")}, ""},
		{"a wrong one among the rest", []Param{{Name: "r", Types: str, Rest: true}}, []Value{OfString("x"), OfNull()}, "f: r must be a string, not null"},
		{"shown", []Param{{Name: "r", Rest: true, Shown: true}}, []Value{OfMark(TypeProxy, ""), OfMark(TypeCircular, "")}, ""},
		{"too much in all", []Param{{Name: "r", Types: str, Rest: true}}, []Value{OfString(string(make([]byte, 600))), OfString(string(make([]byte, 600)))},
			"f: the arguments are 1216 bytes, at most 1000 may cross in one call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Power{Name: "f", Params: c.params}
			got, why := p.checkArgs(c.args, 1000)
			require.Equal(t, c.want, why)
			if why == "" {
				require.GreaterOrEqual(t, len(got), len(c.args))
			}
		})
	}
}

// TestCallJSON: what a gate is shown is an object by parameter name; a value that has no JSON is shown as a text.
func TestCallJSON(t *testing.T) {
	c := Call{params: []Param{{Name: "path"}, {Name: "n"}, {Name: "rest", Rest: true}}, Args: []Value{OfString("a\u202e"), OfBigInt(bigOne()), {}, OfNull()}}
	require.Equal(t, `{"path":"a\u202e","n":"1n","arg3":null}`, string(c.JSON()))
	require.Equal(t, `{}`, string((&Call{}).JSON()))

	long := Call{Args: []Value{OfString(strings.Repeat("x", 10000)), OfNumber(1)}}
	require.Greater(t, len(long.JSON()), 10000, "a gate sees all of it")
	require.Less(t, len(long.argsJSON(shownArg)), 600, "an outcome shows some of it")
	require.True(t, json.Valid(long.argsJSON(shownArg)))
	many := Call{Args: make([]Value, 100000)}
	for i := range many.Args {
		many.Args[i] = OfNumber(float64(i))
	}
	require.Less(t, len(many.argsJSON(shownArg)), 10000)
	require.True(t, json.Valid(many.argsJSON(shownArg)))
	require.Equal(t, Value{}, c.Arg(9))
}
