package wasm

import (
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// base is the state of an instance at rest from which others are made: its memory, its globals, and what the host knows of it.
type base struct {
	image   image
	globals []uint64
	fixed   *fixed
}

// newBase copies the state of an instance at rest.
func (e *Engine) newBase(in *instance) (*base, error) {
	if in.dead != nil {
		return nil, in.dead
	}
	img, err := e.system.newImage(in.mem.bytes())
	if err != nil {
		return nil, err
	}
	return &base{image: img, globals: in.globals(nil), fixed: in.fixed}, nil
}

// globals appends the guest's mutable globals.
func (in *instance) globals(to []uint64) []uint64 {
	for _, name := range in.engine.stats.Globals {
		to = append(to, in.mod.ExportedGlobal(name).Get())
	}
	return to
}

// setGlobals is the reverse.
func (in *instance) setGlobals(from []uint64) {
	for i, name := range in.engine.stats.Globals {
		in.mod.ExportedGlobal(name).(api.MutableGlobal).Set(from[i])
	}
}

// restore makes a new instance in the state of the base.
func (e *Engine) restore(b *base, limit uint64) (*instance, error) {
	staging := e.staging.Get().(*[]byte)
	defer e.staging.Put(staging)
	in, err := e.newInstance(limit, *staging)
	if err != nil {
		return nil, err
	}
	if err := in.become(b); err != nil {
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

// become puts an instance that is at rest into the state of the base.
func (in *instance) become(b *base) error {
	if err := in.growTo(b.image.size()); err != nil {
		return err
	}
	if err := in.mem.overlay(b.image); err != nil {
		return err
	}
	in.setGlobals(b.globals)
	in.left.(api.MutableGlobal).Set(uint64(uint32(in.engine.quantum)))
	in.base, in.fixed = b, b.fixed
	return nil
}

// growTo gives the guest at least that much memory.
func (in *instance) growTo(size int) error {
	if missing := size - int(in.mod.Memory().Size()); missing > 0 {
		if _, ok := in.mod.Memory().Grow(uint32(missing / pageSize)); !ok {
			return fmt.Errorf("%d bytes of memory for the realm", size)
		}
	}
	return nil
}

// delta is how the state of an instance differs from the base it was made from.
type delta struct {
	size    int      // of the memory
	pages   []uint32 // the small pages that are different
	bytes   []byte   // what is in them, one after the other
	globals []uint64
	powers  map[uint32]string
}

// save notes the state of an instance at rest. What was noted before is forgotten.
func (d *delta) save(in *instance) {
	b := in.mem.bytes()
	d.size, d.pages, d.bytes = len(b), in.mem.changed(d.pages[:0]), d.bytes[:0]
	for _, p := range d.pages {
		d.bytes = append(d.bytes, b[int(p)*smallPage:(int(p)+1)*smallPage]...)
	}
	d.globals, d.powers = in.globals(d.globals[:0]), in.realm.powers
}

// load puts an instance that is in the state of the base into the one that was noted.
func (d *delta) load(in *instance) error {
	if err := in.growTo(d.size); err != nil {
		return err
	}
	b := in.mem.bytes()
	for i, p := range d.pages {
		copy(b[int(p)*smallPage:], d.bytes[i*smallPage:(i+1)*smallPage])
	}
	in.setGlobals(d.globals)
	in.realm.powers = d.powers
	return nil
}
