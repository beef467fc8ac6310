package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
	"sallyport/shell/search"
)

// TestEnginesAgree: on generated trees with generated ignore files, both engines find the same files for generated globs, and
// the same lines for generated patterns.
func TestEnginesAgree(t *testing.T) {
	needsRipgrep(t)
	trees, queries := 8, 10
	if testing.Short() {
		trees = 2
	}
	found := 0
	for seed := range uint64(trees) {
		rng := rand.New(rand.NewPCG(seed, 9))
		files := randomTree(rng)
		root := tree(t, files)
		box, w := place(t, root, policy.Filesystem{}, shell.Options{})
		for range queries {
			q := randomQuery(rng)
			what := fmt.Sprintf("seed %d: %+v\n%q", seed, q, ignoreFiles(files))
			found += agree(t, q, what, search.New(box, w.Dir, search.Options{Engine: search.Ripgrep}), search.New(box, w.Dir, search.Options{Engine: search.Builtin}))
		}
	}
	require.Greater(t, found, trees*queries, "too little was found to tell anything")
}

func agree(t *testing.T, q search.Query, what string, a, b *search.Searcher) int {
	t.Helper()
	if q.Pattern != "" {
		one, _ := lines(t, a, q)
		other, _ := lines(t, b, q)
		require.Equal(t, one, other, what)
		return len(one)
	}
	one, _ := files(t, a, q)
	other, _ := files(t, b, q)
	require.Equal(t, one, other, what)
	return len(one)
}

func ignoreFiles(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		if strings.HasSuffix(name, "ignore") {
			out[name] = text
		}
	}
	return out
}

// words are names and texts. No name has a letter beyond ASCII: see the package comment for what "?" is then.
var words = []string{"a", "b", "ab", "log", "x.go", "y.log", ".env", "B", "a.b"}

func pick(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }

// randomTree has a few directories, some of them repositories, and ignore files in them.
func randomTree(rng *rand.Rand) map[string]string {
	files := map[string]string{}
	dirs := []string{"."}
	for range 12 {
		dirs = append(dirs, pick(rng, dirs)+"/"+pick(rng, words)+"d")
	}
	for range 40 {
		text := ""
		for range rng.IntN(6) {
			text += pick(rng, append(words, "é")) + pick(rng, []string{" ", "\t", "\r\n", "\n", "\n\n", ".", "-"})
		}
		files[pick(rng, dirs)+"/"+pick(rng, words)] = text
	}
	for range 5 {
		text := ""
		for range 1 + rng.IntN(5) {
			text += randomRule(rng) + pick(rng, []string{"\n", "\n", " \n", "\r\n"})
		}
		files[pick(rng, dirs)+"/"+pick(rng, []string{".gitignore", ".gitignore", ".ignore", ".rgignore"})] = text
	}
	for range rng.IntN(3) {
		files[pick(rng, dirs)+"/.git/HEAD"] = "a\n"
	}
	return files
}

// randomGlob has no negated class: ripgrep's matches a slash.
func randomGlob(rng *rand.Rand) string {
	glob := ""
	for range 1 + rng.IntN(3) {
		glob += pick(rng, []string{"a", "b", "d", "log", "*", "*", "?", ".go", "**/", "/", "[ab]", "[a-b]", ".", "bd/", "/**"})
	}
	return glob
}

func randomRule(rng *rand.Rand) string {
	rule := pick(rng, []string{"", "", "!", "/", "#", `\!`}) + randomGlob(rng) + pick(rng, []string{"", "", "/"})
	for strings.Contains(rule, "//") { // which means nothing to git
		rule = strings.ReplaceAll(rule, "//", "/")
	}
	return rule
}

func randomQuery(rng *rand.Rand) search.Query {
	q := search.Query{Hidden: rng.IntN(2) == 0, NoIgnore: rng.IntN(4) == 0}
	if rng.IntN(3) == 0 {
		q.MaxDepth = depth(rng.IntN(3))
	}
	if rng.IntN(3) == 0 {
		q.Glob = pick(rng, []string{"", "!"}) + randomGlob(rng)
	}
	if rng.IntN(4) == 0 {
		q.IGlob = strings.ToUpper(randomGlob(rng))
	}
	for _, glob := range []*string{&q.Glob, &q.IGlob} {
		if strings.Trim(*glob, "!/ ") == "" || strings.HasSuffix(*glob, "/") && strings.Trim(*glob, "*/!") == "" {
			*glob = ""
		}
	}
	if rng.IntN(2) == 0 {
		for range 1 + rng.IntN(4) {
			q.Pattern += pick(rng, []string{"a", "b", "B", "é", ".", `\w`, `\s`, `\b`, "[^a]", "x*", "(a|b)", "a?", "log", `\.`, "É"})
		}
		// The ends of a line at the ends of the pattern: "\b^" is found by ripgrep 13 on some lines only.
		q.Pattern = pick(rng, []string{"", "", "^"}) + q.Pattern + pick(rng, []string{"", "", "$"})
		q.IgnoreCase = rng.IntN(3) == 0
		q.Literal = rng.IntN(5) == 0
	}
	return q
}
