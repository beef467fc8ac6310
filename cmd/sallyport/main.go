// Command sallyport runs a command or a script that is not trusted, so that the kernel, or a JavaScript compartment,
// decides what it can reach.
//
//	sallyport run --allow-write /srv/work -- make test
//	sallyport eval -e '1 + 1'
//	sallyport tool --workspace . --gate ask open_file '{"path":"README.md"}'
//	sallyport explain --read ~/.ssh/id_ed25519
//	sallyport check policy.json
//	sallyport doctor
//	sallyport guest install
//
// It only wires the rooms of the module together: every decision is made in package policy, every boundary is put up in
// package shell or package compartment. `sallyport COMMAND --help` is the manual of a command, and docs/errors.md lists
// what the messages mean.
//
// # Exit status
//
// The status of run is the command's own; 128+N when signal N ended it; 124 after a time limit; 125 when sallyport could
// not do what was asked; 126 when the command cannot be executed; 127 when it was not found. The status of eval is 0
// when the evaluation was ok, 1 for any other outcome, 125 for trouble of our own.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// command is one word after the program's name.
type command struct {
	name    string
	summary string
	help    string
	run     func(p *program, args []string) (int, error)
}

// commands is everything that the program can do, in the order of its help.
func commands() []command {
	return []command{
		{"run", "run a command inside the process boundary", runHelp, cmdRun},
		{"eval", "evaluate JavaScript inside the code boundary", evalHelp, cmdEval},
		{"tool", "call a tool as a model would, through a gate", toolHelp, cmdTool},
		{"explain", "say what a policy allows, and which rule decides", explainHelp, cmdExplain},
		{"check", "read a policy file and say what is wrong with it", checkHelp, cmdCheck},
		{"doctor", "put up every layer once and say what this machine can do", doctorHelp, cmdDoctor},
		{"guest", "bring the JavaScript engine of eval, or say where it is", guestHelp, cmdGuest},
	}
}

// program is the outside world as a command sees it.
type program struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(p.main(os.Args[1:]))
}

// main finds the command, runs it and reports its error.
func (p *program) main(args []string) int {
	if len(args) == 0 {
		return p.fail(usage("", "which command? One of: "+commandNames()))
	}
	switch args[0] {
	case "-h", "--help", "help":
		return p.help(args[1:])
	}
	c, ok := findCommand(args[0])
	if !ok {
		return p.fail(usage("", fmt.Sprintf("unknown command %q; there are: %s", args[0], commandNames())))
	}
	if wantsHelp(args[1:]) {
		return p.help([]string{c.name})
	}
	status, err := c.run(p, args[1:])
	if err != nil {
		p.say(err)
	}
	if err != nil && status == 0 {
		return statusOf(err)
	}
	return status
}

// wantsHelp finds --help among our own arguments: what follows "--" belongs to somebody else.
func wantsHelp(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "-h", "--help":
			return true
		}
	}
	return false
}

// help prints the manual of one command, or the list of commands.
func (p *program) help(args []string) int {
	text := topHelp()
	if len(args) > 0 {
		c, ok := findCommand(args[0])
		if !ok {
			return p.fail(usage("", fmt.Sprintf("unknown command %q; there are: %s", args[0], commandNames())))
		}
		text = c.help
	}
	if err := p.print(text); err != nil {
		return p.fail(err)
	}
	return 0
}

func findCommand(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func commandNames() string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}
