// Package compartment is the code boundary: it decides what a piece of JavaScript can reach.
//
// A guest in a compartment has the language, one global object of its own, and the functions ("powers") that the host
// listed by hand. There is no clock, no chance, no timer, no network and no file unless a power gives it, and no module
// but those of Config.Modules. Two compartments share nothing.
//
//	c, err := engine.Open(ctx, compartment.Config{
//		Powers: []compartment.Power{hostfuncs.ReadFile(dir)},
//		Limits: compartment.Limits{Time: 2 * time.Second},
//	})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	outcome, err := c.Evaluate(ctx, "1 + 1")
//
// Most programs use package evaljs, which opens a compartment for each evaluation and adds a console.
//
// The engines are in sub-packages; each says with Promises what it holds a guest to. This package is what is the same
// for all of them: the configuration, the powers, the values that cross, the limits, and the outcome.
//
// # Values
//
// What crosses the boundary is a Value: a copy, plain data, made once. An engine makes it by looking at internal
// slots; no getter, proxy trap, toString or toJSON of the guest runs. What is not data, a function, a proxy, a
// getter, stands in the copy as a mark. A power never sees a mark: it is refused before. A mark in a result is shown.
// So a guest cannot hand a function of its own to a power, to be called back.
//
// The result of an evaluation becomes Outcome.Value, a text for people, and Outcome.Data, strict JSON, when there is
// JSON that says exactly the same. So:
//
//	value                                  data           shown as
//	null, true, 1.5, "a", [1], {a: 1}      the same       null, true, 1.5, "a", [1], {a: 1}
//	-0                                     -0             -0
//	undefined, NaN, Infinity, 10n          none, partial  undefined, NaN, Infinity, 10n
//	a date, a typed array                  none, partial  Date(1970-01-01T00:00:00.000Z), bytes[01 02]
//	a Map, a Set, a pattern, an error      none, partial  Map(1) {"a" => 1}, Set(1) {1}, /a/g, [TypeError: x]
//	a function, a class, a symbol          none, partial  [function f], [function C], Symbol(s)
//	a promise                              as what it settles to
//	a getter, a proxy, a cycle             none, partial  [getter], [proxy], [circular]
//	a lone surrogate                       none, partial  U+FFFD in its place
//	too much, too deep, a hole             none, partial  … 5 more, [too deep], (empty)
//
// # Outcomes and errors
//
// What a guest does wrong, and every limit it meets, is an Outcome. An Error means that the boundary itself could not
// do its work. The Status and Kind of an outcome are decided by the engine and the host; no text of a guest can forge
// one. Text that a guest had a hand in is in marked fields only, escaped (Escape) and clipped.
//
// # What it does not stop
//
// A compartment confines code, not the process it runs in: see package shell for that. A power does what its author
// wrote: whoever hands in a power that deletes files has handed in the deleting of files. And each engine has its own
// list.
package compartment
