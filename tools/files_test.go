//go:build unix

package tools

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/artifact"
	"sallyport/policy"
)

// call calls a tool with a path.
func callPath(t testing.TB, r *Registry, tool, path string) (Result, error) {
	t.Helper()
	return r.Call(t.Context(), tool, args(t, map[string]any{"path": path}))
}

// denying makes rules that deny reading some paths of a directory.
func denying(t *testing.T, dir string, paths ...string) *policy.Rules {
	t.Helper()
	p := policy.Policy{Filesystem: policy.Filesystem{AllowRead: policy.Paths(dir), AllowWrite: policy.Paths(dir)}}
	for _, path := range paths {
		p.Filesystem.DenyRead = append(p.Filesystem.DenyRead, policy.PathEntry{Path: filepath.Join(dir, path)})
	}
	rules, err := p.Compile(policy.CompileOptions{Resolve: filepath.EvalSymlinks})
	require.NoError(t, err)
	return rules
}

// restricted makes a registry of the file tools whose policy denies some paths of the workspace.
func restricted(t *testing.T, contents map[string]string, denied ...string) (*Registry, *memory, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	files(t, dir, contents)
	r, err := New(Options{Gate: approve, Workspace: dir, Rules: denying(t, dir, denied...), WriteRoot: ".", Trust: Untrusted})
	require.NoError(t, err)
	store := &memory{}
	r.keepIn(store)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, store, dir
}

// TestOpenStores: opening gives the whole file, byte by byte, as an artifact (R217, R274).
func TestOpenStores(t *testing.T) {
	content := "one\r\n\xfftwo\x00\n\nno newline"
	r, store, _ := opened(t, map[string]string{"sub/a": content, "empty": ""}, Options{})
	for _, path := range []string{"sub/a", "/sub/a", "./sub//a", `sub\a`} { // R288: a leading slash is the root
		res, err := callPath(t, r, OpenFile, path)
		require.NoError(t, err, path)
		require.Equal(t, content, store.made[res.ID].text(), path)
		require.True(t, store.made[res.ID].ended)
	}
	res, err := callPath(t, r, OpenFile, "empty")
	require.NoError(t, err)
	require.EqualValues(t, 0, res.Artifact.Bytes)
}

// TestOpenFormats: the three differ in the queries they give, and what is not of the format is still text (R218, R275).
func TestOpenFormats(t *testing.T) {
	r, store, _ := opened(t, map[string]string{"a": "{not json"}, Options{})
	for tool, format := range map[string]string{OpenFile: "text", OpenJSONFile: "json", OpenMarkdownFile: "markdown"} {
		res, err := callPath(t, r, tool, "a")
		require.NoError(t, err)
		require.Equal(t, format, res.Artifact.Format)
		require.Contains(t, res.Artifact.Queries, "artifact_grep")
		require.Equal(t, "{not json", store.made[res.ID].text())
	}
}

// TestOpenRegularOnly: a directory, a pipe, a socket and a device are refused, at once, each in its own words (R219).
func TestOpenRegularOnly(t *testing.T) {
	r, store, dir := opened(t, map[string]string{"sub/": "", "f": ""}, Options{})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer listener.Close()
	since := time.Now()
	for _, tool := range []string{OpenFile, OpenJSONFile, OpenMarkdownFile, StageFile} {
		for path, want := range map[string]Outcome{"sub": IsADirectory, "pipe": NotARegularFile, "f/x": NotFound} {
			_, err := callPath(t, r, tool, path)
			require.ErrorIs(t, err, &Error{Outcome: want, Code: CodeRefused}, "%s %s", tool, path)
		}
		_, err := callPath(t, r, tool, "socket")
		require.Error(t, err)
	}
	require.Less(t, time.Since(since), 10*time.Second)
	require.Empty(t, store.made, "nothing was begun")
}

// TestNoExistenceOracle: what is not there, what is denied, what is below either and what is a link all read the same, with one code, in every
// tool that takes a path (R220, R287, R291).
func TestNoExistenceOracle(t *testing.T) {
	r, _, dir := restricted(t, map[string]string{"secret/key": "k", "ok/f": "x"}, "secret")
	require.NoError(t, os.Symlink(filepath.Join(dir, "ok/f"), filepath.Join(dir, "inner")))
	require.NoError(t, os.Symlink("ok", filepath.Join(dir, "dirlink")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "outer")))
	for _, tool := range []string{OpenFile, OpenJSONFile, OpenMarkdownFile, StageFile, ListDirectory} {
		for _, path := range []string{"none", "none/key", "secret", "secret/key", "secret/none", "inner", "dirlink", "dirlink/f", "outer"} {
			_, err := callPath(t, r, tool, path)
			require.EqualError(t, err, fmt.Sprintf(`%q: there is no such file or directory, or the policy does not let you use it. `+
				`Look at what is listed in its parent directory, or ask the user for access.`, path), tool)
			require.Equal(t, CodeRefused, CodeOf(err))
		}
	}
}

// TestPathRejections: a path that cannot be below the workspace is refused for its spelling, before anything is looked at, with the remedy for
// its reason; the code of the path is the cause and not the text (R24, R285, R289, R290).
func TestPathRejections(t *testing.T) {
	r, _, _ := opened(t, map[string]string{"%2e%2e/f": "x", "a/f": "x"}, Options{})
	for _, tool := range []string{OpenFile, StageFile, ListDirectory} {
		for path, reason := range map[string]string{
			"../x": "escape", "a/../../x": "escape", `a\..\..\x`: "escape", "/../x": "escape", "~/x": "home", "~root/x": "home",
			"C:/x": "absolute-host", `c:\x`: "absolute-host", "//server/share": "unc", `\\server\share`: "unc", `\\.\pipe\x`: "device", `//?/C:/x`: "device",
			"a\x00b": "nul", "~\x00": "nul",
		} {
			_, err := callPath(t, r, tool, path)
			require.ErrorIs(t, err, &Error{Code: CodeRefused, Outcome: PathRejected}, "%s %q", tool, path)
			require.Equal(t, reason, err.(*Error).Reason, "%q", path)
			require.ErrorIs(t, err, &Error{Code: CodePathEscape})
			row, _ := rowOf(Outcomes(), PathRejected, reason)
			require.Contains(t, Render(err), row.Action)
		}
	}
	_, err := callPath(t, r, OpenFile, "%2e%2e/f")
	require.NoError(t, err, "%2e is a name")
	_, err = callPath(t, r, OpenFile, "a/../a/./f")
	require.NoError(t, err)
}

// FuzzToRelative: whatever the path, nothing outside of the workspace is opened (R292).
func FuzzToRelative(f *testing.F) {
	for _, s := range []string{"../x", "a/../../x", `\\?\C:\x`, "~", "link/../..", "a/link/x", "/proc/self/root/etc/passwd"} {
		f.Add(s)
	}
	outside := filepath.Join(f.TempDir(), "outside")
	require.NoError(f, os.WriteFile(outside, []byte("outside"), 0o600))
	dir := f.TempDir()
	files(f, dir, map[string]string{"a/f": "inside"})
	require.NoError(f, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "link")))
	require.NoError(f, os.Symlink(outside, filepath.Join(dir, "a/out")))
	rules, err := rulesOf(Options{})
	require.NoError(f, err)
	w, err := openWorkspace(Options{Workspace: dir}, rules)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, path string) {
		file, err := w.Open(path)
		if err != nil {
			return
		}
		defer file.Close()
		b := make([]byte, 7)
		_, err = file.Read(b)
		require.NoError(t, err)
		require.Equal(t, "inside ", string(append(b[:6], ' ')))
	})
}

// TestStage: staging reads nothing and gives media with the trust that was configured; no query comes with it (R221, R227).
func TestStage(t *testing.T) {
	r, store, _ := opened(t, map[string]string{"a.bin": "\x00\x01"}, Options{Trust: Vouched})
	res, err := callPath(t, r, StageFile, "/a.bin")
	require.NoError(t, err)
	require.Equal(t, &MediaHandle{ID: res.Media.ID, Path: "a.bin", MIME: "application/octet-stream", Bytes: 2, Trust: Vouched}, res.Media)
	require.Nil(t, res.Artifact)
	require.Empty(t, store.made)
	require.Equal(t, append(fileTools(), MediaReplace), toolNames(r))
	require.NoError(t, r.EndTurn())
	require.Equal(t, fileTools(), toolNames(r))
}

func fileTools() []string {
	return []string{OpenFile, OpenJSONFile, OpenMarkdownFile, StageFile, SaveMedia, ListDirectory}
}

// TestStagedReader: a staged file is opened and judged anew each time it is read: a link, a pipe or a denied file in its place is not read
// (R224).
func TestStagedReader(t *testing.T) {
	r, _, dir := opened(t, map[string]string{"a": "one"}, Options{})
	res, err := callPath(t, r, StageFile, "a")
	require.NoError(t, err)
	m, ok := r.turns.now.medium(res.Media.ID)
	require.True(t, ok)
	read := func() string {
		f, err := m.source.Open()
		if err != nil {
			return err.Error()
		}
		defer f.Close()
		b, _, err := readShort(f)
		require.NoError(t, err)
		return string(b)
	}
	require.Equal(t, "one", read())
	files(t, dir, map[string]string{"a": "two"})
	require.Equal(t, "two", read())
	require.NoError(t, os.Remove(filepath.Join(dir, "a")))
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(dir, "a")))
	require.Contains(t, read(), "no such file, or it may not be read")
}

// TestStageDoesNotWrite: what is done with media changes nothing on disk (R222).
func TestStageDoesNotWrite(t *testing.T) {
	r, _, dir := opened(t, map[string]string{"a": "one two one"}, Options{})
	res, err := callPath(t, r, StageFile, "a")
	require.NoError(t, err)
	replace := func(old string) (Result, error) {
		return r.Call(t.Context(), MediaReplace, args(t, map[string]any{"media_id": res.Media.ID, "old": old, "new": "2"}))
	}
	edited, err := replace("two")
	require.NoError(t, err)
	require.NotEqual(t, res.Media.ID, edited.Media.ID)
	require.Equal(t, int64(9), edited.Media.Bytes)
	for old, times := range map[string]int{"one": 2, "none": 0} {
		_, err = replace(old)
		require.ErrorIs(t, err, &Error{Outcome: InvalidPattern})
		require.ErrorContains(t, err, fmt.Sprintf("it is there %d times, and has to be there once", times))
	}
	b, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.Equal(t, "one two one", string(b))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// TestNoFDLeak: ten thousand stagings leave no descriptor open (D11).
func TestNoFDLeak(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc")
	}
	r, _, _ := opened(t, map[string]string{"a": "x"}, Options{})
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	before := count()
	for range 10_000 {
		_, err := r.Call(t.Context(), StageFile, json.RawMessage(`{"path":"a"}`))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, count(), before)
}

// listing lists a directory and gives its lines.
func listing(t *testing.T, r *Registry, store *memory, fields map[string]any) ([]string, Result) {
	t.Helper()
	res, err := r.Call(t.Context(), ListDirectory, args(t, fields))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(store.made[res.ID].text(), "\n"), "\n"), res
}

// TestList: one object a line, with the path from the directory that is listed, and a last one that says whether that is all (R237). What may
// not be read is left out, with all that is below it (R232, R234), and links are not followed (R238).
func TestList(t *testing.T) {
	r, store, dir := restricted(t, map[string]string{"d/b/f": "", "d/a": "", "d/secret/key": "", "d/denied": "", "x": ""}, "d/secret", "d/denied")
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "d/link")))
	lines, res := listing(t, r, store, map[string]any{"path": "d"})
	require.Equal(t, []string{
		`{"kind":"item","path":"a","entryKind":"file"}`, `{"kind":"item","path":"b","entryKind":"dir"}`, `{"kind":"item","path":"b/f","entryKind":"file"}`,
		`{"kind":"end","complete":true}`,
	}, lines)
	require.Empty(t, res.Notes)
	require.Equal(t, "jsonl", res.Artifact.Format)
	lines, _ = listing(t, r, store, map[string]any{"path": ""})
	require.Equal(t, `{"kind":"item","path":"d/b/f","entryKind":"file"}`, lines[3])
}

// TestListDeniedRoot: the directory itself is judged first, and it must be one (R233).
func TestListDeniedRoot(t *testing.T) {
	r, store, _ := restricted(t, map[string]string{"secret/key": "", "f": ""}, "secret")
	for path, want := range map[string]Outcome{"secret": DeniedByPolicy, "none": NotFound, "f": NotADirectory, "..": PathRejected} {
		_, err := callPath(t, r, ListDirectory, path)
		require.ErrorIs(t, err, &Error{Outcome: want, Code: CodeRefused}, path)
	}
	require.Empty(t, store.made)
}

// TestListDepth: the only bound is max_depth; that it was met is said, without any number that was made up (R235).
func TestListDepth(t *testing.T) {
	r, store, _ := opened(t, map[string]string{"a/b/c/d": "", "f": ""}, Options{})
	lines, res := listing(t, r, store, map[string]any{"path": "", "max_depth": 1})
	require.Equal(t, []string{
		`{"kind":"item","path":"a","entryKind":"dir"}`, `{"kind":"item","path":"a/b","entryKind":"dir"}`, `{"kind":"item","path":"f","entryKind":"file"}`,
		`{"kind":"end","complete":false,"stopped":"depth"}`,
	}, lines)
	require.Equal(t, []string{`Nothing deeper than 1 levels below "." was looked at. For more, set max_depth higher or begin further down.`}, res.Notes)
	_, res = listing(t, r, store, map[string]any{"path": "", "max_depth": 0})
	require.Len(t, res.Notes, 1)
	lines, res = listing(t, r, store, map[string]any{"path": ""})
	require.Empty(t, res.Notes)
	require.Contains(t, lines, `{"kind":"item","path":"a/b/c/d","entryKind":"file"}`)
}

// TestListProtocol: a listing whose last line could not be written is no listing (R236).
func TestListProtocol(t *testing.T) {
	r, store, _ := opened(t, map[string]string{"a": ""}, Options{})
	store.write = syscall.ENOSPC
	_, err := callPath(t, r, ListDirectory, "")
	require.ErrorIs(t, err, &Error{Outcome: IOFailure, Code: CodeFailed})
	require.ErrorIs(t, err, syscall.ENOSPC)
	for _, k := range store.made {
		require.True(t, k.released)
	}
	_, err = callPath(t, r, OpenFile, "a")
	require.ErrorIs(t, err, &Error{Outcome: IOFailure, Code: CodeFailed})
	require.Equal(t, fileTools(), toolNames(r), "nothing is left to query")
}

// TestRedaction: no text of ours, of any tool and any failure, names the workspace, the home directory or the user (R286, R277, R192).
func TestRedaction(t *testing.T) {
	r, store, dir := restricted(t, map[string]string{"secret/key": "", "d/f": "", "pipe": ""}, "secret")
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	said := func(err error, res Result) string {
		if err != nil {
			return Render(err)
		}
		return res.Model()
	}
	for _, path := range []string{"", "d", "d/f", "secret", "secret/key", "../x", "~/x", "none", "d/f/g", strings.Repeat("x", 5000), "a\x00"} {
		for _, tool := range fileTools() {
			fields := map[string]any{"path": path}
			if tool == SaveMedia {
				fields["media_id"] = "m"
			}
			res, err := r.Call(t.Context(), tool, args(t, fields))
			text := said(err, res)
			require.NotContains(t, text, dir, "%s %q", tool, path)
			require.NotContains(t, text, home+"/", "%s %q", tool, path)
			require.NotContains(t, text, "Error:", "R192")
		}
	}
	store.fail = &os.PathError{Op: "open", Path: dir + "/x", Err: syscall.ENOSPC}
	_, err = callPath(t, r, OpenFile, "d/f")
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NotContains(t, Render(err), dir)
}

// TestStagedNotDescribable: media cannot be written into a history before it was saved, not as a part of something either (R223, R322).
func TestStagedNotDescribable(t *testing.T) {
	r, _, _ := restricted(t, map[string]string{"a": "x"})
	res, err := callPath(t, r, StageFile, "a")
	require.NoError(t, err)
	m, ok := r.Media(res.Media.ID)
	require.True(t, ok)
	_, err = json.Marshal(map[string]any{"history": []any{m}})
	require.ErrorIs(t, err, artifact.ErrNotDescribable)
	require.ErrorContains(t, err, "save_media")
	_, err = r.Call(t.Context(), SaveMedia, args(t, map[string]any{"media_id": res.Media.ID, "path": "b"}))
	require.NoError(t, err)
	b, err := json.Marshal(map[string]any{"history": []any{m}})
	require.NoError(t, err)
	require.Contains(t, string(b), "saved as b")
}
