package search_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sallyport/fs"
	"sallyport/policy"
	"sallyport/shell"
	"sallyport/shell/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSearchDeniedByKernel: what a rule denies is not found, although the directory handed in has no rules: the process
// could not read it, and that is on record (R239, R249). With no rule the same search finds it.
func TestSearchDeniedByKernel(t *testing.T) {
	root := tree(t, map[string]string{"private/key": "the key\n", "a.secret": "the key\n", "open": "no key here\n"})
	bare, err := fs.OpenDir(root)
	require.NoError(t, err)
	defer bare.Close()
	for name, f := range map[string]policy.Filesystem{
		"denied":    {DenyRead: policy.Paths(filepath.Join(root, "private"), filepath.Join(root, "a.secret"))},
		"pattern":   {DenyRead: policy.Paths(root+"/**/*.secret", filepath.Join(root, "private"))},
		"no denial": {},
	} {
		box, w := place(t, root, f, shell.Options{})
		for _, engine := range engines(t) {
			t.Run(name+"/"+string(engine), func(t *testing.T) {
				got, res := lines(t, search.New(box, bare, search.Options{Engine: engine}), search.Query{Pattern: "key", NoIgnore: true})
				require.Equal(t, engine, res.Engine)
				if name == "no denial" {
					require.Equal(t, []string{"a.secret:1:the key", "open:1:no key here", "private/key:1:the key"}, got)
					require.Zero(t, res.Unreadable)
					require.Empty(t, res.Violations)
					return
				}
				require.Equal(t, []string{"open:1:no key here"}, got)
				require.Positive(t, res.Unreadable, "the kernel refused")
				require.NotEmpty(t, res.Complaints)
				require.NotEmpty(t, res.Violations)
				for _, v := range res.Violations {
					require.Equal(t, "read", v.Operation)
				}
				found, _ := files(t, search.New(box, w.Dir, search.Options{Engine: engine}), search.Query{})
				require.Equal(t, []string{"open"}, found, "nor are its names told (R232)")
			})
		}
	}
}

// TestNoExistenceOracle: a path that is denied and one that is not there are one (R287), for either search.
func TestNoExistenceOracle(t *testing.T) {
	root := tree(t, map[string]string{"private/key": "k", "open": "o"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644))
	require.NoError(t, os.Symlink("open", filepath.Join(root, "link")))
	each(t, root, policy.Filesystem{DenyRead: policy.Paths(filepath.Join(root, "private"))}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		for _, name := range []string{"private", "private/key", "private/none", "none", "link", "open/x"} {
			_, err := s.Lines(deadline(t), search.Query{Path: name, Pattern: "k"}, nil)
			require.ErrorIs(t, err, fs.ErrNotFound, name)
			require.Equal(t, fmt.Sprintf("%q: no such file, or it may not be read", name), err.Error())
			_, err = s.Files(deadline(t), search.Query{Path: name}, nil)
			require.ErrorIs(t, err, fs.ErrNotFound, name)
		}
		_, err := s.Lines(deadline(t), search.Query{Path: "pipe", Pattern: "k"}, nil)
		require.ErrorIs(t, err, fs.ErrNotRegular)
		_, err = s.Files(deadline(t), search.Query{Path: "../x"}, nil)
		require.ErrorIs(t, err, fs.ErrPath)
	})
}

// TestLimit: a limit is an announced end, exact for each number around what there is; without one the search is complete
// (R242, A9).
func TestLimit(t *testing.T) {
	text := strings.Repeat("match\n", 4)
	root := tree(t, map[string]string{"a": text, "b": text, "c/d": text})
	each(t, root, policy.Filesystem{}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		for limit := range 15 {
			got, res := lines(t, s, search.Query{Pattern: "match", Limit: limit})
			require.Equal(t, limit > 0 && limit < 12, res.More, "limit %d", limit)
			if res.More {
				require.Len(t, got, limit)
			} else {
				require.Len(t, got, 12)
			}
		}
		for limit := range 5 {
			got, res := files(t, s, search.Query{Limit: limit})
			require.Equal(t, limit > 0 && limit < 3, res.More, "limit %d", limit)
			require.Len(t, got, map[bool]int{true: limit, false: 3}[res.More])
		}
		_, res := lines(t, s, search.Query{Pattern: "no such", Limit: 1})
		require.False(t, res.More)
	})
}

// TestLimitStopsTheProcess: a search that has found enough is over, long before it has been through everything (L13), and so
// is one whose visitor or context has had enough.
func TestLimitStopsTheProcess(t *testing.T) {
	many := map[string]string{"a": strings.Repeat("match and more\n", 20_000)}
	rest := strings.Repeat("no such thing here, again and again\n", 30_000)
	for i := range 60 {
		many[fmt.Sprint("dir/b", i)] = rest
	}
	root := tree(t, many)
	each(t, root, policy.Filesystem{}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		got, res := lines(t, s, search.Query{Pattern: "match and", Limit: 10})
		require.Len(t, got, 10)
		require.True(t, res.More)
		enough, seen := errors.New("enough"), 0
		_, err := s.Lines(deadline(t), search.Query{Path: "a", Pattern: "match"}, func(search.Match) error { seen++; return enough })
		require.Equal(t, enough, err, "an error of the visitor is returned as it is")
		require.Equal(t, 1, seen, "and ends it")
		ctx, cancel := context.WithCancel(context.Background())
		_, err = s.Lines(ctx, search.Query{Pattern: "again"}, func(search.Match) error { cancel(); return nil })
		require.ErrorIs(t, err, context.Canceled)
		cancel()
		_, err = s.Lines(ctx, search.Query{Pattern: "again"}, nil)
		require.ErrorIs(t, err, context.Canceled, "one that is over before it began")
	})
}

// TestMemoryStaysFlat: what a search finds is not collected here (L13): 18 MB of matches pass through.
func TestMemoryStaysFlat(t *testing.T) {
	root := tree(t, map[string]string{"a": strings.Repeat(strings.Repeat("match ", 99)+"\n", 30_000)})
	each(t, root, policy.Filesystem{}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		n := 0
		res, err := s.Lines(deadline(t), search.Query{Pattern: "match"}, func(search.Match) error {
			if n++; n%10_000 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&now)
				require.Less(t, now.HeapAlloc, before.HeapAlloc+4<<20)
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 30_000, res.Items)
	})
}

// TestWholeLine: a line of a megabyte is given whole, and so is one that is no UTF-8 (R240).
func TestWholeLine(t *testing.T) {
	long := strings.Repeat("x", 1<<20) + "needle" + strings.Repeat("\"\\", 1<<19)
	odd := strings.Repeat("\xff", 1<<18) + "needle"
	root := tree(t, map[string]string{"a": "short\n" + long + "\nneedle", "b": odd})
	each(t, root, policy.Filesystem{}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		got, _ := lines(t, s, search.Query{Pattern: "needle"})
		require.Equal(t, []string{"a:2:" + long, "a:3:needle", "b:1:" + odd}, got)
	})
}

// TestBadPatterns: a pattern or glob that is none is told as that, before anything runs, and in the same words for both (R250, R246, R243).
func TestBadPatterns(t *testing.T) {
	root := tree(t, map[string]string{"a": "a\n"})
	texts := map[string]string{}
	each(t, root, policy.Filesystem{}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		none := func(search.Match) error { t.Fatal("nothing is to be found"); return nil }
		for _, pattern := range []string{"[", "(", "a**", "*", `\`, "(?<n", `(?=a)`, `\1`, "a{2,1}", "a{1001}", "x\ny", `a\nb`, "[\n]", "\xff", strings.Repeat("a", 1<<17), `(a{100}){11}`} {
			res, err := s.Lines(deadline(t), search.Query{Pattern: pattern}, none)
			require.Equal(t, search.ErrPattern, kind(t, err), pattern)
			require.Empty(t, res.Engine, "nothing ran")
			if was, ok := texts[pattern]; ok {
				require.Equal(t, was, err.Error())
			}
			texts[pattern] = err.Error()
			require.NotContains(t, err.Error(), "\n")
		}
		for _, glob := range []string{"{a", "a[", `a\`, "#x", " ", "/", "!", "a\x00"} {
			_, err := s.Files(deadline(t), search.Query{Glob: glob}, nil)
			require.Equal(t, search.ErrGlob, kind(t, err), glob)
			_, err = s.Lines(deadline(t), search.Query{Pattern: "a", IGlob: glob}, none)
			require.Equal(t, search.ErrGlob, kind(t, err), glob)
		}
		for _, q := range []search.Query{{Pattern: "x"}, {Literal: true}, {IgnoreCase: true}, {Limit: -1}, {MaxDepth: depth(-1)}} {
			_, err := s.Files(deadline(t), q, nil)
			require.Equal(t, search.ErrQuery, kind(t, err), "%+v", q)
		}
		// A glob that only one of them takes for a mistake finds nothing with the other.
		got := 0
		_, err := s.Files(deadline(t), search.Query{Glob: "[z-a]"}, func(string) error { got++; return nil })
		require.Zero(t, got)
		if err != nil {
			require.Equal(t, search.ErrGlob, kind(t, err))
		}
	})
}

// TestNoConfiguration: ripgrep's own configuration has no effect. Bare ripgrep, in the same place with the same variable, obeys it.
func TestNoConfiguration(t *testing.T) {
	needsRipgrep(t)
	root := tree(t, map[string]string{"a.go": "match\n", ".b.go": "match\n", ".ripgreprc": "--hidden\n--glob=!a.go\n", "rc": "--hidden\n--glob=!a.go\n"})
	variables := []string{"RIPGREP_CONFIG_PATH=" + filepath.Join(root, "rc"), "HOME=" + root}
	bare := exec.Command("rg", "--no-filename", "--files", "./")
	bare.Dir, bare.Env = root, append(os.Environ(), variables...)
	out, err := bare.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), ".b.go")
	require.NotContains(t, string(out), "/a.go")
	each(t, root, policy.Filesystem{}, shell.Options{Env: variables}, func(t *testing.T, s *search.Searcher) {
		got, _ := lines(t, s, search.Query{Pattern: "match"})
		require.Equal(t, []string{"a.go:1:match"}, got)
	})
}

// TestLinksAndPipes: no link is followed, and a pipe is not opened: it would hold the search up (R238, R291).
func TestLinksAndPipes(t *testing.T) {
	outside := tree(t, map[string]string{"secret": "match outside\n", "sub/x": "match outside\n"})
	root := tree(t, map[string]string{"in/f": "match\n"})
	for name, to := range map[string]string{"file": filepath.Join(outside, "secret"), "dir": outside, "loop": ".", "in/up": "..", "none": "nowhere", "sys": "/proc/self/root"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, name)))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644))
	f := policy.Filesystem{AllowRead: policy.Paths(outside)}
	each(t, root, f, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		got, res := lines(t, s, search.Query{Pattern: "match", Hidden: true, NoIgnore: true})
		require.Equal(t, []string{"in/f:1:match"}, got)
		require.Zero(t, res.Unreadable, res.Complaints)
		found, _ := files(t, s, search.Query{NoIgnore: true})
		require.Equal(t, []string{"in/f"}, found)
	})
}

// TestUnreadable: what the file system refuses is counted and does not end the search.
func TestUnreadable(t *testing.T) {
	root := tree(t, map[string]string{"a": "match\n", "b": "match\n", "c/d": "match\n"})
	for _, name := range []string{"b", "c"} {
		require.NoError(t, os.Chmod(filepath.Join(root, name), 0))
	}
	defer os.Chmod(filepath.Join(root, "c"), 0o755)
	each(t, root, policy.Filesystem{}, shell.Options{}, func(t *testing.T, s *search.Searcher) {
		got, res := lines(t, s, search.Query{Pattern: "match"})
		require.Equal(t, []string{"a:1:match"}, got)
		require.Equal(t, 2, res.Unreadable, res.Complaints)
		found, res := files(t, s, search.Query{})
		require.Equal(t, []string{"a", "b"}, found)
		require.Equal(t, 1, res.Unreadable, res.Complaints)
	})
}

// TestBuiltinWithoutRipgrep: where a command finds no ripgrep, our own searcher does the work; insisting on ripgrep is an error.
func TestBuiltinWithoutRipgrep(t *testing.T) {
	needsRipgrep(t)
	root := tree(t, map[string]string{"a": "match\n"})
	box, w := place(t, root, policy.Filesystem{}, shell.Options{Env: []string{"PATH=" + root}})
	s := search.New(box, w.Dir, search.Options{})
	for range 2 {
		got, res := lines(t, s, search.Query{Pattern: "match"})
		require.Equal(t, []string{"a:1:match"}, got)
		require.Equal(t, search.Builtin, res.Engine)
	}
	_, err := search.New(box, w.Dir, search.Options{Engine: search.Ripgrep}).Lines(deadline(t), search.Query{Pattern: "match"}, nil)
	require.ErrorIs(t, err, shell.ErrNotFound)
	box, w = place(t, root, policy.Filesystem{}, shell.Options{})
	_, res := lines(t, search.New(box, w.Dir, search.Options{}), search.Query{Pattern: "match"})
	require.Equal(t, search.Ripgrep, res.Engine)
	require.NoError(t, box.Close())
	_, err = search.New(box, w.Dir, search.Options{}).Lines(deadline(t), search.Query{Pattern: "match"}, nil)
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err), "after the sandbox is closed")
}

// TestSession: a session's commands search too, and after it was narrowed they find less; once it is disposed of they find nothing.
func TestSession(t *testing.T) {
	root := tree(t, map[string]string{"a": "match\n", "b": "match\n"})
	m := shell.NewManager(shell.ManagerOptions{})
	p := policy.Policy{Filesystem: policy.Filesystem{AllowRead: policy.Paths(root), AllowWrite: policy.Paths(root)}}
	session, err := m.Open(deadline(t), shell.SessionOptions{Policy: p})
	require.NoError(t, err)
	w, err := fs.OpenWorkspace(root, fs.Options{Rules: session, WriteRoot: "/"})
	require.NoError(t, err)
	defer w.Close()
	for _, engine := range engines(t) {
		got, _ := files(t, search.New(session, w.Dir, search.Options{Engine: engine}), search.Query{})
		require.Equal(t, []string{"a", "b"}, got)
	}
	_, err = w.Save("c", strings.NewReader("match\n"))
	require.NoError(t, err)
	p.Filesystem.DenyRead = policy.Paths(filepath.Join(root, "b"))
	p.Filesystem.DenyWrite = policy.Paths(filepath.Join(root, "c"))
	require.NoError(t, session.Narrow(deadline(t), p))
	for _, engine := range engines(t) {
		got, _ := lines(t, search.New(session, w.Dir, search.Options{Engine: engine}), search.Query{Pattern: "match"})
		require.Equal(t, []string{"a:1:match", "c:1:match"}, got)
	}
	_, err = w.Save("c", strings.NewReader("x"))
	require.ErrorIs(t, err, fs.ErrNotWritable)
	require.NoError(t, session.Dispose())
	_, err = w.ReadFile("a", 10)
	require.ErrorIs(t, err, fs.ErrNotFound, "nothing is in force: nothing may be read")
	_, err = w.Save("a", strings.NewReader("x"))
	require.ErrorIs(t, err, fs.ErrNotWritable)
	require.False(t, session.ReadsBelow(root))
}

// TestHelper: the program that puts jails up may be another one, and then searches too.
func TestHelper(t *testing.T) {
	root := tree(t, map[string]string{"a": "match\n"})
	b, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	helper := filepath.Join(t.TempDir(), "helper")
	require.NoError(t, os.WriteFile(helper, b, 0o755))
	box, w := place(t, root, policy.Filesystem{}, shell.Options{Helper: helper})
	got, _ := lines(t, search.New(box, w.Dir, search.Options{Engine: search.Builtin, Helper: helper}), search.Query{Pattern: "match"})
	require.Equal(t, []string{"a:1:match"}, got)
}
