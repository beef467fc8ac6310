package hostfuncs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/fs"
	"sallyport/hostfuncs"
	"sallyport/policy"
)

// show evaluates programs one after the other, each in a compartment of its own, and prints what comes of them.
func show(powers []compartment.Power, sources ...string) {
	for _, source := range sources {
		c, err := goja.NewWithoutMemoryLimit().Open(context.Background(), compartment.Config{Powers: powers})
		if err != nil {
			panic(err)
		}
		o, err := c.Evaluate(context.Background(), source)
		if err != nil {
			panic(err)
		}
		fmt.Println(o.Status, o.Value.Text)
		if err := c.Close(); err != nil {
			panic(err)
		}
	}
}

// Notes that outlive the evaluation that made them.
func ExampleScratch() {
	show(hostfuncs.Scratch(100),
		`scratch.set("plan", JSON.stringify({ step: 2 }))`,
		`JSON.parse(await scratch.get("plan")).step`,
		`scratch.set("more", "it does not fit")`)
	// Output:
	// ok undefined
	// ok 2
	// refused [Error: scratch.set: it would keep 161 bytes, and 100 is the most]
}

// Chance that can be repeated: for tests, and for runs that are compared. Random(nil) is the real thing.
func ExampleRandom() {
	show(hostfuncs.Random(strings.NewReader("abcdefghijkl")), "randomBytes(4)", "(await random()) < 1")
	// Output:
	// ok bytes[61 62 63 64]
	// ok true
}

// What setTimeout would be.
func ExampleTimers() {
	show([]compartment.Power{hostfuncs.Timers(time.Second)},
		`let said = ""; const later = sleep(2).then(() => said += "later"); said += "first, "; await later; said`,
		`sleep(1500)`)
	// Output:
	// ok "first, later"
	// refused [TypeError: sleep: ms must be between 0 and 1000, not 1500]
}

// A clock that shows the day and no more.
func ExampleClock() {
	show([]compartment.Power{hostfuncs.Clock(24 * time.Hour)}, `new Date(await clock()).toISOString().slice(10)`)
	// Output: ok "T00:00:00.000Z"
}

// Looking around in a directory.
func ExampleListDirectory() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(workspace)
	if err := os.Mkdir(filepath.Join(workspace, "docs"), 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, "plan.md"), nil, 0o600); err != nil {
		panic(err)
	}
	dir, err := fs.OpenDir(workspace)
	if err != nil {
		panic(err)
	}
	defer dir.Close()
	show([]compartment.Power{hostfuncs.ListDirectory(dir)}, `listDirectory(".")`, `listDirectory("..")`)
	// Output:
	// ok [{name: "docs", type: "directory"}, {name: "plan.md", type: "file"}]
	// refused [Error: "..": the path leads out of the workspace; write a path below its root]
}

// Requests to one host, and to no other.
func ExampleFetch() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"weather":"fair"}`) }))
	defer api.Close()
	// A host's own service is granted by its address; api.example.com needs no more than its name.
	p := policy.Policy{Network: policy.Network{AllowedDomains: []string{api.Listener.Addr().String()}}}
	rules, err := p.Compile(policy.CompileOptions{})
	if err != nil {
		panic(err)
	}
	fetch, err := hostfuncs.Fetch(hostfuncs.FetchOptions{Rules: rules})
	if err != nil {
		panic(err)
	}
	show([]compartment.Power{fetch},
		fmt.Sprintf(`JSON.parse((await fetch(%q)).text).weather`, api.URL),
		`await fetch("https://api.example.org/")`)
	// Output:
	// ok "fair"
	// refused [Error: fetch: tried to connect to api.example.org:443, which is not on the allow-list; add "api.example.org:443" to network.allowedDomains; this is policy, not a fault]
}
