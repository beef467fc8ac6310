package compartment_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestPermitsTable: every row has a reason, no name is permitted twice or permitted and denied, and the script gets the same table.
func TestPermitsTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range compartment.Permits() {
		require.NotEmpty(t, p.Why, p.Object)
		for _, name := range strings.Fields(p.Names) {
			path := p.Object + "." + name
			require.False(t, seen[path], "%s is permitted twice", path)
			seen[path] = true
		}
	}
	require.Greater(t, len(seen), 700)
	denied := map[string]bool{}
	for _, d := range compartment.Denials() {
		require.NotEmpty(t, d.Why, d.Name)
		require.False(t, denied[d.Name], "%s is denied twice", d.Name)
		denied[d.Name] = true
		require.False(t, seen[d.Name] || seen["globalThis."+d.Name], "%s is permitted and denied", d.Name)
	}
	for _, dangerous := range []string{"WeakRef", "SharedArrayBuffer", "performance", "Function.prototype.caller", "Error.prepareStackTrace"} {
		require.True(t, denied[dangerous], dangerous)
	}

	var table map[string][]string
	require.NoError(t, json.Unmarshal([]byte(compartment.PermitsJSON()), &table))
	count := 0
	for object, names := range table {
		for _, name := range names {
			require.True(t, seen[object+"."+name])
			count++
		}
	}
	require.Equal(t, len(seen), count)
	require.Contains(t, compartment.HardeningScript(), "'use strict'")
}
