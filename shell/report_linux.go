package shell

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"sallyport/shell/internal/broker"
	"sallyport/shell/internal/jail"
)

// check is one layer as the first process found it: its state comes from the kernel, the plan only says whether it is
// required.
type check struct {
	bit      jail.Layers
	name     string
	ok       bool
	evidence string
}

// makeReport checks what the first process read back. A layer that is required and not in force is an error: nothing
// has run yet, and nothing will.
func (p *jailPlan) makeReport(r *jail.Ready) (Report, error) {
	report := Report{Tier: "full", Kernel: kernelRelease()}
	for _, c := range p.checks(r) {
		layer := Layer{Name: c.name, State: Enforced, Evidence: c.evidence}
		if !c.ok {
			layer.State = Absent
			if p.wire.Layers.Has(c.bit) {
				return report, &Error{Code: CodeFailed, Layer: c.name, Detail: "check the jail: the layer " + c.name + " is not in force: " + c.evidence}
			}
			report.Tier = "partial"
		}
		report.Layers = append(report.Layers, layer)
	}
	network := p.networkLayer(r)
	if network.State == Absent && p.wire.Network != jail.NetworkHost && p.wire.Layers.Has(jail.LayerNetwork) {
		return report, &Error{Code: CodeFailed, Layer: "network", Detail: "check the jail: it is in " + network.Evidence}
	}
	report.Layers = append(report.Layers, network)
	report.Layers = append(report.Layers, p.limitLayers()...)
	names, err := p.nameLayer(r)
	if err != nil {
		return report, err
	}
	report.Layers = append(report.Layers, names...)
	return report, nil
}

func (p *jailPlan) checks(r *jail.Ready) []check {
	isolated, shared := p.compareNamespaces(r)
	noCaps := !slices.ContainsFunc([]string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}, func(k string) bool {
		return strings.Trim(r.Status[k], "0") != "" || r.Status[k] == ""
	})
	counts := mountCounts{r.Writable, r.Covered, r.ReadOnly}
	rootOK := r.Alone && (r.RootReadOnly || p.wire.Root == jail.RootWritable)
	return []check{
		{jail.LayerNamespaces, "namespaces", len(shared) == 0, describe("own: %s", isolated) + describe("; shared with the host: %s", shared)},
		{jail.LayerMounts, "mounts", rootOK && counts == p.expected, fmt.Sprintf(
			`"/" read-only: %t, nothing behind it: %t; %d of %d trees writable, %d of %d paths covered, %d of %d read-only inside`,
			r.RootReadOnly, r.Alone, r.Writable, p.expected.writable, r.Covered, p.expected.covered, r.ReadOnly, p.expected.readOnly)},
		{jail.LayerProc, "proc", r.ProcReadOnly, fmt.Sprintf("/proc read-only: %t", r.ProcReadOnly)},
		{jail.LayerFDs, "descriptors", len(r.Inherited) == 0, fmt.Sprintf("%d descriptors would reach the command besides its own", len(r.Inherited))},
		{jail.LayerCaps, "capabilities", noCaps, fmt.Sprintf("effective %s, bounding %s", r.Status["CapEff"], r.Status["CapBnd"])},
		{jail.LayerNNP, "no_new_privs", r.Status["NoNewPrivs"] == "1", "NoNewPrivs: " + r.Status["NoNewPrivs"]},
		{jail.LayerRlimits, "rlimits", r.CoreLimit == 0, fmt.Sprintf("core file limit %d", r.CoreLimit)},
		{jail.LayerLandlock, "landlock", r.LandlockRefused, fmt.Sprintf("ABI %d; a write that no rule allows was refused: %t", r.Landlock, r.LandlockRefused)},
		{jail.LayerSeccomp, "seccomp", r.Status["Seccomp"] == "2" && r.SeccompErrno == syscall.EPERM,
			fmt.Sprintf("mode %s; a call that the table refuses returned: %s", r.Status["Seccomp"], errnoText(r.SeccompErrno))},
	}
}

func describe(format string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(format, strings.Join(list, ", "))
}

// compareNamespaces tells which namespaces are the jail's own. The network is a layer of its own.
func (p *jailPlan) compareNamespaces(r *jail.Ready) (isolated, shared []string) {
	for _, ns := range []string{"user", "mnt", "pid", "ipc", "uts", "cgroup"} {
		if r.Namespaces[ns] != "" && r.Namespaces[ns] != p.hostNS[ns] {
			isolated = append(isolated, ns)
		} else {
			shared = append(shared, ns)
		}
	}
	return isolated, shared
}

func (p *jailPlan) networkLayer(r *jail.Ready) Layer {
	own := r.Namespaces["net"] != "" && r.Namespaces["net"] != p.hostNS["net"]
	switch {
	case own && p.wire.Network == jail.NetworkList:
		return Layer{"network", Enforced, "a network namespace of its own, with loopback only; " + p.networkEvidence()}
	case own:
		return Layer{"network", Enforced, "a network namespace of its own, with loopback only"}
	case p.wire.Network == jail.NetworkHost:
		return Layer{"network", Absent, "the policy says unrestricted: this is the host's network"}
	}
	return Layer{"network", Absent, "the host's network"}
}

// limitLayers tell each limit that was asked for, and what binds it.
func (p *jailPlan) limitLayers() []Layer {
	var out []Layer
	add := func(name, evidence string) { out = append(out, Layer{"limit: " + name, Enforced, evidence}) }
	for _, c := range p.controllers {
		limit := map[string]string{"pids": "processes", "memory": "memory"}[c.name]
		add(limit, fmt.Sprintf("cgroup v%d in %s", c.version, c.parent))
	}
	if n := p.wire.MemoryWatchBytes; n > 0 {
		add("memory", fmt.Sprintf("best effort: %d bytes of anonymous, shared, swapped and page table memory and private files, looked at every 25 ms; the tree is killed when over", n))
	}
	if n := p.wire.Limits.Processes; n > 0 {
		add("processes", fmt.Sprintf("RLIMIT_NPROC %d in a user namespace of its own", n))
	}
	if n := p.wire.Limits.CPUSeconds; n > 0 {
		add("cpu", fmt.Sprintf("RLIMIT_CPU %d s for each process", n))
	}
	if n := p.wire.Limits.FileSizeBytes; n > 0 {
		add("file size", fmt.Sprintf("RLIMIT_FSIZE %d bytes for each file", n))
	}
	if n := p.wire.Limits.Descriptors; n > 0 {
		add("descriptors", fmt.Sprintf("RLIMIT_NOFILE %d for each process", n))
	}
	if n := p.wire.WriteWatchBytes; n > 0 {
		add("write", fmt.Sprintf("best effort: the file systems of the writable directories may become fuller by %d bytes, looked at every 25 ms; the tree is killed when it is more", n))
	}
	return out
}

// maxNamed is how many paths a line of the report names.
const maxNamed = 4

func someOf(paths []string) string {
	if len(paths) <= maxNamed {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxNamed], ", "), len(paths)-maxNamed)
}

// nameLayer tells whether calls that change files are judged by name, as the answer to a probe shows.
func (p *jailPlan) nameLayer(r *jail.Ready) ([]Layer, error) {
	n := p.wire.Names
	if n == nil || !n.Writes {
		return []Layer{{"names", Enforced, "nothing of the host's is writable"}}, nil
	}
	judged := r.Names == broker.Judged
	layer := Layer{"names", Enforced, fmt.Sprintf("a call that would change %q was read, judged and refused; calls that change files are decided by name, also for names that do not exist yet",
		n.Probe)}
	if !judged {
		layer.Evidence = fmt.Sprintf("a call that would change %q returned: %s", n.Probe, errnoText(r.Names))
	}
	if n.DecideReads {
		layer.Evidence += ", and so is every open for reading"
	}
	if !r.Killable {
		layer.Evidence += "; this kernel lets a signal interrupt a call that is being answered (before Linux 5.19)"
	}
	if p.names.found > 0 {
		layer.Evidence += fmt.Sprintf("; %d of them that exist were found, and %d are mounted read-only too", p.names.found, len(p.names.locked))
	}
	if len(p.names.hard) > 0 {
		layer.Evidence += "; these have another hard link, by which they can be written: " + someOf(p.names.hard)
	}
	if len(p.names.dangling) > 0 {
		layer.Evidence += "; these are links to nothing, and what they lead to can be made: " + someOf(p.names.dangling)
	}
	if len(p.names.cut) > 0 {
		layer.Evidence += fmt.Sprintf("; only the first %d entries were searched for links and git configurations that lead elsewhere, in: %s", maxScan, someOf(p.names.cut))
	}
	if judged {
		return []Layer{layer}, nil
	}
	layer.State = Absent
	if p.wire.Layers.Has(jail.LayerNames) {
		return nil, &Error{Code: CodeFailed, Layer: "names", Detail: "check the jail: the layer names is not in force: " + layer.Evidence}
	}
	return []Layer{layer}, nil
}
