package wasm

import (
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The guest interface. A guest is a WebAssembly module with one memory, called "memory", that has all of these exports and no imports but those
// of the table in imports.go.
//
// A value of the guest's language crosses as a handle: the address of a cell in the guest's memory that holds it. A function that returns a handle gives
// it away; qjs_free_value takes it back. Strings cross as UTF-8 with a length; a lone surrogate is the three bytes that it would be (WTF-8).
// A handle for which qjs_is_exception is true says that something was thrown; qjs_get_exception then gives it.

// export is a function of the guest.
type export uint8

// The functions of the guest, in the order of the table.
const (
	xInitialize export = iota
	xInit
	xSetStackSize
	xSetModuleLoader
	xSetRejectionHandler
	xRunGC
	xSetGCThreshold
	xMalloc
	xFree
	xEval
	xCall
	xRunJob
	xIsException
	xGetException
	xIsUncatchable
	xThrow
	xFreeValue
	xDupValue
	xTypeOf
	xPointer
	xClassID
	xClassName
	xIsFunction
	xGetFloat
	xGetBool
	xGetString
	xFreeString
	xGetField
	xGetIndex
	xNewNumber
	xNewString
	xNewObject
	xNewArray
	xNewBytes
	xDefine
	xSetIndex
	xViewBuffer
	xBufferBytes
	xNewFunction
	xNewPromise
	xPromiseState
	xPromiseResult
	exportCount
)

// exportRow is a row of the interface. A signature is the types of the arguments, a ">", and that of the result: i is i32, d is f64.
type exportRow struct {
	name, signature string
	what            string
}

// exports is the interface.
var exports = [exportCount]exportRow{
	xInitialize:          {"_initialize", ">", "runs the module's constructors; called first"},
	xInit:                {"qjs_init", ">i", "makes the one realm; 0 is success"},
	xSetStackSize:        {"qjs_set_max_stack_size", "i>", "bytes of stack before a RangeError"},
	xSetModuleLoader:     {"qjs_set_module_loader", "i>", "1: import() asks host_module_normalize"},
	xSetRejectionHandler: {"qjs_set_promise_rejection_handler", "i>", "1: host_promise_rejection is told"},
	xRunGC:               {"qjs_run_gc", ">", "collects garbage, before an image is taken"},
	xSetGCThreshold:      {"qjs_set_gc_threshold", "i>", "bytes in use at which garbage is collected next"},
	xMalloc:              {"wasm_malloc", "i>i", "memory for the host; 0 when there is none"},
	xFree:                {"wasm_free", "i>", "gives it back"},
	xEval:                {"qjs_eval", "iiii>i", "source, its length (a zero byte follows), file name, flags: 0 a script; 32 read it only; 128 a script in which await may stand, and the result is a promise of an object whose value is that of the script"},
	xCall:                {"qjs_call", "iiii>i", "function, this, count and array of arguments"},
	xRunJob:              {"qjs_execute_pending_job", ">i", "runs one job: 1 done, 0 there was none, below 0 it threw"},
	xIsException:         {"qjs_is_exception", "i>i", "whether a handle stands for something thrown"},
	xGetException:        {"qjs_get_exception", ">i", "takes what was thrown"},
	xIsUncatchable:       {"qjs_is_uncatchable_error", "i>i", "whether something thrown passes all handlers: the engine has no memory, or a text is longer than any may be"},
	xThrow:               {"qjs_throw", "i>i", "throws; for a host function that then returns 0"},
	xFreeValue:           {"qjs_free_value", "i>", "gives a handle back"},
	xDupValue:            {"qjs_dup_value", "i>i", "another handle for the same value"},
	xTypeOf:              {"qjs_typeof", "i>i", "-9 and 7 bigint, -8 symbol, -7 and -6 string, -1 object, 1 boolean, 2 null, 3 undefined; anything else a number"},
	xPointer:             {"qjs_get_value_ptr", "i>i", "the identity of an object while it lives"},
	xClassID:             {"qjs_get_class_id", "i>i", "what an object is inside, as a number; runs nothing, sees through nothing"},
	xClassName:           {"qjs_get_class_name", "i>i", "a name for it, or undefined"},
	xIsFunction:          {"qjs_is_function", "i>i", "whether an object can be called"},
	xGetFloat:            {"qjs_get_float64", "i>d", "the number, of a number"},
	xGetBool:             {"qjs_get_bool", "i>i", "the boolean, of a boolean"},
	xGetString:           {"qjs_get_string_len", "ii>i", "text of a string or bigint; its length goes to the second address"},
	xFreeString:          {"qjs_free_cstring", "i>", "gives the text back"},
	xGetField:            {"qjs_get_prop_string", "ii>i", "a property by name, for objects of the boundary"},
	xGetIndex:            {"qjs_get_prop_uint32", "ii>i", "an element, for arrays of the boundary"},
	xNewNumber:           {"qjs_new_number", "d>i", "a number"},
	xNewString:           {"qjs_new_string", "ii>i", "a string, of text and its length"},
	xNewObject:           {"qjs_new_object", ">i", "a plain object"},
	xNewArray:            {"qjs_new_array", ">i", "an array"},
	xNewBytes:            {"qjs_new_uint8_array", "ii>i", "a Uint8Array of a copy"},
	xDefine:              {"qjs_define_prop_value", "iiii>i", "object, key, value, flags (7: like an assignment to a new property)"},
	xSetIndex:            {"qjs_set_prop_uint32", "iii>i", "array, index, value"},
	xViewBuffer:          {"qjs_get_typed_array_buffer", "iiii>i", "the buffer of a view; offset, length and element size go to the addresses"},
	xBufferBytes:         {"qjs_get_array_buffer", "ii>i", "where the bytes of a buffer are; their count goes to the address"},
	xNewFunction:         {"qjs_new_host_function", "iii>i", "name, its length, count of parameters: a function that calls host_call with the name; no constructor"},
	xNewPromise:          {"qjs_new_promise", "ii>i", "a promise; the functions that settle it go to the addresses"},
	xPromiseState:        {"qjs_promise_state", "i>i", "0 pending, 1 fulfilled, 2 rejected"},
	xPromiseResult:       {"qjs_promise_result", "i>i", "value or reason of a settled promise"},
}

// The flags of qjs_eval.
const (
	evalPlain       = 0   // a script; the result is its value
	evalCompileOnly = 32  // a script is read and not run
	evalScript      = 128 // a script at whose top level await may stand; the result is a promise
)

// maxParams is the longest list of arguments in the interface.
const maxParams = 4

// checkInterface tells what a module lacks of the interface, or has too much.
func checkInterface(m wazero.CompiledModule) error {
	have := m.ExportedFunctions()
	for _, row := range exports {
		f, ok := have[row.name]
		if !ok {
			return fmt.Errorf("the guest has no function %s", row.name)
		}
		if got := signature(f); got != row.signature {
			return fmt.Errorf("the guest's function %s is %s, want %s", row.name, got, row.signature)
		}
	}
	mem, ok := m.ExportedMemories()[memoryName]
	if !ok {
		return fmt.Errorf("the guest does not export its memory as %q", memoryName)
	}
	if least := uint64(mem.Min()) * pageSize; least > setupMemory {
		return fmt.Errorf("the guest begins with %d bytes of memory, at most %d are given", least, setupMemory)
	}
	for _, f := range m.ImportedFunctions() {
		module, name, _ := f.Import()
		row, ok := findImport(module, name)
		if !ok {
			return fmt.Errorf("the guest wants %s.%s, which is not given to any", module, name)
		}
		if got := signature(f); got != row.signature {
			return fmt.Errorf("the guest wants %s.%s as %s, it is %s", module, name, got, row.signature)
		}
	}
	return nil
}

// memoryName is what the guest's memory is exported as.
const memoryName = "memory"

// typeLetters are how signatures write types.
var typeLetters = map[api.ValueType]string{api.ValueTypeI32: "i", api.ValueTypeI64: "l", api.ValueTypeF32: "f", api.ValueTypeF64: "d"}

// signature writes the signature of a function.
func signature(f api.FunctionDefinition) string {
	var b strings.Builder
	for _, t := range f.ParamTypes() {
		b.WriteString(typeLetters[t])
	}
	b.WriteByte('>')
	for _, t := range f.ResultTypes() {
		b.WriteString(typeLetters[t])
	}
	return b.String()
}
