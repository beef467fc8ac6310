package strict

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestCheck: what two readers can take for two things is refused, and all other JSON is not.
func TestCheck(t *testing.T) {
	for _, good := range []string{
		`{}`, `null`, `1e999`, `{"a":{"a":1},"b":[{"a":1},{"a":2}]}`, `"\ud83d\ude00"`, `"\\ud800"`, `"\u00e9"`, " {} \n",
		`{"A":1,"a":2}`, strings.Repeat("[", deepest) + strings.Repeat("]", deepest),
	} {
		require.NoError(t, Check([]byte(good)), good)
	}
	for _, c := range []struct{ bad, says string }{
		{``, "not JSON"}, {`{`, "not JSON"}, {`{} {}`, "not JSON"}, {`{"a":1,}`, "not JSON"}, {`NaN`, "not JSON"},
		{`{"a":1,"a":1}`, `"a" is there twice`}, {`[{"b":{"a":1,"\u0061":1}}]`, `"a" is there twice`},
		{"\"\xff\"", "UTF-8"}, {`"\ud800"`, "surrogate"}, {`"\udc00\ud800"`, "surrogate"}, {`"\ud800x"`, "surrogate"},
		{`"\ud83d\u0041"`, "surrogate"}, {`"\uD800\\ude00"`, "surrogate"},
		{strings.Repeat("[", deepest+2) + strings.Repeat("]", deepest+2), "deeper"},
	} {
		require.ErrorContains(t, Check([]byte(c.bad)), c.says, c.bad)
	}
}

// FuzzCheck: nothing makes it panic; what it takes, the standard reader takes, and writes back as what is taken again.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\ud83d\ude00"]}`, `{"a":1,"a":2}`, `"\ud800`, `[[[`, `"\u00`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if Check(data) != nil {
			return
		}
		var v json.RawMessage
		require.NoError(t, json.Unmarshal(data, &v))
		var plain any
		if json.Unmarshal(data, &plain) != nil {
			return // a number out of range
		}
		again, err := json.Marshal(plain)
		require.NoError(t, err)
		require.True(t, utf8.Valid(again))
		require.NoError(t, Check(again))
	})
}
