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

// memoryWatch kills the tree when its memory passes the limit. It is best effort, for machines without a memory
// cgroup: the tree can overshoot between two looks, and a page shared by a fork counts once for each process.
type memoryWatch struct {
	limit int64
	tmp   []string // private file systems whose contents are memory

	mu   sync.Mutex
	seen int64
}

func startWatch(plan *Plan) *memoryWatch {
	w := &memoryWatch{limit: plan.MemoryWatchBytes}
	if w.limit <= 0 {
		return w
	}
	for _, op := range plan.Ops {
		if op.Kind == Tmp {
			w.tmp = append(w.tmp, string(op.Path))
		}
	}
	go w.run()
	return w
}

func (w *memoryWatch) run() {
	for range time.Tick(watchInterval) {
		used, err := w.used()
		if err != nil {
			used = w.limit + 1 // a watch that cannot look must not let go on
		}
		if used > w.limit {
			w.mu.Lock()
			w.seen = used
			w.mu.Unlock()
			_ = unix.Kill(-1, unix.SIGKILL) // everything but PID 1; ESRCH: it just ended
		}
	}
}

// used is the memory of all processes but PID 1, of System V segments, and of the private file systems. What cannot be
// read has ended.
func (w *memoryWatch) used() (int64, error) {
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
func (w *memoryWatch) breach() (string, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == 0 {
		return "", 0
	}
	return "memory", w.seen
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
