// Package tools is what a model sees: ten tools, each with a schema, each put to a gate before it does anything, and
// every way a call can fail told in words that say what to do next.
//
//	box, err := shell.Open(ctx, rules, shell.Options{})
//	...
//	registry, err := tools.New(tools.Options{
//		Gate:      ask,                   // there is no default
//		Workspace: "/home/ann/project",
//		Rules:     box.Rules(),           // the file tools keep to the rules of the sandbox
//		Commands:  box,
//		WriteRoot: "out",                 // save_media writes there, and nowhere else
//		Trust:     tools.Untrusted,
//	})
//	...
//	defer registry.Close()
//	result, err := registry.Call(ctx, "open_file", json.RawMessage(`{"path":"README.md"}`))
//	if err != nil {
//		reply(tools.Render(err)) // what the model reads
//	}
//	reply(result.Model())
//
// # A call
//
// Call checks the arguments against the schema, asks the gate, and only then looks at a path or touches anything. The gate
// sees the arguments in one spelling, and the tool uses those and no others: JSON that two readers could take for two
// things is refused before. While the gate has not answered, events say so (Options.OnEvent). There is no time-out of
// ours: the end of the context ends the question, and the call with everything that it started.
//
// # Artifacts
//
// A result is a handle. The output itself, whole and without a bound on its length, is an artifact of the turn, and is
// queried by tools that exist only as long as there is an artifact that they fit: Tools lists them, with the ids that they
// take. What a query gives is text and no artifact. A handle where text was expected is therefore nothing unusual: the
// text is asked for with artifact_head, artifact_grep and the others. EndTurn ends the turn, and its artifacts and media with
// it. The gate is asked for the call that makes an artifact, and not again for the queries: they show what was granted.
//
// # Editing
//
// There is no tool that edits a file in place. stage_file makes media of a file, media_replace makes other media of it in memory, and
// save_media, which the gate can look at with Registry.Preview, writes it. The shell changes files too, as its policy lets it. No
// other tool can.
//
// # Outcomes
//
// There are twenty ways in which a call does not give, or does not wholly give, what was asked for; Outcomes is the table.
// Those in which nothing was done are errors; the others are notes of a result. A file that is not there and one that may
// not be read have the same text and the same code. No text of ours names a path, a directory or a user of the host. A
// Narrator of your own can word them otherwise.
//
// # What it does not stop
//
// The file tools work in this process, on descriptors that were judged by the policy (their tier is "evaluator"); the shell
// and the searches work in confined processes (tier "kernel"). A command can print what looks like a note of ours in its
// output; Result.Notes are the real ones. Result.Model puts content between lines that its author cannot know; what a model
// makes of the content is not for this package to say. Shell.AllowedCommands checks names: it is no boundary, and git and make start
// whatever they are told to.
//
// # Errors
//
// New gives *Error with CodeGateRequired or CodeInvalidConfig. Call gives *Error, whose text is the narration: CodeRefused
// for what the gate, the policy and the rules for paths refuse, CodeFailed for what went wrong, CodeInvalidArgs for
// arguments that the tool does not take, and the code of the boundary when that is what failed. When the context ended, it
// gives the context's own cause.
package tools
