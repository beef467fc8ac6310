package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/shell"
)

// TestParseLimits: every key, and everything that is not one.
func TestParseLimits(t *testing.T) {
	got, err := parseLimits([]string{"memory=512MiB,pids=200", "cpu=30s,file=1GiB"})
	require.NoError(t, err)
	require.Equal(t, shell.Limits{
		MemoryBytes: 512 << 20, Processes: 200, CPUTime: 30 * time.Second, FileSizeBytes: 1 << 30,
	}, got)

	for _, c := range []struct{ in, want string }{
		{"", "not KEY=VALUE"},
		{"memory", "not KEY=VALUE"},
		{"memory=512", "is no size"},
		{"memory=512MB", "is no size"},
		{"memory=0MiB", "is no size"},
		{"memory=-1MiB", "is no size"},
		{"memory=+1MiB", "is no size"},
		{"memory=1.5MiB", "is no size"},
		{"memory= 1MiB", "is no size"},
		{"memory=99999999TiB", "more than can be counted"},
		{"memory=99999999999999999999B", "is no size"},
		{"memory=1MiB,memory=2MiB", "given twice"},
		{"pids=0", "no whole number"},
		{"pids=2e3", "no whole number"},
		{"pids=99999999999", "more than a machine can have"},
		{"cpu=30", "no length of time"},
		{"cpu=0s", "no length of time"},
		{"cpu=-1s", "no length of time"},
		{"disk=1GiB", "unknown limit; there are: memory, pids, cpu, file, write, descriptors, connections, net, idle"},
		{"memory=1MiB,", "not KEY=VALUE"},
	} {
		_, err := parseLimits([]string{c.in})
		require.ErrorContains(t, err, c.want, "%q", c.in)
	}
}

// TestSizeText reads back what it writes.
func TestSizeText(t *testing.T) {
	for text, n := range map[string]int64{"1B": 1, "1KiB": 1024, "1025B": 1025, "512MiB": 512 << 20, "3TiB": 3 << 40} {
		require.Equal(t, text, sizeText(n))
		back, err := parseSize(text)
		require.NoError(t, err)
		require.Equal(t, n, back)
	}
}

// FuzzParseSize: whatever is accepted is more than zero and is written as it was read, in some unit.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"512MiB", "1B", "9223372036854775807B", "8388608TiB", "0x10B", "１MiB", "MiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseSize(s)
		if err != nil {
			return
		}
		require.Positive(t, n)
		back, err := parseSize(sizeText(n))
		require.NoError(t, err)
		require.Equal(t, n, back)
	})
}

// TestSplitHost: HOST, HOST:PORT, and addresses with and without brackets.
func TestSplitHost(t *testing.T) {
	for in, want := range map[string]struct {
		host string
		port int
	}{
		"example.com": {"example.com", 443}, "example.com:80": {"example.com", 80}, "::1": {"::1", 443},
		"[::1]": {"::1", 443}, "[::1]:22": {"::1", 22}, "10.0.0.1:53": {"10.0.0.1", 53},
	} {
		host, port, err := splitHost(in)
		require.NoError(t, err, in)
		require.Equal(t, want.host, host, in)
		require.Equal(t, want.port, port, in)
	}
	for _, in := range []string{"example.com:", ":80", "example.com:0", "example.com:65536", "example.com:http", "example.com:+80"} {
		_, _, err := splitHost(in)
		require.Error(t, err, in)
	}
}

// TestHomeOnRecord reads a passwd file, and passes over lines that are none.
func TestHomeOnRecord(t *testing.T) {
	passwd := "root:x:0:0:root:/root:/bin/sh\n#comment\nann:x:1000:1000:Ann:/home/ann/:/bin/sh\nx:x:1001:1001::relative:/bin/sh\nshort:x:1002\n"
	for uid, want := range map[int]string{0: "/root", 1000: "/home/ann", 1001: "", 1002: "", 7: ""} {
		require.Equal(t, want, homeOnRecord(strings.NewReader(passwd), uid), "%d", uid)
	}
}
