package main

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"sallyport/compartment"
	"sallyport/policy"
	"sallyport/shell"
)

// explainFlags are the arguments of explain.
type explainFlags struct {
	policyFlags
	read, write, domain string
	json                bool
}

func (f *explainFlags) register(set *pflag.FlagSet) {
	f.policyFlags.register(set)
	set.StringVar(&f.read, "read", "", "")
	set.StringVar(&f.write, "write", "", "")
	set.StringVar(&f.domain, "domain", "", "")
	set.BoolVar(&f.json, "json", false, "")
}

// cmdExplain is `sallyport explain`.
func cmdExplain(p *program, args []string) (int, error) {
	f := &explainFlags{}
	set := newFlags("explain")
	f.register(set)
	if err := set.Parse(args); err != nil {
		return 0, usage("explain", err.Error())
	}
	if set.NArg() > 0 {
		return 0, usage("explain", fmt.Sprintf("unexpected argument %q; ask with --read, --write or --domain", set.Arg(0)))
	}
	questions := 0
	for _, name := range []string{"read", "write", "domain"} {
		if set.Changed(name) {
			questions++
		}
	}
	if questions > 1 {
		return 0, usage("explain", "one question at a time: --read, --write or --domain")
	}
	r, err := f.resolve("explain", "")
	if err != nil {
		return 0, err
	}
	if err := shell.Check(r.policy); err != nil {
		r.notes = append(r.notes, "run refuses this policy: "+err.Error())
	}
	if questions == 0 {
		return 0, p.explainAll(r, f.json)
	}
	a, err := f.ask(r.rules)
	if err != nil {
		return 0, err
	}
	if f.json {
		return 0, writeJSON(p.out, a)
	}
	return 0, p.print(a.text(r.notes))
}

// answer is one decision, as explain prints it.
type answer struct {
	Operation string `json:"operation"`
	Target    string `json:"target"`
	LeadsTo   string `json:"leads_to,omitempty"`
	Allowed   bool   `json:"allowed"`
	List      string `json:"list"`
	Entry     string `json:"entry"`
	Why       string `json:"why"`
	Reason    string `json:"reason"`
	Remedy    string `json:"remedy"`
}

// ask puts the one question of the flags to the rules.
func (f *explainFlags) ask(rules *policy.Rules) (answer, error) {
	switch {
	case f.domain != "":
		host, port, err := splitHost(f.domain)
		if err != nil {
			return answer{}, usage("explain", err.Error())
		}
		return newAnswer("connect", f.domain, rules.Connect(host, port)), nil
	case f.write != "":
		return askPath(rules, "write", f.write, rules.Write)
	case f.read != "":
		return askPath(rules, "read", f.read, rules.Read)
	}
	return answer{}, usage("explain", "the question is empty")
}

// askPath asks about what a path leads to: rules are about real paths, and a command follows links too.
func askPath(rules *policy.Rules, operation, path string, decide func(string) policy.Decision) (answer, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return answer{}, fmt.Errorf("%q: %w", path, err)
	}
	real, err := rules.Canonical(abs)
	if err != nil {
		return answer{}, err
	}
	a := newAnswer(operation, abs, decide(real))
	if real != abs {
		a.LeadsTo = real
	}
	return a, nil
}

func newAnswer(operation, target string, d policy.Decision) answer {
	return answer{
		Operation: operation, Target: target, Allowed: d.Allowed,
		List: d.Rule.List, Entry: d.Rule.Entry, Why: d.Rule.Why, Reason: d.Reason, Remedy: d.Remedy,
	}
}

// splitHost splits HOST[:PORT]. Without a port it is that of https; an IPv6 address with a port needs its brackets.
func splitHost(s string) (string, int, error) {
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return strings.Trim(s, "[]"), httpsPort, nil
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, httpsPort, nil
	}
	port, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil || port == 0 || i == 0 {
		return "", 0, fmt.Errorf("--domain %q is not HOST or HOST:PORT", s)
	}
	return strings.Trim(s[:i], "[]"), int(port), nil
}

// httpsPort is asked for when no port is given: it is what nearly every host is reached by.
const httpsPort = 443

// text is the answer for people: the verdict first, then the rule, the reason and the way out.
func (a answer) text(notes []string) string {
	verdict := "denied"
	if a.Allowed {
		verdict = "allowed"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", a.Operation, compartment.Escape(a.Target), verdict)
	rule := a.List
	if a.Entry != "" {
		rule = strings.TrimSpace(rule + " " + strconv.Quote(a.Entry))
	}
	for _, line := range []struct{ label, text string }{
		{"leads to", a.LeadsTo}, {"rule", rule}, {"why", a.Why}, {"reason", a.Reason}, {"to change", a.Remedy},
	} {
		if line.text != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", line.label+":", compartment.Escape(line.text))
		}
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "  %-10s %s\n", "note:", compartment.Escape(n))
	}
	return b.String()
}
