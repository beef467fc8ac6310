package policy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// R34, R37: nothing may be written but the default devices.
func TestWriteDefaultDeny(t *testing.T) {
	for _, platform := range platforms {
		for _, p := range []Policy{{}, {Filesystem: Filesystem{AllowRead: Paths("/")}}} {
			r := compile(t, p, CompileOptions{Platform: platform})
			answers{
				"/": "!default", "/w/x": "!default", "/dev": "!default", "/dev/sda": "!default", "/dev/nullx": "!default", "/dev/shm/x": "!default",
				"/tmp/x": "!default", "/dev/null": "default", "/dev/tty": "default", "/dev/pts/3": "default", "/dev/ptmx": "default",
				"/dev/zero": "default", "/dev/full": "default", "/dev/random": "default", "/dev/urandom": "default",
			}.check(t, r.Write)
		}
	}
	d := compile(t, Policy{}, CompileOptions{}).Write("/w/x")
	require.Equal(t, -1, d.Rule.Index)
	require.Contains(t, d.Remedy, "filesystem.allowWrite")
}

// R35: a denied write wins inside an allowed one, around it and on it, at every depth, and over the defaults.
func TestWriteDenyWins(t *testing.T) {
	for _, platform := range platforms {
		r := compile(t, Policy{Filesystem: Filesystem{
			AllowWrite: Paths("/w", "/w/no/but", "/q/in", "/eq", "**/all"), DenyWrite: Paths("/w/no", "/q", "/eq", "/w/**/*.lock", "/dev/tty"),
		}}, CompileOptions{Platform: platform})
		answers{
			"/w": "allowWrite", "/w/x": "allowWrite", "/w/no": "!denyWrite", "/w/no/but/x": "!denyWrite", "/q/in/x": "!denyWrite", "/eq/x": "!denyWrite",
			"/w/a.lock": "!denyWrite", "/w/d/a.lock": "!denyWrite", "/w/d/a.lock/x": "!denyWrite", "/w/a.lock2": "allowWrite", "/x/all/y": "allowWrite",
			"/q/all": "!denyWrite", "/dev/tty": "!denyWrite", "/dev/null": "default", "/wx": "!default",
		}.check(t, r.Write)
	}
}

// R33, R35: what may not be read may not be written: a cover stands in its place.
func TestWriteNeedsRead(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w"), DenyRead: Paths("/w/s", "**/*.pem"), AllowRead: Paths("/w/s/ok")}}, CompileOptions{})
	answers{"/w/s": "!denyRead", "/w/s/x": "!denyRead", "/w/s/ok/x": "allowWrite", "/w/a.pem": "!denyRead", "/w/x": "allowWrite", "/out.pem": "!denyRead"}.check(t, r.Write)
	d := r.Write("/w/s/x")
	require.Equal(t, AxisWrite, d.Axis)
	require.Equal(t, `tried to write /w/s/x, which denyRead "/w/s" denies, and what may not be read may not be written`, d.Reason)
}

// R63: a trailing "/**" is the directory; another pattern allows what it matches, and what is in it.
func TestWriteAllowedPattern(t *testing.T) {
	for _, entry := range []string{"/w/out", "/w/out/", "/w/out/**", "/w/out/**/**", "/w/out/***"} {
		r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths(entry)}}, CompileOptions{})
		answers{"/w/out": "allowWrite", "/w/out/x/y": "allowWrite", "/w/outer": "!default", "/w": "!default"}.check(t, r.Write)
		require.Equal(t, []string{"/w/out"}, r.WritableRoots(), entry)
	}
	r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w/build-*")}}, CompileOptions{})
	answers{"/w/build-1": "allowWrite", "/w/build-1/x/y": "allowWrite", "/w/build": "!default", "/w/x/build-1": "!default", "/w": "!default"}.check(t, r.Write)
	require.Empty(t, r.WritableRoots())
}

// WritableRoots are real, outermost, and what a deny leaves.
func TestWritableRoots(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{
		AllowWrite: Paths("/w/in", "/w", "/w", "/q/in", "/s", "/z", "/z/.bashrc", "/r/.git/hooks", "/n/no/deep", "/n", "/a/*"),
		DenyWrite:  Paths("/q", "/n/no"), DenyRead: Paths("/s"),
	}}, CompileOptions{})
	require.Equal(t, []string{"/w", "/z", "/n"}, r.WritableRoots())
	// What a pattern makes writable is not a root, whatever else names it.
	p := Policy{Filesystem: Filesystem{AllowWrite: append(Paths("**/x", "/a/x/*"), PathEntry{Path: "/a/y/x", Optional: true})}}
	require.Empty(t, compile(t, p, CompileOptions{Resolve: tree{"/": "", "/a": "", "/a/x": ""}.resolve}).WritableRoots())
	// A root inside one that a cover hides is a root of its own.
	p = Policy{Filesystem: Filesystem{AllowWrite: Paths("/s", "/s/ok"), DenyRead: Paths("/s"), AllowRead: Paths("/s/ok")}}
	require.Equal(t, []string{"/s/ok"}, compile(t, p, CompileOptions{}).WritableRoots())
	require.Equal(t, []string{"/"}, compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w", "**")}}, CompileOptions{}).WritableRoots())
	require.Empty(t, compile(t, Policy{}, CompileOptions{}).WritableRoots())
}

// R57, R58, R59: the ordinary lists are exact on Linux and Darwin and ignore case on Windows, on both axes; a wildcard
// has no case anywhere.
func TestOrdinaryListsCase(t *testing.T) {
	p := Policy{Filesystem: Filesystem{
		DenyRead: Paths("/w/literal", "**/*.secret", "/w/P*x"), AllowWrite: Paths("/w", "/Out"), DenyWrite: Paths("/w/ro", "/w/[a-c]z"),
	}}
	for _, platform := range platforms {
		folds := platform == Windows
		no := func(list, otherwise string) string {
			if folds {
				return "!" + list
			}
			return otherwise
		}
		r := compile(t, p, CompileOptions{Platform: platform})
		answers{
			"/w/literal": "!denyRead", "/w/LITERAL": no("denyRead", "default"), "/W/literal": no("denyRead", "default"),
			"/w/FOO.secret": "!denyRead", "/w/foo.SECRET": no("denyRead", "default"), "/w/PQRx": "!denyRead", "/w/pQRX": no("denyRead", "default"),
		}.check(t, r.Read)
		answers{
			"/w/ro/x": "!denyWrite", "/w/RO/x": no("denyWrite", "allowWrite"), "/w/bz": "!denyWrite", "/w/Bz": no("denyWrite", "allowWrite"),
			"/w/bZ": no("denyWrite", "allowWrite"),
		}.check(t, r.Write)
		require.Equal(t, folds, r.Write("/out/x").Allowed)
		require.Equal(t, folds, r.Write("/W/x").Allowed)
		require.Equal(t, folds, r.Derived().Matcher.CaseInsensitive)
		require.Equal(t, folds, r.Write("/DEV/null").Allowed)
	}
}

var jail = []PrivateDir{
	{Path: "/tmp", Why: "a directory of the command's own", Writable: true},
	{Path: "/dev", Why: "a few devices of the command's own"},
	{Path: "/dev/shm", Why: "shared memory of the command's own", Writable: true},
}

// R31, R34, R37: in a private directory the host's files are not to be seen, and writing stays in the command's own.
func TestPrivate(t *testing.T) {
	for _, platform := range platforms {
		r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/", "/tmp/work"), AllowRead: Paths("/tmp/in/file", "/dev/kvm")}},
			CompileOptions{Platform: platform, Private: jail})
		answers{
			"/tmp": "!private", "/tmp/x": "!private", "/tmp/work/x": "default", "/tmp/work": "default", "/tmp/in": "!private", "/tmp/in/file": "default",
			"/tmpx": "default", "/dev": "!private", "/dev/sda": "!private", "/dev/null": "default", "/dev/kvm": "default", "/dev/shm/x": "!private",
			"/dev/pts/0": "default",
		}.check(t, r.Read)
		answers{
			"/tmp": "private", "/tmp/x": "private", "/tmp/work/x": "allowWrite", "/tmp/in/file": "allowWrite", "/dev/sda": "!private",
			"/dev/null": "default", "/dev/shm/x": "private", "/dev/shm": "private", "/dev": "!private", "/etc/x": "allowWrite",
			"/tmp/.bashrc": "private", "/tmp/r/.git/hooks/pre-commit": "private", "/tmp/work/.bashrc": "!mandatory",
		}.check(t, r.Write)
		for path, want := range map[string]string{"/tmp/x": "/tmp", "/dev/shm/x": "/dev/shm", "/dev/sda": "/dev", "/tmp/work/x": "", "/w": "", "tmp": ""} {
			dir, ok := r.PrivateAt(path)
			require.Equal(t, want, dir.Path, path)
			require.Equal(t, want != "", ok, path)
		}
	}
}

// The rule that decides in a private directory is the private one, except where the policy speaks of a path inside.
func TestPrivateAndDenies(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{
		DenyRead: Paths("/", "/tmp/x", "/tmp/host/s"), DenyWrite: Paths("/tmp/ro", "**/*.lock"), AllowRead: Paths("/tmp/host"),
	}}, CompileOptions{Private: jail})
	answers{"/tmp/x": "!private", "/tmp/host/a": "allowRead", "/tmp/host/s": "!denyRead", "/dev/null": "default"}.check(t, r.Read)
	answers{
		"/tmp/x": "private", "/tmp/y": "private", "/tmp/ro/x": "!denyWrite", "/tmp/a.lock": "!denyWrite", "/dev/null": "default",
		"/tmp/host/a": "!default", // the host's, and nothing allows writing it
	}.check(t, r.Write)
	d := r.Read("/tmp/x")
	require.Equal(t, "tried to read /tmp/x, where the host's /tmp is not to be seen: a directory of the command's own", d.Reason)
}

// Naming the private directory itself brings the host's back.
func TestPrivateLifted(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{AllowRead: Paths("/tmp"), AllowWrite: Paths("/dev/shm")}}, CompileOptions{Private: jail})
	answers{"/tmp/x": "default", "/dev/shm/x": "default"}.check(t, r.Read)
	answers{"/tmp/x": "!default", "/dev/shm/x": "allowWrite", "/dev/shm/.bashrc": "!mandatory"}.check(t, r.Write)
}

// A15: a pattern cannot be bound into a private directory, so it is refused and not dropped. A denied one is by name.
func TestPrivatePatterns(t *testing.T) {
	for _, platform := range platforms {
		for _, entry := range []string{"/tmp/build-*", "/tmp/w/**/x", "/dev/tty?"} {
			_, err := Policy{Filesystem: Filesystem{AllowWrite: Paths("/w", entry)}}.Compile(CompileOptions{Private: jail, Platform: platform})
			requireRefused(t, err, "filesystem.allowWrite[1]", "", "a pattern cannot bring the host's paths into /")
		}
	}
	compile(t, Policy{Filesystem: Filesystem{DenyWrite: Paths("/tmp/build-*"), AllowRead: Paths("**/x")}}, CompileOptions{Private: jail})
	for _, path := range []string{"tmp", "/", "/tmp/../x", ""} {
		_, err := Policy{}.Compile(CompileOptions{Private: []PrivateDir{{Path: path}}})
		require.ErrorIs(t, err, ErrInvalid, path)
	}
}
