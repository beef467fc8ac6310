package live

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

//go:embed testdata/posture.golden
var postureGolden string

// descendant finds the one process with the given name below this one, and the first process of its jail.
func descendant(t *testing.T, name string) (pid, first int) {
	t.Helper()
	eventually(t, func() bool {
		for _, c := range childrenByPID(t, os.Getpid()) {
			for _, g := range childrenByPID(t, c) {
				if comm(g) == name {
					pid, first = g, c
				}
			}
		}
		return pid != 0
	}, "no process "+name)
	return pid, first
}

func childrenByPID(t *testing.T, parent int) []int {
	t.Helper()
	list, err := childrenOf(parent)
	require.NoError(t, err)
	var pids []int
	for _, c := range list {
		number, _, _ := strings.Cut(c, " ")
		pids = append(pids, atoi(number))
	}
	return pids
}

func comm(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return trimmed(string(b))
}

// unjudged are lines of a status file that say nothing about confinement: they differ by machine, kernel or moment.
var unjudged = regexp.MustCompile(`^(Vm|Rss|Huge|Cpus_|Mems_|Speculation|x86_|untag|THP|voluntary|nonvoluntary|FDSize|Ngid|SigQ|CoreDumping|Umask|Kthread|State|Pid|Tgid|PPid|NStgid|NSpid|NSpgid|NSsid|Groups)`)

// posture is what /proc says of a process from outside, with everything that differs from machine to machine taken out.
func posture(t *testing.T, pid int, f *field) string {
	t.Helper()
	var b strings.Builder
	dir := fmt.Sprintf("/proc/%d", pid)
	section := func(title string, lines []string) { fmt.Fprintf(&b, "%s\n  %s\n", title, strings.Join(lines, "\n  ")) }
	section("status", postureStatus(t, dir))
	section("limits", postureLimits(t, dir))
	section("namespaces", postureNamespaces(t, dir))
	section("descriptors", postureDescriptors(t, dir))
	section("mounts", postureMounts(t, dir, f))
	section("environment", postureEnvironment(t, dir))
	section("control groups", postureCgroups(t, dir))
	return b.String()
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return lines(b)
}

func postureStatus(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	depth := 0
	user := regexp.MustCompile(`\b` + strconv.Itoa(os.Getuid()) + `\b`)
	group := regexp.MustCompile(`\b` + strconv.Itoa(os.Getgid()) + `\b`)
	for _, line := range readLines(t, dir+"/status") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.Join(strings.Fields(value), " ")
		switch {
		case name == "NSpid":
			depth = len(strings.Fields(value))
		case name == "Uid":
			value = user.ReplaceAllString(value, "caller")
		case name == "Gid":
			value = group.ReplaceAllString(value, "caller")
		}
		if !unjudged.MatchString(name) {
			out = append(out, name+": "+value)
		}
	}
	return append(out, fmt.Sprintf("depth of pid namespaces below ours: %d", depth-1))
}

// postureLimits compares with our own limits: a command has what the host has, but for core files.
func postureLimits(t *testing.T, dir string) []string {
	t.Helper()
	ours := readLines(t, "/proc/self/limits")
	var out []string
	for i, line := range readLines(t, dir+"/limits") {
		// Go raises its own soft limit of open files, and gives its children the old one back.
		if line != ours[i] && !strings.HasPrefix(line, "Max open files") {
			out = append(out, "other than the host's: "+strings.Join(strings.Fields(line), " "))
		}
	}
	return out
}

func postureNamespaces(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir + "/ns")
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		theirs, err := os.Readlink(dir + "/ns/" + e.Name())
		require.NoError(t, err)
		ours, err := os.Readlink("/proc/self/ns/" + e.Name())
		require.NoError(t, err)
		state := "own"
		if theirs == ours {
			state = "shared with the host"
		}
		out = append(out, e.Name()+": "+state)
	}
	return out
}

func postureDescriptors(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir + "/fd")
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		to, err := os.Readlink(dir + "/fd/" + e.Name())
		require.NoError(t, err)
		out = append(out, e.Name()+" → "+to)
	}
	for _, name := range []string{"cwd", "root"} {
		to, err := os.Readlink(dir + "/" + name)
		require.NoError(t, err)
		out = append(out, name+" → "+strings.ReplaceAll(to, filepath.Dir(to), "…"))
	}
	return out
}

// postureMounts lists what we mounted, and of everything else, which is the host's and differs, only what is wrong.
func postureMounts(t *testing.T, dir string, f *field) []string {
	t.Helper()
	var out []string
	hosts := 0
	for _, line := range readLines(t, dir+"/mountinfo") {
		left, right, _ := strings.Cut(line, " - ")
		fields := strings.Fields(left)
		point, options, shared := fields[4], strings.Split(fields[5], ","), fields[6:]
		options = slices.DeleteFunc(options, func(o string) bool { return strings.Contains(o, "time") })
		kind := strings.Fields(right)[0]
		point = strings.Replace(point, f.dir, "FIELD", 1)
		ours := strings.HasPrefix(point, "FIELD") || slices.Contains([]string{"/", "/tmp", "/var/tmp"}, point) ||
			strings.HasPrefix(point, "/dev") || point == "/proc"
		tame := slices.Contains(options, "ro") && slices.Contains(options, "nosuid") && slices.Contains(options, "nodev")
		switch {
		case tame && len(options) == 3 && point != "/" && !strings.HasPrefix(point, "FIELD"):
			hosts++ // also what lies hidden under our own /dev, /proc and /tmp
		case len(shared) > 0:
			out = append(out, fmt.Sprintf("%s propagates: %v", point, shared))
		case ours:
			if point == "/" || strings.HasPrefix(point, "FIELD") && kind != "tmpfs" {
				kind = "host"
			}
			out = append(out, fmt.Sprintf("%s %s %s", point, kind, strings.Join(options, ",")))
		case kind == "tmpfs" && strings.HasPrefix(point, "/proc/"):
			hosts++ // a cover; which exist depends on the kernel
		case !tame:
			out = append(out, fmt.Sprintf("%s %s %s", point, kind, strings.Join(options, ",")))
		default:
			hosts++
		}
	}
	sort.Strings(out)
	require.NotZero(t, hosts)
	return append(slices.Compact(out), "every other: ro,nosuid,nodev")
}

func postureEnvironment(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(dir + "/environ")
	require.NoError(t, err)
	var out []string
	for _, kv := range strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			value = "…"
		}
		out = append(out, name+"="+value)
	}
	return out
}

// postureCgroups: without a limit that needs one, a command stays where the host is.
func postureCgroups(t *testing.T, dir string) []string {
	t.Helper()
	if slices.Equal(readLines(t, dir+"/cgroup"), readLines(t, "/proc/self/cgroup")) {
		return []string{"the host's"}
	}
	return readLines(t, dir+"/cgroup")
}

// TestPosture reads everything that /proc says of a confined sleep from outside, and compares it whole (R167; process
// cases 12, 14, 35). It is the same for root and for an ordinary user.
func TestPosture(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		f.write(f.ws+"/.git/hooks/pre-commit", "")
		f.write(f.ws+"/denied", "")
		p := f.writable()
		p.Filesystem.DenyRead = policy.Paths(f.ws + "/denied")
		cmd := command(t, open(t, p, shell.Options{}), f.ws, "sleep", "300")
		require.NoError(t, cmd.Start())
		pid, first := descendant(t, "sleep")
		got := posture(t, pid, f)
		threads, err := threadStates(first)
		require.NoError(t, err)
		require.NoError(t, cmd.Signal(os.Kill))
		require.NoError(t, cmd.Wait())
		if os.Getenv("SALLYPORT_UPDATE") != "" {
			require.NoError(t, os.WriteFile("testdata/posture.golden", []byte(got), 0o644))
			return
		}
		require.Equal(t, postureGolden, got, "when it is meant: SALLYPORT_UPDATE=1 go test -run TestPosture/root .")
		checkThreads(t, threads)
	})
}

// checkThreads looks at every thread of the first process, from outside: none has a capability or can gain one, and the
// one that starts commands is filtered.
func checkThreads(t *testing.T, threads map[string]map[string]string) {
	t.Helper()
	require.NotEmpty(t, threads)
	filtered := 0
	for tid, fields := range threads {
		require.Empty(t, unrestricted(fields), "thread %s", tid)
		if fields["Seccomp"] == "2" {
			filtered++
		}
	}
	require.NotZero(t, filtered)
}
