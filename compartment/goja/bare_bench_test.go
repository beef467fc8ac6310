package goja

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// The benchmarks here are goja as it is, without the boundary: what the compartments of both engines are compared with. Their names are those of
// compartment/wasm's, so that one table holds both.

// bareVM is goja with one function of the host.
func bareVM(b *testing.B) *goja.Runtime {
	vm := goja.New()
	if err := vm.Set("f", func(n float64) float64 { return n }); err != nil {
		b.Fatal(err)
	}
	return vm
}

// BenchmarkFreshRealm is a realm and its first evaluation.
func BenchmarkFreshRealm(b *testing.B) {
	b.Run("bare-goja", func(b *testing.B) {
		for b.Loop() {
			if _, err := bareVM(b).RunString("1+1"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPrograms runs each program again and again in one realm.
func BenchmarkPrograms(b *testing.B) {
	files, err := filepath.Glob("../testdata/bench/*.js")
	if err != nil || len(files) == 0 {
		b.Fatal("no programs", err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.TrimSuffix(filepath.Base(file), ".js")+"/bare-goja", func(b *testing.B) {
			vm := bareVM(b)
			for b.Loop() {
				if _, err := vm.RunString(string(source)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
