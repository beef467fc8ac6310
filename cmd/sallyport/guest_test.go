package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment/wasm/guest"
)

// TestWithoutTheGuest builds the program as somebody who imports the module gets it, without the guest: eval says which
// command brings it and runs nothing, on no other engine either; install brings it with npm.
func TestWithoutTheGuest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for npm is a shell script")
	}
	dir := t.TempDir()
	program := buildWithoutGuest(t, dir)
	run := func(npm string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "HOME="+dir, "PATH="+npm, "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("", "eval", "-e", "1 + 1")
	require.Error(t, err)
	require.Equal(t, "sallyport: engine wasm: nothing was run: find the guest: the guest is not here\n"+
		"hint: bring it with `go generate ./compartment/wasm` and build again, or with `sallyport guest install`\n", out)
	out, err = run("", "eval", "--engine", "goja", "-e", "1 + 1")
	require.NoError(t, err, out)
	require.Equal(t, "2\n", out)

	out, err = run("", "guest", "status")
	require.Error(t, err)
	require.Equal(t, "sallyport: the guest is not here\nhint: "+guestHint()+"\n", out)
	out, err = run("", "guest", "install")
	require.Error(t, err)
	require.Contains(t, out, `"npm": executable file not found in $PATH`)
	require.Contains(t, out, "hint: npm comes with Node.js")

	npm := filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(npm, 0o755))
	standIn(t, npm, "echo other")
	out, err = run(npm, "guest", "install")
	require.Error(t, err)
	require.Contains(t, out, "not the guest")

	module := realGuest(t)
	standIn(t, npm, `/bin/cat "`+module+`"`)
	out, err = run(npm, "guest", "install")
	require.NoError(t, err, out)
	require.Regexp(t, `^installed: .*`+guest.SHA256+`\.wasm\n$`, out)
	kept := strings.TrimSpace(strings.TrimPrefix(out, "installed: "))
	out, err = run("", "guest", "install")
	require.NoError(t, err, out)
	require.Contains(t, out, "it is there already: ")
	out, err = run("", "guest", "status")
	require.NoError(t, err, out)
	require.Regexp(t, `from    .*`+guest.SHA256+`\.wasm\n`, out)
	out, err = run("", "eval", "-e", "1 + 1")
	require.NoError(t, err, out)
	require.Equal(t, "2\n", out)

	// A file that somebody changed is not hosted, and not passed over; install puts it right.
	require.NoError(t, os.WriteFile(kept, []byte("\x00asm"), 0o644))
	for _, args := range [][]string{{"guest", "status"}, {"eval", "-e", "1 + 1"}} {
		out, err = run("", args...)
		require.Error(t, err)
		require.Contains(t, out, "not the guest: sha-256 is ")
		require.Contains(t, out, "\nhint: bring it with ")
	}
	out, err = run(npm, "guest", "install")
	require.NoError(t, err, out)
	out, err = run("", "eval", "-e", "1 + 1")
	require.NoError(t, err, out)
	require.Equal(t, "2\n", out)
}

// buildWithoutGuest builds this command from a tree that has no guest, whatever ours has.
func buildWithoutGuest(t *testing.T, dir string) string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command, to build the program without its guest")
	}
	file, err := filepath.Abs("../../compartment/wasm/guest/quickjs.wasm")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: ""}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	program := filepath.Join(dir, "sallyport")
	out, err := exec.CommandContext(t.Context(), goTool, "build", "-overlay", list, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// standIn puts a program called npm into dir, which brings a file made by a shell command, and knows only `npm ci`.
func standIn(t *testing.T, dir, command string) {
	t.Helper()
	script := "#!/bin/sh\nset -e\n[ \"$1\" = ci ]\n/bin/mkdir -p node_modules/" + guest.Package +
		"\n" + command + " > node_modules/" + guest.Package + "/quickjs.wasm\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "npm"), []byte(script), 0o755))
}

// realGuest is the path of a file that is the guest.
func realGuest(t *testing.T) string {
	t.Helper()
	module, _, err := guest.Find("")
	if err != nil {
		needGuest(t)
	}
	path := filepath.Join(t.TempDir(), "guest.wasm")
	require.NoError(t, os.WriteFile(path, module, 0o600))
	return path
}
