package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"sallyport/gate"
	"sallyport/tools"
)

// A gate that lets files be read below docs, and refuses all else. A real one would ask a person, or a service that does.
func docsOnly(_ context.Context, c gate.Call) (gate.Verdict, error) {
	var args struct{ Path string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return gate.Verdict{}, err
	}
	if c.Tool == tools.OpenFile && strings.HasPrefix(args.Path, "docs/") {
		return gate.Verdict{Approved: true}, nil
	}
	return gate.Verdict{Note: "only files of docs may be opened"}, nil
}

// workspace makes a directory with two files.
func workspace() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o755); err != nil {
		log.Fatal(err)
	}
	for name, text := range map[string]string{"docs/plan.md": "first\nsecond\nthird\n", "secret": "s"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

// Open a file, and ask the artifact for a line of it.
func ExampleRegistry_Call() {
	dir := workspace()
	defer os.RemoveAll(dir)
	registry, err := tools.New(tools.Options{Gate: docsOnly, Workspace: dir, Only: []string{tools.OpenFile, tools.ListDirectory}})
	if err != nil {
		log.Fatal(err)
	}
	defer registry.Close()
	ctx := context.Background()

	opened, err := registry.Call(ctx, tools.OpenFile, json.RawMessage(`{"path":"docs/plan.md"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(opened.Artifact.Lines, "lines")
	head, err := registry.Call(ctx, "artifact_grep", json.RawMessage(fmt.Sprintf(`{"callId":%q,"pattern":"^s"}`, opened.ID)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(head.Content)
	// Output:
	// 3 lines
	// 2:second
}

// What a model reads when something is not done.
func ExampleRender() {
	dir := workspace()
	defer os.RemoveAll(dir)
	registry, err := tools.New(tools.Options{Gate: docsOnly, Workspace: dir, Only: []string{tools.OpenFile}})
	if err != nil {
		log.Fatal(err)
	}
	defer registry.Close()
	for _, args := range []string{`{"path":"secret"}`, `{"path":"docs/none"}`, `{"path":"docs/../../x"}`, `{"pth":"docs/plan.md"}`} {
		_, err := registry.Call(context.Background(), tools.OpenFile, json.RawMessage(args))
		fmt.Println(tools.Render(err))
	}
	// Output:
	// The tool handler threw an error during execution. open_file was declined: only files of docs may be opened. Do not repeat this call; do it another way, or ask the user.
	// The tool handler threw an error during execution. "docs/none": there is no such file or directory, or the policy does not let you use it. Look at what is listed in its parent directory, or ask the user for access.
	// The tool handler threw an error during execution. "docs/../../x" leads out of the workspace. Use a path inside of the workspace.
	// Invalid arguments for open_file: unknown field "pth" (did you mean "path"?); path is missing: a string that is not empty. Correct them and call again; nothing was done.
}

// The tools there are change with the turn: the queries come with the first artifact, and go with it.
func ExampleRegistry_Tools() {
	dir := workspace()
	defer os.RemoveAll(dir)
	registry, err := tools.New(tools.Options{Gate: docsOnly, Workspace: dir, Only: []string{tools.OpenFile}})
	if err != nil {
		log.Fatal(err)
	}
	defer registry.Close()
	fmt.Println(len(registry.Tools()), registry.Tools()[0].Title)
	if _, err := registry.Call(context.Background(), tools.OpenFile, json.RawMessage(`{"path":"docs/plan.md"}`)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(registry.Tools()), registry.Tools()[1].Title)
	if err := registry.EndTurn(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(registry.Tools()))
	// Output:
	// 1 Open a file
	// 8 First lines
	// 1
}
