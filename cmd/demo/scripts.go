package main

import (
	"context"
	"errors"
	"time"

	"sallyport/compartment"
	"sallyport/evaljs"
	"sallyport/fs"
	"sallyport/hostfuncs"
	"sallyport/policy"
)

const readScript = `const text = await readFile("README.md");
text.split("\n")[0]`

// searchScript tries what scripts try: names that other engines have, and files that its one power does not give.
const searchScript = `const names = ["process", "require", "fetch", "setTimeout"]
const found = names.filter(name => name in globalThis)
for (const path of [".env", "../neighbour/note"]) {
  try {
    await readFile(path)
    found.push(path)
  } catch (e) { console.log(e.message) }
}
found`

const loopScript = `for (;;) {}`

// scriptReads are the files that the scripts ask for. The decider lets every one of them through, so that the boundary
// is the one to answer.
var scriptReads = []string{"README.md", ".env", "../neighbour/note"}

// loopTime is what the loop gets. A script that asks a gate gets minutes: a person may be the gate.
const (
	loopTime = 300 * time.Millisecond
	askTime  = 5 * time.Minute
)

func scriptSteps(p *place) []step {
	return []step{
		{
			title: "Read a file through the one power it was given", want: worked, limit: askTime,
			call: call{source: readScript},
			evaluated: func(_ *tour, o compartment.Outcome) result {
				if o.Status != compartment.StatusOK {
					return result{outcome: denied, said: string(o.Kind)}
				}
				return result{outcome: worked, said: "the value is " + o.Value.Text}
			},
		},
		{
			title: "Look for anything else", want: denied, limit: askTime,
			call: call{source: searchScript},
			evaluated: func(t *tour, o compartment.Outcome) result {
				nothing := o.Status == compartment.StatusOK && string(o.Data) == "[]"
				return deniedIf(nothing, "it found nothing", t.box.Rules().Read(p.at(".env")))
			},
		},
		{
			title: "Run for ever", want: denied, limit: loopTime,
			call: call{source: loopScript},
			evaluated: func(_ *tour, o compartment.Outcome) result {
				r := deniedIf(o.Kind == compartment.KindTime, string(o.Kind)+" after "+loopTime.String(), policy.Decision{})
				r.explain = []string{"outcome says:", o.Next}
				return r
			},
		},
	}
}

// runScript evaluates the script of a step.
func (t *tour) runScript(ctx context.Context, s step) (result, error) {
	o, err := t.evaluate(ctx, s.call.source, s.limit)
	if err != nil {
		return result{}, err
	}
	for _, e := range o.Console.Entries {
		t.screen.output(e.Text)
	}
	return s.evaluated(t, o), nil
}

// evaluate evaluates a script whose one power reads files of the repository. Each read is put to the gate, and then
// judged by the policy of the sandbox.
func (t *tour) evaluate(ctx context.Context, source string, limit time.Duration) (o compartment.Outcome, err error) {
	dir, err := fs.OpenDir(t.place.repo)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	rules := t.box.Rules()
	readable := dir.Restrict(func(hostPath string) bool { return rules.Read(hostPath).Allowed })
	session, err := evaljs.New(evaljs.Options{
		Engine: t.engine,
		Powers: []compartment.Power{hostfuncs.Gated(hostfuncs.ReadFile(readable), t.gate, hostfuncs.Scope{Workspace: t.place.repo})},
		Limits: compartment.Limits{Time: limit, CallTime: limit},
	})
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	return session.Evaluate(ctx, source)
}
