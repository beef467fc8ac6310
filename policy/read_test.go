package policy

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var platforms = []Platform{Linux, Darwin, Windows}

func compile(t testing.TB, p Policy, o CompileOptions) *Rules {
	t.Helper()
	r, err := p.Compile(o)
	require.NoError(t, err)
	return r
}

// reads and writes are one question and the answer wanted: the list that decides, with "!" before it for no.
type answers map[string]string

func (a answers) check(t *testing.T, ask func(string) Decision) {
	t.Helper()
	for path, want := range a {
		d := ask(path)
		got := d.Rule.List
		if !d.Allowed {
			got = "!" + got
		}
		require.Equal(t, want, got, "%s: %s", path, d.Reason)
		require.Equal(t, d.Allowed, d.Remedy == "", "a refusal says what would allow it: %s", d.Reason)
		require.NotEmpty(t, d.Reason)
		require.NotContains(t, d.Reason, "\n")
	}
}

// R31: with no denyRead everything may be read, on every platform; the zero policy is no exception.
func TestReadDefaultAllow(t *testing.T) {
	for _, platform := range platforms {
		for _, p := range []Policy{{}, {Filesystem: Filesystem{AllowRead: Paths("/w")}}} {
			r := compile(t, p, CompileOptions{Platform: platform})
			answers{"/": "default", "/etc/hosts": "default", "/w": "default", "/home/u/.ssh/id_rsa": "default"}.check(t, r.Read)
		}
	}
}

// R32: allowRead re-permits inside a denied region and nowhere else.
func TestReadDenyThenAllow(t *testing.T) {
	for _, platform := range platforms {
		r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("/d"), AllowRead: Paths("/d/ok")}}, CompileOptions{Platform: platform})
		answers{
			"/d": "!denyRead", "/d/other": "!denyRead", "/d/ok": "allowRead", "/d/ok/deep/er": "allowRead", "/d/okay": "!denyRead",
			"/dd": "default", "/": "default",
		}.check(t, r.Read)
	}
}

// R33, A4: the most specific rule wins, to any depth of nesting; at a tie the path may be read.
func TestReadMostSpecificWins(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{
		AllowRead: Paths("/w", "/w/a/b/c", "/tie"), DenyRead: Paths("/w/.env", "/w/a", "/w/a/b/c/d", "/tie", "/"),
	}}, CompileOptions{})
	answers{
		"/w/x": "allowRead", "/w/.env": "!denyRead", "/w/.env/x": "!denyRead", "/w/.envrc": "allowRead", "/w/a": "!denyRead",
		"/w/a/b": "!denyRead", "/w/a/b/c": "allowRead", "/w/a/b/c/x": "allowRead", "/w/a/b/c/d/e": "!denyRead",
		"/tie": "allowRead", "/tie/x": "allowRead", "/etc": "!denyRead", "/": "!denyRead",
	}.check(t, r.Read)
	d := r.Read("/w/a/b/c/d/e")
	require.Equal(t, Rule{List: "denyRead", Entry: "/w/a/b/c/d", Index: 2}, d.Rule)
	require.Equal(t, `tried to read /w/a/b/c/d/e, which denyRead "/w/a/b/c/d" denies`, d.Reason)
	require.Equal(t, `take "/w/a/b/c/d" off filesystem.denyRead or name it in filesystem.allowRead`, d.Remedy)
}

// A4, R63: a denied pattern is lifted by the same pattern and by nothing less: not by a directory around it, which is
// less specific, and not by a path inside it, which covers a part.
func TestReadDeniedPattern(t *testing.T) {
	for _, allow := range []string{"/w", "/w/a", "/w/a/x.pem", "/", "/w/**/*.key", "**/x.pem"} {
		r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("/w/**/*.pem"), AllowRead: Paths(allow)}}, CompileOptions{})
		answers{
			"/w/x.pem": "!denyRead", "/w/a/x.pem": "!denyRead", "/w/a/x.pem/in": "!denyRead", "/w/x.key": "default", "/x.pem": "default",
		}.check(t, r.Read)
	}
	r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("/w/**/*.pem", "/w/own"), AllowRead: Paths("/w/**/*.pem/**")}}, CompileOptions{})
	answers{"/w/x.pem": "default", "/w/a/x.pem": "default", "/w/own/x.pem": "!denyRead"}.check(t, r.Read)
}

// R63: an allowed pattern counts as specific as its fixed directories.
func TestReadAllowedPattern(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("/w", "/w/s"), AllowRead: Paths("/w/**/*.txt", "**/pub")}}, CompileOptions{})
	answers{
		"/w/a.txt": "allowRead", "/w/d/a.txt": "allowRead", "/w/d/a.txt/x": "allowRead", "/w/a.md": "!denyRead",
		"/w/s/a.txt": "!denyRead", "/w/pub": "!denyRead",
	}.check(t, r.Read)
	r = compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("/"), AllowRead: Paths("**/pub")}}, CompileOptions{})
	answers{"/a/pub/x": "allowRead", "/pub": "allowRead", "/a": "!denyRead"}.check(t, r.Read)
}

// R36: the same lists on both axes give opposite answers.
func TestAxisAsymmetry(t *testing.T) {
	same := Paths("/w/x")
	for _, platform := range platforms {
		r := compile(t, Policy{Filesystem: Filesystem{AllowRead: same, DenyRead: same, AllowWrite: same, DenyWrite: same}}, CompileOptions{Platform: platform})
		answers{"/w/x": "allowRead", "/w/x/y": "allowRead", "/w/y": "default"}.check(t, r.Read)
		answers{"/w/x": "!denyWrite", "/w/x/y": "!denyWrite", "/w/y": "!default"}.check(t, r.Write)
	}
	// And an allow inside a deny: it reopens reading, and does nothing for writing.
	r := compile(t, Policy{Filesystem: Filesystem{
		DenyRead: Paths("/r"), AllowRead: Paths("/r/in"), DenyWrite: Paths("/q"), AllowWrite: Paths("/q/in"),
	}}, CompileOptions{})
	require.True(t, r.Read("/r/in/x").Allowed)
	require.False(t, r.Write("/q/in/x").Allowed)
}

// R30, R33: the reference's example policy as its author means it.
func TestExamplePolicyDecides(t *testing.T) {
	data, err := os.ReadFile("testdata/example.json")
	require.NoError(t, err)
	p, err := Parse(data)
	require.NoError(t, err)
	for _, platform := range platforms {
		r := compile(t, p, CompileOptions{Platform: platform})
		answers{
			"/workspace/a": "default", "/workspace/.env": "!denyRead", "/workspace/.git/hooks/pre-commit": "!denyRead", "/etc/hosts": "default",
		}.check(t, r.Read)
		answers{
			"/workspace/out/x": "allowWrite", "/workspace/out": "allowWrite", "/workspace/a": "!default", "/workspace/.git/hooks/x": "!denyWrite",
			"/workspace/out/.git/hooks/x": "!mandatory", "/etc/hosts": "!default", "/dev/null": "default",
		}.check(t, r.Write)
		require.True(t, r.Connect("api.example.test", 443).Allowed)
		require.False(t, r.Connect("www.example.test", 443).Allowed)
	}
}

// R38: disabled takes every rule about files away, on both axes, and shows.
func TestFilesystemDisabled(t *testing.T) {
	for _, platform := range platforms {
		r := compile(t, Policy{Filesystem: Filesystem{Disabled: true, DenyRead: Paths("/w"), DenyWrite: Paths("/w", "/x[z-a]")}},
			CompileOptions{Platform: platform, Private: []PrivateDir{{Path: "/tmp", Writable: true}}})
		all := answers{"/w/.bashrc": "disabled", "/": "disabled", "/tmp/x": "disabled", "/w/.git/hooks/pre-commit": "disabled"}
		all.check(t, r.Read)
		all.check(t, r.Write)
		all.check(t, r.Mkdir)
		require.True(t, r.Derived().FilesystemDisabled)
		require.Empty(t, r.Entries())
		require.Equal(t, []string{"/"}, r.WritableRoots())
		_, found := r.MandatoryAt("/w", ".bashrc")
		require.False(t, found)
		_, private := r.PrivateAt("/tmp/x")
		require.False(t, private)
		require.False(t, r.Read("relative").Allowed, "what is no path is refused all the same")
	}
}

// R8, R24, R66: a question that is no canonical absolute path is refused, and one that is spelled loosely is the same question.
func TestQueries(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w"), DenyRead: Paths("/w/.env")}}, CompileOptions{})
	for _, path := range []string{"", ".", "w/x", "~/x", "/w/../w/x", "/..", "/w/..", "/w/\x00x", `C:\w`, "/" + string(make([]byte, 40_000))} {
		for _, ask := range []func(string) Decision{r.Read, r.Write, r.Mkdir} {
			d := ask(path)
			require.False(t, d.Allowed, path)
			require.Equal(t, ListInvalid, d.Rule.List)
			require.NotContains(t, d.Reason, "\x00")
			require.Less(t, len(d.Reason), 700)
		}
		_, err := r.Canonical(path)
		require.ErrorIs(t, err, ErrInvalid)
	}
	for _, path := range []string{"//w//.env", "/w/./.env", "/w/.env/", "/w/.env/.", "/./w/.env//"} {
		require.Equal(t, "denyRead", r.Read(path).Rule.List, path)
		require.Equal(t, "/w/.env", r.Read(path).Path)
		require.Equal(t, "denyRead", r.Write(path).Rule.List, path)
	}
	answers{"/w/...": "allowWrite", "/w/..x": "allowWrite", "/w/x..": "allowWrite"}.check(t, r.Write)
}

// A name made by a hostile program cannot write a line of its own into a reason.
func TestReasonsAreOneLine(t *testing.T) {
	r := compile(t, Policy{}, CompileOptions{})
	for _, path := range []string{"/w/a\nallowed: yes", "/w/\x1b[2J", "/w/\u202etxt", "/w/\xff", `/w/"quoted"`} {
		d := r.Write(path)
		require.Contains(t, d.Reason, `"/w/`)
		for _, c := range d.Reason {
			require.True(t, c >= ' ' && c != 0x7f && c != '\u202e', "%q", d.Reason)
		}
	}
	require.Equal(t, "tried to write /w/é x, which is not in any directory that allowWrite names", r.Write("/w/é x").Reason)
}
