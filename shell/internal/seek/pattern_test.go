package seek

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPattern: how patterns are spelled out.
func TestPattern(t *testing.T) {
	for _, c := range []struct {
		given            string
		literal, fold    bool
		spelled, ripgrep string
	}{
		{"hello", false, false, "hello", "hello"},
		{"a.b", true, false, `a\.b`, `a\.b`},
		{`\d`, false, false, "[0-9]", "[0-9]"},
		{"func main() {", false, false, `func main() \{`, `func main() \{`},
		{"^a$", false, false, "(?m:^a$)", "(?m:^a$)"},
		{`\bx\B`, false, false, `\bx\B`, `(?-u:\b)x(?-u:\B)`},
		{`\\b`, false, false, `\\b`, `\\b`},
		{"k", false, true, "(?i:K)", "(?i:K)"},
		{"a&&b", true, false, "a&&b", "a&&b"},
		{"[a&&b]", false, false, "[&ab]", "[&ab]"},
		{"", false, false, "(?:)", "(?:)"},
	} {
		got, err := Pattern(c.given, c.literal, c.fold)
		require.NoError(t, err, c.given)
		require.Equal(t, c.spelled, got)
		require.Equal(t, c.ripgrep, ForRipgrep(got))
	}
}

// FuzzPattern: a pattern that is taken can be compiled, and what every match is said to contain, every match contains.
func FuzzPattern(f *testing.F) {
	f.Add("a+b", "xaaby", false, false)
	f.Add(`(foo|f)\w{2,}`, "foobar", true, false)
	f.Add("(?i)ab(c)", "ABC abc", false, true)
	f.Fuzz(func(t *testing.T, given, text string, literal, fold bool) {
		spelled, err := Pattern(given, literal, fold)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		m, err := newMatcher(spelled)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(spelled).FindAllString(text, 3) {
			require.Contains(t, found, string(m.must))
		}
	})
}
