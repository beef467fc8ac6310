package shell_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestEverythingAtOnce: sessions that are opened, run commands, are narrowed and disposed of all at the same time: each command
// runs under rules that are in force, everything that was put in force is released once, and every error is one of the contract's
// (R74, R78, R82, R150).
func TestEverythingAtOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := &fake{caps: able}
	f.body = func(ctx context.Context, _ *shell.Cmd) (shell.Completion, error) {
		for range 200 {
			runtime.Gosched() // long enough for the others to come in between
		}
		return shell.Completion{}, ctx.Err()
	}
	m, _ := managed(f)
	all := []string{"a.test", "b.test", "c.test"}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 40 {
				some := slices.DeleteFunc(slices.Clone(all), func(string) bool { return rnd.IntN(4) == 0 })
				s, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts(some...), Enforcer: f, ProbeSpawn: rnd.IntN(2) == 0})
				if !expected(t, err) {
					continue
				}
				if err := oneLife(t, s, rnd, all); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	t.Logf("%d put in force, %d scopes, %d commands, %d narrowed", f.count("establish"), f.count("scope"), f.count("start"), f.count("narrow"))
	require.Positive(t, f.count("start"))
	require.Equal(t, f.count("establish")+f.count("scope"), f.count("release"), "what was put in force is released")
}

// oneLife uses a session in some order, and disposes of it.
func oneLife(t *testing.T, s *shell.Session, rnd *rand.Rand, all []string) error {
	var inside sync.WaitGroup
	for range rnd.IntN(4) {
		own := hosts(all[rnd.IntN(len(all))])
		withOwn, narrow := rnd.IntN(2) == 0, rnd.IntN(4) == 0
		inside.Go(func() {
			if narrow {
				expected(t, s.Narrow(t.Context(), policy.Policy{}))
				return
			}
			c := s.Command(t.Context(), "program")
			c.Dir = "/"
			if withOwn {
				c.PolicyFunc = func(context.Context) (*policy.Policy, error) { return &own, nil }
			}
			expected(t, c.Run())
		})
	}
	if rnd.IntN(2) == 0 {
		inside.Wait()
	}
	err := errors.Join(s.Dispose(), s.Dispose())
	inside.Wait()
	return err
}

// expected says whether there was no error, and fails the test for one that is not of the contract.
func expected(t *testing.T, err error) bool {
	switch shell.CodeOf(err) {
	case shell.CodePolicyConflict, shell.CodeNotInitialized:
		return false
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	return err == nil
}
