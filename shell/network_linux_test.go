package shell_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// What Open has settled is not changed by another list, and a list that is refused changes nothing.
func TestSetNetworkKeepsWhatIsSettled(t *testing.T) {
	listed := open(t, policy.Policy{Network: policy.Network{AllowedDomains: []string{"a.test"}, AllowUnixSockets: []string{"/run/one.sock"}}}, shell.Options{})
	closed := open(t, policy.Policy{}, shell.Options{})
	sockets := []string{"/run/one.sock"}
	for name, try := range map[string]struct {
		box *shell.Sandbox
		to  policy.Network
	}{
		"another socket":  {listed, policy.Network{AllowedDomains: []string{"a.test"}, AllowUnixSockets: []string{"/run/two.sock"}}},
		"no socket":       {listed, policy.Network{AllowedDomains: []string{"a.test"}}},
		"unrestricted":    {listed, policy.Network{Unrestricted: true, AllowUnixSockets: sockets}},
		"no host at all":  {listed, policy.Network{AllowedDomains: []string{"a b"}, AllowUnixSockets: sockets}},
		"hosts, too late": {closed, policy.Network{AllowedDomains: []string{"a.test"}}},
	} {
		before := try.box.Rules().Policy()
		require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(try.box.SetNetwork(try.to)), name)
		require.Equal(t, before, try.box.Rules().Policy(), name)
	}
	require.NoError(t, listed.SetNetwork(policy.Network{AllowUnixSockets: sockets}))
	require.NoError(t, listed.Close())
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(listed.SetNetwork(policy.Network{})))
}
