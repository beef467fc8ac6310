package goja

import (
	_ "embed"
	"fmt"
	"strconv"
	"sync"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

//go:embed measure.js
var measureSource string

//go:embed date.js
var dateSource string

// scripts are the boundary's own, compiled once. Compiled code has no state and is shared by all realms.
var scripts = sync.OnceValues(func() (c struct{ date, measure, harden, count *goja.Program }, err error) {
	for source, to := range map[string]**goja.Program{dateSource: &c.date, measureSource: &c.measure, compartment.HardeningScript(): &c.harden} {
		if *to, err = goja.Compile(boundaryFile, source, true); err != nil {
			return c, err
		}
	}
	c.count, err = countScript()
	return c, err
})

// plan is what the hardening script found in a realm of this engine. All realms are equal before it, so it walks through one of them only, which
// takes ten times as long as following the plan does.
type plan struct {
	roots, steps []any // primitives, which all realms can share
	removed      []string
	objects      int
}

// plans are the plans of the process, by what becomes of dynamic code: each is made when it is first needed, and is the same ever after.
var plans = [...]func() (*plan, error){
	compartment.RefuseCode: sync.OnceValues(func() (*plan, error) { return makePlan(compartment.RefuseCode) }),
	compartment.OwnGlobal:  sync.OnceValues(func() (*plan, error) { return makePlan(compartment.OwnGlobal) }),
}

// makePlan hardens a realm by the walk, and throws the realm away.
func makePlan(code compartment.DynamicCode) (*plan, error) {
	host, err := compartment.NewHost(compartment.Config{DynamicCode: code})
	if err != nil {
		return nil, err
	}
	p := &plan{}
	_, err = prepare(host, func(r *realm) error {
		done, err := r.harden(nil)
		if err != nil {
			return err
		}
		for _, v := range r.list(done.Get("removed")) {
			p.removed = append(p.removed, v.String())
		}
		made := done.Get("plan").(*goja.Object)
		for name, to := range map[string]*[]any{"roots": &p.roots, "steps": &p.steps} {
			for _, v := range r.list(made.Get(name)) {
				*to = append(*to, v)
			}
		}
		p.objects = int(done.Get("objects").ToInteger())
		return nil
	})
	return p, err
}

// list is the elements of an array of the boundary's own.
func (r *realm) list(v goja.Value) []goja.Value {
	o := v.(*goja.Object)
	out := make([]goja.Value, o.Get("length").ToInteger())
	for i := range out {
		out[i] = o.Get(strconv.Itoa(i))
	}
	return out
}

// harden runs the boundary's scripts in a new realm, and puts guards before the built-ins that do not stop by themselves. What is put in the place of a built-in
// comes before the hardening script, which freezes it with the rest. Without a plan the script walks through the realm.
func (r *realm) harden(p *plan) (*goja.Object, error) {
	s, err := scripts()
	if err != nil {
		return nil, err
	}
	date, err := r.vm.RunProgram(s.date)
	if err != nil {
		return nil, err
	}
	tools := map[string]goja.Value{"date": date, "checks": r.constructorChecks(), "mostBits": r.vm.ToValue(maxBits), "tooLarge": r.native("tooLarge", 0, r.tooManyBits)}
	ownGlobal := r.host.DynamicCode() == compartment.OwnGlobal
	if ownGlobal {
		tools["code"] = r.checker("Function", (*realm).checkCode)
		if err := r.guardEval(); err != nil {
			return nil, err
		}
	}
	count, err := r.runBoundary(s.measure, tools)
	if err != nil {
		return nil, err
	}
	if err := r.defineCount(s.count, count); err != nil {
		return nil, err
	}
	if err := r.guard(); err != nil {
		return nil, err
	}
	tools = map[string]goja.Value{"refuse": r.native("refuse", 2, r.refuse), "ownGlobal": r.vm.ToValue(ownGlobal)}
	if p != nil {
		tools["plan"] = r.plain(map[string]goja.Value{"roots": r.vm.NewArray(p.roots...), "steps": r.vm.NewArray(p.steps...)})
	} else {
		parse := r.builtin("JSON.parse")
		tools["permits"] = parse(goja.FunctionCall{Arguments: []goja.Value{r.vm.ToValue(compartment.PermitsJSON())}})
	}
	v, err := r.runBoundary(s.harden, tools)
	if err != nil {
		return nil, err
	}
	done := v.(*goja.Object)
	repaired := r.list(done.Get("repaired"))
	for i := 0; i+1 < len(repaired); i += 2 {
		r.tamed[repaired[i].(*goja.Object)] = repaired[i+1]
	}
	return done, nil
}

// runBoundary calls the function that a script of the boundary is, with an object of what it needs.
func (r *realm) runBoundary(script *goja.Program, tools map[string]goja.Value) (goja.Value, error) {
	f, err := r.vm.RunProgram(script)
	if err != nil {
		return nil, err
	}
	call, ok := goja.AssertFunction(f)
	if !ok {
		return nil, fmt.Errorf("a script of the boundary is no function")
	}
	return call(goja.Undefined(), r.plain(tools))
}

// plain makes an object with those properties.
func (r *realm) plain(properties map[string]goja.Value) *goja.Object {
	o := r.vm.NewObject()
	for name, v := range properties {
		if err := o.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE); err != nil {
			panic(err) // a new object takes every property
		}
	}
	return o
}
