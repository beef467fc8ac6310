package archtest

// room is one row of the import table: a package of this module, and what it may use.
type room struct {
	Dir string // directory below the module's root
	Why string // what the room holds

	Imports []string // rooms its code may import; "x/..." means x and everything below it
	Tests   []string // rooms its test files may import besides
}

// rooms is the import table of the module. Imports says "may", not "does". Every package in the tree has a row and
// every row has a package: a test compares both ways.
var rooms = []room{
	{
		Dir:     "policy",
		Why:     "what may be reached, as plain data; pure, so that every platform's rules are tested on every platform",
		Imports: []string{"internal/nearest"},
	},
	{
		Dir: "gate",
		Why: "the question before every tool call and its answer; knows no boundary, so that no boundary can answer it",
	},
	{
		Dir: "artifact",
		Why: "whole outputs and the queries over them; knows no tool and no boundary, so that every tool can use it",
	},
	{
		Dir:     "shell",
		Why:     "the process boundary",
		Imports: []string{"policy", "internal/egress", "shell/internal/..."},
	},
	{
		Dir:     "shell/internal/jail",
		Why:     "Linux: the first process of a jail, one file a layer",
		Imports: []string{"policy", "shell/internal/..."},
	},
	{
		Dir:     "shell/firstprocess",
		Why:     "the first process of a jail as a small program, for Options.Helper",
		Imports: []string{"shell/internal/jail"},
	},
	{
		Dir:     "shell/internal/broker",
		Why:     "Linux: makes calls for the processes of a jail, decided by name; it knows nothing of who keeps records",
		Imports: []string{"policy"},
	},
	{
		Dir:     "shell/search",
		Why:     "search_files and find_files: a confined process for each, ripgrep or this program again",
		Imports: []string{"fs", "policy", "shell", "shell/internal/seek"},
	},
	{
		Dir: "shell/internal/seek",
		Why: "what our own searcher does in the jail: walking, ignore files, matching; it knows no policy, so that it cannot decide",
	},
	{
		Dir:     "fs",
		Why:     "files of a workspace, opened first and judged on the descriptor",
		Imports: []string{"policy"},
	},
	{
		Dir:   "compartment",
		Why:   "the code boundary, without an engine; imports no other room, so that the two boundaries stay apart",
		Tests: []string{"compartment/goja", "compartment/wasm", "compartment/wasm/guest"},
	},
	{
		Dir:     "compartment/goja",
		Why:     "the code boundary on goja",
		Imports: []string{"compartment"},
	},
	{
		Dir:     "compartment/wasm",
		Why:     "the code boundary on a JavaScript engine in WebAssembly",
		Imports: []string{"compartment", "compartment/wasm/guest", "compartment/wasm/internal/..."},
		Tests:   []string{"compartment/goja"}, // the other side of the benchmarks
	},
	{
		Dir: "compartment/wasm/guest",
		Why: "which engine that is, where it can be, and how it is brought",
	},
	{
		Dir:     "compartment/wasm/guest/bring",
		Why:     "brings it, for go generate",
		Imports: []string{"compartment/wasm/guest"},
	},
	{
		Dir: "compartment/wasm/internal/meter",
		Why: "metering of a WebAssembly module; bytes in, bytes out",
	},
	{
		Dir:   "compartment/corpus",
		Why:   "the evidence for the code boundary: attacks and ordinary programs on every engine",
		Tests: []string{"compartment", "compartment/goja", "compartment/wasm", "compartment/wasm/guest", "hostfuncs"},
	},
	{
		Dir:     "hostfuncs",
		Why:     "powers a host can hand to a compartment, one file each",
		Imports: []string{"compartment", "fs", "gate", "internal/egress", "policy"},
		Tests:   []string{"compartment/goja", "compartment/wasm", "compartment/wasm/guest"},
	},
	{
		Dir:     "evaljs",
		Why:     "evaluate_javascript: sessions, console, result encoding",
		Imports: []string{"compartment", "hostfuncs"},
		Tests:   []string{"compartment/goja", "compartment/wasm", "compartment/wasm/guest", "fs", "gate", "policy"},
	},
	{
		Dir:     "tools",
		Why:     "the tools as a model sees them: schema, gate, call, narration, registry; the one library room where both boundaries meet",
		Imports: []string{"policy", "gate", "shell", "shell/search", "fs", "artifact", "compartment", "hostfuncs", "evaljs", "internal/nearest", "internal/strict"},
		Tests:   []string{"compartment/goja"},
	},
	{
		Dir: "cmd/sallyport",
		Why: "the program; wiring only, so it may see every public room",
		Imports: []string{
			"policy", "gate", "shell", "fs", "compartment", "compartment/goja", "compartment/wasm", "compartment/wasm/guest",
			"hostfuncs", "evaljs", "tools", "internal/terminal", "internal/strict",
		},
	},
	{
		Dir: "cmd/demo",
		Why: "the guided tour; wiring only, so it may see every public room",
		Imports: []string{
			"policy", "gate", "shell", "fs", "compartment", "compartment/goja", "compartment/wasm", "compartment/wasm/guest",
			"hostfuncs", "evaljs", "internal/terminal",
		},
	},
	{
		Dir: "live",
		Why: "the evidence: a real kernel, real children, real attacks",
		Imports: []string{
			"policy", "gate", "shell", "shell/search", "fs", "compartment", "compartment/goja", "hostfuncs", "evaljs",
		},
	},
	{
		Dir:     "internal/egress",
		Why:     "decide, then dial: the one place where connections are judged and made",
		Imports: []string{"policy"},
	},
	{
		Dir:     "internal/terminal",
		Why:     "what both programs need of a terminal: colour, and a person who is asked; no library sees it",
		Imports: []string{"compartment", "gate"},
	},
	{
		Dir: "internal/nearest",
		Why: "did you mean: one way to find it, for keys of a policy and fields of a call",
	},
	{
		Dir: "internal/strict",
		Why: "JSON that two readers cannot take for two things, for what a gate and a tool both read",
	},
	{
		Dir: "internal/benchtable",
		Why: "one table of all benchmarks; a program for the checkout, which nobody imports",
	},
	{
		Dir: "internal/archtest",
		Why: "these rules",
	},
}

// restriction is an import that only some rooms may use.
type restriction struct {
	Path  string // import path; "x/..." means x and everything below it
	Why   string
	Rooms []string // rooms whose code may import it
	Tests []string // rooms whose test files may import it besides
}

// restrictions is the last column of the import table: what only a few rooms may touch.
var restrictions = []restriction{
	{
		Path: "os/exec",
		Why:  "a process started elsewhere would be a process without a boundary",
		Rooms: []string{
			"shell",
			"cmd/demo",                     // the host process that the confined command fails to kill
			"compartment/wasm/guest/bring", // npm, before the program is built
			"cmd/sallyport",                // npm, for guest install, and the program of --gate exec
			"internal/benchtable",          // the go command, npm and node
		},
		Tests: []string{
			"internal/archtest",   // asks the go command for dependencies
			"cmd/sallyport",       // runs its scripts again as an ordinary user, and is built without its guest
			"cmd/demo",            // runs the built tour
			"live",                // attacks, and the plain and bubblewrap arms of the benchmark
			"shell/internal/jail", // starts jails one layer at a time
			"shell/search",        // bare ripgrep, as the other side of the benchmark
			"tools",               // the same
			"shell/internal/seek", // git check-ignore, which says what an ignore file means
			"compartment/goja",    // an attack that kills the process needs a process of its own
			"compartment/corpus",  // the same, for every engine
			"internal/egress",     // curl, against servers on loopback
			"artifact",            // a writer that is killed, and a full disk in namespaces of its own
		},
	},
	{
		Path: "golang.org/x/sys/...",
		Why:  "raw system calls are how a boundary is built, and how one is undone",
		Rooms: []string{
			"shell", "shell/internal/jail", "shell/internal/broker", "fs", "compartment/wasm",
			"artifact", // files that never have a name
		},
		Tests: []string{"live"}, // attacks are made of raw system calls
	},
	{
		Path:  "unsafe",
		Why:   "memory without types: only where the kernel's structures demand it",
		Rooms: []string{"shell", "shell/internal/jail", "shell/internal/broker", "compartment/wasm"},
		Tests: []string{"live"}, // attacks pass structures to the kernel by pointer
	},
	{
		Path: "net",
		Why:  "connections are judged in one place, then dialled there",
		Rooms: []string{
			"internal/egress",
			"shell",    // holds the listeners of a command, and opens ports that lead to its servers
			"cmd/demo", // the demo's own listener, which the confined command fails to reach
		},
		Tests: []string{"shell", "live", "cmd/sallyport", "tools"},
	},
	{
		Path: "net/http/...", Why: "as net", Rooms: []string{"internal/egress"},
		Tests: []string{"live", "hostfuncs"}, // the servers of a world, and those that fetch reaches
	},
	{
		Path: "github.com/miekg/dns", Why: "one place answers for names", Rooms: []string{"internal/egress"},
		Tests: []string{"live"}, // the name server of a world
	},
	{
		Path: "github.com/dop251/goja/...",
		Why:  "an engine is reached through the compartment's interface only",
		// The room is named after the engine it wraps.
		Rooms: []string{"compartment/goja"},
	},
	{Path: "github.com/tetratelabs/wazero/...", Why: "as goja", Rooms: []string{"compartment/wasm"}},
	{Path: "github.com/evanw/esbuild/...", Why: "one place reads TypeScript, and bounds it first", Rooms: []string{"evaljs"}},
	{Path: "github.com/yuin/goldmark/...", Why: "one place reads Markdown, and bounds it", Rooms: []string{"artifact"}},
	{Path: "github.com/theory/jsonpath/...", Why: "one place takes paths, and bounds them", Rooms: []string{"artifact"}},
	{Path: "github.com/gabriel-vasile/mimetype/...", Why: "one place tells types, from the first bytes", Rooms: []string{"artifact"}},
	{Path: "go.yaml.in/yaml/...", Why: "one place reads YAML, the frontmatter of Markdown, and bounds it", Rooms: []string{"artifact"}},
	{
		Path:  "github.com/spf13/pflag",
		Why:   "flags are the program's, a library has none",
		Rooms: []string{"cmd/sallyport"},
	},
	{
		Path:  "golang.org/x/term",
		Why:   "only programs have a terminal",
		Rooms: []string{"internal/terminal"},
	},
	{
		Path:  "github.com/bmatcuk/doublestar/...",
		Why:   "a policy's patterns have a grammar of their own; globs are those of ignore files and searches",
		Rooms: []string{"shell/internal/seek"},
	},
	{Path: "C", Why: "no cgo: the program is one static file and crosses platforms"},
	{Path: "plugin", Why: "code that is loaded at run time cannot be read here"},
	{Path: "testing/...", Why: "test code stays in test files", Tests: []string{"..."}},
	{Path: "github.com/stretchr/testify/...", Why: "as testing", Tests: []string{"..."}},
	{
		Path: "github.com/rogpeppe/go-internal/...", Why: "as testing, but for the difference of two texts",
		Rooms: []string{"cmd/sallyport"}, // what a save would change, for the person who is asked
		Tests: []string{"cmd/demo"},
	},
	{Path: "github.com/creack/pty", Why: "as testing: a terminal with nobody at it", Tests: []string{"internal/terminal", "cmd/sallyport"}},
	{Path: "github.com/google/jsonschema-go/...", Why: "one place says what a tool takes", Rooms: []string{"tools"}, Tests: []string{"tools"}},
	{Path: "mvdan.cc/sh/...", Why: "one place reads the language of the shell", Rooms: []string{"tools"}},
	{Path: "go.uber.org/goleak", Why: "as testing", Tests: []string{"..."}},
}

// call is a function that does what a restricted import does, under an unrestricted one.
type call struct {
	Package, Name string
	As            string // the restriction whose rooms may call it
}

// calls are the ways around the restrictions that lie in packages everybody needs.
var calls = []call{
	{"os", "StartProcess", "os/exec"},
	{"syscall", "StartProcess", "os/exec"},
	{"syscall", "ForkExec", "os/exec"},
	{"syscall", "Exec", "os/exec"},
	{"syscall", "Syscall", "golang.org/x/sys/..."},
	{"syscall", "Syscall6", "golang.org/x/sys/..."},
	{"syscall", "RawSyscall", "golang.org/x/sys/..."},
	{"syscall", "RawSyscall6", "golang.org/x/sys/..."},
	{"syscall", "AllThreadsSyscall", "golang.org/x/sys/..."},
	{"syscall", "AllThreadsSyscall6", "golang.org/x/sys/..."},
	{"syscall", "Socket", "net"},
	{"syscall", "Connect", "net"},
}

// linknames are the rooms that may reach into another package by go:linkname.
var linknames = map[string]string{
	"shell/internal/jail": "the hooks around fork: os/exec can only exec after it, and a jail is put up between the two",
}

// modules are the dependencies of the whole module, each with what it is for. Nothing else may appear in go.mod as a
// direct requirement.
var modules = map[string]string{
	"github.com/bmatcuk/doublestar/v4":   "globs of ignore files and of searches, in shell/internal/seek",
	"github.com/creack/pty":              "terminals, in tests of what a person is asked",
	"github.com/dop251/goja":             "the JavaScript engine of compartment/goja",
	"github.com/evanw/esbuild":           "erases the types of TypeScript, in evaljs",
	"github.com/gabriel-vasile/mimetype": "tells the type of media; needs no other module",
	"github.com/go-sourcemap/sourcemap":  "reads its source maps; goja has it too",
	"github.com/google/jsonschema-go":    "schemas of the tools, and the checking of arguments",
	"github.com/miekg/dns":               "reads and writes DNS messages, in internal/egress",
	"github.com/rogpeppe/go-internal":    "tests of the command line as scripts; the difference of two texts",
	"github.com/spf13/pflag":             "flags of the program: long names, and stopping at --",
	"github.com/stretchr/testify":        "require, in tests",
	"github.com/tetratelabs/wazero":      "hosts the guest of compartment/wasm",
	"github.com/theory/jsonpath":         "parses JSONPath and judges its filters, by the standard (RFC 9535) and its test suite; needs no other module",
	"github.com/yuin/goldmark":           "parses Markdown, by the standard (CommonMark); needs no other module",
	"go.uber.org/goleak":                 "no goroutine is left behind, in tests",
	"go.yaml.in/yaml/v3":                 "reads the frontmatter of Markdown, in artifact; other modules have it too",
	"golang.org/x/sys":                   "system calls that the standard library does not have",
	"golang.org/x/term":                  "is this a terminal, how wide is it",
	"mvdan.cc/sh/v3":                     "reads a shell line, for allowedCommands: by a parser, never by splitting",
}

// goja's own dependencies, which come with it.
var gojaModules = []string{
	"github.com/dlclark/regexp2/v2",
	"github.com/dop251/goja",
	"github.com/go-sourcemap/sourcemap",
	"github.com/google/pprof",
	"golang.org/x/text",
}

// linked are the modules that end up in a program which imports a room, exactly. The rooms that only programs import
// (cmd) and the rooms without code are not here.
var linked = map[string][]string{
	"policy": nil,
	"gate":   nil,
	"artifact": {
		"github.com/gabriel-vasile/mimetype", "github.com/theory/jsonpath", "github.com/yuin/goldmark", "go.yaml.in/yaml/v3", "golang.org/x/sys",
	},
	"shell":            {"github.com/miekg/dns", "golang.org/x/net", "golang.org/x/sys"}, // the network, by internal/egress
	"shell/search":     {"github.com/bmatcuk/doublestar/v4", "github.com/miekg/dns", "golang.org/x/net", "golang.org/x/sys"},
	"fs":               {"golang.org/x/sys"},
	"compartment":      nil,
	"compartment/goja": gojaModules,
	"hostfuncs":        {"github.com/miekg/dns", "golang.org/x/net", "golang.org/x/sys"}, // fetch, by internal/egress
	"internal/egress":  {"github.com/miekg/dns", "golang.org/x/net", "golang.org/x/sys"},
	"evaljs": {
		"github.com/evanw/esbuild", "github.com/go-sourcemap/sourcemap", // TypeScript
		"github.com/miekg/dns", "golang.org/x/net", "golang.org/x/sys", // hostfuncs
	},
}
