package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"sallyport/internal/nearest"

	"github.com/stretchr/testify/require"
)

func number(n int) *int { return &n }

// full has every field set, so that a field that is forgotten somewhere shows.
func full() Policy {
	return Policy{
		Filesystem: Filesystem{
			AllowRead: Paths("/w/a", "**/ok"), DenyRead: Paths("/w"),
			AllowWrite: []PathEntry{{Path: "/w/out"}, {Path: "/w/later <&>", Optional: true}}, DenyWrite: Paths("/w/out/*.pem"),
			GitSafeDirectories: []string{"/w"}, AllowGitConfig: true, AllowMandatory: []string{".vscode"},
			MandatoryDenySearchDepth: number(3),
		},
		Network: Network{
			AllowedDomains: []string{"*.example.com", "192.0.2.1:443"}, DeniedDomains: []string{"bad.example.com"},
			DeniedDomainReasons: map[string]string{"bad.example.com": "it is a test"}, AllowUnixSockets: []string{"/run/x.sock"},
		},
	}
}

// TestFullIsFull holds full to its promise.
func TestFullIsFull(t *testing.T) {
	for _, section := range []any{full().Filesystem, full().Network} {
		v := reflect.ValueOf(section)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name != "Disabled" && name != "Unrestricted" { // each contradicts the lists, or hides them
				require.False(t, v.Field(i).IsZero(), name)
			}
		}
	}
}

// R27, R28, R29, A18: the whole shape survives a round trip, and so do the two switches.
func TestRoundTrip(t *testing.T) {
	for _, p := range []Policy{{}, full(), {Filesystem: Filesystem{Disabled: true}, Network: Network{Unrestricted: true}}} {
		data, err := json.Marshal(p)
		require.NoError(t, err)
		back, err := Parse(data)
		require.NoError(t, err, "%s", data)
		require.Equal(t, p, back)
		var inside struct{ Policy Policy }
		require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"Policy": %s}`, data), &inside))
		require.Equal(t, p, inside.Policy)
	}
}

// R28, R29: the keys are the reference's, and A6: "disabled" is Unrestricted.
func TestJSONKeys(t *testing.T) {
	data, err := json.Marshal(full())
	require.NoError(t, err)
	require.JSONEq(t, `{
		"filesystem": {
			"allowRead": ["/w/a", "**/ok"], "denyRead": ["/w"],
			"allowWrite": ["/w/out", {"path": "/w/later <&>", "optional": true}], "denyWrite": ["/w/out/*.pem"],
			"gitSafeDirectories": ["/w"], "allowGitConfig": true, "allowMandatory": [".vscode"], "mandatoryDenySearchDepth": 3
		},
		"network": {
			"allowedDomains": ["*.example.com", "192.0.2.1:443"], "deniedDomains": ["bad.example.com"],
			"deniedDomainReasons": {"bad.example.com": "it is a test"}, "allowUnixSockets": ["/run/x.sock"]
		}
	}`, string(data))
	p, err := Parse([]byte(`{"network": {"disabled": true}}`))
	require.NoError(t, err)
	require.True(t, p.Network.Unrestricted)
}

// R30: the reference's example decodes as written.
func TestExamplePolicyDecodes(t *testing.T) {
	data, err := os.ReadFile("testdata/example.json")
	require.NoError(t, err)
	p, err := Parse(data)
	require.NoError(t, err)
	require.Equal(t, Policy{
		Filesystem: Filesystem{
			AllowRead: Paths("/workspace"), AllowWrite: Paths("/workspace/out"), DenyRead: Paths("/workspace/.env", "/workspace/.git/hooks"),
			DenyWrite: Paths("/workspace/.git/hooks"), GitSafeDirectories: []string{"/workspace"},
		},
		Network: Network{AllowedDomains: []string{"api.example.test"}},
	}, p)
}

// R22, R27, R28, R29, A17: what is refused, where, and what is said of it.
func TestParseRefuses(t *testing.T) {
	fs := func(body string) string { return `{"filesystem": {` + body + `}}` }
	net := func(body string) string { return `{"network": {` + body + `}}` }
	for _, c := range []struct{ name, json, key, nearest, says string }{
		{"unknown top", `{"filesytem": {}}`, "filesytem", "filesystem", "unknown key"},
		{"unknown top, nothing near", `{"limits": {}}`, "limits", "", "known here are filesystem, network"},
		{"unknown section key", fs(`"allowReads": []`), "filesystem.allowReads", "allowRead", "unknown key"},
		{"case counts", fs(`"allowread": []`), "filesystem.allowread", "allowRead", "unknown key"},
		{"network key", net(`"allowDomains": []`), "network.allowDomains", "allowedDomains", "unknown key"},
		{"Go's name for disabled", net(`"unrestricted": true`), "network.unrestricted", "", "known here are allowedDomains"},
		{"entry key", fs(`"allowRead": [{"path": "/a", "optinal": true}]`), "filesystem.allowRead[0].optinal", "optional", "unknown key"},
		{"entry without path", fs(`"allowRead": [{"optional": true}]`), "filesystem.allowRead[0]", "", `no "path"`},
		{"key with a newline", "{\"a\\nb\": 1}", `"a\nb"`, "", "unknown key"},
		{"repeated key", fs(`"allowRead": [], "allowRead": []`), "filesystem.allowRead", "", "twice"},
		{"repeated key, escaped", fs(`"allowRead": [], "\u0061llowRead": []`), "filesystem.allowRead", "", "twice"},
		{"repeated section", `{"network": {}, "network": {}}`, "network", "", "twice"},
		{"repeated reason", net(`"deniedDomains": ["a"], "deniedDomainReasons": {"a": "x", "a": "y"}`), "network.deniedDomainReasons.a", "", "twice"},
		{"top is a list", `[]`, "", "", "a list where an object belongs"},
		{"top is null", `null`, "", "", "null where an object belongs"},
		{"section is null", `{"filesystem": null}`, "filesystem", "", "null where an object"},
		{"section is a string", `{"network": "none"}`, "network", "", `the string "none" where an object`},
		{"list is null", fs(`"denyRead": null`), "filesystem.denyRead", "", "null where a list"},
		{"list is a string", fs(`"denyRead": "/a"`), "filesystem.denyRead", "", `the string "/a" where a list`},
		{"entry is a number", fs(`"denyWrite": ["/a", 7]`), "filesystem.denyWrite[1]", "", "the number 7 where a path"},
		{"entry is null", fs(`"denyWrite": [null]`), "filesystem.denyWrite[0]", "", "null where a path"},
		{"path is a list", fs(`"denyWrite": [{"path": []}]`), "filesystem.denyWrite[0].path", "", "a list where a string"},
		{"optional is a string", fs(`"allowRead": [{"path": "/a", "optional": "yes"}]`), "filesystem.allowRead[0].optional", "", "true or false"},
		{"bool is a number", fs(`"disabled": 1`), "filesystem.disabled", "", "the number 1 where true or false"},
		{"bool is a string", fs(`"allowGitConfig": "true"`), "filesystem.allowGitConfig", "", "true or false"},
		{"git directory is an object", fs(`"gitSafeDirectories": [{"path": "/a"}]`), "filesystem.gitSafeDirectories[0]", "", "an object where a string"},
		{"depth is a fraction", fs(`"mandatoryDenySearchDepth": 1.5`), "filesystem.mandatoryDenySearchDepth", "", "whole number"},
		{"depth is negative", fs(`"mandatoryDenySearchDepth": -1`), "filesystem.mandatoryDenySearchDepth", "", "whole number"},
		{"depth is huge", fs(`"mandatoryDenySearchDepth": 99999999999999999999`), "filesystem.mandatoryDenySearchDepth", "", "whole number"},
		{"domain is a number", net(`"allowedDomains": [1]`), "network.allowedDomains[0]", "", "the number 1 where a string"},
		{"reasons are a list", net(`"deniedDomainReasons": []`), "network.deniedDomainReasons", "", "a list where an object"},
		{"trailing text", `{} {}`, "", "", "line 1 column 4"},
		{"cut short", "{\n\"filesystem\": {", "", "", "line 2"},
		{"comment", "{} // x", "", "", "not JSON"},
		{"empty", " \n", "", "", "the document is empty"},
		{"byte order mark", "\xef\xbb\xbf{}", "", "", "byte order mark"},
		{"invalid UTF-8", "{\"filesystem\": {\"denyRead\": [\"/\xff\"]}}", "", "", "not valid UTF-8"},
		{"lone surrogate", fs(`"denyRead": ["/\ud800"]`), "filesystem.denyRead[0]", "", "surrogate"},
		{"lone low surrogate", fs(`"denyRead": ["/\udc00\\ud800"]`), "filesystem.denyRead[0]", "", "surrogate"},
		{"surrogate with a letter", fs(`"denyRead": ["/\ud800\u0041"]`), "filesystem.denyRead[0]", "", "surrogate"},
		{"huge", `{"filesystem": {"denyRead": ["/` + strings.Repeat("a", 100<<20) + `"]}}`, "", "", "more than the 1048576"},
		{"deep", strings.Repeat("[", 500_000), "", "", "not JSON"},
		{"deep below an unknown key", `{"x": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, "x", "", "unknown key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Parse([]byte(c.json))
			requireRefused(t, err, c.key, c.nearest, c.says)
			require.Equal(t, Policy{}, p)
		})
	}
}

func requireRefused(t *testing.T, err error, key, nearest, says string) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, ErrInvalid)
	require.Equal(t, key, e.Key)
	require.Equal(t, nearest, e.Nearest)
	text := err.Error()
	require.Contains(t, text, says)
	require.True(t, strings.HasPrefix(text, "policy"), text)
	require.NotContains(t, text, "\n")
	require.Less(t, len(text), 700)
	if nearest != "" {
		require.Contains(t, text, fmt.Sprintf("did you mean %q?", nearest))
	}
}

// A surrogate pair, an escaped backslash before a "u" and a plain escape are no faults.
func TestParseTakesEscapes(t *testing.T) {
	p, err := Parse([]byte(`{"filesystem": {"denyRead": ["/\ud83d\ude00", "/\\ud800", "/\u0041\ufffd"]}}`))
	require.NoError(t, err)
	require.Equal(t, Paths("/😀", `/\ud800`, "/A\ufffd"), p.Filesystem.DenyRead)
}

// R22: the paths that no list takes, from JSON and from Go alike.
func TestPathsRefused(t *testing.T) {
	for _, c := range []struct{ path, says, hint string }{
		{"", "empty path", ""},
		{"src", "not an absolute path", "/work/src"},
		{"./src", "not an absolute path", "/work/src"},
		{"../src", "not an absolute path", "/work/src"},
		{"*.pem", "not an absolute path", "**/*.pem"},
		{"~", "~ is not expanded", "/home/you"},
		{"~/.ssh", "~ is not expanded", "/home/you/.ssh"},
		{"~bob/x", "~ is not expanded", "/home/you/x"},
		{"../../x", "not an absolute path", "/work/x"},
		{"/w/../etc", "not a canonical path", "write /etc"},
		{"/w/..", "not a canonical path", "write /"},
		{"/w/./x", "not a canonical path", "write /w/x"},
		{"/w//x", "not a canonical path", "write /w/x"},
		{"//", "not a canonical path", "write /"},
		{"/w//", "not a canonical path", "write /w"},
		{"/w\x00/x", "NUL", ""},
		{"/w/\xff", "UTF-8", ""},
		{`C:\work`, "WSL2", "/mnt/c/work"},
		{"c:/work", "WSL2", "/mnt/c/work"},
		{`\\server\share`, "WSL2", ""},
		{"**/../x", "not a canonical path", "write /x"},
		{"/" + strings.Repeat("a", 4095), "more than the 4095", ""},
	} {
		for _, l := range (Filesystem{}).lists() {
			p := Policy{}
			*listOf(&p, l.name) = Paths("/ok", c.path)
			err := p.Validate()
			requireRefused(t, err, "filesystem."+l.name+"[1]", "", c.says)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Hint, c.hint)
			_, err = json.Marshal(p)
			require.ErrorIs(t, err, ErrInvalid)
			_, err = p.Compile(CompileOptions{})
			require.ErrorIs(t, err, ErrInvalid)
		}
	}
}

func listOf(p *Policy, name string) *[]PathEntry {
	switch name {
	case "allowRead":
		return &p.Filesystem.AllowRead
	case "denyRead":
		return &p.Filesystem.DenyRead
	case "allowWrite":
		return &p.Filesystem.AllowWrite
	}
	return &p.Filesystem.DenyWrite
}

// The spellings that are odd and right.
func TestPathsTaken(t *testing.T) {
	for _, path := range []string{"/", "/w/", "/w", "/w/...", "/w/..x", "/w/x y", "/w/[", "/w/{a,b}", `/w/a\b`, "**", "**/.env", "/**", "/w/**", "/w/a*/**/[!x]?"} {
		require.NoError(t, Policy{Filesystem: Filesystem{DenyRead: Paths(path)}}.Validate(), path)
	}
}

// R22, R41, R43, R47, A18: the checks of everything that is no list of paths.
func TestValidateRefuses(t *testing.T) {
	many := make([]string, maxEntries+1)
	for i := range many {
		many[i] = "a.example"
	}
	for _, c := range []struct {
		name               string
		p                  Policy
		key, nearest, says string
	}{
		{"git directory", Policy{Filesystem: Filesystem{GitSafeDirectories: []string{"/w", "repo"}}}, "filesystem.gitSafeDirectories[1]", "", "not an absolute path"},
		{"git star", Policy{Filesystem: Filesystem{GitSafeDirectories: []string{"*"}}}, "filesystem.gitSafeDirectories[0]", "", "not an absolute path"},
		{"git pattern", Policy{Filesystem: Filesystem{GitSafeDirectories: []string{"/w/*"}}}, "filesystem.gitSafeDirectories[0]", "", "a pattern"},
		{"depth", Policy{Filesystem: Filesystem{MandatoryDenySearchDepth: number(-1)}}, "filesystem.mandatoryDenySearchDepth", "", "less than zero"},
		{"mandatory", Policy{Filesystem: Filesystem{AllowMandatory: []string{".git/hook"}}}, "filesystem.allowMandatory[0]", ".git/hooks", "no mandatory name"},
		{"mandatory, nothing near", Policy{Filesystem: Filesystem{AllowMandatory: []string{"Makefile"}}}, "filesystem.allowMandatory[0]", "", "no mandatory name"},
		{"too many", Policy{Network: Network{AllowedDomains: many}}, "network.allowedDomains", "", "10001 entries"},
		{"unrestricted and allowed", Policy{Network: Network{Unrestricted: true, AllowedDomains: []string{"a.b"}}}, "network.disabled", "", "network.allowedDomains restricts it"},
		{"unrestricted and denied", Policy{Network: Network{Unrestricted: true, DeniedDomains: []string{"a.b"}}}, "network.disabled", "", "network.deniedDomains restricts it"},
		{"unrestricted and reasons", Policy{Network: Network{Unrestricted: true, DeniedDomainReasons: map[string]string{"a": "b"}}}, "network.disabled", "", "network.deniedDomainReasons restricts it"},
		{"reason for nothing", Policy{Network: Network{DeniedDomains: []string{"a.example"}, DeniedDomainReasons: map[string]string{"b.example": "x"}}}, "network.deniedDomainReasons.b.example", "a.example", "does not list"},
		{"reason for no domain", Policy{Network: Network{DeniedDomainReasons: map[string]string{"http://x": "x"}}}, `network.deniedDomainReasons."http://x"`, "", "a URL"},
		{"empty reason", Policy{Network: Network{DeniedDomains: []string{"a"}, DeniedDomainReasons: map[string]string{"a": ""}}}, "network.deniedDomainReasons.a", "", "one line"},
		{"reason of two lines", Policy{Network: Network{DeniedDomains: []string{"a"}, DeniedDomainReasons: map[string]string{"a": "x\r\nSet-Cookie: y"}}}, "network.deniedDomainReasons.a", "", "one line"},
		{"long reason", Policy{Network: Network{DeniedDomains: []string{"a"}, DeniedDomainReasons: map[string]string{"a": strings.Repeat("x", 501)}}}, "network.deniedDomainReasons.a", "", "one line"},
		{"relative socket", Policy{Network: Network{AllowUnixSockets: []string{"run/x"}}}, "network.allowUnixSockets[0]", "", "not an absolute path"},
		{"abstract socket", Policy{Network: Network{AllowUnixSockets: []string{"@x"}}}, "network.allowUnixSockets[0]", "", "abstract"},
		{"socket pattern", Policy{Network: Network{AllowUnixSockets: []string{"/run/*"}}}, "network.allowUnixSockets[0]", "", "a pattern"},
	} {
		t.Run(c.name, func(t *testing.T) { requireRefused(t, c.p.Validate(), c.key, c.nearest, c.says) })
	}
	require.NoError(t, Policy{Network: Network{Unrestricted: true, AllowedDomains: []string{}}}.Validate(), "an empty list restricts nothing")
	require.NoError(t, Policy{Network: Network{DeniedDomains: []string{"A.example."}, DeniedDomainReasons: map[string]string{"a.EXAMPLE": "x"}}}.Validate())
}

// A17: the nearest known spelling, or none rather than a wild guess.
func TestNearest(t *testing.T) {
	known := append(filesystemKeys, networkKeys...)
	for unknown, want := range map[string]string{
		"alowRead": "allowRead", "denyRaed": "denyRead", "AllowWrite": "allowWrite", "disable": "disabled", "deniedDomain": "deniedDomains",
		"allowUnixSocket": "allowUnixSockets", "x": "", "timeout": "", strings.Repeat("allowRead", 1000): "",
	} {
		require.Equal(t, want, nearest.Of(unknown, known), unknown)
	}
}

// R25: an error is one line that carries its cause, and hides none of it from errors.Is.
func TestErrorText(t *testing.T) {
	cause := errors.New("no such thing")
	e := &Error{Key: "filesystem.allowRead[0]", Value: "/a\nb" + strings.Repeat("é", 200), Reason: "it cannot be resolved", Err: cause}
	require.ErrorIs(t, e, cause)
	require.ErrorIs(t, e, ErrInvalid)
	require.Contains(t, e.Error(), `policy: filesystem.allowRead[0] "/a\nbéé`)
	require.Contains(t, e.Error(), `…": it cannot be resolved: no such thing`)
	require.Equal(t, "policy: the document is empty", (&Error{Reason: "the document is empty"}).Error())
}

// A18: an entry alone reads and writes as it does in a policy.
func TestPathEntryJSON(t *testing.T) {
	for text, want := range map[string]PathEntry{
		`"/a"`: {Path: "/a"}, `{"path":"/a","optional":true}`: {Path: "/a", Optional: true}, `{"path": "/a"}`: {Path: "/a"},
	} {
		var e PathEntry
		require.NoError(t, json.Unmarshal([]byte(text), &e))
		require.Equal(t, want, e)
	}
	for _, text := range []string{`"a"`, `null`, `7`, `{"path": "/a", "path": "/b"}`, `{"Path": "/a"}`} {
		var e PathEntry
		require.ErrorIs(t, json.Unmarshal([]byte(text), &e), ErrInvalid, text)
	}
}
