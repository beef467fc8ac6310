package wasm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"sallyport/compartment"
	"sallyport/compartment/wasm/guest"
	"sallyport/compartment/wasm/internal/meter"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Options say which guest to host and how. The zero Options are the ones to use.
type Options struct {
	// Guest is the module. When it is empty it is the one that is embedded, or the one in the user's cache (see package guest). When it is set it must be the guest
	// this version was tested with, byte for byte, unless OtherGuest is set.
	Guest []byte
	// OtherGuest says that Guest is another module, which speaks the interface. What the promises of the engine rest on is then the caller's to know.
	OtherGuest bool
	// CacheDir is where compiled code is kept between processes; empty is "sallyport/code" in the user's cache directory. Who can write there
	// runs code as this process: a directory that others may write to is refused.
	CacheDir string
	// NoCache keeps no compiled code: each New then compiles, which takes a third of a second.
	NoCache bool
}

// Engine hosts the guest. It is safe for concurrent use.
type Engine struct {
	options      Options
	runtime      wazero.Runtime
	module       wazero.CompiledModule
	moduleConfig wazero.ModuleConfig
	quantum      int32
	stats        meter.Stats

	system  memorySystem
	staging sync.Pool // of *[]byte, for the memory that instances have before it becomes the image

	baseMu sync.Mutex                       // held while a base is made
	bases  [compartment.OwnGlobal + 1]*base // the hardened realms that compartments start from; the one for OwnGlobal when it was asked for

	life   sync.RWMutex // read-locked while a compartment is opened, so that the engine is not closed meanwhile
	mu     sync.Mutex   // guards what follows
	closed bool
	open   map[*room]bool
	idle   []*instance
}

// quantum is how much fuel the guest has before it asks for more: 20,000 rounds of loops are 20 to 100 microseconds.
const quantum = 20_000

// The memory of a guest.
const (
	// defaultMemory is what a guest may have when the limits do not say. A realm takes 1.3 MiB of it, and turning a large result into text several times
	// its size.
	defaultMemory = 64 << 20
	// setupMemory is what making the realm may take.
	setupMemory = 16 << 20
)

// New makes the engine: it finds and checks the guest, meters and compiles it, and makes the realm that compartments start from. Its errors are
// *compartment.Error: CodeConfig for options that are not valid, CodeEngine with a hint when the guest is not there or does not work.
func New(ctx context.Context, o Options) (*Engine, error) {
	return newEngine(ctx, o, newMemorySystem(), quantum)
}

// newEngine is New with memories of another kind, or other metering.
func newEngine(ctx context.Context, o Options, system memorySystem, quantum int32) (*Engine, error) {
	module, err := findGuest(o)
	if err != nil {
		return nil, err
	}
	metered, stats, err := meter.Add(module, meter.Options{ImportModule: tickModule, ImportName: tickName, Quantum: quantum})
	if err != nil {
		return nil, engineError("meter the guest", err)
	}
	if stats.TableWrites {
		return nil, engineError("look at the guest", errors.New("it changes its tables, which an image of its memory does not hold"))
	}
	e := &Engine{options: o, quantum: quantum, stats: stats, system: system, open: map[*room]bool{}, moduleConfig: wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(noRandom{})}
	if err := e.compile(ctx, metered); err != nil {
		return nil, err
	}
	b, err := e.base(compartment.RefuseCode)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	first := int(e.module.ExportedMemories()[memoryName].Min()) * pageSize
	e.staging.New = func() any {
		var area []byte
		if b.image.size() > first {
			area = make([]byte, first)
		}
		return &area
	}
	return e, nil
}

// noRandom stands where wazero would seed a generator for each instance, which nothing asks.
type noRandom struct{}

func (noRandom) Read([]byte) (int, error) { return 0, errors.New("there is no chance here") }

// engineError makes an error of the engine itself.
func engineError(what string, err error) error {
	return &compartment.Error{Code: compartment.CodeEngine, Reason: what, Err: err}
}

// findGuest returns the module.
func findGuest(o Options) ([]byte, error) {
	switch {
	case len(o.Guest) == 0 && o.OtherGuest:
		return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "guest", Reason: "there is none, and OtherGuest is set"}
	case o.OtherGuest:
		return o.Guest, nil
	case len(o.Guest) > 0:
		if err := guest.Verify(o.Guest); err != nil {
			return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "guest", Reason: err.Error(),
				Hint: "set OtherGuest to host another module"}
		}
		return o.Guest, nil
	}
	module, _, err := guest.Find("")
	if err != nil {
		return nil, &compartment.Error{Code: compartment.CodeEngine, Reason: "find the guest", Err: err,
			Hint: fmt.Sprintf("bring it with `%s` and build again, or with `%s`", guest.Commands[0], guest.Commands[1])}
	}
	return module, nil
}

// base is the realm that compartments with that setting start from. It is made when it is first asked for: few engines need more than one. The
// engine must not be closed meanwhile.
func (e *Engine) base(code compartment.DynamicCode) (*base, error) {
	e.baseMu.Lock()
	defer e.baseMu.Unlock()
	if e.bases[code] != nil {
		return e.bases[code], nil
	}
	in, err := e.newInstance(setupMemory, nil)
	if err != nil {
		return nil, engineError("make the realm", err)
	}
	var b *base
	if err = in.makeRealm(code); err == nil {
		b, err = e.newBase(in)
	}
	if err = errors.Join(err, in.close()); err != nil {
		return nil, engineError("make the realm", err)
	}
	e.bases[code] = b
	return b, nil
}

// Name is "wasm".
func (e *Engine) Name() string { return "wasm" }

// Promises are all of them.
func (e *Engine) Promises() compartment.Promises {
	return compartment.Promises{Capabilities: true, Time: true, Memory: true, Stack: true}
}

// Compiled tells whether the guest runs as machine code. Where wazero has no compiler it is interpreted, about fifty times slower.
func (e *Engine) Compiled() bool { return compilerSupported() }

// compilerSupported tells whether wazero has a compiler for this machine.
func compilerSupported() bool {
	return runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
}

// Open makes a compartment. See compartment.Engine.
func (e *Engine) Open(ctx context.Context, c compartment.Config) (compartment.Compartment, error) {
	if ctx.Err() != nil {
		return nil, engineError("open a compartment", context.Cause(ctx))
	}
	host, err := compartment.NewHost(c)
	if err != nil {
		return nil, err
	}
	e.life.RLock()
	defer e.life.RUnlock()
	if e.isClosed() {
		return nil, errEngineClosed
	}
	b, err := e.base(host.DynamicCode())
	if err != nil {
		return nil, err
	}
	r := &room{engine: e, host: host, base: b, failures: &failures{}, limit: defaultMemory}
	if m := host.Limits().MemoryBytes; m != 0 {
		r.limit = uint64(m) / pageSize * pageSize
	}
	if least := uint64(b.image.size()) + 8*pageSize; r.limit < least {
		return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "limits.memory_bytes", Value: fmt.Sprint(host.Limits().MemoryBytes),
			Bound: fmt.Sprintf("at least %d, for the realm itself", least)}
	}
	if r.in, err = r.fresh(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.open[r] = true
	e.mu.Unlock()
	return r, nil
}

// isClosed tells whether Close was called.
func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// delist forgets a compartment that was closed.
func (e *Engine) delist(r *room) {
	e.mu.Lock()
	delete(e.open, r)
	e.mu.Unlock()
}

var errEngineClosed = &compartment.Error{Code: compartment.CodeClosed, Reason: "the engine was closed"}

// Close closes the compartments that are open, stopping what runs in them, and ends the engine. It is safe to call twice.
func (e *Engine) Close() error {
	e.life.Lock()
	e.mu.Lock()
	was := e.closed
	e.closed = true // from here on no compartment is opened, and no instance becomes idle
	rooms, idle := slices.Collect(maps.Keys(e.open)), e.idle
	e.idle = nil
	e.mu.Unlock()
	e.life.Unlock()
	if was {
		return nil
	}

	// The code of the guest is unmapped with the runtime: nothing may run in it any more.
	var errs []error
	for _, r := range rooms {
		errs = append(errs, r.Close())
	}
	for _, in := range idle {
		errs = append(errs, in.close())
	}
	for _, b := range e.bases {
		if b != nil {
			errs = append(errs, b.image.close())
		}
	}
	return errors.Join(append(errs, e.runtime.Close(context.Background()), e.system.close())...)
}

// compile makes the runtime and compiles the guest for it.
func (e *Engine) compile(ctx context.Context, module []byte) error {
	cache, err := openCache(e.options, module)
	if err != nil {
		return err
	}
	if err = e.compileWith(ctx, module, cache); err != nil && cache.usable() {
		// A cache that was tampered with, or broken by a crash, must not keep anybody from working.
		cache.discard()
		err = e.compileWith(ctx, module, cache)
	}
	if err == nil {
		err = cache.seal()
	}
	if err != nil {
		return engineError("compile the guest", err)
	}
	return nil
}

// compileWith compiles the guest with a cache.
func (e *Engine) compileWith(ctx context.Context, module []byte, cache *codeCache) error {
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
	config, err := cache.configure(config)
	if err != nil {
		return err
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if e.module, err = e.runtime.CompileModule(ctx, module); err == nil {
		if err = checkInterface(e.module); err == nil {
			err = provide(ctx, e.runtime)
		}
	}
	if err != nil {
		return errors.Join(err, e.runtime.Close(ctx))
	}
	return nil
}
