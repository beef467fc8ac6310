package fs_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"sallyport/fs"
	"sallyport/policy"
)

// BenchmarkOverBare compares, in one run, what a workspace does with the same thing done by package os: a file of 1 MB read,
// 10,000 names listed, a file of 1 MB saved with a file written and brought to the disk.
func BenchmarkOverBare(b *testing.B) {
	root, err := filepath.EvalSymlinks(b.TempDir())
	must(b, err)
	many, big := filepath.Join(root, "many"), filepath.Join(root, "big")
	must(b, os.Mkdir(many, 0o755))
	for i := range 10_000 {
		must(b, os.WriteFile(filepath.Join(many, fmt.Sprintf("file-%05d.go", i)), nil, 0o644))
	}
	must(b, os.WriteFile(big, make([]byte, 1<<20), 0o644))
	f := policy.Filesystem{
		DenyRead: policy.Paths(filepath.Join(root, "private"), "/etc/shadow", filepath.Join(root, ".env")), AllowWrite: policy.Paths(root),
	}
	patterned := f
	patterned.DenyRead = append(patterned.DenyRead, policy.PathEntry{Path: root + "/**/*.secret"})
	for name, run := range map[string]func(b *testing.B, w *fs.Workspace){
		"open/bare":   func(*testing.B, *fs.Workspace) { drain(b, os.Open, big) },
		"open/ours":   func(_ *testing.B, w *fs.Workspace) { drain(b, w.Open, "big") },
		"list/bare":   func(*testing.B, *fs.Workspace) { _, err := os.ReadDir(many); must(b, err) },
		"list/ours":   func(_ *testing.B, w *fs.Workspace) { walkAll(b, w) },
		"save/bare":   func(*testing.B, *fs.Workspace) { writeSynced(b, filepath.Join(root, "saved")) },
		"save/ours":   func(_ *testing.B, w *fs.Workspace) { saveBig(b, w) },
		"stat/ours":   func(_ *testing.B, w *fs.Workspace) { _, err := w.Stat("big"); must(b, err) },
		"stat/bare":   func(*testing.B, *fs.Workspace) { _, err := os.Lstat(big); must(b, err) },
		"list/globs":  func(_ *testing.B, w *fs.Workspace) { walkAll(b, w) },
		"open/denied": func(_ *testing.B, w *fs.Workspace) { _, _ = w.Open("private") },
	} {
		policy := f
		if name == "list/globs" {
			policy = patterned
		}
		w := benchWorkspace(b, root, policy)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run(b, w)
			}
		})
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func benchWorkspace(b *testing.B, root string, f policy.Filesystem) *fs.Workspace {
	rules, err := policy.Policy{Filesystem: f}.Compile(policy.CompileOptions{Resolve: filepath.EvalSymlinks})
	must(b, err)
	w, err := fs.OpenWorkspace(root, fs.Options{Rules: rules, WriteRoot: "/"})
	must(b, err)
	b.Cleanup(func() { w.Close() })
	return w
}

func drain(b *testing.B, open func(string) (*os.File, error), name string) {
	f, err := open(name)
	must(b, err)
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	must(b, err)
}

func walkAll(b *testing.B, w *fs.Workspace) {
	n := 0
	_, err := w.Walk(b.Context(), "many", 20, func(fs.Entry) error { n++; return nil })
	must(b, err)
	if n != 10_000 {
		b.Fatal(n)
	}
}

func writeSynced(b *testing.B, path string) {
	f, err := os.Create(path)
	must(b, err)
	defer f.Close()
	_, err = io.Copy(f, io.LimitReader(zeros{}, 1<<20))
	must(b, err)
	must(b, f.Sync())
}

func saveBig(b *testing.B, w *fs.Workspace) {
	_, err := w.Save("saved-ours", io.LimitReader(zeros{}, 1<<20))
	must(b, err)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
