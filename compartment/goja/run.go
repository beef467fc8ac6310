package goja

import (
	"fmt"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// run runs one source to its end: the script, the jobs it leaves, and the calls of powers it waits for.
func (r *realm) run(ev *compartment.Evaluation, source string) (end compartment.Ending) {
	r.ev = ev
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *goja.InterruptedError, *goja.StackOverflowError:
			end = r.thrown(p.(error), source, compartment.KindThrown)
		default: // a fault of the engine; the realm is used no more
			end = compartment.Ending{Kind: compartment.KindEnginePanic, Err: fmt.Errorf("goja: panic: %v", p)}
		}
		r.ev = nil
		clear(r.promises)
		clear(r.unhandled)
	}()
	if f := scan(source, r.host.Limits()); f != nil {
		return compartment.Ending{Kind: f.Kind, Exception: &compartment.Exception{Name: f.Name, Message: f.Text}, Err: f.Err}
	}
	program, bad := compile(source, r.fixed)
	if bad != nil {
		return r.syntax(bad, source)
	}
	v, err := r.vm.RunProgram(program)
	if err != nil {
		return r.thrown(err, source, compartment.KindThrown)
	}
	end = r.await(v, source)
	end.Unhandled = len(r.unhandled)
	return end
}

// syntax is the end of a source that is not a program.
func (r *realm) syntax(bad *syntaxError, source string) compartment.Ending {
	return compartment.Ending{
		Kind:      compartment.KindParse,
		Exception: &compartment.Exception{Name: "SyntaxError", Message: shown(bad.message)},
		Where:     compartment.At(source, bad.line, bad.column, nil),
	}
}

// shown makes guest text fit to be shown.
func shown(s string) string { return compartment.Shown(s, shortText) }

// await waits until the result is no pending promise and no call is under way, settling the promises of the calls
// that come to their end. Every call of a program belongs to its evaluation, so the evaluation is over when they are.
func (r *realm) await(v goja.Value, source string) compartment.Ending {
	promise := promiseOf(v)
	for {
		if k, stopped := r.ev.Stopped(); stopped {
			return compartment.Ending{Kind: k}
		}
		if !r.ev.Waiting() {
			break
		}
		s, ok := r.ev.Wait()
		if !ok {
			continue // stopped; seen above
		}
		to := r.promises[s.Ticket]
		delete(r.promises, s.Ticket)
		if err := r.settle(to, s); err != nil {
			return r.thrown(err, source, compartment.KindUnhandled)
		}
	}
	switch {
	case promise == nil:
		return r.value(v)
	case promise.State() == goja.PromiseStatePending:
		return compartment.Ending{Kind: compartment.KindNeverSettles, Value: compartment.OfMark(compartment.TypePromise, "pending")}
	case promise.State() == goja.PromiseStateRejected:
		delete(r.unhandled, promise)
		return r.exception(promise.Result(), nil, source, compartment.KindRejected)
	}
	return r.value(promise.Result())
}

// promiseOf is the promise v is by its internal slots, or nil.
func promiseOf(v goja.Value) *goja.Promise {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != typePromise {
		return nil
	}
	p, _ := o.Export().(*goja.Promise)
	return p
}

// value copies the result, inside the budget.
func (r *realm) value(v goja.Value) compartment.Ending {
	out := r.copyResult(v)
	if k, stopped := r.ev.Stopped(); stopped {
		return compartment.Ending{Kind: k}
	}
	return compartment.Ending{Value: out}
}

// thrown sorts what came out of the engine. Its kind is decided by the type of the engine's error, never by a text.
// The error is not unwrapped: looking for what is inside of an exception asks the guest's value for its prototype,
// which runs a trap.
func (r *realm) thrown(err error, source string, k compartment.Kind) compartment.Ending {
	switch e := err.(type) {
	case *goja.InterruptedError:
		kind, _ := r.ev.Stopped()
		return compartment.Ending{Kind: kind, Where: where(e.Stack(), source)}
	case *goja.StackOverflowError:
		return compartment.Ending{Kind: compartment.KindDepth, Where: where(e.Stack(), source)}
	case *goja.Exception:
		return r.exception(e.Value(), e.Stack(), source, k)
	}
	return compartment.Ending{Kind: compartment.KindEnginePanic, Err: err}
}

// exception describes a thrown value from its data, without running any of it.
func (r *realm) exception(v goja.Value, stack []goja.StackFrame, source string, k compartment.Kind) compartment.Ending {
	end := compartment.Ending{Kind: k, Value: r.copyResult(v), Exception: &compartment.Exception{}}
	o, isObject := v.(*goja.Object)
	if isObject && o.ExportType() != typeProxy {
		end.Exception.Name, end.Exception.Message = shown(r.stringField(o, "name")), shown(r.stringField(o, "message"))
		end.Exception.Causes = r.causes(o)
		ours := r.failures.of[o]
		end.Failure = ours.failure
		if stack == nil {
			stack = r.stackOf(o, ours)
		}
		end.Undeclared = o.Prototype() == r.kept.referenceError
	}
	if end.Exception.Name == "" && end.Exception.Message == "" {
		end.Exception.Name, end.Exception.Message = "thrown", end.Value.Text(shortText)
	}
	end.Where = where(stack, source)
	if k, stopped := r.ev.Stopped(); stopped {
		return compartment.Ending{Kind: k}
	}
	return end
}

// stackOf is where an error object was made, or where the guest made the call that it answers. Throwing it to
// ourselves makes the engine say what it wrote down when the object was made; nothing of the guest runs.
func (r *realm) stackOf(o *goja.Object, ours made) []goja.StackFrame {
	if ours.stack != nil || o.ClassName() != "Error" {
		return ours.stack
	}
	if ex := r.vm.Try(func() { panic(o) }); ex != nil {
		return ex.Stack()
	}
	return nil
}

// maxFrames is how many frames are looked for.
const maxFrames = 8

// maxCauses is how many causes of an error are named.
const maxCauses = 5

// causes names the errors behind an error.
func (r *realm) causes(o *goja.Object) []string {
	var out []string
	seen := map[*goja.Object]bool{o: true}
	for {
		v, _ := r.dataField(o, "cause")
		next, ok := v.(*goja.Object)
		switch {
		case !ok:
			return out
		case next.ExportType() == typeProxy:
			return append(out, "[proxy]")
		case seen[next]:
			return append(out, "[circular]")
		case len(out) == maxCauses:
			return append(out, "…")
		}
		seen[next], o = true, next
		out = append(out, shown(r.errorText(next)))
	}
}

// where is the innermost place in the guest's own lines.
func where(stack []goja.StackFrame, source string) *compartment.Where {
	var frames []compartment.Frame
	for _, f := range stack {
		if f.SrcName() != programFile {
			continue // a built-in, or a script of the boundary
		}
		at := f.Position()
		frames = append(frames, compartment.Frame{Function: named(f.FuncName()), Line: at.Line, Column: columnOf(source, at.Line, at.Column)})
	}
	if len(frames) == 0 {
		return nil
	}
	return compartment.At(source, frames[0].Line, frames[0].Column, frames)
}

// named is the name of a function; empty for what has none.
func named(name string) string {
	if name == "<anonymous>" {
		return ""
	}
	return name
}
