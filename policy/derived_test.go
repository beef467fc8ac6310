package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// R37, R60, 1.3: the whole shape, in one piece, so that a change to it is seen.
func TestDerivedShape(t *testing.T) {
	p := full()
	p.Filesystem.AllowMandatory = []string{}
	for _, m := range Mandatories() {
		if m.Name != ".bashrc" && m.Name != ".git/hooks" {
			p.Filesystem.AllowMandatory = append(p.Filesystem.AllowMandatory, m.Name)
		}
	}
	lifted, err := json.Marshal(append([]string{}, p.Filesystem.AllowMandatory...))
	require.NoError(t, err)
	got, err := json.Marshal(compile(t, p, CompileOptions{Private: jail}).Derived())
	require.NoError(t, err)
	require.JSONEq(t, `{
		"matcher": {"platform": "linux", "caseInsensitive": false, "readGlobs": "native", "writeGlobs": "native"},
		"read": {"denyOnly": ["/w"], "allowWithinDeny": ["/w/a", "/**/ok"]},
		"write": {
			"allowOnly": ["/w/out", "/w/later <&>", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/tmp", "/dev/shm"],
			"denyWithinAllow": ["/w/out/*.pem"]
		},
		"mandatoryDeny": {"form": "name", "entries": [".bashrc", ".git/hooks"], "lifted": `+string(lifted)+`, "allowGitConfig": true, "caseInsensitive": true, "searchDepth": 3},
		"filesystemDisabled": false,
		"network": {
			"disabled": false, "allowedDomains": ["*.example.com", "192.0.2.1:443"], "deniedDomains": ["bad.example.com"],
			"allowUnixSockets": ["/run/x.sock"], "strictAllowlist": true
		},
		"unknownKeys": [], "undecidableGlobs": [],
		"defaultWrite": ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/tmp", "/dev/shm"],
		"private": [
			{"path": "/tmp", "why": "a directory of the command's own", "writable": true}, {"path": "/dev", "why": "a few devices of the command's own", "writable": false},
			{"path": "/dev/shm", "why": "shared memory of the command's own", "writable": true}
		],
		"gitSafeDirectories": ["/w"], "absentOptional": [], "superseded": ["filesystem.mandatoryDenySearchDepth"],
		"warnings": ["filesystem.allowWrite[0] \"/w/out\" allows nothing: denyRead \"/w\" keeps it from being written",
			"filesystem.allowWrite[1] \"/w/later <&>\" allows nothing: denyRead \"/w\" keeps it from being written"]
	}`, string(got))
}

// The lists of a policy that says nothing are empty and not null.
func TestDerivedOfNothing(t *testing.T) {
	for _, p := range []Policy{{}, {Filesystem: Filesystem{Disabled: true}}} {
		for _, platform := range platforms {
			d := compile(t, p, CompileOptions{Platform: platform}).Derived()
			text, err := json.Marshal(d)
			require.NoError(t, err)
			require.NotContains(t, string(text), ":null")
			require.Equal(t, platform, d.Matcher.Platform)
			require.Empty(t, d.Warnings)
			require.Equal(t, p.Filesystem.Disabled, len(d.DefaultWrite) == 0)
		}
	}
}

// R37: what a deny takes away is not shown as a default.
func TestDerivedDefaultsAreTrue(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{DenyWrite: Paths("/dev/tty", "/tmp"), AllowWrite: Paths("/dev/null")}}, CompileOptions{Private: jail})
	d := r.Derived()
	require.NotContains(t, d.DefaultWrite, "/dev/tty")
	require.NotContains(t, d.DefaultWrite, "/tmp")
	for _, p := range d.DefaultWrite {
		require.True(t, r.Write(p).Allowed, p)
	}
	require.Equal(t, "/dev/null", d.Write.AllowOnly[0])
	require.NotContains(t, d.Write.AllowOnly[1:], "/dev/null")
}

// The names of the small types, which go into JSON.
func TestNames(t *testing.T) {
	text, err := json.Marshal([]any{Linux, Darwin, Windows, Platform(9), AxisRead, AxisWrite, AxisConnect, Axis(9)})
	require.NoError(t, err)
	require.Equal(t, `["linux","darwin","windows","platform 9","read","write","connect","axis 9"]`, string(text))
	require.True(t, Platform(9).foldsMandatory(), "an unknown platform gets the wider denial")
}
