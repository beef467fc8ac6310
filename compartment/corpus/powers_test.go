package corpus

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/compartment"
	"sallyport/hostfuncs"
)

// world is what the host holds for one attack: the powers it asks for, and a count of the calls that reached them.
type world struct {
	mu      sync.Mutex
	calls   map[string]int
	kept    map[string]compartment.Value
	revoked atomic.Bool
}

func newWorld() *world {
	return &world{calls: map[string]int{}, kept: map[string]compartment.Value{}}
}

// required finds the names of powers in what an attack requires.
var required = regexp.MustCompile(`\b(readFile|readFileAsync|openFile|hostArray|hostBytes|hostBigId|getUser|getTime|fail|take|joinStrings|callTool|hashAsync|allowedHosts|fetch|each|onEvent|store|console)\b`)

// needs says what an attack requires. Some use the console without saying so.
func (a attack) needs() string {
	if strings.Contains(a.Code, "console.") {
		return a.Requires + "; console"
	}
	return a.Requires
}

// powers are those that are required, and no others.
func (w *world) powers(requires string) []compartment.Power {
	var out []compartment.Power
	seen := map[string]bool{}
	for _, name := range required.FindAllString(requires, -1) {
		if seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "console":
			out = append(out, hostfuncs.Console()...)
		case "store":
			out = append(out, w.power("store.get"), w.power("store.put"))
		case "each":
			out = append(out, w.power("hostItem"))
		case "onEvent": // nothing of the host: see shims
		default:
			out = append(out, w.power(name))
		}
	}
	return out
}

// shims are what the guest gets of host functions that call back. No power can: a function of a guest is not data, and does not cross. A host that
// wants such a function makes it of guest code around a power, as here.
var shims = map[string]string{
	"each(":    "globalThis.each = (array, fn) => { let last; for (let i = 0; i < array.length; i++) last = fn(hostItem(array, i)); return last }; 0",
	"onEvent(": "globalThis.onEvent = (fn) => { (globalThis.__events ??= []).push(fn) }; 0",
}

var (
	str    = []compartment.Type{compartment.TypeString}
	number = []compartment.Type{compartment.TypeNumber}
	object = []compartment.Type{compartment.TypeObject}
	array  = []compartment.Type{compartment.TypeArray}
)

// shape is what a power takes and does.
type shape struct {
	params []compartment.Param
	async  bool
	do     func(w *world, c *compartment.Call) (compartment.Value, error)
}

// give makes a power that gives one value.
func give(v compartment.Value) func(*world, *compartment.Call) (compartment.Value, error) {
	return func(*world, *compartment.Call) (compartment.Value, error) { return v, nil }
}

var shapes = map[string]shape{
	"readFile":      {params: []compartment.Param{{Name: "path", Types: str}}, do: readVirtual},
	"readFileAsync": {params: []compartment.Param{{Name: "path", Types: str}}, async: true, do: readVirtual},
	"openFile": {params: []compartment.Param{{Name: "options", Types: object, Fields: []compartment.Param{{Name: "path", Types: str}}}},
		do: func(_ *world, c *compartment.Call) (compartment.Value, error) {
			path, _ := c.Arg(0).Get("path")
			return virtualFile(path)
		}},
	"store.get":   {params: []compartment.Param{{Name: "key", Types: str}}, do: (*world).get},
	"store.put":   {params: []compartment.Param{{Name: "key", Types: str}, {Name: "value"}}, do: (*world).put},
	"take":        {params: []compartment.Param{{Name: "n", Types: number, Integer: true, Max: 100}}, do: func(_ *world, c *compartment.Call) (compartment.Value, error) { return c.Arg(0), nil }},
	"joinStrings": {params: []compartment.Param{{Name: "list", Types: array, MaxItems: 1000}}, do: joinStrings},
	"hostArray":   {do: give(compartment.OfArray(compartment.OfString("a"), compartment.OfString("b")))},
	"hostBytes":   {do: give(compartment.OfBytes([]byte{1, 2, 3}))},
	"hostBigId":   {do: give(compartment.OfInt(9007199254740993))},
	"hostItem": {params: []compartment.Param{{Name: "list", Types: array}, {Name: "i", Types: number}},
		do: func(_ *world, c *compartment.Call) (compartment.Value, error) {
			i, _ := c.Arg(1).AsNumber()
			return c.Arg(0).Item(int(i)), nil
		}},
	"getUser": {do: func(*world, *compartment.Call) (compartment.Value, error) { return record(newUser()), nil }},
	"getTime": {do: give(compartment.OfTime(time.UnixMilli(0)))},
	"fail": {do: func(*world, *compartment.Call) (compartment.Value, error) {
		return compartment.Value{}, fmt.Errorf("open /srv/data/main.go: %w at 0xc000123456\ngoroutine 1 [running]", errors.ErrUnsupported)
	}},
	"callTool": {params: []compartment.Param{{Name: "name", Types: str}, {Name: "args", Optional: true}}, do: (*world).callTool},
	"hashAsync": {params: []compartment.Param{{Name: "bytes", Types: []compartment.Type{compartment.TypeBytes}}}, async: true,
		do: func(_ *world, c *compartment.Call) (compartment.Value, error) {
			b, _ := c.Arg(0).AsBytes()
			sum := 0
			for _, x := range b {
				sum += int(x)
			}
			return compartment.OfString(fmt.Sprintf("sum:%d", sum)), nil
		}},
	"allowedHosts": {do: give(compartment.OfArray(compartment.OfString("allowed.example")))},
	"fetch": {params: []compartment.Param{{Name: "url", Types: str}, {Name: "init", Types: object, Optional: true}}, async: true,
		do: func(_ *world, c *compartment.Call) (compartment.Value, error) {
			if url, _ := c.Arg(0).AsString(); !strings.HasPrefix(url, "https://allowed.example/") {
				return compartment.Value{}, compartment.Refuse("not_allowed", "this host is not on the list")
			}
			return compartment.OfObject(compartment.Field{Name: "status", Value: compartment.OfNumber(200)},
				compartment.Field{Name: "body", Value: compartment.OfString("")}), nil
		}},
}

// power makes the power of that name, which counts its calls and can be taken back.
func (w *world) power(name string) compartment.Power {
	s, ok := shapes[name]
	if !ok {
		panic("no power " + name)
	}
	return compartment.Power{Name: name, Params: s.params, Sync: !s.async, OnCancel: compartment.CancelDiscards, Revoked: w.revoked.Load,
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.calls[name]++
			return s.do(w, c)
		}}
}

// readVirtual reads a file of a directory that exists in this test alone and holds ok.txt. Every other name gets one answer.
func readVirtual(_ *world, c *compartment.Call) (compartment.Value, error) {
	return virtualFile(c.Arg(0))
}

func virtualFile(path compartment.Value) (compartment.Value, error) {
	if p, _ := path.AsString(); p == "ok.txt" {
		return compartment.OfString("hello"), nil
	}
	return compartment.Value{}, compartment.Refuse("not_found_or_denied", "there is no such file, or it may not be read")
}

func (w *world) get(c *compartment.Call) (compartment.Value, error) {
	key, _ := c.Arg(0).AsString()
	return w.kept[key], nil
}

func (w *world) put(c *compartment.Call) (compartment.Value, error) {
	key, _ := c.Arg(0).AsString()
	w.kept[key] = c.Arg(1)
	return compartment.Value{}, nil
}

func joinStrings(_ *world, c *compartment.Call) (compartment.Value, error) {
	var parts []string
	for i := range c.Arg(0).Len() {
		s, ok := c.Arg(0).Item(i).AsString()
		if !ok {
			return compartment.Value{}, compartment.Refuse("not_a_text", "the list must hold texts only")
		}
		parts = append(parts, s)
	}
	return compartment.OfString(strings.Join(parts, "")), nil
}

// callTool has three tools. A confirmation in the arguments is an argument, and confirms nothing.
func (w *world) callTool(c *compartment.Call) (compartment.Value, error) {
	switch name, _ := c.Arg(0).AsString(); name {
	case "echo":
		return c.Arg(1), nil
	case "set":
		key, _ := c.Arg(1).Get("key")
		text, _ := key.AsString()
		w.kept[text], _ = c.Arg(1).Get("value")
		return compartment.Value{}, nil
	case "hostConfig":
		return compartment.OfObject(compartment.Field{Name: "mode", Value: compartment.OfString("safe")}), nil
	}
	return compartment.Value{}, compartment.Refuse("not_granted", "this tool is not one of those granted")
}

// user is a record of the host with more in it than a guest is told.
type user struct {
	sync.Mutex
	Name, Password string
	Age            int
}

func newUser() *user { return &user{Name: "ann", Password: "hunter2", Age: 3} }

// String and SetAdmin are what an engine that hands over Go values would show.
func (u *user) String() string { return u.Name + ":" + u.Password }
func (u *user) SetAdmin()      { u.Name = "admin" }

// record is what the guest is told of a user: a copy, field by field.
func record(u *user) compartment.Value {
	return compartment.OfObject(compartment.Field{Name: "name", Value: compartment.OfString(u.Name)},
		compartment.Field{Name: "age", Value: compartment.OfInt(int64(u.Age))})
}
