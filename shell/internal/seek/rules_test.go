package seek

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRules: the grammar of ignore files.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		line, rel string
		dir       bool
		want      verdict
	}{
		{"*.log", "a/b.log", false, ignored},
		{"*.log", "a/log", false, nothing},
		{"!*.log", "b.log", false, wanted},
		{"/a", "a", false, ignored},
		{"/a", "b/a", false, nothing},
		{"a/b", "a/b", false, ignored},
		{"a/b", "c/a/b", false, nothing},
		{"a/", "a", false, nothing},
		{"a/", "c/a", true, ignored},
		{"a/b/", "a/b", true, ignored},
		{"a/**", "a", true, nothing},
		{"a/**", "a/b/c", false, ignored},
		{"**/a", "b/c/a", false, ignored},
		{"a/**/b", "a/b", false, ignored},
		{"a/**/b", "a/x/y/b", false, ignored},
		{"#a", "#a", false, nothing},
		{`\#a`, "#a", false, ignored},
		{`\!a`, "!a", false, ignored},
		{"a ", "a", false, ignored},
		{`a\ `, "a ", false, ignored},
		{"a\r", "a", false, ignored},
		{"a{b}", "a{b}", false, ignored},
		{"a{b,c}", "ab", false, nothing},
		{"[ab].go", "b.go", false, ignored},
		{"[!ab].go", "b.go", false, nothing},
		{"[", "[", false, nothing},
		{"a?c", "abc", false, ignored},
		{"a?c", "a/c", false, nothing},
		{"*", "a/b", false, ignored},
		{"", "a", false, nothing},
		{"/", "a", true, nothing},
		{"!", "a", true, nothing},
	} {
		var rules []rule
		if r, ok := parseRule(c.line, false, false); ok {
			rules = append(rules, r)
		}
		require.Equal(t, c.want, decide(rules, c.rel, c.dir), "%q %q", c.line, c.rel)
	}
	last := []rule{}
	for _, line := range []string{"*.log", "!keep.log", "/keep.log"} {
		r, ok := parseRule(line, false, false)
		require.True(t, ok)
		last = append(last, r)
	}
	require.Equal(t, wanted, decide(last, "x/keep.log", false), "the last rule that is about it")
	require.Equal(t, ignored, decide(last, "keep.log", false))
}

// TestRulesAsGit: for generated ignore files, what is left out is what git leaves out.
func TestRulesAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("SALLYPORT_LIVE") == "require" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	pieces := []string{"a", "b", "*", "?", "**/", "/", "[ab]", "[!a]", ".go", "/**", "{a,b}", `\*`, "ab"}
	paths := []string{"a", "b", "ab", "a/a", "a/b", "a/b/a", "b/a.go", "b/b.go", "ab/a/b", "a/b.go", "a*", "b/{a,b}", "ab/x/y/a"}
	root := t.TempDir()
	for _, p := range paths {
		if _, err := os.Stat(filepath.Join(root, p)); err == nil || p == "a" || p == "b" || p == "ab" || p == "a/b" {
			continue // it is a directory
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, p)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, p), nil, 0o644))
	}
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = root, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 {
			err = nil // none of them is ignored
		}
		require.NoError(t, err)
		return string(out)
	}
	git("", "init", "-q", ".")
	seen := map[bool]int{}
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var file strings.Builder
		for range 1 + rng.IntN(4) {
			line := []string{"", "", "!", "/"}[rng.IntN(4)]
			for range 1 + rng.IntN(3) {
				piece := pieces[rng.IntN(len(pieces))]
				if piece == "**/" && strings.TrimLeft(line, "!") != "" && !strings.HasSuffix(line, "/") {
					continue // "**" inside of a name: git's answer depends on how it was optimised
				}
				line += piece
			}
			line += []string{"", "", "/"}[rng.IntN(3)]
			for strings.Contains(line, "//") || strings.Contains(line, "***") || strings.Contains(line, "**/**") { // what nobody writes
				line = strings.NewReplacer("//", "/", "***", "**", "**/**", "**").Replace(line)
			}
			file.WriteString(line + "\n")
		}
		require.NoError(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte(file.String()), 0o644))
		out := "\x00" + git(strings.Join(paths, "\x00")+"\x00", "check-ignore", "-z", "--stdin", "--no-index")
		s := &search{}
		l := s.newLevel(nil, root, func(string) bool { return true })
		for _, p := range paths {
			want := strings.Contains(out, "\x00"+p+"\x00")
			require.Equal(t, want, leftOut(t, l, root, p), "%s in\n%s", p, file.String())
			seen[want]++
		}
	}
	require.Greater(t, seen[true], 200)
	require.Greater(t, seen[false], 200)
}

// leftOut says whether a walk would come to a path: a directory that is ignored is not looked into.
func leftOut(t *testing.T, l *level, root, rel string) bool {
	parts := strings.Split(rel, "/")
	for i := range parts {
		at := filepath.Join(root, filepath.Join(parts[:i+1]...))
		info, err := os.Stat(at)
		require.NoError(t, err)
		if l.decide(at, info.IsDir()) == ignored {
			return true
		}
	}
	return false
}

// FuzzRules: nothing that an ignore file or a glob holds does more than match or not.
func FuzzRules(f *testing.F) {
	for _, line := range []string{"*.log", "[", "a/**/b", "!{a,b", `\`, "**", "#", " ", "/"} {
		f.Add(line, "a/b.log")
	}
	f.Fuzz(func(t *testing.T, line, rel string) {
		if len(line) > 200 || len(rel) > 200 {
			return
		}
		for _, braces := range []bool{false, true} {
			if r, ok := parseRule(line, braces, braces); ok {
				r.matches(rel, rel, true)
			}
		}
		newGlobs(line, rel).decide(rel, false)
		CheckGlob(line)
	})
}
