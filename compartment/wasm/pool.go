package wasm

// maxIdle is how many instances are kept for the next compartments. One costs the pages of the image it touches next and about 200 KB of Go's heap.
const maxIdle = 8

// take returns an instance with that hardened realm and nothing else: one that was used before, when there is one, or a new one.
func (e *Engine) take(b *base, limit uint64) (*instance, error) {
	in, err := e.takeIdle(b, limit)
	if in != nil || err != nil {
		return in, err
	}
	if in, err = e.restore(b, limit); err != nil {
		return nil, engineError("make an instance", err)
	}
	return in, nil
}

// takeIdle returns an idle instance with that realm, or nil.
func (e *Engine) takeIdle(b *base, limit uint64) (*instance, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errEngineClosed
	}
	for i, in := range e.idle {
		if in.limit == limit && in.base == b {
			last := len(e.idle) - 1
			e.idle[i], e.idle[last] = e.idle[last], nil
			e.idle = e.idle[:last]
			return in, nil
		}
	}
	return nil, nil
}

// giveBack takes an instance that nobody uses any more. Its memory and its globals, which are all the state it has, become those of the base again,
// and another compartment may have it. One that was stopped, or trapped, or whose memory grew, is closed.
func (e *Engine) giveBack(in *instance) error {
	if in.dead != nil || len(in.mem.bytes()) != in.base.image.size() || in.reset() != nil {
		return in.close()
	}
	e.mu.Lock()
	keep := !e.closed && len(e.idle) < maxIdle
	if keep {
		e.idle = append(e.idle, in)
	}
	e.mu.Unlock()
	if !keep {
		return in.close()
	}
	return nil
}

// reset makes an instance forget the compartment it was in.
func (in *instance) reset() error {
	in.realm = realm{}
	in.thrown, in.lastNumber = 0, 0
	return in.become(in.base)
}
