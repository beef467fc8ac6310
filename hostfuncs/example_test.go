package hostfuncs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/fs"
	"sallyport/gate"
	"sallyport/hostfuncs"
)

// The one power of a program, behind a gate.
func ExampleGated() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(workspace)
	for _, name := range []string{"plan.md", ".env"} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte("ship it"), 0o600); err != nil {
			panic(err)
		}
	}
	dir, err := fs.OpenDir(workspace)
	if err != nil {
		panic(err)
	}
	defer dir.Close()

	ask := func(_ context.Context, c gate.Call) (gate.Verdict, error) { // a real one would ask a person
		if string(c.Args) == `{"path":"plan.md"}` {
			return gate.Verdict{Approved: true}, nil
		}
		return gate.Verdict{Note: "only the plan may be read"}, nil
	}
	read := hostfuncs.Gated(hostfuncs.ReadFile(dir), ask, hostfuncs.Scope{Workspace: workspace})

	c, err := goja.NewWithoutMemoryLimit().Open(context.Background(), compartment.Config{Powers: []compartment.Power{read}})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	for _, source := range []string{`readFile("plan.md")`, `readFile(".env")`} {
		o, err := c.Evaluate(context.Background(), source)
		if err != nil {
			panic(err)
		}
		fmt.Println(o.Status, o.Value.Text)
	}
	// Output:
	// ok "ship it"
	// refused [Error: readFile was refused: only the plan may be read]
}

// What a model is told of the powers it has.
func ExampleDescribe() {
	fmt.Print(hostfuncs.Describe([]compartment.Power{hostfuncs.ReadFile(nil)}))
	// Output:
	// readFile(path: string): Promise<string> // Reads one text file of the workspace, whole.
}
