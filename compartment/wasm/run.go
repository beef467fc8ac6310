package wasm

import (
	"errors"
	"fmt"
	"strings"

	"sallyport/compartment"
)

// run runs one source to its end: the script, the jobs it leaves, and the calls of powers it waits for.
func (in *instance) run(ev *compartment.Evaluation, source string) compartment.Ending {
	in.realm.ev = ev
	in.realm.stopStack = ""
	in.free(in.thrown)
	in.thrown = 0
	end := in.guarded(source)
	end.Unhandled = len(in.realm.unhandled)
	if in.dead != nil {
		end = in.ended(source)
	}
	for _, h := range in.realm.unhandled {
		in.free(h)
	}
	in.realm.ev, in.realm.promises, in.realm.unhandled = nil, nil, nil
	return end
}

// guarded is evaluate, with a panic of ours as the end of the instance and of nothing else.
func (in *instance) guarded(source string) compartment.Ending {
	defer func() {
		if p := recover(); p != nil {
			in.dead = fmt.Errorf("panic: %v", p)
		}
	}()
	return in.evaluate(source)
}

// evaluate is run on an instance that lives. When it returns with a dead one, the ending does not count.
func (in *instance) evaluate(source string) compartment.Ending {
	if n, most := len(source), in.realm.host.Limits().SourceBytes; n > most {
		return compartment.Ending{Kind: compartment.KindSourceSize, Exception: &compartment.Exception{Name: "SyntaxError",
			Message: fmt.Sprintf("the source is %d bytes, at most %d are taken", n, most)}}
	}
	script, threw := in.unwrap(in.eval(source, in.fixed.programFile, evalScript))
	defer in.free(script)
	if threw && in.awaitIsName(source) {
		return in.evaluatePlain(source)
	}
	if threw {
		return in.syntax(script, source)
	}
	// A script that throws before it has waited for anything throws; one that has waited is a promise that is rejected.
	failed := compartment.KindThrown
	if in.call(xPromiseState, uint64(script)) == promisePending {
		failed = compartment.KindRejected
	}
	if end, over := in.drain(); over {
		return end
	}
	return in.await(script, source, failed)
}

// awaitIsName tells whether a source that is no script in which await may stand is one in which await is a name.
func (in *instance) awaitIsName(source string) bool {
	if in.dead != nil || !strings.Contains(source, "await") {
		return false
	}
	code, threw := in.unwrap(in.eval(source, in.fixed.programFile, evalCompileOnly))
	in.free(code)
	return !threw && in.dead == nil
}

// evaluatePlain runs a script in which await is a name like any other.
func (in *instance) evaluatePlain(source string) compartment.Ending {
	value, threw := in.unwrap(in.eval(source, in.fixed.programFile, evalPlain))
	defer in.free(value)
	if threw {
		return in.exception(value, source, compartment.KindThrown)
	}
	if end, over := in.drain(); over {
		return end
	}
	if end, over := in.settleCalls(); over {
		return end
	}
	return in.result(value, source)
}

// syntax is the end of a source that is not a program. Nothing of it has run, so what was thrown is the engine's own.
func (in *instance) syntax(thrown handle, source string) compartment.Ending {
	name, message := in.dataText(thrown, "name"), in.dataText(thrown, "message")
	if name != "SyntaxError" { // a RangeError: the parser's stack is used up
		return compartment.Ending{Kind: compartment.KindSourceDepth,
			Exception: &compartment.Exception{Name: "SyntaxError", Message: "the source nests too deeply"}}
	}
	return compartment.Ending{
		Kind:      compartment.KindParse,
		Exception: &compartment.Exception{Name: name, Message: shown(message)},
		Where:     where(in.stackText(thrown), source),
	}
}

// shown makes guest text fit to be shown.
func shown(s string) string { return compartment.Clip(compartment.Escape(s), shownText) }

// drain runs the jobs that wait. A job cannot throw: what its code throws rejects a promise.
func (in *instance) drain() (compartment.Ending, bool) {
	for {
		if k, stopped := in.realm.ev.Stopped(); stopped {
			return compartment.Ending{Kind: k}, true
		}
		switch int32(in.call(xRunJob)) {
		case 0: // also when the instance is dead
			return compartment.Ending{}, in.dead != nil
		case 1:
		default:
			e, _ := in.thrownNow()
			in.free(e)
		}
	}
}

// The states of a promise.
const (
	promisePending = iota
	promiseFulfilled
	promiseRejected
)

// settleCalls waits until no call is under way, settling the promises of the calls that come to their end. Every call of a program belongs to its
// evaluation, so the evaluation is over when they are.
func (in *instance) settleCalls() (compartment.Ending, bool) {
	for in.realm.ev.Waiting() {
		if s, ok := in.realm.ev.Wait(); ok {
			to := in.realm.promises[s.Ticket]
			delete(in.realm.promises, s.Ticket)
			in.settle(to, s)
		}
		if end, over := in.drain(); over {
			return end, true
		}
	}
	return compartment.Ending{}, false
}

// await waits for the end of a script, which is a promise.
func (in *instance) await(script handle, source string, failed compartment.Kind) compartment.Ending {
	if end, over := in.settleCalls(); over {
		return end
	}
	switch in.call(xPromiseState, uint64(script)) {
	case promisePending:
		return neverSettles()
	case promiseRejected:
		return in.rejected(script, source, failed)
	}
	box := handle(in.call(xPromiseResult, uint64(script)))
	value := in.field(box, "value")
	defer in.free(box, value)
	return in.result(value, source)
}

// result is the end with a value; when it is a promise, with what that is settled with.
func (in *instance) result(value handle, source string) compartment.Ending {
	if in.typeOf(value) != tagObject || in.classOf(value) != classPromise {
		return in.value(value)
	}
	return in.settled(value, source)
}

// settled is the end with a promise for a value.
func (in *instance) settled(promise handle, source string) compartment.Ending {
	switch in.call(xPromiseState, uint64(promise)) {
	case promisePending:
		return neverSettles()
	case promiseRejected:
		return in.rejected(promise, source, compartment.KindRejected)
	}
	v := handle(in.call(xPromiseResult, uint64(promise)))
	defer in.free(v)
	return in.value(v)
}

// neverSettles is the end with a promise that nothing can settle.
func neverSettles() compartment.Ending {
	return compartment.Ending{Kind: compartment.KindNeverSettles, Value: compartment.OfMark(compartment.TypePromise, promiseStates[promisePending])}
}

// value copies the result, inside the budget.
func (in *instance) value(v handle) compartment.Ending {
	out := in.copyResult(v)
	if in.thrown != 0 { // a part could not be looked at
		out = out.Omitting(1)
	}
	if k, stopped := in.realm.ev.Stopped(); stopped {
		return compartment.Ending{Kind: k}
	}
	return compartment.Ending{Value: out}
}

// rejected is the end with a rejected promise, which has been looked at by that.
func (in *instance) rejected(promise handle, source string, k compartment.Kind) compartment.Ending {
	p := in.pointer(promise)
	if held := in.realm.unhandled[p]; held != 0 {
		delete(in.realm.unhandled, p)
		in.free(held)
	}
	reason := handle(in.call(xPromiseResult, uint64(promise)))
	defer in.free(reason)
	return in.exception(reason, source, k)
}

// exception describes a thrown value from its data, without running any of it.
func (in *instance) exception(thrown handle, source string, k compartment.Kind) compartment.Ending {
	end := compartment.Ending{Kind: k, Value: in.copyResult(thrown), Exception: &compartment.Exception{}}
	if in.typeOf(thrown) == tagObject && in.classOf(thrown) != classProxy {
		end.Exception.Name, end.Exception.Message = shown(in.dataText(thrown, "name")), shown(in.dataText(thrown, "message"))
		end.Exception.Causes = in.causes(thrown)
		end.Failure = in.failureOf(thrown)
		end.Undeclared = in.isUndeclared(thrown)
		end.Where = where(in.stackText(thrown), source)
	}
	if end.Exception.Name == "" && end.Exception.Message == "" {
		end.Exception.Name, end.Exception.Message = "thrown", end.Value.Text(shownText)
	}
	if k, stopped := in.realm.ev.Stopped(); stopped {
		return compartment.Ending{Kind: k}
	}
	return end
}

// isUndeclared tells whether a thrown object is the language's complaint about a name that is not declared.
func (in *instance) isUndeclared(thrown handle) bool {
	is := in.invoke(in.fixed.undeclared, thrown)
	defer in.free(is)
	return in.typeOf(is) == tagBoolean && in.call(xGetBool, uint64(is)) != 0
}

// maxCauses is how many causes of an error are named.
const maxCauses = 5

// causes names the errors behind an error.
func (in *instance) causes(e handle) []string {
	var out []string
	seen := map[uint32]bool{in.pointer(e): true}
	at := in.again(e)
	for {
		next := in.dataField(at, "cause")
		in.free(at)
		at = next
		if in.typeOf(at) != tagObject || in.dead != nil {
			in.free(at)
			return out
		}
		p, end := in.pointer(at), ""
		switch {
		case in.classOf(at) == classProxy:
			end = "[proxy]"
		case seen[p]:
			end = "[circular]"
		case len(out) == maxCauses:
			end = "…"
		}
		if end != "" {
			in.free(at)
			return append(out, end)
		}
		seen[p] = true
		out = append(out, shown(in.errorText(at)))
	}
}

// ended is the end of an evaluation whose instance died. Why, the host knows: the evaluation was stopped, or the guest trapped.
func (in *instance) ended(source string) compartment.Ending {
	end := compartment.Ending{Kind: compartment.KindEnginePanic, Where: where(in.realm.stopStack, source), Err: in.dead}
	k, stopped := in.realm.ev.Stopped()
	switch {
	case stopped:
		end.Kind, end.Err = k, nil
	case errors.Is(in.dead, errStackTrap):
		end.Kind = compartment.KindDepth
	}
	return end
}
