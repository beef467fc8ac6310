package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/compartment/wasm"
	"sallyport/compartment/wasm/guest"
	"sallyport/gate"
	"sallyport/internal/terminal"
	"sallyport/shell"
)

// tour is the way through the steps.
type tour struct {
	screen *screen
	place  *place
	box    *shell.Sandbox
	ask    gate.Func
	person *terminal.Person // nil without a terminal
	calls  int

	engine      compartment.Engine // of the scripts
	closeEngine func() error       // nil when there is nothing to close

	report shell.Report // of the last command
}

// outcome is how a step ended.
type outcome int

const (
	worked  outcome = iota // the command or script did what it was for
	denied                 // a boundary kept it from something, as seen from the host
	refused                // the gate said no, and nothing ran
)

func (o outcome) String() string { return [...]string{"it worked", "denied", "refused by the gate"}[o] }

// result is an outcome with what there is to say about it.
type result struct {
	outcome outcome
	said    string   // the verdict in words
	explain []string // whose explanation it is, and what it says, in turn
}

// step is one stop of the tour. It is a command or a script, and is judged by one of the two functions.
type step struct {
	title    string
	call     call
	needs    string  // a path of the host that an earlier step makes
	anew     bool    // open the sandbox again first
	stranger bool    // the decider has not been told about this call
	want     outcome // how it should end
	orElse   outcome // how it may end as well when a person decides

	ended     func(t *tour, o ended) result
	limit     time.Duration
	evaluated func(t *tour, o compartment.Outcome) result
}

// boundary is what answers.
func (s step) boundary() string {
	switch {
	case s.stranger:
		return "gate"
	case s.call.source != "":
		return "code boundary"
	}
	return "process boundary"
}

// call is what a step asks for: a shell line or a script.
type call struct {
	line   string
	source string
}

// gated is the call as a gate sees it.
func (c call) gated() (tool string, args json.RawMessage) {
	tool = "run_shell_command"
	shape := map[string]string{"command": c.line}
	if c.source != "" {
		tool, shape = "evaluate_javascript", map[string]string{"source": c.source}
	}
	return tool, object(shape)
}

// object writes a JSON object as a person can read it: json.Marshal writes < and & as escapes, for web pages.
func object(fields map[string]string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(fields); err != nil {
		panic("a map of strings has no JSON: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}

// commandTime bounds each command. None needs a tenth of it; the tour must not hang where something is odd.
const commandTime = 20 * time.Second

// appointGate makes a person the gate when there is one at a terminal, and the decider otherwise.
func (t *tour) appointGate() error {
	t.ask = t.decide
	if !terminal.IsTerminal(os.Stdout) {
		return nil
	}
	person, err := terminal.OpenPerson()
	if err != nil {
		return nil //nolint:nilerr // no terminal to ask on is what the decider is for, and the screen says who decides
	}
	t.person, t.ask = person, person.Gate
	return nil
}

// appointEngine makes the engine of the scripts: wasm where its guest is. Elsewhere the tour goes on with goja and says
// so; a program of yours should not.
func (t *tour) appointEngine(ctx context.Context) error {
	if t.engine != nil {
		return nil
	}
	engine, err := wasm.New(ctx, wasm.Options{})
	if errors.Is(err, guest.ErrAbsent) {
		t.engine = goja.NewWithoutMemoryLimit()
		return nil
	}
	if err != nil {
		return fmt.Errorf("engine wasm: %w", err)
	}
	t.engine, t.closeEngine = engine, engine.Close
	return nil
}

func (t *tour) close() {
	if t.person != nil {
		_ = t.person.Close() // it was read from, no more
	}
	if t.box != nil {
		_ = t.box.Close() // every command has ended
	}
	if t.closeEngine != nil {
		_ = t.closeEngine() // every script has ended
	}
}

// run goes through the steps and gives the titles of those that did not end as they should.
func (t *tour) run(ctx context.Context) ([]string, error) {
	if err := t.appointEngine(ctx); err != nil {
		return nil, err
	}
	t.introduce()
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	steps := tourSteps(t.place)
	var unexpected []string
	for i, s := range steps {
		t.screen.heading(i+1, s.title, s.boundary())
		r, err := t.take(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("step %d, %s: %w", i+1, s.title, err)
		}
		if !t.judge(s, r) {
			unexpected = append(unexpected, strconv.Itoa(i+1)+". "+s.title)
		}
	}
	t.screen.report(t.report)
	t.screen.promises(t.engine)
	t.conclude(len(steps), unexpected)
	return unexpected, nil
}

func (t *tour) introduce() {
	s := t.screen
	s.print(s.paint(bold, "Sallyport: a command and a script that nobody trusts, and a gate"))
	s.print("")
	s.row("repository", "0", t.place.repo+" (removed at the end)")
	if t.engine.Promises().Memory {
		s.row("engine", "0", t.engine.Name()+", for the scripts")
	} else {
		s.row("engine", yellow, t.engine.Name()+", for the scripts, since the guest of the engine wasm is not here (`"+guest.Commands[0]+"` brings it)")
	}
	if t.person != nil {
		s.row("gate", "0", "you: y lets a call go on, anything else refuses it")
		return
	}
	s.row("gate", "0", "no terminal to ask at, so a decider in the tour's own code answers; it knows the calls of the tour and refuses all else")
}

// take asks the gate and, when it approves, runs the step.
func (t *tour) take(ctx context.Context, s step) (result, error) {
	if s.needs != "" && absent(s.needs) {
		return result{outcome: refused, said: "it needs a step that was refused"}, nil
	}
	tool, args := s.call.gated()
	t.show(s.call)
	verdict, err := t.gate(ctx, gate.Call{Tool: tool, Args: args})
	switch {
	case err != nil:
		return result{}, err
	case !verdict.Approved:
		return result{outcome: refused, said: "nothing ran"}, nil
	}
	if s.call.source != "" {
		return t.runScript(ctx, s)
	}
	return t.runCommand(ctx, s)
}

// show prints what is asked. A person reads it in the question.
func (t *tour) show(c call) {
	if t.person != nil {
		return
	}
	if c.source == "" {
		t.screen.row("asked to run", "0", c.line)
		return
	}
	label := "asked to run"
	for _, line := range strings.Split(c.source, "\n") {
		t.screen.row(label, "0", line)
		label = ""
	}
}

// gate puts one call to the gate and prints the verdict. It is a gate.Func itself, for the powers of the scripts.
func (t *tour) gate(ctx context.Context, c gate.Call) (gate.Verdict, error) {
	t.calls++
	c.ID, c.Workspace = "tour-"+strconv.Itoa(t.calls), t.place.repo
	label := "gate"
	if c.Tool != "run_shell_command" && c.Tool != "evaluate_javascript" { // a power: the script is running
		label = "gate, again"
		c.Policy.Tier = "evaluator"
	}
	verdict, err := t.ask(ctx, c)
	switch {
	case err != nil:
		t.screen.row(label, red, "no answer: "+err.Error())
	case verdict.Approved && label == "gate":
		t.screen.row(label, green, "approved")
	case verdict.Approved:
		t.screen.row(label, green, "approved "+c.Tool+" "+string(c.Args))
	default:
		t.screen.row(label, yellow, "refused: "+verdict.Note)
	}
	return verdict, err
}

// judge prints how a step ended and says whether it should have ended so. What a person refuses was not shown.
func (t *tour) judge(s step, r result) bool {
	verdict := r.outcome.String()
	if r.said != "" {
		verdict += ": " + r.said
	}
	good := r.outcome == s.want || t.person != nil && s.orElse != worked && r.outcome == s.orElse
	code := green
	switch {
	case !good && r.outcome == refused:
		verdict, code = verdict+"; this step was not shown", yellow
	case !good:
		verdict, code = "IT SHOULD HAVE BEEN "+s.want.String()+", but "+verdict, red
	}
	t.screen.row("result", code, verdict)
	for i := 0; i+1 < len(r.explain); i += 2 {
		t.screen.row(r.explain[i], "0", r.explain[i+1])
	}
	return good
}

func (t *tour) conclude(steps int, unexpected []string) {
	s := t.screen
	s.print("")
	if len(unexpected) == 0 {
		s.print(s.paint(green, fmt.Sprintf("%d of %d steps ended as they should.", steps, steps)))
		return
	}
	s.print(s.paint(red, fmt.Sprintf("%d of %d steps did not end as they should: ", len(unexpected), steps)))
	for _, u := range unexpected {
		s.print("    " + s.paint(red, u))
	}
}

// decide is the gate without a person: it approves the calls of the tour, word for word, and refuses all else. It is the
// tour's own and no use to anybody: a real gate decides about calls that nobody has seen before.
func (t *tour) decide(_ context.Context, c gate.Call) (gate.Verdict, error) {
	for _, known := range knownCalls(t.place) {
		if c.Tool == known.Tool && string(c.Args) == string(known.Args) {
			return gate.Verdict{Approved: true}, nil
		}
	}
	return gate.Verdict{Note: "this call is not one of the tour's"}, nil
}
