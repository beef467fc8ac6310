package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	values := results{}
	values.add([]byte(`goos: linux
BenchmarkSpawn/user-2   3   7000 cold-µs   5000 bwrap-µs   0 ns/op
BenchmarkSpawn/user-2   3   9000 cold-µs   5000 bwrap-µs   0 ns/op
BenchmarkSpawn/user-2   3   6000 cold-µs   5000 bwrap-µs   0 ns/op
BenchmarkRate/4_workers 1 200 ours/s 400 theirs/s
BenchmarkBroken x

PASS
`))
	require.Equal(t, []string{"Spawn/user nothing-µs"}, missing([]row{{"", "Spawn/user cold-µs", "Spawn/user nothing-µs", ""}}, values))
	require.Equal(t, `| what | here | against | | ratio |
|---|---:|---|---:|---:|
| start | 7 ms | other | 5 ms | 1.40 times as long |
| rate | 200/s | other | 400/s | 0.50 of its rate |
`, table([]row{
		{"start", "Spawn/user cold-µs", "Spawn/user bwrap-µs", "other"},
		{"rate", "Rate/4_workers ours/s", "Rate/4_workers theirs/s", "other"},
		{"not there", "Spawn/user cold-µs", "Spawn/user nothing-µs", "other"},
	}, values))
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		v          float64
		key, wants string
	}{
		{1500, "a ns/op", "1.5 µs"},
		{15, "a ns/op", "15 ns"},
		{1808, "a warm-µs", "1.81 ms"},
		{2749, "a ours-ms", "2.75 s"},
		{14789, "a direct-/s", "14789/s"},
		{4967, "a direct-MB/s", "4967 MB/s"},
	} {
		require.Equal(t, c.wants, amount(c.v, c.key))
	}
}

func TestRowsAreDistinct(t *testing.T) {
	seen := map[[2]string]bool{}
	for _, r := range rows {
		require.NotEmpty(t, r.what)
		key := [2]string{r.ours, r.against}
		require.False(t, seen[key], "%v", key)
		seen[key] = true
	}
}
