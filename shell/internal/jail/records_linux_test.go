package jail

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell/internal/broker"
)

func denialOf(target string) broker.Denial {
	return broker.Denial{Operation: "write", Target: target, Errno: unix.EACCES, Decision: policy.Decision{
		Path: target, Rule: policy.Rule{List: "denyWrite", Entry: target}, Reason: "tried", Remedy: "ask",
	}}
}

func someone() (int, string) { return 7, "/bin/someone" }

// collected is a recorder that tells a list.
func collected() (*recorder, *[]Denied) {
	var told []Denied
	r := newRecorder(func(d *Denied) bool { told = append(told, *d); return true })
	r.start()
	return r, &told
}

// TestRecorderCounts: what is repeated is one record, told once as it comes and once more with its number.
func TestRecorderCounts(t *testing.T) {
	r, told := collected()
	for range 5 {
		r.add(denialOf("/a"), someone)
	}
	other := denialOf("/a")
	other.Errno = unix.EROFS // the same target with another errno is another record
	r.add(other, someone)
	r.finish()
	require.Len(t, *told, 3)
	first, second, last := (*told)[0], (*told)[1], (*told)[2]
	require.Equal(t, []int{1, 1, 5}, []int{first.Count, second.Count, last.Count})
	require.Equal(t, first.Number, last.Number)
	require.NotEqual(t, first.Number, second.Number)
	require.Equal(t, 7, first.PID)
	require.Equal(t, "/bin/someone", string(first.Program))
	require.Equal(t, `denyWrite "/a"`, first.RuleText)
}

// TestRecorderIsBounded: past the bound different denials are only counted, known ones still are, and the last record says
// how many are missing.
func TestRecorderIsBounded(t *testing.T) {
	r, told := collected()
	for i := range maxRecords + 250 {
		r.add(denialOf(fmt.Sprint("/", i)), someone)
	}
	r.add(denialOf("/0"), someone)
	r.finish()
	require.Len(t, *told, maxRecords+2)
	require.Equal(t, 2, (*told)[maxRecords].Count)
	last := (*told)[maxRecords+1]
	require.Equal(t, "limit records", last.Operation+" "+string(last.Target))
	require.Equal(t, 250, last.Count)
	require.Equal(t, 1, last.PID)
}

// TestRecorderDoesNotWait: adding goes on while nobody takes what is told, and from several threads.
func TestRecorderDoesNotWait(t *testing.T) {
	release := make(chan struct{})
	var told int
	r := newRecorder(func(*Denied) bool { <-release; told++; return true })
	r.start()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 100 {
				r.add(denialOf(fmt.Sprint("/", i, "/", n%10)), someone)
			}
		})
	}
	all.Wait() // would never return if it waited
	close(release)
	r.finish()
	require.Equal(t, 160, told, "80 records, and 80 counts")
	for _, d := range r.known {
		require.Equal(t, 10, d.Count)
	}
}

// TestRecorderWithoutHost: when the host is gone, and when nobody ever listens, finishing waits for nobody; nothing is
// added after it.
func TestRecorderWithoutHost(t *testing.T) {
	r := newRecorder(func(*Denied) bool { return false })
	r.start()
	r.add(denialOf("/a"), someone)
	r.finish()
	r.add(denialOf("/b"), someone)
	require.Len(t, r.known, 1)

	silent := newRecorder(func(*Denied) bool { t.Error("told"); return true })
	silent.finish()
}

// TestRuleText: every kind of rule is named in a few words.
func TestRuleText(t *testing.T) {
	for want, rule := range map[string]policy.Rule{
		"only what is named":             {List: policy.ListDefault, Why: "only what is named"},
		"private: its own":               {List: policy.ListPrivate, Why: "its own"},
		`mandatory ".bashrc": bash runs`: {List: policy.ListMandatory, Entry: ".bashrc", Why: "bash runs"},
		`denyWrite "/a\nb"`:              {List: "denyWrite", Entry: "/a\nb"},
	} {
		require.Equal(t, want, ruleText(rule))
	}
}
