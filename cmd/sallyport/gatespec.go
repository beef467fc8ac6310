package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"sallyport/gate"
	"sallyport/internal/terminal"
	"sallyport/policy"
)

// gatekeeper is the gate that --gate names, and what has to be closed after it.
type gatekeeper struct {
	ask     gate.Func
	close   func() error
	guarded []string // paths that nothing may be saved to
}

// gateSpecs says what --gate takes.
const gateSpecs = "ask (a person at this terminal) or exec:PROGRAM"

// openGate opens the gate that a SPEC names. There is no default, and no gate that approves by itself. about is what a
// person is shown besides the call.
func (p *program) openGate(command, spec string, rules *policy.Rules, about func(context.Context, gate.Call) ([]terminal.Part, error)) (*gatekeeper, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	switch {
	case spec == "":
		return nil, usage(command, "--gate is missing: every call is put to a gate, and there is no default; it is "+gateSpecs)
	case spec == "ask":
		person, err := terminal.OpenPerson()
		if err != nil {
			return nil, &trouble{text: "--gate ask", err: err, hint: "there is nobody to ask without a terminal; --gate exec:PROGRAM asks a program"}
		}
		return &gatekeeper{ask: person.Asker(about).Gate, close: person.Close}, nil
	case kind == "exec":
		program, err := gateProgram(command, rest, rules)
		if err != nil {
			return nil, err
		}
		return &gatekeeper{ask: (&execGate{program: program, log: p.err}).ask, close: func() error { return nil }, guarded: []string{program}}, nil
	}
	return nil, usage(command, fmt.Sprintf("--gate %q: it is %s", spec, gateSpecs))
}

// gateProgram finds the program of exec: once, so that no later change of PATH or of the directory puts another one in
// its place. One that the policy lets be written is refused: a confined command would write its own gate.
func gateProgram(command, name string, rules *policy.Rules) (string, error) {
	if name == "" {
		return "", usage(command, "--gate exec: needs a program")
	}
	found, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", &trouble{text: "--gate exec:" + name, err: err, hint: "name a program that can be executed"}
	}
	abs, err := filepath.Abs(found)
	if err != nil {
		return "", &trouble{text: "--gate exec:" + name, err: err}
	}
	for _, root := range rules.WritableRoots() {
		if passesThrough(root, abs) {
			return "", &trouble{
				text: fmt.Sprintf("the gate program %q lies inside %q, which the policy lets be written", abs, root),
				hint: "move the program out of every allowWrite directory",
			}
		}
	}
	return abs, nil
}
