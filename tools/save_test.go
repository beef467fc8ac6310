//go:build linux

package tools

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
)

// staged stages a file and gives its id.
func staged(t *testing.T, r *Registry, path string) string {
	t.Helper()
	res, err := callPath(t, r, StageFile, path)
	require.NoError(t, err)
	return res.Media.ID
}

// save saves media.
func save(t *testing.T, r *Registry, id, path string) (Result, error) {
	t.Helper()
	return r.Call(t.Context(), SaveMedia, args(t, map[string]any{"media_id": id, "path": path}))
}

// TestSave: a new file is made and an old one replaced, whole, and the size is told (R228, R229, D6).
func TestSave(t *testing.T) {
	r, _, dir := restricted(t, map[string]string{"a": "new text", "old": "a longer old text", "sub/": ""})
	id := staged(t, r, "a")
	for _, path := range []string{"new", "old", "sub/new", "/sub/old"} {
		res, err := save(t, r, id, path)
		require.NoError(t, err, path)
		require.Equal(t, "Saved "+strings.TrimPrefix(path, "/")+" (8 bytes)", res.Text)
		b, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		require.Equal(t, "new text", string(b))
	}
}

// TestSaveRefused: media that are not there, places that are not to be written, links on the way, and directories (R225, R226, R228).
func TestSaveRefused(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	files(t, dir, map[string]string{"a": "x", "out/f": "old", "out/sub/": "", "out/deny/f": "old"})
	require.NoError(t, os.Symlink("../a", filepath.Join(dir, "out/link")))
	require.NoError(t, os.Symlink("sub", filepath.Join(dir, "out/dirlink")))
	p := policy.Policy{Filesystem: policy.Filesystem{AllowRead: policy.Paths(dir), AllowWrite: policy.Paths(dir), DenyWrite: policy.Paths(dir + "/out/deny")}}
	rules, err := p.Compile(policy.CompileOptions{Resolve: filepath.EvalSymlinks})
	require.NoError(t, err)
	r, err := New(Options{Gate: approve, Workspace: dir, Rules: rules, WriteRoot: "/out", Trust: Untrusted})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	id := staged(t, r, "a")
	for path, want := range map[string]Outcome{
		"a": OutsideWriteRoot, "new": OutsideWriteRoot, "out/../new": OutsideWriteRoot, "../x": PathRejected, "~/x": PathRejected, "out/sub": IsADirectory,
		"out/none/x": NotFound, "out/link": NotARegularFile, "out/dirlink/x": NotFound, "out/deny/f": DeniedByPolicy, "out/deny/new": DeniedByPolicy,
		"out/.bashrc": DeniedByPolicy, "out/sub/.git/hooks/x": NotFound, "out/.mcp.json": DeniedByPolicy, "out/.GIT": "",
	} {
		_, err := save(t, r, id, path)
		if want == "" {
			continue
		}
		require.ErrorIs(t, err, &Error{Outcome: want, Code: CodeRefused}, path)
		require.NotContains(t, err.Error(), dir)
	}
	_, err = save(t, r, id, "new")
	require.EqualError(t, err, `"new" is outside of "/out", which alone may be saved to. Save to a path below it.`)
	_, err = save(t, r, "none", "out/x")
	require.ErrorIs(t, err, &Error{Outcome: UnknownMedia})
	require.NoError(t, r.EndTurn())
	_, err = save(t, r, id, "out/x")
	require.ErrorIs(t, err, &Error{Outcome: UnknownMedia}, "media of a turn that is over")
	b, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.Equal(t, "x", string(b))
}

// TestSaveVsShellAgreement: what the shell may not write the tool may not write, and what one may the other may: names that are
// protected everywhere, patterns, denied and writable directories (R52, R230, D2, D3, live).
func TestSaveVsShellAgreement(t *testing.T) {
	r, _, dir := confined(t, map[string]string{"a": "x", "sub/.git/hooks/": "", "deny/": "", "sub/.git/config": "", ".env": "s", "k.secret": "s"}, func(p *policy.Policy, o *Options) {
		p.Filesystem.DenyWrite = policy.Paths(o.Workspace+"/deny", o.Workspace+"/**/x.lock")
		p.Filesystem.DenyRead = policy.Paths(o.Workspace+"/.env", o.Workspace+"/**/*.secret")
	})
	id := staged(t, r, "a")
	allowed, refused := 0, 0
	for _, path := range []string{
		"new", "sub/new", ".bashrc", "sub/.bashrc", ".BASHRC", ".mcp.json", "sub/.git/hooks/pre-commit", "sub/.git/config", "sub/.git/HEAD", ".gitmodules",
		"deny/new", "x.lock", "sub/x.lock", "y.lock", ".vscode", ".env", "new.secret", "sub/.profile", "sub/profile",
	} {
		_, err := save(t, r, id, path)
		res, shellErr := run(t, r, "printf y > '"+path+"'", nil)
		require.NoError(t, shellErr)
		require.Equal(t, res.Exit.ExitCode == 0, err == nil, "%s: the shell: %d, the tool: %v", path, res.Exit.ExitCode, err)
		if err == nil {
			allowed++
		} else {
			refused++
		}
	}
	require.Greater(t, allowed, 4)
	require.Greater(t, refused, 8)
	for _, path := range []string{".env", "k.secret"} { // reading agrees too
		_, err := callPath(t, r, OpenFile, path)
		require.ErrorIs(t, err, &Error{Outcome: DeniedByPolicy})
		res, shellErr := run(t, r, "cat "+path, nil)
		require.NoError(t, shellErr)
		require.NotEqual(t, 0, res.Exit.ExitCode)
	}
	_, err := os.Stat(filepath.Join(dir, ".bashrc"))
	require.ErrorIs(t, err, os.ErrNotExist, "and nothing is left of a refusal")
}

// TestPreviewIsWhatIsSaved: after the difference was shown the media is what was shown, whatever becomes of the file it was staged from.
func TestPreviewIsWhatIsSaved(t *testing.T) {
	r, _, dir := restricted(t, map[string]string{"a": "shown", "old": "before"})
	id := staged(t, r, "a")
	p, err := r.Preview(id, "old")
	require.NoError(t, err)
	require.Equal(t, Preview{Path: "old", Old: []byte("before"), New: []byte("shown")}, p)
	files(t, dir, map[string]string{"a": "not shown"})
	_, err = save(t, r, id, "old")
	require.NoError(t, err)
	b, err := os.ReadFile(filepath.Join(dir, "old"))
	require.NoError(t, err)
	require.Equal(t, "shown", string(b))

	files(t, dir, map[string]string{"big": strings.Repeat("x", longestPreview+1)})
	p, err = r.Preview(staged(t, r, "big"), "none")
	require.NoError(t, err)
	require.True(t, p.TooLong)
	p, err = r.Preview(id, "none")
	require.NoError(t, err)
	require.True(t, p.Absent)
	_, err = r.Preview("none", "old")
	require.Error(t, err)
}

// TestOnlyTwoMutators: after every tool but the two that may was called in every way there is, the directory is as it was (R231).
func TestOnlyTwoMutators(t *testing.T) {
	r, _, dir := confined(t, map[string]string{"a": `{"k":1}`, "sub/b": "# h\n"}, nil)
	before := tree(t, dir)
	for _, path := range []string{"", "a", "sub", "sub/b", "new", "../x", "sub/new"} {
		for _, tool := range r.Tools() {
			if tool.Name == SaveMedia || tool.Name == RunShellCommand {
				continue
			}
			fields := map[string]any{}
			for name, f := range tool.Schema.Properties {
				if f.Type == "string" {
					fields[name] = path
				}
			}
			_, err := r.Call(t.Context(), tool.Name, args(t, fields))
			var e *Error
			require.True(t, err == nil || errors.As(err, &e), "%s: %v", tool.Name, err)
		}
	}
	require.Equal(t, before, tree(t, dir))
}

// tree is what is in a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		all = append(all, path, info.Mode().String(), info.ModTime().String())
		return nil
	}))
	b, err := json.Marshal(all)
	require.NoError(t, err)
	return string(b)
}

// TestEditsAreBounded: no gate is asked about an edit, so all of a turn together take a bounded memory; the next turn has it again (R222).
func TestEditsAreBounded(t *testing.T) {
	r, _, _ := restricted(t, map[string]string{"a": strings.Repeat("x", 8<<20) + "U", "b": "U"})
	edit := func(id string) error {
		_, err := r.Call(t.Context(), MediaReplace, args(t, map[string]any{"media_id": id, "old": "U", "new": "V"}))
		return err
	}
	fill := func() {
		id := staged(t, r, "a")
		for range 7 { // each is a little more than 8 MiB
			require.NoError(t, edit(id))
		}
		err := edit(id)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, OverBudget, e.Outcome)
	}
	fill()
	require.NoError(t, edit(staged(t, r, "b"))) // the room that is left
	require.NoError(t, r.EndTurn())
	fill()
}
