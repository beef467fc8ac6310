package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// R63: the grammar. A path is matched when it or a directory above it is.
func TestGlobTable(t *testing.T) {
	for pattern, cases := range map[string]struct{ yes, no string }{
		"/w/*":            {"/w/a /w/a/b /w/.x", "/w /wx /x/a"},
		"/w/*.pem":        {"/w/a.pem /w/.pem /w/a.pem/x /w/a.b.pem", "/w/a.pemx /w/d/a.pem /w/apem"},
		"/w/a?c":          {"/w/abc /w/aéc /w/a.c /w/a\xffc", "/w/ac /w/a/c /w/abbc"},
		"/w/**/x":         {"/w/x /w/a/x /w/a/b/x /w/a/x/y", "/w/ax /wx /w /x"},
		"/w/**/a/**/b":    {"/w/a/b /w/x/a/y/z/b /w/a/a/b", "/w/b /w/a /w/ab"},
		"**/.env":         {"/.env /a/.env /a/b/.env/c", "/a.env /a/.envrc /env"},
		"**.log":          {"/a.log /d/a.log /.log", "/a.logs"},
		"/w/a**z":         {"/w/az /w/a/b/z /w/abz/q", "/w/b/z /w/a"},
		"/w/**":           {"/w /w/a /w/a/b", "/wx /"},
		"**":              {"/ /a /a/b", ""},
		"/w/*/**":         {"/w/a /w/a/b", "/w"},
		"/w/**/*":         {"/w/a /w/a/b", "/w"},
		"/w/[abc]x":       {"/w/ax /w/cx", "/w/dx /w/x /w/abx"},
		"/w/[a-c]":        {"/w/a /w/b /w/c/d", "/w/d /w/-"},
		"/w/[!a-c]":       {"/w/d /w/- /w/é", "/w/a /w/c"},
		"/w/[^a-c]":       {"/w/d /w/^", "/w/b"},
		"/w/x[!a]y":       {"/w/xby", "/w/x/y /w/xay"},
		"/w/[\ufffd]":     {"/w/\ufffd", "/w/\xff"},
		"/w/[-a]":         {"/w/- /w/a", "/w/b"},
		"/w/[a-]":         {"/w/- /w/a", "/w/b"},
		"/w/[]a]":         {"/w/] /w/a", "/w/b /w/[]a]"},
		"/w/[!]a]":        {"/w/b", "/w/] /w/a"},
		"/w/[[]id].ts":    {"/w/[id].ts", "/w/i.ts /w/id].ts"},
		"/w/[é-ü]":        {"/w/ê", "/w/e"},
		"/w/[x":           {"/w/[x", "/w/x"},
		"/w/[]":           {"/w/[]", "/w/[ /w/]"},
		"/w/[!]":          {"/w/[!]", "/w/!"},
		"/w/[a/b]":        {"/w/[a/b]", "/w/a /w/b"},
		"/w/{a,b}*":       {"/w/{a,b} /w/{a,b}c", "/w/a /w/b"},
		`/w/a\*`:          {`/w/a\ /w/a\b`, "/w/a*"},
		"/w/a.b*":         {"/w/a.b /w/a.bc", "/w/axb"},
		"/w/(a|b)+*":      {"/w/(a|b)+", "/w/a"},
		"/w/***/x":        {"/w/x /w/a/b/x", "/w/ax"},
		"/w/a/?*/b":       {"/w/a/x/b /w/a/xyz/b/c", "/w/a//b /w/a/b"},
		"/w/*.tar.*":      {"/w/a.tar.gz /w/.tar.", "/w/a.tar"},
		"/w/**/node_*/**": {"/w/node_x /w/a/node_modules/b", "/w/node /w/xnode_a"},
		"/w/\ufffd*":      {"/w/\ufffd", "/w/\xff"},
	} {
		for _, platform := range platforms {
			r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths(pattern), AllowWrite: Paths(pattern)}}, CompileOptions{Platform: platform})
			for path := range strings.FieldsSeq(cases.yes) {
				require.False(t, r.Read(path).Allowed, "%v: %s must match %s", platform, pattern, path)
			}
			for path := range strings.FieldsSeq(cases.no) {
				require.True(t, r.Read(path).Allowed, "%v: %s must not match %s", platform, pattern, path)
			}
			r = compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths(pattern)}}, CompileOptions{Platform: platform})
			for path := range strings.FieldsSeq(cases.yes) {
				require.True(t, r.Write(path).Allowed, "%v: %s must match %s", platform, pattern, path)
			}
			for path := range strings.FieldsSeq(cases.no) {
				require.False(t, r.Write(path).Allowed, "%v: %s must not match %s", platform, pattern, path)
			}
		}
	}
}

// R61: a pattern matches at any depth, on every platform.
func TestGlobAnyDepth(t *testing.T) {
	for _, platform := range platforms {
		r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths("**/*.secret")}}, CompileOptions{Platform: platform})
		for depth := range 30 {
			require.False(t, r.Read(strings.Repeat("/d", depth)+"/FOO.secret").Allowed)
		}
	}
}

// R64, R65: a pattern that means nothing matches everything on a deny list and nothing on an allow list, and is listed.
func TestBadGlobPolarity(t *testing.T) {
	for _, bad := range []string{"/w/[z-a]", "**/x[b-a]*", "/w/[[:alpha:]]", "/w/[[.a.]]"} {
		for _, platform := range platforms {
			compiled := func(f Filesystem) *Rules {
				return compile(t, Policy{Filesystem: f}, CompileOptions{Platform: platform})
			}
			r := compiled(Filesystem{DenyRead: Paths("/ok", bad), AllowRead: Paths("/w", bad), AllowWrite: Paths("/w")})
			answers{"/w/m": "!denyRead", "/": "!denyRead", "/etc": "!denyRead"}.check(t, r.Read)
			answers{"/w/m": "!denyRead"}.check(t, r.Write)
			require.Contains(t, r.Read("/etc").Reason, "the pattern means nothing, so it counts as matching everything")
			require.Equal(t, []string{"allowRead[1] " + bad, "denyRead[1] " + bad}, r.Derived().UndecidableGlobs)

			r = compiled(Filesystem{DenyRead: Paths("/w"), AllowRead: Paths(bad)})
			answers{"/w/m": "!denyRead", "/x": "default"}.check(t, r.Read)

			r = compiled(Filesystem{AllowWrite: Paths("/w"), DenyWrite: Paths(bad)})
			answers{"/w/m": "!denyWrite", "/dev/null": "!denyWrite"}.check(t, r.Write)
			answers{"/w/m": "default"}.check(t, r.Read)
			require.Empty(t, r.WritableRoots())

			r = compiled(Filesystem{AllowWrite: Paths(bad)})
			answers{"/w/m": "!default", "/w": "!default"}.check(t, r.Write)
		}
	}
}

// A pattern made to be slow is not: the time is bounded by the product of the lengths.
func TestGlobIsNotExponential(t *testing.T) {
	evil := []string{
		"/" + strings.Repeat("*a", 1000), "/" + strings.Repeat("**a", 1000), "/" + strings.Repeat("**/", 1000) + "b", "/" + strings.Repeat("*/", 1000) + "b",
		"/" + strings.Repeat("?*", 1000) + "b", "/" + strings.Repeat("[a-z]*", 600) + "b",
	}
	r := compile(t, Policy{Filesystem: Filesystem{DenyRead: Paths(evil...)}}, CompileOptions{})
	start := time.Now()
	require.True(t, r.Read("/"+strings.Repeat("a", 900)+"c").Allowed)
	require.True(t, r.Read(strings.Repeat("/a", 900)).Allowed)
	require.Less(t, time.Since(start), 20*time.Second) // takes a few hundredths; a matcher that backtracks never ends
}
