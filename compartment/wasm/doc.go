// Package wasm runs compartments on a JavaScript engine that is compiled to WebAssembly and hosted by wazero, in this process, without cgo.
//
//	engine, err := wasm.New(ctx, wasm.Options{})
//	if err != nil {
//		return err // with the hint how to bring the guest
//	}
//	defer engine.Close()
//	c, err := engine.Open(ctx, compartment.Config{Powers: powers})
//
// It promises capabilities, time, memory and stack, against code that may be hostile. How:
//
//   - What a guest can reach is the memory of its own instance and the functions that are imported; all of them are in this package,
//     written by hand. There is no WASI file system, environment, argument, clock or random source.
//   - Memory is capped by pages. A guest that asks for more is stopped, and nothing is allocated.
//   - The engine's code is metered when it is loaded (see internal/meter), inside built-ins too. A stop lands within a few
//     milliseconds and cannot be caught.
//   - The stack is capped twice: by the engine, as a RangeError that a program may catch, and by wazero, as a stop.
//   - Each compartment is an instance of its own, made from a copy-on-write image of a realm that was hardened once. A stop, a trap or a panic ends
//     that instance and nothing else.
//
// # The guest
//
// The engine is QuickJS-ng; package guest says where it comes from. Which engine it is, this package does not know: it speaks the small interface
// that is listed in interface.go, and any module that has it will do (Options.Guest).
//
// # Sessions
//
// A stopped evaluation leaves its realm in the middle of something. The compartment then goes back to the memory it had before that
// evaluation, and the outcome says so (compartment.SessionRolledBack). For that, what the memory holds besides the realm itself is copied before
// the second and every later evaluation of a compartment: some microseconds, and 0.3 ms for each megabyte.
//
// # Sources
//
// A source is one script. await may stand at its top level. The result is the value of the last statement that has one; a promise is waited for.
//
// import() finds the modules of the configuration, each under exactly its specifier: there are no paths and no other place. A module runs in the
// realm, strictly, once; what it throws is told with the place in the source that called it. The import statement is of modules, and a source is a script: package
// evaljs reads one as a call of import().
//
// # Costs
//
// A compartment that has run something small costs about 250 KB of its own. Deep recursion takes up to 12 MB of the host's memory besides, while it
// runs. Making the engine takes 20 ms with its code in the cache and a third of a second without; a compartment that takes the place of an earlier one
// some 20 µs, a new one 100 µs, and its first evaluation as much again, which is mostly the copying of the pages it writes to. Metering costs about 3 %. The
// benchmarks of this package measure it all, against goja. On processors for which wazero has no compiler (other than amd64 and arm64) it interprets, about fifty times slower; Engine.Compiled
// says so.
//
// # Platforms
//
// Linux, macOS, Windows. The copy-on-write image is of Linux; elsewhere it is copied.
package wasm

//go:generate go run ./guest/bring guest/quickjs.wasm
