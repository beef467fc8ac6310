package fs_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
)

// TestPathClassify: what is refused outright, and in which order, on either separator (R289).
func TestPathClassify(t *testing.T) {
	for _, c := range []struct {
		path string
		want fs.Reason
	}{
		{"a\x00b", fs.ReasonNUL},
		{"~/.ssh/id_rsa\x00", fs.ReasonNUL},
		{"~", fs.ReasonHome},
		{"~/.ssh/id_rsa", fs.ReasonHome},
		{`~\.ssh`, fs.ReasonHome},
		{"~root/x", fs.ReasonHome},
		{`C:\secret`, fs.ReasonDrive},
		{"c:/secret", fs.ReasonDrive},
		{"C:secret", fs.ReasonDrive},
		{`\\.\pipe\x`, fs.ReasonDevice},
		{"//./COM1", fs.ReasonDevice},
		{`\\?\C:\x`, fs.ReasonDevice},
		{`\/?/C:/x`, fs.ReasonDevice},
		{`\??\C:\x`, fs.ReasonDevice},
		{`\\host\share`, fs.ReasonShare},
		{"//host/share", fs.ReasonShare},
		{`/\host/share`, fs.ReasonShare},
		{"..", fs.ReasonEscape},
		{"../secret", fs.ReasonEscape},
		{`..\secret`, fs.ReasonEscape},
		{`a/..\../secret`, fs.ReasonEscape},
		{"/..", fs.ReasonEscape},
		{"a/../../a", fs.ReasonEscape},
		{".//../secret", fs.ReasonEscape},
	} {
		_, err := fs.Clean(c.path)
		require.ErrorIs(t, err, fs.ErrPath, "%q", c.path)
		var typed *fs.Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, c.want, typed.Reason, "%q", c.path)
		require.Contains(t, err.Error(), ": ", "%q says what to do instead (R285)", c.path)
	}
}

// TestClean: a leading slash is the root (R288); a path that comes back below the root is fine; percent signs mean
// nothing (R290).
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                   ".",
		"/":                  ".",
		".":                  ".",
		"a":                  "a",
		"/a":                 "a",
		"/etc/passwd":        "etc/passwd",
		"./a//b/./c/":        "a/b/c",
		`a\b`:                "a/b",
		"a/../b":             "b",
		"a/..":               ".",
		"%2e%2e/secret":      "%2e%2e/secret",
		"....//secret":       "..../secret",
		"a~":                 "a~",
		"con":                "con",
		"1:b":                "1:b",
		"file:///etc/passwd": "file:/etc/passwd",
		"ä/\n":               "ä/\n",
	} {
		got, err := fs.Clean(in)
		require.NoError(t, err, "%q", in)
		require.Equal(t, want, got, "%q", in)
	}
}

// TestErrorNamesOnlyTheModelsPath: the text is one line, and quotes what it was given.
func TestErrorNamesOnlyTheModelsPath(t *testing.T) {
	_, err := fs.Clean("../a\nb\u202e")
	require.EqualError(t, err, `"../a\nb\u202e": the path leads out of the workspace; write a path below its root`)
}

// FuzzToRelative: no path ever comes out that is not below the root (R292).
func FuzzToRelative(f *testing.F) {
	for _, s := range []string{"", "/", "../x", "a/../../b", `..\x`, "~", "C:x", "//h/s", "a\x00", "%2e%2e/x", "a/./b//..", "\\\\?\\x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := fs.Clean(name)
		if err != nil {
			require.ErrorIs(t, err, fs.ErrPath)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Equal(t, path.Clean(got), got)
		require.False(t, strings.HasPrefix(got, "/"), got)
		require.NotContains(t, got, "\x00")
		for part := range strings.SplitSeq(got, "/") {
			require.NotEqual(t, "..", part)
		}
		again, err := fs.Clean("/" + got)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
