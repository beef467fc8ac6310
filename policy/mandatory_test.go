package policy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// R49, R50, A14: the table holds the reference's list at any depth and the added names at depth 0, each with its reason.
func TestMandatoryTable(t *testing.T) {
	var any, top []string
	for _, m := range Mandatories() {
		require.NotEmpty(t, m.Why, m.Name)
		require.True(t, strings.HasPrefix(m.Name, "."), "%s: the search looks at names that begin with a dot", m.Name)
		require.Equal(t, strings.ToLower(m.Name), m.Name)
		if m.Depth0 {
			top = append(top, m.Name)
		} else {
			any = append(any, m.Name)
		}
	}
	require.ElementsMatch(t, strings.Fields(`.gitconfig .gitmodules .bashrc .bash_profile .zshrc .zprofile .profile .ripgreprc .mcp.json
		.vscode .idea .claude/commands .claude/agents .git/hooks .git/config
		.git/commondir .git/modules/**/hooks .git/modules/**/config .git/config.worktree .git/modules/**/config.worktree
		.git/worktrees/**/config.worktree`), any)
	require.ElementsMatch(t, strings.Fields(`.envrc .npmrc .yarnrc .zshenv .zlogin .bash_login .config/fish .husky
		.git/info/attributes .claude/settings.json .claude/settings.local.json .claude/hooks .cursor .ssh .pre-commit-config.yaml`), top)
	Mandatories()[0].Name = "changed"
	require.NotEqual(t, "changed", Mandatories()[0].Name)
}

// spelled is a path that a mandatory name stands for.
func spelled(m Mandatory) string { return strings.ReplaceAll(m.Name, "**", "sub") }

// R49, R51, A14: every name is denied in every writable root, those at any depth at six, below it too and spelled in
// capitals on Linux; and a control beside it may be written. R53: on Darwin the case is exact. R55: on Linux it is not.
func TestMandatoryDenied(t *testing.T) {
	p := Policy{Filesystem: Filesystem{AllowWrite: Paths("/w", "/w/nested/root", "/var/x*")}}
	for _, platform := range platforms {
		r := compile(t, p, CompileOptions{Platform: platform})
		for _, m := range Mandatories() {
			for _, root := range []string{"/w", "/w/nested/root", "/var/x1"} {
				at := func(dir, name string, denied bool) {
					for _, path := range []string{dir + "/" + name, dir + "/" + name + "/below"} {
						d := r.Write(path)
						require.Equal(t, denied, !d.Allowed, "%v %s: %s", platform, path, d.Reason)
						if denied {
							require.Equal(t, Rule{List: ListMandatory, Entry: m.Name, Index: -1, Why: m.Why}, d.Rule)
							require.Contains(t, d.Reason, m.Why)
						}
						got, found := r.MandatoryAt(root, strings.TrimPrefix(path, root))
						require.Equal(t, denied, found, path)
						require.Equal(t, denied, got == m)
					}
				}
				at(root, m.Name, true)
				at(root, strings.ToUpper(m.Name), platform != Darwin)
				at(root, m.Name+"x", false)
				at(root, strings.Replace(m.Name, ".", ".x", 1), false)
				at(root+"/a/b/c/d/e/f", m.Name, !m.Depth0)
			}
			require.Equal(t, ListDefault, r.Write("/elsewhere/"+m.Name).Rule.List)
		}
		answers{"/w/a.txt": "allowWrite", "/w/.gitignore": "allowWrite", "/w/sub/.envrc": "allowWrite"}.check(t, r.Write)
	}
}

// R55, R56: on Linux the case is ignored name by name, so the reference's hole at sub/repo/.GIT/hooks is closed; letters
// that fold to ASCII, which a file system that ignores case takes for it, are covered too.
func TestCaseLinux(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w")}}, CompileOptions{Platform: Linux})
	for _, path := range []string{"/w/.BASHRC", "/w/.BashRc", "/w/sub/repo/.GIT/hooks/pre-commit", "/w/.git/HOOKS/x", "/w/.Git/Config", "/w/.ſſh/x", "/w/.huSKy", "/w/.hus\u212ay"} {
		require.Equal(t, ListMandatory, r.Write(path).Rule.List, path)
	}
}

// R53: on Darwin .BASHRC is not the mandatory name.
func TestCaseDarwin(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w")}}, CompileOptions{Platform: Darwin})
	answers{"/w/.BASHRC": "allowWrite", "/w/.GIT/hooks/x": "allowWrite", "/w/.bashrc": "!mandatory"}.check(t, r.Write)
	require.False(t, r.Derived().MandatoryDeny.CaseInsensitive)
}

// R50: .git/hooks always, .git/config unless allowGitConfig, which lifts nothing else; the rest of .git is free, so that
// git add and git commit work. git init copies samples, and makes the directory for them.
func TestGitDirectory(t *testing.T) {
	for _, platform := range platforms {
		r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w")}}, CompileOptions{Platform: platform})
		free := answers{
			"/w/.git": "allowWrite", "/w/.git/index.lock": "allowWrite", "/w/.git/objects/ab/cd": "allowWrite", "/w/.git/HEAD": "allowWrite",
			"/w/.git/refs/heads/main": "allowWrite", "/w/.git/info/exclude": "allowWrite", "/w/.git/config.lock": "allowWrite",
			"/w/.git/hooks/pre-commit.sample": "allowWrite", "/w/sub/.git/hooks/x.sample": "allowWrite", "/w/git/hooks/x": "allowWrite",
			"/w/.git/hooks": "!mandatory", "/w/.git/hooks/pre-commit": "!mandatory", "/w/.git/hooks/x.sample/y": "!mandatory",
			"/w/.git/hooks/d/x.sample": "!mandatory", "/w/.git/modules/m/hooks/x": "!mandatory", "/w/.git/modules/a/modules/b/hooks/x": "!mandatory", "/w/.git/modules/config": "allowWrite",
			"/w/.git/modules/m/hooks/x.sample": "allowWrite", "/w/.git/modules/m/index": "allowWrite", "/w/.git/worktrees/w/config.worktree": "!mandatory",
		}
		free.check(t, r.Write)
		answers{"/w/.git/config": "!mandatory", "/w/deep/er/.git/config": "!mandatory", "/w/.git/modules/a/modules/b/config": "!mandatory"}.check(t, r.Write)
		require.Contains(t, r.Write("/w/.git/config").Remedy, "allowGitConfig")

		answers{
			"/w/.git/hooks": "allowWrite", "/w/.git": "allowWrite", "/w/.git/hooks/pre-commit": "!mandatory", "/w/.git/config": "!mandatory",
			"/w/.vscode": "!mandatory", "/x": "!default",
		}.check(t, r.Mkdir)

		r = compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w"), AllowGitConfig: true}}, CompileOptions{Platform: platform})
		free.check(t, r.Write)
		answers{"/w/.git/config": "allowWrite", "/w/.git/modules/a/config": "allowWrite", "/w/.git/config.worktree": "!mandatory", "/w/.gitconfig": "!mandatory"}.check(t, r.Write)
	}
}

// R62: the names alone decide: it makes no difference to .git/hooks whether .git is a directory, a file or absent.
func TestWorktreeGitFile(t *testing.T) {
	for _, exists := range []bool{true, false} {
		r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w")}}, CompileOptions{Resolve: tree{"/w": "", "/w/.git": "", "/w/.git/hooks": ""}.only(exists, "/w")})
		answers{"/w/.git/hooks/pre-commit": "!mandatory", "/w/.git/config": "!mandatory", "/w/.git": "allowWrite"}.check(t, r.Write)
	}
}

// A14: a name is lifted by allowMandatory, alone, and in plain sight. allowWrite of the very path does not lift it.
func TestAllowMandatory(t *testing.T) {
	for _, m := range Mandatories() {
		r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w"), AllowMandatory: []string{m.Name}}}, CompileOptions{})
		require.True(t, r.Write("/w/"+spelled(m)).Allowed, m.Name)
		require.Equal(t, []string{m.Name}, r.Derived().MandatoryDeny.Lifted)
		require.NotContains(t, r.Derived().MandatoryDeny.Entries, m.Name)
		for _, other := range Mandatories() {
			if other.Name != m.Name {
				require.False(t, r.Write("/w/"+spelled(other)).Allowed, "%s lifts %s", m.Name, other.Name)
			}
		}

		r = compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w/" + spelled(m))}}, CompileOptions{})
		require.Equal(t, ListMandatory, r.Write("/w/"+spelled(m)).Rule.List, m.Name)
		require.Equal(t, ListMandatory, r.Write("/w/"+spelled(m)+"/x").Rule.List)
		require.Empty(t, r.WritableRoots())
		require.Len(t, r.Derived().Warnings, 1)
		require.Contains(t, r.Derived().Warnings[0], "allows nothing")
	}
	r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w/.git", "/h/.config")}}, CompileOptions{})
	answers{
		"/w/.git/hooks/x": "!mandatory", "/w/.git/config": "!mandatory", "/w/.git/info/attributes": "!mandatory", "/w/.git/config.worktree": "!mandatory",
		"/w/.git/index": "allowWrite", "/h/.config/fish/config.fish": "!mandatory", "/h/.config/x": "allowWrite",
	}.check(t, r.Write)
	_, found := r.MandatoryAt("/w/.git", "hooks/pre-commit")
	require.True(t, found)

	// The directory that a pattern is below counts as a root, as does what the pattern matches.
	r = compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/g/**/x")}}, CompileOptions{})
	answers{"/g/.ssh/x": "!mandatory", "/g/x/.ssh/k": "!mandatory", "/g/a/.ssh/x": "allowWrite", "/g/x/a/.ssh/k": "allowWrite"}.check(t, r.Write)
}

// What a directory may not be renamed to, since its content would arrive under mandatory names unseen.
func TestMandatoryComponent(t *testing.T) {
	r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w", "/v/.git")}}, CompileOptions{})
	for path, want := range map[string]bool{
		"/w/.git": true, "/w/sub/.git": true, "/w/sub/.GIT": true, "/w/.git/hooks": true, "/w/.git/info": true, "/w/sub/.git/info": false,
		"/w/.claude": true, "/w/sub/.claude": true, "/w/.config": true, "/w/sub/.config": false, "/w/.vscode": true, "/w/.config/fish": true,
		"/w/.husky": true, "/w/sub/.husky": false, "/w/.git/hooks/x": false, "/w/git": false, "/w": false, "/": false, "relative/.git": false,
		"/w/x.git": false, "/v/.git": true, "/.git": true, "/v/.git/info": true, "/w/hooks": false,
	} {
		_, got := r.MandatoryComponent(path)
		require.Equal(t, want, got, path)
	}
	r = compile(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/w"), AllowGitConfig: true, AllowMandatory: []string{".git/hooks", ".git/commondir", ".git/config.worktree", ".git/modules/**/hooks", ".git/modules/**/config.worktree", ".git/worktrees/**/config.worktree"}}}, CompileOptions{})
	_, got := r.MandatoryComponent("/w/sub/.git")
	require.False(t, got, "nothing below it is mandatory any more")
	_, got = r.MandatoryComponent("/w/.git")
	require.True(t, got)
}

// MandatoryAt takes a root that the policy does not name, and refuses nonsense as "not found" rather than by panicking.
func TestMandatoryAtRoots(t *testing.T) {
	r := compile(t, Policy{}, CompileOptions{})
	for _, c := range []struct {
		root, rel string
		want      string
	}{
		{"/w", ".envrc", ".envrc"}, {"/w", "/.envrc", ".envrc"}, {"/w", "a/.envrc", ""}, {"/w", "", ""}, {"/", ".envrc", ".envrc"}, {"/", ".ssh/config", ".ssh"},
		{"/w", "a/.bashrc/", ".bashrc"}, {"w", ".bashrc", ""}, {"/w", "../.bashrc", ""}, {"", ".bashrc", ""}, {"/w", "a/../.bashrc", ""}, {"/w/.ssh", "config", ".ssh"},
		{"/w/.ssh/keys", "config", ""},
	} {
		m, found := r.MandatoryAt(c.root, c.rel)
		require.Equal(t, c.want, m.Name, "%s %s", c.root, c.rel)
		require.Equal(t, c.want != "", found)
	}
}

// A20: the secret places are a list with reasons, and nothing applies it by itself (R31).
func TestSecretPlaces(t *testing.T) {
	places := SecretPlaces()
	var paths []string
	for _, s := range places {
		require.True(t, strings.HasPrefix(s.Path, "~/"), s.Path)
		require.NotEmpty(t, s.Why)
		require.NotContains(t, paths, s.Path)
		paths = append(paths, s.Path)
	}
	for _, p := range []string{"~/.ssh", "~/.aws", "~/.gnupg", "~/.netrc", "~/.kube", "~/.config/gh"} {
		require.True(t, slices.Contains(paths, p), p)
	}
	require.True(t, compile(t, Policy{}, CompileOptions{}).Read("/home/u/.ssh/id_rsa").Allowed)

	entries, err := DenySecrets("/home/u/")
	require.NoError(t, err)
	r := compile(t, Policy{Filesystem: Filesystem{DenyRead: entries}}, CompileOptions{})
	for _, s := range places {
		require.False(t, r.Read("/home/u/"+s.Path[2:]+"/x").Allowed)
	}
	require.True(t, r.Read("/home/u/.bashrc").Allowed)
	_, err = DenySecrets("~")
	require.ErrorIs(t, err, ErrInvalid)
}

// TestMandatoryAtAbsentRoot: a root that is optional and not there yet keeps the names at its top from the moment it is made (R51).
func TestMandatoryAtAbsentRoot(t *testing.T) {
	absent := func(p string) (string, error) {
		if p == "/w/sub" {
			return "", os.ErrNotExist
		}
		return p, nil
	}
	r := compile(t, Policy{Filesystem: Filesystem{AllowWrite: []PathEntry{{Path: "/w"}, {Path: "/w/sub", Optional: true}}}}, CompileOptions{Resolve: absent})
	answers{"/w/sub/.envrc": "!mandatory", "/w/sub/.ssh/x": "!mandatory", "/w/sub/a/.envrc": "allowWrite", "/w/other/.envrc": "allowWrite", "/w/sub/file": "allowWrite"}.check(t, r.Write)
}
