package policy

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree is a file system of names: each exists, and one with a target is a link there.
type tree map[string]string

// resolve follows links as a kernel does, or says that there is nothing.
func (t tree) resolve(p string) (string, error) {
	real := ""
	for i, name := range strings.Split(strings.Trim(p, "/"), "/") {
		if name == "" && i == 0 {
			return "/", nil
		}
		real += "/" + name
		target, ok := t[real]
		switch {
		case !ok:
			return "", fmt.Errorf("lstat %s: %w", real, iofs.ErrNotExist)
		case target == "EACCES":
			return "", fmt.Errorf("lstat %s: %w", real, iofs.ErrPermission)
		case target != "":
			var err error
			if real, err = t.resolve(target); err != nil {
				return "", err
			}
		}
	}
	return real, nil
}

// only is resolve, or, when there is to be nothing else, resolve of one name.
func (t tree) only(all bool, name string) func(string) (string, error) {
	if all {
		return t.resolve
	}
	return tree{name: ""}.resolve
}

// R66: rules hold for what a link leads to, under the real name; a denied link is denied as the link too.
func TestCanonicalisation(t *testing.T) {
	fs := tree{
		"/w": "", "/w/secret": "", "/w/link": "/w/secret", "/w/out": "/data/out", "/data": "", "/data/out": "", "/w/loop": "/w/secret", "/w/secret/k": "",
		"/gone": "/nowhere",
	}
	r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("/w/link", "/w/link/*.pem"), AllowWrite: Paths("/w/out"), DenyWrite: Paths("/w/link/absent")}}, CompileOptions{Resolve: fs.resolve})
	answers{"/w/secret/k": "!denyRead", "/w/link": "!denyRead", "/w/link/k": "!denyRead", "/w/other": "default"}.check(t, r.Read)
	answers{"/data/out/x": "allowWrite", "/w/out/x": "!default", "/w/secret/absent": "!denyWrite", "/w/link/absent/x": "!denyWrite"}.check(t, r.Write)
	require.Equal(t, []string{"/data/out"}, r.WritableRoots())

	for given, want := range map[string]string{
		"/w/link/k": "/w/secret/k", "/w/out/new": "/data/out/new", "/w/out/new/er": "/data/out/new/er", "/w/loop": "/w/secret", "/": "/", "/zzz/y": "/zzz/y",
		"//w//out/": "/data/out",
	} {
		got, err := r.Canonical(given)
		require.NoError(t, err)
		require.Equal(t, want, got, given)
	}
	real, err := r.Canonical("/w/loop/k")
	require.NoError(t, err)
	require.False(t, r.Read(real).Allowed, "access by another link")

	// A pattern below a link holds under both names, and a command's own directory is not looked for on the host.
	fs = tree{"/w": "", "/l": "/w", "/tmp": "/w", "/tmp/x": ""}
	r = compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("/l/*.pem")}}, CompileOptions{Resolve: fs.resolve, Private: jail})
	answers{"/w/a.pem": "!denyRead", "/l/a.pem": "!denyRead", "/l/a": "default"}.check(t, r.Read)
	own, err := r.Canonical("/tmp/x/")
	require.NoError(t, err)
	require.Equal(t, "/tmp/x", own)
}

// R66: a link at an allowed path does not reopen what it leads to when that is denied.
func TestAllowedLinkToDenied(t *testing.T) {
	fs := tree{"/d": "", "/d/key": "", "/d/ok": "/d/key", "/d/dir": ""}
	p := Policy{Filesystem: Filesystem{DenyRead: Paths("/d", "/d/key"), AllowRead: Paths("/d/dir")}}
	require.False(t, compile(t, p, CompileOptions{Resolve: fs.resolve}).Read("/d/key").Allowed)
	// The link is followed when the rules are made, so allowing it by name allows the file it led to then: that is
	// a rule for /d/key, equally specific, and the author's own.
	p.Filesystem.AllowRead = Paths("/d/ok")
	r := compile(t, p, CompileOptions{Resolve: fs.resolve})
	require.True(t, r.Read("/d/key").Allowed)
	fs["/d/ok"] = "/d/dir" // swapped later
	require.False(t, r.Read("/d/dir").Allowed)
	require.False(t, r.Read("/d/ok").Allowed, "the name of the link allows nothing")
}

// R66, with a real file system and filepath.EvalSymlinks.
func TestCanonicalisationReal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir+"/real/sub", 0o700))
	require.NoError(t, os.Symlink("real", dir+"/link"))
	r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths(dir + "/link"), AllowWrite: Paths(dir + "/link/sub")}}, CompileOptions{Resolve: filepath.EvalSymlinks})
	require.False(t, r.Read(dir+"/real/sub").Allowed)
	require.Equal(t, dir+"/real/sub", r.Entries()[1].Real)
	p, err := r.Canonical(dir + "/link/sub/new")
	require.NoError(t, err)
	require.Equal(t, dir+"/real/sub/new", p)
}

// A16: an allowed path that does not exist is an error that says so, on both lists and for a pattern's directory; one
// that is optional is left out and listed. A denied one needs not exist.
func TestAbsent(t *testing.T) {
	fs := tree{"/w": "", "/l": "/w"}
	for _, c := range []struct {
		key string
		f   Filesystem
	}{
		{"filesystem.allowRead[1]", Filesystem{AllowRead: Paths("/w", "/w/gone")}},
		{"filesystem.allowWrite[0]", Filesystem{AllowWrite: Paths("/gone")}},
		{"filesystem.allowWrite[0]", Filesystem{AllowWrite: Paths("/w/gone/*.x")}},
	} {
		_, err := Policy{Filesystem: c.f}.Compile(CompileOptions{Resolve: fs.resolve})
		requireRefused(t, err, c.key, "", "does not exist")
		require.ErrorIs(t, err, iofs.ErrNotExist)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.Hint, `"optional": true`)
		compile(t, Policy{Filesystem: c.f}, CompileOptions{})
	}
	r := compile(t, Policy{Filesystem: Filesystem{
		AllowWrite: []PathEntry{{Path: "/w/gone", Optional: true}, {Path: "/w/no/*.x", Optional: true}}, AllowRead: []PathEntry{{Path: "/l/gone", Optional: true}},
		DenyRead: Paths("/l/absent", "/l/gone"), DenyWrite: Paths("/nothing/here"),
	}}, CompileOptions{Resolve: fs.resolve, Private: jail})
	answers{"/w/absent/x": "!denyRead", "/l/absent": "!denyRead", "/w/gone": "!denyRead"}.check(t, r.Read)
	answers{"/w/no/a.x": "!default", "/nothing/here/x": "!denyWrite"}.check(t, r.Write)
	require.Equal(t, []string{"allowRead[0] /l/gone", "allowWrite[0] /w/gone", "allowWrite[1] /w/no/*.x"}, r.Derived().AbsentOptional)
	require.Empty(t, r.WritableRoots())
	require.NotContains(t, r.Derived().Write.AllowOnly, "/w/gone")
	e := r.Entries()[0]
	require.Equal(t, Entry{List: "allowRead", Axis: AxisRead, Allow: true, Optional: true, Given: "/l/gone", Real: "/w/gone", Base: "/w/gone", Absent: true},
		Entry{List: e.List, Index: e.Index, Axis: e.Axis, Allow: e.Allow, Optional: e.Optional, Given: e.Given, Real: e.Real, Base: e.Base, Glob: e.Glob, Absent: e.Absent})

	// What is not there cannot bring a host's path back into a private directory.
	r = compile(t, Policy{Filesystem: Filesystem{AllowWrite: []PathEntry{{Path: "/tmp/gone", Optional: true}}}}, CompileOptions{Resolve: fs.resolve, Private: jail})
	answers{"/tmp/gone/x": "private"}.check(t, r.Write)
}

// A denied path that may not be looked at stays denied, by its spelling, and the sandbox can still be opened; an allowed
// one is an error with its cause.
func TestUnresolved(t *testing.T) {
	fs := tree{"/root": "EACCES", "/w": ""}
	r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("/root/.ssh"), AllowWrite: Paths("/w")}}, CompileOptions{Resolve: fs.resolve})
	answers{"/root/.ssh/id": "!denyRead"}.check(t, r.Read)
	require.Contains(t, r.Derived().Warnings[0], `filesystem.denyRead[0] "/root/.ssh" could not be looked at`)
	_, err := Policy{Filesystem: Filesystem{AllowWrite: Paths("/root/x")}}.Compile(CompileOptions{Resolve: fs.resolve})
	requireRefused(t, err, "filesystem.allowWrite[0]", "", "it cannot be resolved")
	require.ErrorIs(t, err, iofs.ErrPermission)
	_, err = r.Canonical("/root/x")
	require.ErrorIs(t, err, iofs.ErrPermission)

	for _, answer := range []string{"relative/x", "/a/../x", "/a/", ""} {
		odd := func(string) (string, error) { return answer, nil }
		_, err = Policy{Filesystem: Filesystem{AllowRead: Paths("/w")}}.Compile(CompileOptions{Resolve: odd})
		requireRefused(t, err, "filesystem.allowRead[0]", "", "not absolute and clean")
	}
	broken := errors.New("broken")
	_, err = Policy{Network: Network{AllowUnixSockets: []string{"/s"}}}.Compile(CompileOptions{Resolve: func(string) (string, error) { return "", broken }})
	require.ErrorIs(t, err, broken)
}

// Entries shows each entry in the policy's order, with what it became.
func TestEntries(t *testing.T) {
	fs := tree{"/w": "", "/l": "/w"}
	r := compile(t, Policy{Filesystem: Filesystem{
		AllowRead: Paths("/w"), DenyRead: Paths("/l/**/*.pem", "**/x", "/w/[z-a]"), AllowWrite: Paths("/l/**"), DenyWrite: Paths("/w/a/"),
	}}, CompileOptions{Resolve: fs.resolve})
	type short struct {
		list              string
		index             int
		given, real, base string
		glob, undecidable bool
	}
	var got []short
	for _, e := range r.Entries() {
		got = append(got, short{e.List, e.Index, e.Given, e.Real, e.Base, e.Glob, e.Undecidable})
	}
	require.Equal(t, []short{
		{"allowRead", 0, "/w", "/w", "/w", false, false},
		{"denyRead", 0, "/l/**/*.pem", "/w/**/*.pem", "/w", true, false},
		{"denyRead", 1, "**/x", "/**/x", "/", true, false},
		{"denyRead", 2, "/w/[z-a]", "/w/[z-a]", "/w", true, true},
		{"allowWrite", 0, "/l/**", "/w", "/w", false, false},
		{"denyWrite", 0, "/w/a/", "/w/a", "/w/a", false, false},
	}, got)
	r.Entries()[0].Given = "changed"
	require.Equal(t, "/w", r.Entries()[0].Given)
}

// The rules are a value of their own: a policy that changes later changes nothing.
func TestCompileCopies(t *testing.T) {
	p := full()
	r := compile(t, p, CompileOptions{})
	before := r.Derived()
	p.Filesystem.DenyWrite[0].Path, p.Network.AllowedDomains[0] = "/", "*"
	p.Network.DeniedDomainReasons["bad.example.com"] = "changed"
	*p.Filesystem.MandatoryDenySearchDepth = 9
	p.Filesystem.AllowMandatory[0], p.Network.AllowUnixSockets[0], p.Filesystem.GitSafeDirectories[0] = "x", "x", "x"
	require.Equal(t, before, r.Derived())
	require.Equal(t, full(), r.Policy())
	r.Policy().Filesystem.DenyWrite[0].Path = "/"
	require.Equal(t, full(), r.Policy())
	require.Contains(t, r.Connect("bad.example.com", 1).Reason, "it is a test")
	*before.MandatoryDeny.SearchDepth = 8
	require.Equal(t, 3, *r.Derived().MandatoryDeny.SearchDepth)
}
