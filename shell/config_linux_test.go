package shell_test

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// refused opens with a policy and options that cannot work, and gives the error, which came before anything was set up.
func refused(t *testing.T, p policy.Policy, o shell.Options) *shell.Error {
	t.Helper()
	before := descriptors(t)
	box, err := shell.Open(t.Context(), p, o)
	if err == nil {
		closeSoon(t, box)
	}
	require.Error(t, err)
	var e *shell.Error
	require.ErrorAs(t, err, &e)
	require.Empty(t, children(), "nothing was started")
	noNewDescriptors(t, before)
	return e
}

// TestBadPolicy: what is wrong with a policy is an error of the configuration that names the entry, from Open and from
// Compile alike (R22).
func TestBadPolicy(t *testing.T) {
	for _, tc := range []struct {
		name  string
		p     policy.Policy
		names string
	}{
		{"relative", policy.Policy{Filesystem: policy.Filesystem{AllowRead: policy.Paths("relative")}}, "allowRead[0]"},
		{"NUL", policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths("/", "/a\x00b")}}, "denyRead[1]"},
		{"empty", policy.Policy{Filesystem: policy.Filesystem{DenyWrite: policy.Paths("")}}, "denyWrite[0]"},
		{"contradiction", policy.Policy{Network: policy.Network{Unrestricted: true, AllowedDomains: []string{"example.com"}}}, "network"},
		{"no domain", policy.Policy{Network: policy.Network{DeniedDomains: []string{"a b"}}}, "deniedDomains[0]"},
		{"unknown name", policy.Policy{Filesystem: policy.Filesystem{AllowMandatory: []string{".bashrx"}}}, "allowMandatory"},
		{"relative git directory", policy.Policy{Filesystem: policy.Filesystem{GitSafeDirectories: []string{"here"}}}, "gitSafeDirectories"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := refused(t, tc.p, shell.Options{})
			require.Equal(t, shell.CodeInvalidConfig, e.Code)
			require.Contains(t, e.Error(), tc.names)
			require.ErrorIs(t, e, policy.ErrInvalid)
			_, err := shell.Compile(tc.p)
			code(t, err, shell.CodeInvalidConfig)
		})
	}
}

// TestAbsentAllowPath: an allowed path that does not exist is an error, never dropped silently, unless it is optional
// (R138); a denied one may be absent.
func TestAbsentAllowPath(t *testing.T) {
	absent := filepath.Join(workspace(t), "absent")
	for list, p := range map[string]policy.Filesystem{
		"allowRead": {AllowRead: policy.Paths(absent)}, "allowWrite": {AllowWrite: policy.Paths(absent)},
	} {
		e := refused(t, policy.Policy{Filesystem: p}, shell.Options{})
		require.Equal(t, shell.CodeInvalidConfig, e.Code)
		require.Contains(t, e.Error(), list+"[0]")
		require.Contains(t, e.Error(), absent)
		require.ErrorIs(t, e, iofs.ErrNotExist)
	}
	optional := []policy.PathEntry{{Path: absent, Optional: true}}
	box := open(t, policy.Policy{Filesystem: policy.Filesystem{AllowRead: optional, AllowWrite: optional, DenyRead: policy.Paths(absent), DenyWrite: policy.Paths(absent)}}, shell.Options{})
	require.Equal(t, "fine\n", output(t, command(t, box, "echo", "fine")))
}

// TestNotEnforceable: what the policy language can say and this boundary cannot keep is refused when the sandbox is
// opened, by name; Compile, which only explains, takes it (R65).
func TestNotEnforceable(t *testing.T) {
	dir := visible(t)
	for _, tc := range []struct {
		name  string
		p     policy.Policy
		names string
	}{
		{"path socket that is never seen", policy.Policy{Network: policy.Network{AllowUnixSockets: []string{"/tmp/no-such-directory/sock"}}}, "network.allowUnixSockets[0]"},
		{"read pattern", policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(dir), AllowRead: policy.Paths(dir + "/*.out")}}, "allowRead[0]"},
		{"write pattern", policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dir, "/**/*.out")}}, "allowWrite[1]"},
		{"pattern without meaning", policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(dir + "/[z-a]")}}, "denyRead[0]"},
		{"null device", policy.Policy{Filesystem: policy.Filesystem{DenyWrite: policy.Paths("/dev/null")}}, "denyWrite[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := refused(t, tc.p, shell.Options{})
			require.Contains(t, []shell.Code{shell.CodeInvalidConfig, shell.CodeUnsupportedEnv}, e.Code)
			require.Contains(t, e.Error(), tc.names)
			_, err := shell.Compile(tc.p)
			require.NoError(t, err)
		})
	}
}

// TestPrivateDirectoriesStayPrivate: a /proc or /dev of the host's cannot be had.
func TestPrivateDirectoriesStayPrivate(t *testing.T) {
	for _, p := range []policy.Filesystem{
		{AllowRead: policy.Paths("/proc")}, {AllowRead: policy.Paths("/proc/1")}, {AllowWrite: policy.Paths("/proc/sys")}, {AllowRead: policy.Paths("/dev")},
	} {
		if _, err := os.Stat("/proc/1"); err != nil {
			continue
		}
		e := refused(t, policy.Policy{Filesystem: p}, shell.Options{})
		require.Equal(t, shell.CodeInvalidConfig, e.Code)
	}
}

// TestHardLinkedFile: a file with two names cannot be denied by one of them, neither for reading nor, in a writable
// tree, for writing.
func TestHardLinkedFile(t *testing.T) {
	dir := workspace(t)
	secret := filepath.Join(dir, "secret")
	write(t, secret, "hunter2", 0o600)
	box := open(t, policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(secret)}}, shell.Options{})
	require.NoError(t, box.Close(), "with one name it can be denied")
	require.NoError(t, os.Link(secret, filepath.Join(dir, "alias")))
	for list, p := range map[string]policy.Filesystem{
		"denyRead": {DenyRead: policy.Paths(secret)}, "denyWrite": {AllowWrite: policy.Paths(dir), DenyWrite: policy.Paths(secret)},
	} {
		e := refused(t, policy.Policy{Filesystem: p}, shell.Options{})
		require.Equal(t, shell.CodeInvalidConfig, e.Code)
		require.Contains(t, e.Error(), list+"[0]")
		require.Contains(t, strings.Join(e.Hints, "\n"), "samefile")
	}
}

// TestLinkThatACommandCouldReplace: an allowed path that leads through a link in a writable directory is refused, for an
// earlier command could have made the link and with it chosen what is allowed. A denied one is taken, and the link stays
// as it is. Where commands cannot write, links are followed.
func TestLinkThatACommandCouldReplace(t *testing.T) {
	dir, work := visible(t), workspace(t)
	secret := filepath.Join(dir, "real/secret")
	write(t, secret, "hunter2", 0o644)
	inside, outside := filepath.Join(work, "link"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "real"), inside))
	require.NoError(t, os.Symlink("real", outside))
	for _, path := range []string{inside, inside + "/secret"} {
		for list, p := range map[string]policy.Filesystem{"allowRead": {AllowRead: policy.Paths(path)}, "allowWrite": {AllowWrite: policy.Paths(path)}} {
			p.AllowWrite = append(p.AllowWrite, policy.PathEntry{Path: work})
			e := refused(t, policy.Policy{Filesystem: p}, shell.Options{})
			require.Equal(t, shell.CodeInvalidConfig, e.Code)
			require.Contains(t, e.Error(), list+"[0]")
			require.Contains(t, e.Error(), inside)
			require.Contains(t, strings.Join(e.Hints, "\n"), filepath.Join(dir, "real"))
		}
	}
	for _, path := range []string{outside + "/secret", inside + "/secret"} {
		p := writable(work)
		p.Filesystem.DenyRead = policy.Paths(path)
		box := open(t, p, shell.Options{})
		out := output(t, script(t, box, `cat "$1" 2>/dev/null; for try in "rm -f" "ln -sfn /tmp" "mv -f /dev/null"; do $try "$2" 2>/dev/null; done; readlink "$2"`, secret, inside))
		require.NotContains(t, out, "hunter2")
		if strings.HasPrefix(path, inside) {
			require.Equal(t, filepath.Join(dir, "real")+"\n", out)
		}
		require.NoError(t, os.RemoveAll(inside))
		require.NoError(t, os.Symlink(filepath.Join(dir, "real"), inside))
	}
}

// TestBadOptions: options that can never work are refused before anything else.
func TestBadOptions(t *testing.T) {
	for names, o := range map[string]shell.Options{
		"Helper":        {Helper: "relative/helper"},
		"TmpBytes":      {TmpBytes: -1},
		"MemoryBytes":   {Limits: shell.Limits{MemoryBytes: -1}},
		"Processes":     {Limits: shell.Limits{Processes: -1}},
		"CPUTime":       {Limits: shell.Limits{CPUTime: -time.Second}},
		"FileSizeBytes": {Limits: shell.Limits{FileSizeBytes: -1}},
	} {
		t.Run(names, func(t *testing.T) {
			e := refused(t, policy.Policy{}, o)
			require.Equal(t, shell.CodeInvalidConfig, e.Code)
			require.Contains(t, e.Error(), names)
		})
	}
}

// TestErrorShape: an error's text is one line without a prefix (R25), and its code is found through wrapping (R26).
func TestErrorShape(t *testing.T) {
	e := refused(t, policy.Policy{}, shell.Options{TmpBytes: -1})
	require.Equal(t, "Options.TmpBytes is negative", e.Error())
	wrapped := errors.Join(errors.New("outer"), e)
	require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(wrapped))
	require.ErrorIs(t, wrapped, &shell.Error{Code: shell.CodeInvalidConfig})
	require.NotErrorIs(t, wrapped, &shell.Error{Code: shell.CodeFailed})
	require.NotErrorIs(t, wrapped, &shell.Error{Code: shell.CodeInvalidConfig, Detail: "another"}, "an error with details stands for itself alone")
	require.Empty(t, shell.CodeOf(errors.New("foreign")))
	require.Empty(t, shell.CodeOf(nil))
}

// TestManyEntries: hundreds of entries on every list can be enforced.
func TestManyEntries(t *testing.T) {
	dir := visible(t)
	p, exe := withChild(t, policy.Policy{})
	var in strings.Builder
	for i := range 300 {
		name := filepath.Join(dir, strings.Repeat("d/", i%3), strings.Repeat("n", 1+i%100)+strings.Repeat("m", i/100))
		write(t, name+".secret", "x", 0o644)
		write(t, name+".dir/ro/x", "x", 0o644)
		p.Filesystem.DenyRead = append(p.Filesystem.DenyRead, policy.PathEntry{Path: name + ".secret"})
		p.Filesystem.AllowWrite = append(p.Filesystem.AllowWrite, policy.PathEntry{Path: name + ".dir"})
		p.Filesystem.DenyWrite = append(p.Filesystem.DenyWrite, policy.PathEntry{Path: name + ".dir/ro"})
		in.WriteString(name + ".secret\n" + name + ".dir\n" + name + ".dir/ro\n" + name + ".dir/ro/x\n")
	}
	box := open(t, p, shell.Options{})
	cmd := child(t, box, exe, "probe")
	cmd.Stdin = strings.NewReader(in.String())
	for _, line := range strings.Split(strings.TrimSuffix(output(t, cmd), "done\n"), "\n") {
		switch {
		case strings.HasSuffix(line, ".secret"):
			require.True(t, strings.HasPrefix(line, "false false "), line)
		case strings.HasSuffix(line, ".dir"):
			require.True(t, strings.HasPrefix(line, "true true "), line)
		case line != "":
			require.True(t, strings.HasPrefix(line, "true false "), line)
		}
	}
}
