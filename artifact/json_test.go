package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const shop = `{
  "name": "shop", "open": true, "none": null, "big": 12345678901234567890,
  "books": [
    {"title": "A", "price": 8.95, "tags": ["x", "y"]},
    {"title": "B", "price": 12, "isbn": "1"},
    {"title": "C", "price": 22.99, "isbn": "2"}
  ]
}`

// parsed reads an artifact as JSON.
func parsed(t testing.TB, kind Kind, text string) *JSON {
	t.Helper()
	j, err := closed(t, kind, text).JSON(context.Background())
	require.NoError(t, err)
	return j
}

func asJSON(t *testing.T, v any, err error) string {
	t.Helper()
	require.NoError(t, err)
	p, err := json.Marshal(v)
	require.NoError(t, err)
	return string(p)
}

// TestJSONTools: the seven queries (R275).
func TestJSONTools(t *testing.T) {
	j := parsed(t, KindJSON, shop)
	ctx := t.Context()
	for path, want := range map[string]string{
		"": "object", "$": "object", "$.books": "array", "$.name": "string", "$.big": "number", "$.open": "boolean", "$.none": "null",
	} {
		got, err := j.Type(ctx, path)
		require.NoError(t, err)
		require.Equal(t, want, got, path)
	}
	keys, err := j.Keys(ctx, "$.books[1]")
	require.Equal(t, `["isbn","price","title"]`, asJSON(t, keys, err))
	for path, want := range map[string]int{"$": 5, "$.books": 3, "$.name": 4, "$.books[0].tags": 2} {
		n, err := j.Length(ctx, path)
		require.NoError(t, err)
		require.Equal(t, want, n, path)
	}
	for path, want := range map[string]string{
		"$.big":                       `[12345678901234567890]`,
		"$..title":                    `["A","B","C"]`,
		"$.books[-1:]":                `[{"isbn":"2","price":22.99,"title":"C"}]`,
		"$.books[*].isbn":             `["1","2"]`,
		"$.books[0]['title','price']": `["A",8.95]`,
		"$.nothing":                   `[]`,
		"$.*":                         `[12345678901234567890,[{"price":8.95,"tags":["x","y"],"title":"A"},{"isbn":"1","price":12,"title":"B"},{"isbn":"2","price":22.99,"title":"C"}],"shop",null,true]`,
		"$.books[?@.price > 10 && @.isbn == '2'].title":            `["C"]`,
		"$.books[?match(@.title, '[AB]')].title":                   `["A","B"]`,
		"$.books[?@.price > $.books[1].price].title":               `["C"]`,
		"$.books[?@.title == 'A' || @['title'] == 'B, ?..'].price": `[8.95]`,
		"$.books[?@.title == 'A', ?@.title == 'B'].price":          `[8.95,12]`,
	} {
		got, err := j.Get(ctx, path)
		require.Equal(t, want, asJSON(t, got, err), path)
	}
	got, err := j.Filter(ctx, "$.books", "@.price < 10")
	require.Equal(t, `[{"price":8.95,"tags":["x","y"],"title":"A"}]`, asJSON(t, got, err))
	got, err = j.Pluck(ctx, "$.books", "isbn")
	require.Equal(t, `["1","2"]`, asJSON(t, got, err))
	for r, want := range map[[2]int64]string{
		{0, 1}: `["x"]`, {1, ToEnd}: `["y"]`, {-1, ToEnd}: `["y"]`, {0, -1}: `["x"]`, {5, 9}: `[]`, {2, 1}: `[]`, {-9, 9}: `["x","y"]`,
	} {
		got, err := j.Slice(ctx, "$.books[0].tags", r[0], r[1])
		require.Equal(t, want, asJSON(t, got, err), "%v", r)
	}
	for _, err := range []error{
		second(j.Type(ctx, "$.x")), second(j.Keys(ctx, "$.books")), second(j.Length(ctx, "$.open")),
		second(j.Slice(ctx, "$", 0, 1)), second(j.Pluck(ctx, "$.name", "x")),
	} {
		require.ErrorIs(t, err, ErrNoMatch)
	}
	for _, path := range []string{"books", "$.", "$[", "$.books[?]", "$[?@.a ==]", strings.Repeat("$", maxPath+1)} {
		require.ErrorIs(t, second(j.Get(ctx, path)), ErrArgument, path)
	}
}

// TestJSONItems: JSON lines are an array of their values.
func TestJSONItems(t *testing.T) {
	j := parsed(t, KindItems, "{\"path\":\"a\"}\n\n{\"path\":\"b\"}\r\n3")
	got, err := j.Pluck(t.Context(), "", "path")
	require.Equal(t, `["a","b"]`, asJSON(t, got, err))
	n, err := j.Length(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, err = closed(t, KindItems, "1\n2 3\n").JSON(t.Context())
	require.ErrorIs(t, err, ErrNotJSON)
	require.ErrorContains(t, err, "line 2")
}

// TestInvalidJSON: it says where, and the text can still be asked about (R218).
func TestInvalidJSON(t *testing.T) {
	for text, says := range map[string]string{
		"{\n\"a\": 1,\n}": "line 3", "": "ends too early", "[1,": "ends too early", "1 2": "after the value", "nope": "line 1",
		strings.Repeat("[", 20_000): "depth",
	} {
		a := closed(t, KindJSON, text)
		_, err := a.JSON(t.Context())
		require.ErrorIs(t, err, ErrNotJSON, "%.20q", text)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, a.ID())
		require.Equal(t, text, whole(t, a))
	}
}

// TestJSONTooLarge: above the limit it stays text.
func TestJSONTooLarge(t *testing.T) {
	a := closed(t, KindJSON, `"`+strings.Repeat("x", MaxJSONBytes)+`"`)
	_, err := a.JSON(t.Context())
	require.ErrorIs(t, err, ErrTooLarge)
	require.Equal(t, CodeFormat, err.(*Error).Code())
	n, err := a.ByteLength()
	require.NoError(t, err)
	require.Equal(t, int64(MaxJSONBytes+2), n)
}

// TestJSONMemory: documents of tiny values take many times their length. The estimate is not far below what they take, so
// that none takes much more than MaxJSONMemory, and those above it are refused before they are decoded.
func TestJSONMemory(t *testing.T) {
	const size = MaxJSONBytes / 4
	for _, element := range []string{"[]", "{}", "0", `""`, `{"":0}`, `{"":{}}`, `[[]]`, `{"path":"a/b/c.go","line":12,"text":"some text of the file"}`} {
		text := "[" + strings.Repeat(element+",", size/(len(element)+1)-2) + element + "]"
		runtime.GC()
		base := heap()
		root, err := decodeOne([]byte(text))
		require.NoError(t, err)
		runtime.GC()
		took, guess := heap()-base, jsonMemory([]byte(text))
		t.Logf("%s: %.1f times the length, %.1f estimated", element, float64(took)/size, float64(guess)/size)
		require.Less(t, float64(took), 1.5*float64(guess), element)
		runtime.KeepAlive(root)
	}
	a := closed(t, KindJSON, "["+strings.Repeat(`{"":0},`, MaxJSONBytes/8)+"0]")
	_, err := a.JSON(t.Context())
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "memory")
	ordinary := parsed(t, KindItems, strings.Repeat(`{"path":"a/b/c.go","line":12,"text":"some text of the file"}`+"\n", MaxJSONBytes/64))
	n, err := ordinary.Length(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, MaxJSONBytes/64, n, "a long ordinary one is read")
}

// TestJSONPathIsBounded: paths whose cost explodes end soon and typed; each would select far more than the document has.
func TestJSONPathIsBounded(t *testing.T) {
	deep := parsed(t, KindJSON, strings.Repeat("[", 9000)+strings.Repeat("]", 9000))
	wide := parsed(t, KindJSON, "["+strings.Repeat(`{"a":[1,2,3],"b":"`+strings.Repeat("x", 100)+`"},`, 30_000)+"0]")
	for _, path := range []string{
		"$..*..*", "$..*..*..*", "$..[*,*,*,*,*,*,*,*]..*", "$" + strings.Repeat("[*,*]", 200),
		"$..[?@..a]", "$[?@[?@.a]]", "$[?@[0,0][0,0]]", "$[?count(@..*) > 1]", "$[?count($[*,*][*,*]) > 1]",
		"$..[?$.a == $[0]]..[?$.b == $[0]]..*", "$[?(@.a && @..b)]",
	} {
		for name, j := range map[string]*JSON{"deep": deep, "wide": wide} {
			begin := time.Now()
			all, err := j.Get(t.Context(), path)
			if err != nil {
				require.ErrorIs(t, err, ErrTooCostly, "%s: %s", name, path)
			}
			require.LessOrEqual(t, len(all), MaxResults)
			require.Less(t, time.Since(begin), 2*maxQueryTime, "%s: %s", name, path)
		}
	}
	_, err := deep.Get(t.Context(), "$..*..*")
	require.ErrorIs(t, err, ErrTooCostly)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	require.ErrorIs(t, second(wide.Get(ctx, "$..a")), enough)
}

// TestExplosivePaths: what is refused inside a filter by looking at the path, and what looks like it and is not. The first
// would look at four million values for each value that it judges, within one call that cannot be ended.
func TestExplosivePaths(t *testing.T) {
	j := parsed(t, KindJSON, strings.Repeat("[", 60)+strings.Repeat("]", 60))
	for _, path := range []string{
		"$[?@" + strings.Repeat("[0,0]", 22) + "]", "$[?@..a]", "$[?$..a]", "$[?@[?@.a]]", "$[?count(@..*) > 1]", "$[?(@[1,2])]", "$[?@.a == 1, ?@..b]",
		"$[?@['x]', 0]]",
	} {
		begin := time.Now()
		require.ErrorIs(t, second(j.Get(t.Context(), path)), ErrTooCostly, path)
		require.Less(t, time.Since(begin), time.Second)
	}
	for _, path := range []string{
		"$..[?@.a]", "$[?@.a]..b", "$[?@.a]..[?@.b]", "$[0,0][?@.a][0,1]", "$[?@.a == '..']", "$[?@['a,b']]", `$[?@["]..\""] == 1]..b`, "$[?match(@.a, 'x,y')]",
		"$[?@.a, ?@.b]", "$[?(@.a || @.b) && length(@.c) > 1]..d",
	} {
		require.NoError(t, second(j.Get(t.Context(), path)), path)
	}
}

// FuzzJSONPath: no path and no document breaks a query, and a query gives the same each time.
func FuzzJSONPath(f *testing.F) {
	for _, path := range []string{"$..*", "$.books[?@.price > 10]", "$['a','b'][1:-1:2]", "$[?match(@.a, 'x(')]", "$[?length(@.a) == 1 || !@.b]", "$[?(@.a)]"} {
		f.Add(path, shop)
	}
	f.Add("$[?search(@, '[')]", `["[", {"a":"\ud800"}]`)
	turn := newTurn(f, Options{})
	f.Fuzz(func(t *testing.T, path, text string) {
		a := closedIn(t, turn, KindJSON, text)
		defer forget(turn, a)
		stuck := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("path %q of %q takes too long", path, text)) })
		defer stuck.Stop()
		j, err := a.JSON(t.Context())
		if err != nil {
			require.ErrorIs(t, err, ErrNotJSON)
			return
		}
		one, err := j.Get(t.Context(), path)
		two, err2 := j.Get(t.Context(), path)
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(err2))
		require.Equal(t, one, two)
		if err != nil {
			require.True(t, errors.Is(err, ErrArgument) || errors.Is(err, ErrTooCostly), "%v", err)
			return
		}
		_, err = json.Marshal(one)
		require.NoError(t, err)
		_, _ = j.Slice(t.Context(), path, -1, ToEnd)
		_, _ = j.Keys(t.Context(), path)
	})
}
