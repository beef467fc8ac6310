package tools

import (
	"context"

	"sallyport/artifact"

	"github.com/google/jsonschema-go/jsonschema"
)

// The names of the tools. There is no read_file, no edit_file and no git tool, on purpose: opening gives an artifact to
// query, staging and saving change files, and the shell is where git is (R211, R216, R317, R318).
const (
	RunShellCommand    = "run_shell_command"
	OpenFile           = "open_file"
	OpenJSONFile       = "open_json_file"
	OpenMarkdownFile   = "open_markdown_file"
	StageFile          = "stage_file"
	SaveMedia          = "save_media"
	ListDirectory      = "list_directory"
	SearchFiles        = "search_files"
	FindFiles          = "find_files"
	EvaluateJavaScript = "evaluate_javascript"
)

// definition is a tool before it is known which other tools there are.
type definition struct {
	name, title string
	// describe says what the tool does. It may name another tool only when that one is there (R198).
	describe func(there func(string) bool) string
	tier     Tier
	readOnly bool
	schema   func(r *Registry) *jsonschema.Schema
	run      func(*Registry, context.Context, *call) (Result, error)
}

// always is a description that depends on nothing.
func always(s string) func(func(string) bool) string {
	return func(func(string) bool) string { return s }
}

// The lengths that the tools have of themselves, when a call says nothing else (R195, R200, R235, R255).
const (
	shellSeconds  = 300
	scriptSeconds = 30
	listDepth     = 20
)

const pathHelp = "Path in the workspace, from its root; a leading slash means the root too."

// definitions are the ten tools (A3), in the order in which they are shown.
func definitions() []definition {
	return append(fileDefinitions(), commandDefinitions()...)
}

func onePath(*Registry) *jsonschema.Schema { return object(need("path", filled(pathHelp))) }

func fileDefinitions() []definition {
	return []definition{
		{
			name: OpenFile, run: opening(artifact.KindText), title: "Open a file", tier: Evaluator, readOnly: true, schema: onePath,
			describe: always("Opens a text file, whole. The result is an artifact: query it by its id."),
		},
		{
			name: OpenJSONFile, run: opening(artifact.KindJSON), title: "Open a JSON file", tier: Evaluator, readOnly: true, schema: onePath,
			describe: always("Opens a JSON file, whole. The result is an artifact that can be queried with JSONPath, and as text also when it is not valid JSON."),
		},
		{
			name: OpenMarkdownFile, run: opening(artifact.KindMarkdown), title: "Open a Markdown file", tier: Evaluator, readOnly: true, schema: onePath,
			describe: always("Opens a Markdown file, whole. The result is an artifact that can be queried by headings, sections, code blocks and links, and as text."),
		},
		{
			name: StageFile, run: stageFile, title: "Stage a file", tier: Evaluator, readOnly: true, schema: onePath,
			describe: func(there func(string) bool) string {
				says := "Takes a file of any kind up as media, without reading it. Nothing on disk changes."
				if there(SaveMedia) {
					says += " " + SaveMedia + " writes it somewhere else."
				}
				return says
			},
		},
		{
			name: SaveMedia, run: saveMedia, title: "Save media to a file", tier: Evaluator,
			describe: func(there func(string) bool) string {
				says := "Writes media of this turn to a file, which is made or replaced whole."
				if there(StageFile) {
					says += " Media come from " + StageFile + "."
				}
				return says
			},
			schema: func(*Registry) *jsonschema.Schema {
				return object(need("media_id", filled("The id of the media.")), need("path", filled("Where to save it. "+pathHelp)))
			},
		},
		{
			name: ListDirectory, run: listDirectory, title: "List a directory", tier: Evaluator, readOnly: true,
			describe: always("Lists what is in a directory and below it, one JSON object a line: path and entryKind, file or dir. Links are not followed, and what may not be read is left out."),
			schema: func(*Registry) *jsonschema.Schema {
				depth := whole("How many levels to look at; 0 is the directory's own entries.", 0)
				depth.Default = []byte("20")
				return object(need("path", text("The directory; empty is the root of the workspace. "+pathHelp)), may("max_depth", depth))
			},
		},
	}
}

func commandDefinitions() []definition {
	return []definition{
		{
			name: SearchFiles, run: searchFiles, title: "Search in files", tier: Kernel, readOnly: true,
			describe: always("Searches files for a regular expression (RE2), one JSON object a line: path from the root, line and text, the whole line. Without limit every match is given."),
			schema:   func(r *Registry) *jsonschema.Schema { return object(searchFields(r)...) },
		},
		{
			name: FindFiles, run: findFiles, title: "Find files by name", tier: Kernel, readOnly: true,
			describe: always("Finds files whose path matches a pattern such as **/*.go, one JSON object a line. Without limit every match is given."),
			schema:   func(r *Registry) *jsonschema.Schema { return object(findFields(r)...) },
		},
		{
			name: RunShellCommand, run: runShell, title: "Run a shell command", tier: Kernel,
			describe: always("Runs one shell command line inside the sandbox; git, compilers and tests are run with it. Its output, standard output and error together, is an artifact, " +
				"also when it fails. The kernel decides what it can reach: what was denied is told beside the result. Nothing it starts goes on after it."),
			schema: func(*Registry) *jsonschema.Schema {
				return object(need("command", filled("The line, as for sh -c.")),
					may("cwd", root("The directory to run it in; without it the root of the workspace. "+pathHelp)),
					may("timeout_seconds", seconds("After so many seconds it is ended, with everything it started.", shellSeconds)))
			},
		},
		{
			name: EvaluateJavaScript, run: runScript, title: "Evaluate JavaScript", tier: Evaluator,
			describe: describeScripts,
			schema: func(*Registry) *jsonschema.Schema {
				return object(need("source", filled("The program. The value of its last expression is the result; await may stand at the top level.")),
					may("timeout_seconds", seconds("After so many seconds it is stopped.", scriptSeconds)))
			},
		},
	}
}

// describeScripts tells a model what a program can reach besides the language.
func describeScripts(there func(string) bool) string {
	says := "Evaluates JavaScript in a compartment: no files, network, clock or modules"
	if there("callTool") {
		says += ", but callTool(name, arguments), which calls the other tools, each call asked for like one of yours"
	}
	return says + ". The result is a JSON artifact with status, value and console."
}

// searchFields are the arguments of search_files.
func searchFields(r *Registry) []field {
	return append([]field{
		need("pattern", filled("What to look for, line by line.")),
		may("ignore_case", flag("Take upper and lower case for the same.")),
		may("literal", flag("Take the pattern as text, and not as an expression.")),
		may("glob", filled("Only files whose path matches, such as *.go; a leading ! leaves them out.")),
		may("iglob", filled("The same without regard to case.")),
	}, traversal(r)...)
}

// findFields are the arguments of find_files. What is about the contents of files is not among them (R246).
func findFields(r *Registry) []field {
	return append([]field{
		need("glob", filled("The pattern that a path has to match, such as *.go or cmd/**.")),
		may("iglob", filled("A second pattern, without regard to case.")),
	}, traversal(r)...)
}

// traversal are the arguments that the search pair share. follow takes only false, because nothing here contains the
// links of a tree in the workspace (R245).
func traversal(r *Registry) []field {
	follow := flag("Follow symbolic links.")
	if !r.containsLinks {
		follow.Enum = []any{false}
		follow.Description = "Links are not followed."
	}
	return []field{
		may("path", root("Where to look; without it the root of the workspace. "+pathHelp)),
		may("max_depth", whole("How many levels to look at; without it all of them.", 0)),
		may("limit", whole("Stop after so many results; without it all are given.", 1)),
		may("hidden", flag("Look at names that begin with a dot too.")),
		may("no_ignore", flag("Look at what .gitignore leaves out too.")),
		may("follow", follow),
	}
}
