package wasm

import (
	"errors"
	"fmt"

	"sallyport/compartment/wasm/internal/meter"

	"github.com/tetratelabs/wazero/api"
)

// snapshot is the whole state of an instance at rest: its memory, its globals, and what the host knows of it.
type snapshot struct {
	image   image
	globals []uint64
	fixed   *fixed
	powers  map[uint32]string
}

// snapshot copies the state of an instance at rest, into the one that is given when there is one.
func (in *instance) snapshot(into *snapshot) (*snapshot, error) {
	if in.dead != nil {
		return nil, in.dead
	}
	if into == nil {
		img, err := newImage()
		if err != nil {
			return nil, err
		}
		into = &snapshot{image: img}
	}
	if err := into.image.update(in.mem.bytes()); err != nil {
		return nil, errors.Join(err, into.image.close())
	}
	into.globals = into.globals[:0]
	for _, name := range in.engine.stats.Globals {
		into.globals = append(into.globals, in.mod.ExportedGlobal(name).Get())
	}
	into.fixed, into.powers = in.fixed, in.realm.powers
	return into, nil
}

// restore makes a new instance that continues where the snapshot was taken.
func (e *Engine) restore(s *snapshot, limit uint64) (*instance, error) {
	in, err := e.newInstance(limit)
	if err != nil {
		return nil, err
	}
	if err := in.become(s); err != nil {
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

// become replaces the state of an instance that has not run.
func (in *instance) become(s *snapshot) error {
	if missing := s.image.size() - len(in.mem.bytes()); missing > 0 {
		if _, ok := in.mod.Memory().Grow(uint32(missing / pageSize)); !ok {
			return fmt.Errorf("%d bytes of memory for the realm", s.image.size())
		}
	}
	if err := in.mem.overlay(s.image); err != nil {
		return err
	}
	for i, name := range in.engine.stats.Globals {
		in.mod.ExportedGlobal(name).(api.MutableGlobal).Set(s.globals[i])
	}
	in.mod.ExportedGlobal(meter.FuelGlobal).(api.MutableGlobal).Set(quantum)
	in.fixed, in.realm.powers = s.fixed, s.powers
	return nil
}
