package shell_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// layerNames are the lines that every report has, in this order.
var layerNames = []string{"namespaces", "mounts", "proc", "descriptors", "capabilities", "no_new_privs", "rlimits", "landlock", "seccomp", "network"}

// TestReport: it names every layer, says that each is enforced, and with what evidence.
func TestReport(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := command(t, box, "true")
	require.NoError(t, cmd.Run())
	for _, report := range []shell.Report{box.Report(), cmd.Report()} {
		require.Equal(t, "full", report.Tier)
		release := read(t, "/proc/sys/kernel/osrelease")
		require.Equal(t, strings.TrimSpace(release), report.Kernel)
		var names []string
		for _, l := range report.Layers {
			require.Equal(t, shell.Enforced, l.State, "%s: %s", l.Name, l.Evidence)
			require.NotEmpty(t, l.Evidence, l.Name)
			names = append(names, l.Name)
			require.Equal(t, l, report.Layer(l.Name))
		}
		require.Subset(t, names, layerNames)
	}
	require.Zero(t, box.Report().Layer("no such layer"))
}

// TestReportIsTrue compares what the report says with what the host's kernel says of the very process.
func TestReportIsTrue(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	mark := marker()
	cmd := runTree(t, t.Context(), box, "exec sleep $1", mark, 1)
	pid := 0
	require.Eventually(t, func() bool { // for a moment, between sh and sleep, it has no arguments to be found by
		for _, pid = range processesWith(mark) {
			return strings.Contains(read(t, fmt.Sprintf("/proc/%d/comm", pid)), "sleep")
		}
		return false
	}, 20*time.Second, time.Millisecond)
	status := read(t, fmt.Sprintf("/proc/%d/status", pid))
	for layer, line := range map[string]string{
		"seccomp": "Seccomp:\t2", "no_new_privs": "NoNewPrivs:\t1", "capabilities": "CapBnd:\t0000000000000000",
	} {
		require.Equal(t, shell.Enforced, cmd.Report().Layer(layer).State)
		require.Contains(t, status, "\n"+line+"\n")
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		require.Contains(t, status, "\n"+set+":\t0000000000000000\n")
	}
	for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		own, err := os.Readlink("/proc/self/ns/" + ns)
		require.NoError(t, err)
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, ns))
		require.NoError(t, err)
		require.NotEqual(t, own, its, "the %s namespace", ns)
	}
	require.NoError(t, cmd.Signal(os.Kill))
	require.NoError(t, cmd.Wait())
}

// TestReportOfWritableTrees: that calls are decided by name is known by the answer to a call, and a name that a second
// link undermines is told.
func TestReportOfWritableTrees(t *testing.T) {
	dir := workspace(t)
	write(t, filepath.Join(dir, ".bashrc"), "", 0o644)
	require.NoError(t, os.Link(filepath.Join(dir, ".bashrc"), filepath.Join(dir, "second")))
	p := writable(dir)
	p.Filesystem.DenyWrite = policy.Paths(filepath.Join(dir, "later"))
	report := open(t, p, shell.Options{}).Report()
	names := report.Layer("names")
	require.Equal(t, shell.Enforced, names.State)
	require.Contains(t, names.Evidence, "judged and refused")
	require.Contains(t, names.Evidence, "1 of them that exist were found, and 1 are mounted read-only too")
	require.Contains(t, names.Evidence, filepath.Join(dir, ".bashrc"))
	require.Contains(t, report.Layer("mounts").Evidence, "1 of 1 trees writable")
	require.Contains(t, report.Layer("mounts").Evidence, "1 of 1 read-only inside")

	reads := policy.Policy{}
	reads.Filesystem.DenyRead = policy.Paths(dir + "/*.key")
	require.Contains(t, open(t, reads, shell.Options{}).Report().Layer("names").Evidence, "every open for reading")
	require.Equal(t, "nothing of the host's is writable", open(t, policy.Policy{}, shell.Options{NoRecords: true}).Report().Layer("names").Evidence)
}

// TestReportOfNetwork: the host's network is reported as what it is, and is there; without it there is a loopback
// interface alone (R39, R40).
func TestReportOfNetwork(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	none := open(t, policy.Policy{}, shell.Options{})
	require.Equal(t, shell.Enforced, none.Report().Layer("network").State)
	host := open(t, policy.Policy{Network: policy.Network{Unrestricted: true}}, shell.Options{})
	layer := host.Report().Layer("network")
	require.Equal(t, shell.Absent, layer.State)
	require.Contains(t, layer.Evidence, "unrestricted")

	port := listener.Addr().(*net.TCPAddr).Port
	connected := func(box *shell.Sandbox) bool {
		table := output(t, command(t, box, "cat", "/proc/net/tcp"))
		return strings.Contains(table, fmt.Sprintf("0100007F:%04X", port)) // our listener is in the table of sockets
	}
	require.True(t, connected(host))
	require.False(t, connected(none))
	devices := output(t, command(t, none, "cat", "/proc/net/dev"))
	require.Equal(t, 1, strings.Count(devices, ":"), "loopback is the only interface:\n%s", devices)
}

// TestReportWithoutFileRules: when the section about files is switched off the host's tree is as it is, and the report
// says so (R38).
func TestReportWithoutFileRules(t *testing.T) {
	dir := workspace(t)
	box := open(t, policy.Policy{Filesystem: policy.Filesystem{Disabled: true}}, shell.Options{})
	require.Empty(t, output(t, command(t, box, "touch", filepath.Join(dir, "f"))))
	require.FileExists(t, filepath.Join(dir, "f"))
	require.Contains(t, box.Report().Layer("mounts").Evidence, `"/" read-only: false`)
}

// TestReportJSON: its shape is a contract with whoever reads the program's output.
func TestReportJSON(t *testing.T) {
	text, err := json.Marshal(shell.Report{Tier: "full", Kernel: "6", Layers: []shell.Layer{{Name: "n", State: shell.Enforced, Evidence: "e"}}})
	require.NoError(t, err)
	require.JSONEq(t, `{"tier":"full","kernel":"6","layers":[{"name":"n","state":"enforced","evidence":"e"}]}`, string(text))
	text, err = json.Marshal(shell.Violation{})
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for _, name := range []string{"time", "id", "pid", "program", "operation", "target", "errno", "rule", "remedy", "count"} {
		require.Contains(t, fields, name)
		delete(fields, name)
	}
	require.Empty(t, fields)
}
