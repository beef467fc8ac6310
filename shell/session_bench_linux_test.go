package shell_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// BenchmarkSession is what a command costs in a sandbox, in a session, and in a session under a policy of its own.
func BenchmarkSession(b *testing.B) {
	dir := b.TempDir()
	p := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dir)}}
	box := open(b, p, shell.Options{})
	s, err := shell.NewManager(shell.ManagerOptions{}).Open(b.Context(), shell.SessionOptions{Policy: p})
	require.NoError(b, err)
	defer s.Dispose()
	for _, c := range []struct {
		name string
		make func() *shell.Cmd
	}{
		{"Sandbox", func() *shell.Cmd { return box.Command(context.Background(), "true") }},
		{"Session", func() *shell.Cmd { return s.Command(context.Background(), "true") }},
		{"OwnPolicy", func() *shell.Cmd {
			cmd := s.Command(context.Background(), "true")
			cmd.Policy = &p
			return cmd
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				cmd := c.make()
				cmd.Dir = "/"
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
