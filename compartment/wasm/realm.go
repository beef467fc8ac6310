package wasm

import (
	_ "embed"
	"errors"
	"fmt"

	"sallyport/compartment"
)

//go:embed boundary.js
var boundarySource string

// What a stack of the guest's language shows for the scripts of the boundary, and for those of the guest.
const (
	boundaryFile = "boundary"
	programFile  = "program"
)

// fixed are the handles and numbers of a realm that are the same in every copy of its image.
type fixed struct {
	scratch     uint32
	programFile uint32 // the name of the guest's source, as text

	undefined, null, no, yes handle

	fields, elements, entries, members, numbers, cut     handle
	date, unbox, typedName, regexp, describe             handle
	own, proto, stack, where, fail, failure, undeclared  handle
	newDate, newBigInt, setName, holder, put, bindGlobal handle

	classes map[uint32]class
	removed []string
	objects int
}

// class is what an object is inside.
type class uint8

// The classes, in the order of boundary.js's samples; several samples can be of one.
const (
	classOther class = iota
	classPlain
	classArray
	classDate
	classMap
	classSet
	classRegExp
	classError
	classPromise
	classBuffer
	classView
	classBytes
	classNumbers
	classProxy
	classNumber
	classString
	classBoolean
	classSymbol
	classBigInt
)

// sampleClasses are the classes of boundary.js's samples.
var sampleClasses = []class{classPlain, classPlain, classPlain, classPlain, classPlain, classArray, classDate, classMap,
	classSet, classRegExp, classError, classPromise, classBuffer, classView, classBytes, classBytes,
	classNumbers, classNumbers, classNumbers, classNumbers, classNumbers, classNumbers, classNumbers,
	classNumbers, classNumbers, classNumbers, classProxy, classNumber, classString, classBoolean, classSymbol, classBigInt}

// realm is the state of one evaluation in an instance, and what belongs to the powers.
type realm struct {
	host *compartment.Host
	ev   *compartment.Evaluation // nil between two evaluations

	powers   map[uint32]string // the functions and objects of the host by identity; the global object holds them, so they stay where they are
	promises map[int]settler   // the calls that are under way
	failures *failures

	unhandled map[uint32]handle // rejected promises that nobody looked at; the handle keeps the identity from being used again
	stopStack string            // where a stopped guest was
}

// makeRealm makes the realm of a new instance: the engine's own, hardened, with the boundary's functions.
func (in *instance) makeRealm(code compartment.DynamicCode) error {
	in.call(xInitialize)
	if r := in.call(xInit); r != 0 && in.dead == nil {
		return fmt.Errorf("the guest could not make a realm: %d", int32(r))
	}
	in.call(xSetStackSize, setupStack)
	in.call(xSetModuleLoader, 1)
	in.fixed = &fixed{scratch: uint32(in.call(xMalloc, scratchSize)), programFile: uint32(in.call(xMalloc, uint64(len(programFile)+1)))}
	if in.dead == nil && (in.fixed.scratch == 0 || in.fixed.programFile == 0) {
		return errors.New("the guest gave no memory")
	}
	in.writeText(in.fixed.programFile, programFile)
	kept, err := in.runBoundary(code)
	if err != nil {
		return err
	}
	in.keep(kept)
	if err := errors.Join(in.checkTypes(kept), in.learnClasses(kept)); err != nil {
		return err
	}
	in.free(kept)
	in.call(xSetRejectionHandler, 1)
	in.call(xRunGC)
	// The first collection in a copy of the image would write to every object in it, and so copy nearly all of its pages. A program that ends before
	// it has made this much garbage is spared that.
	in.call(xSetGCThreshold, firstCollection)
	return in.dead
}

// firstCollection is how many bytes are in use, the realm's own megabyte among them, when garbage is first collected.
const firstCollection = 4 << 20

// setupStack is the stack for the boundary's own scripts, in bytes.
const setupStack = 256 << 10

// runBoundary runs the scripts of the boundary and returns the object with its functions.
func (in *instance) runBoundary(code compartment.DynamicCode) (handle, error) {
	harden, err := in.script(compartment.HardeningScript())
	if err != nil {
		return 0, fmt.Errorf("the hardening script: %w", err)
	}
	boundary, err := in.script(boundarySource)
	if err != nil {
		return 0, fmt.Errorf("the boundary script: %w", err)
	}
	one, zero, permits := in.newNumber(1), in.newNumber(0), in.newString(compartment.PermitsJSON())
	ownGlobal := zero
	if code == compartment.OwnGlobal {
		ownGlobal = one
	}
	in.fixed.undefined = zero // until there is one
	kept, threw := in.try(boundary, harden, permits, ownGlobal)
	if threw {
		return 0, fmt.Errorf("harden the realm: %s", in.describeFault(kept))
	}
	in.free(harden, boundary, one, zero, permits)
	return kept, in.dead
}

// script runs a script of the boundary, which is one expression, and returns its value.
func (in *instance) script(source string) (handle, error) {
	name := uint32(in.call(xMalloc, uint64(len(boundaryFile)+1)))
	in.writeText(name, boundaryFile)
	v, threw := in.unwrap(in.eval(source, name, evalPlain))
	in.call(xFree, uint64(name))
	if threw {
		return 0, errors.New(in.describeFault(v))
	}
	return v, in.dead
}

// describeFault is the text of something that a script of the boundary threw.
func (in *instance) describeFault(thrown handle) string {
	if in.dead != nil {
		return in.dead.Error()
	}
	return in.text(thrown) // the boundary's own; its toString is that of the language
}

// eval runs a source in the realm. Nothing of it runs before all of it was read.
func (in *instance) eval(source string, fileName uint32, flags uint64) handle {
	return handle(in.place(source, func(p uint32) uint64 {
		return in.call(xEval, uint64(p), uint64(len(source)), uint64(fileName), flags)
	}))
}

// keep takes the boundary's functions over.
func (in *instance) keep(kept handle) {
	f := in.fixed
	for name, to := range map[string]*handle{
		"fields": &f.fields, "elements": &f.elements, "entries": &f.entries, "members": &f.members, "numbers": &f.numbers, "cut": &f.cut,
		"date": &f.date, "unbox": &f.unbox, "typedName": &f.typedName, "regexp": &f.regexp, "describe": &f.describe,
		"own": &f.own, "proto": &f.proto, "stack": &f.stack, "where": &f.where, "fail": &f.fail, "failure": &f.failure, "undeclared": &f.undeclared,
		"newDate": &f.newDate, "newBigInt": &f.newBigInt, "name": &f.setName, "holder": &f.holder, "put": &f.put, "bind": &f.bindGlobal,
	} {
		if *to = in.field(kept, name); in.call(xIsFunction, uint64(*to)) == 0 {
			in.fault("the boundary's function " + name + " is missing")
		}
	}
	constants := in.field(kept, "constants")
	for i, to := range []*handle{&f.undefined, &f.null, &f.no, &f.yes} {
		*to = in.element(constants, i)
	}
	objects, removed := in.field(kept, "objects"), in.field(kept, "removed")
	f.objects = int(in.number(objects))
	count := in.field(removed, "length")
	for i := range int(in.number(count)) {
		h := in.element(removed, i)
		f.removed = append(f.removed, in.text(h))
		in.free(h)
	}
	in.free(constants, objects, removed, count)
}

// checkTypes makes sure that the engine's numbers of types are those of the interface.
func (in *instance) checkTypes(kept handle) error {
	samples := in.field(kept, "types")
	for i, want := range sampleTags {
		h := in.element(samples, i)
		if got := in.typeOf(h); in.dead == nil && got != want {
			return fmt.Errorf("the guest's type of sample %d is %d, want %d", i, got, want)
		}
		in.free(h)
	}
	in.free(samples)
	return in.dead
}

// learnClasses asks the engine for its numbers of the classes.
func (in *instance) learnClasses(kept handle) error {
	in.fixed.classes = map[uint32]class{}
	samples := in.field(kept, "samples")
	for i, c := range sampleClasses {
		h := in.element(samples, i)
		id := uint32(in.call(xClassID, uint64(h)))
		in.free(h)
		if had, ok := in.fixed.classes[id]; in.dead == nil && (id == 0 || ok && had != c) {
			return fmt.Errorf("the guest cannot tell object kinds %d and %d apart", had, c)
		}
		in.fixed.classes[id] = c
	}
	in.free(samples)
	return in.dead
}
