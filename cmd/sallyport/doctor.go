package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sallyport/compartment"
	"sallyport/internal/terminal"
	"sallyport/policy"
	"sallyport/shell"
)

// checkup is what doctor found.
type checkup struct {
	OK       bool         `json:"ok"`
	Platform string       `json:"platform"`
	User     string       `json:"user"`
	Settings []setting    `json:"settings"`
	Report   shell.Report `json:"report"`
	Limits   []limitCheck `json:"limits"`
	Error    *failure     `json:"error"`
}

// setting is one file of the kernel's that decides whether a layer can be put up.
type setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// limitCheck says whether one limit can be put up here.
type limitCheck struct {
	Name     string   `json:"name"`
	State    string   `json:"state"`
	Evidence string   `json:"evidence"`
	Hints    []string `json:"hints"`
}

// failure is a *shell.Error as an object.
type failure struct {
	Code    shell.Code `json:"code"`
	Layer   string     `json:"layer"`
	Syscall string     `json:"syscall"`
	Errno   string     `json:"errno"`
	Message string     `json:"message"`
	Hints   []string   `json:"hints"`
}

// settings are the files that doctor shows. They explain a refusal; what is in force is asked of the kernel itself.
var settings = []setting{
	{Path: "/proc/sys/user/max_user_namespaces", Why: "0 forbids user namespaces"},
	{Path: "/proc/sys/kernel/unprivileged_userns_clone", Why: "0 forbids them to ordinary users (Debian)"},
	{Path: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", Why: "1 takes their capabilities away (Ubuntu)"},
	{Path: "/sys/kernel/security/lsm", Why: "must name landlock"},
	{Path: "/sys/fs/cgroup/cgroup.controllers", Why: "memory and pids bind limits for a whole tree"},
}

// limitProbes are asked for one at a time, so that one that is missing does not hide the others. The values are large
// enough for any machine.
var limitProbes = []struct {
	name   string
	limits shell.Limits
}{
	{"memory", shell.Limits{MemoryBytes: 1 << 30}},
	{"pids", shell.Limits{Processes: 1000}},
	{"cpu", shell.Limits{CPUTime: time.Hour}},
	{"file", shell.Limits{FileSizeBytes: 1 << 40}},
}

// doctorFlags are the arguments of doctor.
type doctorFlags struct{ json bool }

func (f *doctorFlags) register(set *pflag.FlagSet) { set.BoolVar(&f.json, "json", false, "") }

// cmdDoctor is `sallyport doctor`.
func cmdDoctor(p *program, args []string) (int, error) {
	var f doctorFlags
	set := newFlags("doctor")
	f.register(set)
	if err := set.Parse(args); err != nil {
		return 0, usage("doctor", err.Error())
	}
	if set.NArg() > 0 {
		return 0, usage("doctor", "it takes no arguments")
	}
	c, err := examine(context.Background())
	status := statusTrouble
	if c.OK {
		status = 0
	}
	if f.json {
		return status, writeJSON(p.out, c)
	}
	return status, errors.Join(p.print(c.text()), err)
}

// examine opens sandboxes and writes down what became of them. The error is the one that ended the first.
func examine(ctx context.Context) (checkup, error) {
	c := checkup{Platform: runtime.GOOS + "/" + runtime.GOARCH, User: userText(), Settings: []setting{}, Limits: []limitCheck{},
		Report: shell.Report{Layers: []shell.Layer{}}}
	for _, s := range settings {
		if text, err := os.ReadFile(s.Path); err == nil {
			s.Value = strings.TrimSpace(string(text))
			c.Settings = append(c.Settings, s)
		}
	}
	report, err := tryOpen(ctx, shell.Limits{})
	if err != nil {
		c.Error = newFailure(err)
		return c, err
	}
	c.OK, c.Report = true, report
	for _, probe := range limitProbes {
		c.Limits = append(c.Limits, tryLimit(ctx, probe.name, probe.limits))
	}
	return c, nil
}

// tryOpen puts everything up once, under the policy of a run without flags but for the secret places.
func tryOpen(ctx context.Context, limits shell.Limits) (shell.Report, error) {
	box, err := shell.Open(ctx, policy.Policy{}, shell.Options{Limits: limits})
	if err != nil {
		return shell.Report{}, err
	}
	return box.Report(), box.Close()
}

func tryLimit(ctx context.Context, name string, limits shell.Limits) limitCheck {
	report, err := tryOpen(ctx, limits)
	if err != nil {
		return limitCheck{Name: name, State: shell.Absent, Evidence: err.Error(), Hints: hints(err)}
	}
	c := limitCheck{Name: name, State: shell.Absent, Evidence: "the report has no line about it", Hints: []string{}}
	for _, layer := range report.Layers {
		if strings.HasPrefix(layer.Name, "limit") {
			c.State, c.Evidence = layer.State, layer.Evidence
		}
	}
	return c
}

func newFailure(err error) *failure {
	f := &failure{Message: err.Error(), Hints: append([]string{}, hints(err)...)}
	var e *shell.Error
	if errors.As(err, &e) {
		f.Code, f.Layer, f.Syscall = e.Code, e.Layer, e.Syscall
		if e.Errno != 0 {
			f.Errno = e.Errno.Error()
		}
	}
	return f
}

func userText() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return "an ordinary user"
}

// text is the checkup for people.
func (c checkup) text() string {
	t := &table{}
	t.row("platform", c.Platform)
	t.row("user", c.User)
	if c.Report.Kernel != "" {
		t.row("kernel", c.Report.Kernel)
	}
	for _, s := range c.Settings {
		t.row("setting", s.Path+" = "+s.Value+" ("+s.Why+")")
	}
	if !c.OK {
		t.row("result", "run refuses to start here; the reason follows")
		return t.String()
	}
	t.row("tier", c.Report.Tier)
	t.WriteString("\n")
	for _, l := range c.Report.Layers {
		t.entry(l.State, l.Name, l.Evidence)
	}
	t.WriteString("\nlimits, each asked for alone:\n")
	for _, l := range c.Limits {
		t.entry(l.State, l.Name, l.Evidence)
		for _, h := range l.Hints {
			t.entry("", "hint", h)
		}
	}
	return t.String()
}

// entry adds one layer: its state, its name, and the evidence wrapped behind them, or below a long name.
func (t *table) entry(state, name, evidence string) {
	const stateWidth, nameWidth = 11, 14
	head := fmt.Sprintf("%-*s %-*s", stateWidth, state, nameWidth, name)
	indent := strings.Repeat(" ", stateWidth+nameWidth+1)
	if len(head) > len(indent) {
		t.WriteString(head + "\n")
		head = indent
	}
	for _, line := range terminal.Wrap(compartment.Escape(evidence), width-len(indent)-1) {
		t.WriteString(strings.TrimRight(head+" "+line, " ") + "\n")
		head = indent
	}
}
