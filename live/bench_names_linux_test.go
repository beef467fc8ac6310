package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/shell"
)

func init() {
	modes["make-files"] = makeFiles
	modes["read-files"] = readFiles
}

// makeFiles makes so many empty files in a directory, and prints the nanoseconds.
func makeFiles(args []string) int {
	dir := args[0] + "/made"
	if err := os.Mkdir(dir, 0o755); err != nil {
		fmt.Println(err)
		return 1
	}
	began := time.Now()
	for i := range atoi(args[1]) {
		f, err := os.OpenFile(dir+"/"+strconv.Itoa(i), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		f.Close()
	}
	fmt.Println(time.Since(began).Nanoseconds())
	return 0
}

// readFiles reads every file of a directory so many times, and prints the nanoseconds.
func readFiles(args []string) int {
	entries, err := os.ReadDir(args[0])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	began := time.Now()
	for range atoi(args[1]) {
		for _, e := range entries {
			if _, err := os.ReadFile(args[0] + "/" + e.Name()); err != nil {
				fmt.Println(err)
				return 1
			}
		}
	}
	fmt.Println(time.Since(began).Nanoseconds())
	return 0
}

// work is one thing that is measured unconfined and in a jail. With per the command prints the time that it measured
// itself; otherwise all of its time counts.
type work struct {
	name    string
	prepare func(b *testing.B, dir string) // once
	before  func(dir string) error         // each time
	argv    func(dir string) []string
	policy  func(dir string) policy.Filesystem
	options shell.Options
	memory  bool // in a file system in memory, where a file costs the disk nothing
	per     int  // calls, for the metric of one
}

func inDir(dir string) policy.Filesystem {
	return policy.Filesystem{AllowWrite: policy.Paths(dir), AllowGitConfig: true}
}

// withDenials is a policy that denies some reads: by a mount, or with a pattern by name.
func withDenials(pattern string) func(dir string) policy.Filesystem {
	return func(dir string) policy.Filesystem {
		p := inDir(dir)
		p.DenyRead = policy.Paths(dir + pattern)
		return p
	}
}

func noFiles(dir string) error { return os.RemoveAll(dir + "/made") }

// works are what BenchmarkNames compares.
func works() []work {
	create := func(dir string) []string { return []string{attacker(), "make-files", dir, "5000"} }
	read := func(dir string) []string { return []string{attacker(), "read-files", dir + "/files", "5"} }
	grep := func(string) []string { return []string{"sh", "-c", "grep -rc func " + goSource() + "/src | tail -1"} }
	unpack := func(dir string) []string {
		return []string{"sh", "-c", "mkdir " + dir + "/made && tar -xf " + dir + "/archive.tar -C " + dir + "/made"}
	}
	status := func(dir string) []string { return []string{"git", "-C", dir + "/repo", "status", "--porcelain"} }
	build := func(dir string) []string { return []string{"go", "build", "-C", dir + "/module", "-o", "program", "."} }
	silent, strict := shell.Options{NoRecords: true}, shell.Options{StrictReads: true}
	return []work{
		{name: "create", argv: create, before: noFiles, policy: inDir, per: 5000},
		{name: "create_in_memory", argv: create, before: noFiles, policy: inDir, memory: true, per: 5000},
		{name: "create_in_memory_norecords", argv: create, before: noFiles, policy: inDir, memory: true, options: silent, per: 5000},
		{name: "read", prepare: thousandFiles, argv: read, policy: inDir, per: 5000},
		{name: "read_denials", prepare: thousandFiles, argv: read, policy: withDenials("/secret"), per: 5000},
		{name: "read_denials_norecords", prepare: thousandFiles, argv: read, policy: withDenials("/secret"), options: silent, per: 5000},
		{name: "read_strict", prepare: thousandFiles, argv: read, policy: withDenials("/secret"), options: strict, per: 5000},
		{name: "read_glob", prepare: thousandFiles, argv: read, policy: withDenials("/**/*.key"), per: 5000},
		{name: "git_status", prepare: repository, argv: status, policy: inDir},
		{name: "grep", argv: grep, policy: inDir},
		{name: "grep_denials", argv: grep, policy: withDenials("/secret")},
		{name: "grep_glob", argv: grep, policy: withDenials("/**/*.key")},
		{name: "go_build", prepare: module, before: touchModule, argv: build, policy: inDir},
		{name: "unpack", prepare: archive, before: noFiles, argv: unpack, policy: inDir},
		{name: "unpack_in_memory", prepare: archive, before: noFiles, argv: unpack, policy: inDir, memory: true},
	}
}

func goSource() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "/usr"
	}
	return strings.TrimSpace(string(out))
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// writeTree writes n small files, a hundred in each directory.
func writeTree(b *testing.B, dir string, n int) {
	b.Helper()
	for i := range n {
		sub := fmt.Sprintf("%s/d%d", dir, i/100)
		must(b, os.MkdirAll(sub, 0o755))
		must(b, os.WriteFile(fmt.Sprintf("%s/f%d", sub, i), []byte("text "+strconv.Itoa(i)), 0o644))
	}
}

func thousandFiles(b *testing.B, dir string) {
	must(b, os.MkdirAll(dir+"/files", 0o755))
	for i := range 1000 {
		must(b, os.WriteFile(dir+"/files/"+strconv.Itoa(i), nil, 0o644))
	}
}

func repository(b *testing.B, dir string) {
	writeTree(b, dir+"/repo", 10_000)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.test", "commit", "-qm", "all"}} {
		must(b, exec.Command("git", append([]string{"-C", dir + "/repo"}, args...)...).Run())
	}
}

func module(b *testing.B, dir string) {
	must(b, os.MkdirAll(dir+"/module", 0o755))
	must(b, os.WriteFile(dir+"/module/go.mod", []byte("module example\n\ngo 1.26\n"), 0o644))
}

// touchModule changes the program, so that there is something to build.
func touchModule(dir string) error {
	text := fmt.Sprintf("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(%d) }\n", time.Now().UnixNano())
	return os.WriteFile(dir+"/module/main.go", []byte(text), 0o644)
}

func archive(b *testing.B, dir string) {
	writeTree(b, dir+"/tree", 10_000)
	must(b, exec.Command("tar", "-cf", dir+"/archive.tar", "-C", dir+"/tree", ".").Run())
	must(b, os.RemoveAll(dir+"/tree"))
}

// BenchmarkNames measures what decisions by name cost, each against the same command unconfined, in turn. The metrics are
// medians, their ratio, the ratio without the start of the jail, and where the calls are counted what one costs more. Run
// it with a fixed number of rounds:
//
//	go test -run '^$' -bench Names -benchtime 9x ./live
func BenchmarkNames(b *testing.B) {
	if err := probe(); err != nil {
		b.Fatal("no command can be confined here: ", err)
	}
	for _, w := range works() {
		b.Run(w.name, func(b *testing.B) { w.measure(b) })
	}
}

func (w work) measure(b *testing.B) {
	place := userDir(os.Getuid())
	if w.memory {
		place = "/dev/shm"
	}
	dir, err := os.MkdirTemp(place, "b")
	must(b, err)
	defer os.RemoveAll(dir)
	if w.prepare != nil {
		w.prepare(b, dir)
	}
	must(b, os.WriteFile(dir+"/secret", nil, 0o600))
	o := w.options
	o.Env = []string{"GOCACHE=" + filepath.Join(dir, "cache"), "HOME=" + dir, "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local"}
	box, err := shell.Open(context.Background(), policy.Policy{Filesystem: w.policy(dir)}, o)
	must(b, err)
	defer box.Close()
	argv := w.argv(dir)
	in := func(argv ...string) func() ([]byte, error) {
		return func() ([]byte, error) {
			cmd := box.Command(context.Background(), argv[0], argv[1:]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err == nil {
				err = exitZero(cmd.Completion.ExitCode)
			}
			return out, err
		}
	}
	plainly := func() ([]byte, error) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = append(os.Environ(), o.Env...), dir
		return cmd.CombinedOutput()
	}
	var plain, ours, starts []time.Duration
	w.once(b, dir, plainly) // what is read is in memory from then on
	for range b.N {
		plain = append(plain, w.once(b, dir, plainly))
		ours = append(ours, w.once(b, dir, in(argv...)))
		if w.per == 0 {
			starts = append(starts, w.once(b, dir, in("true")))
		}
	}
	m, n := median(plain), median(ours)
	b.ReportMetric(float64(m.Microseconds())/1000, "plain-ms")
	b.ReportMetric(float64(n.Microseconds())/1000, "ours-ms")
	b.ReportMetric(ratio(n, m), "ours/plain")
	if w.per == 0 {
		b.ReportMetric(ratio(n-median(starts), m), "run/plain")
	} else {
		b.ReportMetric(float64((n-m).Nanoseconds())/1000/float64(w.per), "more-µs/call")
	}
	b.ReportMetric(0, "ns/op") // a sum of unlike things
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// once runs the work once and gives the time that it says it took, or that it took.
func (w work) once(b *testing.B, dir string, run func() ([]byte, error)) time.Duration {
	b.Helper()
	if w.before != nil {
		must(b, w.before(dir))
	}
	began := time.Now()
	out, err := run()
	took := time.Since(began)
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	if w.per == 0 {
		return took
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	must(b, err)
	return time.Duration(ns)
}
