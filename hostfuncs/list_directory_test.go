package hostfuncs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/hostfuncs"
)

// TestListDirectory: names and types below the directory, and nothing of the host in any answer (R232, R237, R238,
// R253, R286).
func TestListDirectory(t *testing.T) {
	path, dir := workspace(t)
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, hostfuncs.ListDirectory(dir))
		require.Equal(t, `[["bom","file"],["bytes","file"],["docs","directory"],["empty","file"],["fits","file"],["link","link"],["long","file"],["ok.txt","file"]]`,
			data(t, c, "(await listDirectory('.')).map(e => [e.name, e.type])"))
		require.Equal(t, `[{"name":"plan.md","type":"file"}]`, data(t, c, "listDirectory('/docs')"))
		for _, r := range []struct{ source, code, text string }{
			{"listDirectory('..')", "path_refused", "the path leads out of the workspace"},
			{"listDirectory('link')", "not_found_or_denied", `"link": no such file, or it may not be read`},
			{"listDirectory('none')", "not_found_or_denied", `"none": no such file, or it may not be read`},
			{"listDirectory('ok.txt')", "not_a_directory", `"ok.txt": is not a directory`},
			{"listDirectory()", "arguments", "path"},
			{"listDirectory({ toString: () => '.' })", "arguments", "path"},
		} {
			code, text := refused(t, c, r.source)
			require.Equal(t, r.code, code, r.source)
			require.Contains(t, text, r.text)
			require.NotContains(t, text, path)
		}
	})
}

// TestListDirectoryLong: the most names there may be cross in one call, on both engines, and one more is refused and
// not cut.
func TestListDirectoryLong(t *testing.T) {
	path, dir := workspace(t)
	for i := range 1000 {
		require.NoError(t, os.WriteFile(filepath.Join(path, "docs", fmt.Sprintf("%04d%s", i, strings.Repeat("x", 200))), nil, 0o600))
	}
	require.NoError(t, os.Remove(filepath.Join(path, "docs", "plan.md")))
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		require.Equal(t, "1000", data(t, open(t, e, compartment.Limits{}, hostfuncs.ListDirectory(dir)), "(await listDirectory('docs')).length"))
	})
	require.NoError(t, os.WriteFile(filepath.Join(path, "docs", "more"), nil, 0o600))
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		code, text := refused(t, open(t, e, compartment.Limits{}, hostfuncs.ListDirectory(dir)), "listDirectory('docs')")
		require.Equal(t, "too_many", code)
		require.Equal(t, `"docs": has more than 1000 names`, text)
	})
}
