package jail

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watchInterval is how often the memory of the tree is looked at. A process can touch a few GB a second, so the
// overshoot between two looks is about 100 MB; a look costs some 15 µs a process.
const watchInterval = 25 * time.Millisecond

// A watch kills the tree when what it looks at passes a limit. It is best effort: between two looks the tree can pass the
// limit by what it does in that time.
type watch struct {
	name  string
	limit int64
	used  func() (int64, error)
}

// watches are those of one command, and the first of them that saw its limit passed.
type watches struct {
	mu   sync.Mutex
	name string
	seen int64
}

func startWatches(plan *Plan) *watches {
	w := &watches{}
	if plan.MemoryWatchBytes > 0 {
		m := memoryWatch{tmp: plan.paths(Tmp)}
		go w.run(watch{"memory", plan.MemoryWatchBytes, m.used})
	}
	if plan.WriteWatchBytes > 0 {
		writable := plan.paths(Writable)
		if plan.Root == RootWritable {
			writable = append(writable, "/")
		}
		d := newDiskWatch(writable)
		go w.run(watch{"write", plan.WriteWatchBytes, d.used})
	}
	return w
}

// paths are those of the Ops of one kind.
func (p *Plan) paths(k Kind) []string {
	var paths []string
	for _, op := range p.Ops {
		if op.Kind == k {
			paths = append(paths, string(op.Path))
		}
	}
	return paths
}

func (w *watches) run(of watch) {
	for range time.Tick(watchInterval) {
		used, err := of.used()
		if err != nil {
			used = of.limit + 1 // a watch that cannot look must not let go on
		}
		if used > of.limit {
			w.mu.Lock()
			if w.name == "" {
				w.name, w.seen = of.name, used
			}
			w.mu.Unlock()
			_ = unix.Kill(-1, unix.SIGKILL) // everything but PID 1; ESRCH: it just ended
		}
	}
}

// memoryWatch is for machines without a memory cgroup. A page shared by a fork counts once for each process.
type memoryWatch struct {
	tmp []string // private file systems whose contents are memory
}

// used is the memory of all processes but PID 1, of System V segments, and of the private file systems. What cannot be
// read has ended.
func (w memoryWatch) used() (int64, error) {
	pids, err := processes()
	if err != nil {
		return 0, err
	}
	bytes := systemVBytes()
	for _, pid := range pids {
		if pid != 1 {
			bytes += processKB(pid) << 10
		}
	}
	for _, t := range w.tmp {
		var st unix.Statfs_t
		if unix.Statfs(t, &st) == nil {
			bytes += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return bytes, nil
}

// memoryFields are the lines of a status file that are counted: page tables and swap are memory as well.
var memoryFields = []string{"RssAnon", "RssShmem", "VmPTE", "VmSwap"}

// processKB is the memory of one process. When its first thread has ended, the others still tell.
func processKB(pid int) int64 {
	dir := "/proc/" + strconv.Itoa(pid)
	fields, err := statusFields(dir + "/status")
	if err != nil {
		return 0
	}
	if _, ok := fields["RssAnon"]; !ok {
		threads, err := numericEntries(dir + "/task")
		if err != nil {
			return 0
		}
		for _, t := range threads {
			if more, err := statusFields(dir + "/task/" + strconv.Itoa(t) + "/status"); err == nil && more["RssAnon"] != "" {
				fields = more
				break
			}
		}
	}
	var kb int64
	for _, f := range memoryFields {
		kb += kilobytes(fields[f])
	}
	return kb
}

// systemVBytes is the memory of System V shared segments, which need not be attached anywhere: columns rss and swap.
func systemVBytes() int64 {
	b, err := readFile("/proc/sysvipc/shm")
	if err != nil {
		return 0 // a kernel without them
	}
	var sum int64
	for _, line := range strings.Split(string(b), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 16 || fields[0] == "key" {
			continue
		}
		for _, f := range fields[14:16] {
			if n, err := strconv.ParseInt(f, 10, 64); err == nil {
				sum += n
			}
		}
	}
	return sum
}

// breach names the limit that was passed, and what was seen.
func (w *watches) breach() (string, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.name, w.seen
}

func kilobytes(field string) int64 {
	for i, c := range field {
		if c == ' ' {
			field = field[:i]
			break
		}
	}
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil {
		return 0 // a kernel thread or a zombie has no such line
	}
	return n
}
