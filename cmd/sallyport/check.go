package main

import (
	"fmt"

	"sallyport/shell"
)

// cmdCheck is `sallyport check POLICY`.
func cmdCheck(p *program, args []string) (int, error) {
	set := newFlags("check")
	if err := set.Parse(args); err != nil {
		return 0, usage("check", err.Error())
	}
	if set.NArg() != 1 {
		return 0, usage("check", "one policy file, please")
	}
	file := set.Arg(0)
	r := &request{}
	var err error
	if r.policy, err = readPolicy(file); err != nil {
		return 0, err
	}
	if r.rules, err = shell.Compile(r.policy); err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	if err := guardPolicyFile(file, r); err != nil {
		return 0, err
	}
	t := &table{}
	t.row("valid", file)
	for _, note := range policyNotes(r.rules.Derived()) {
		t.row("note", note)
	}
	if err := shell.Check(r.policy); err != nil {
		t.row("not yet", err.Error()+"; run refuses it")
	}
	return 0, p.print(t.String())
}
