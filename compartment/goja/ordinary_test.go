package goja

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dop251/goja"
)

// TestOrdinaryProgramsBare gives the programs of testdata/ordinary to goja as it is, without the boundary. The answers are those they have in a
// compartment (compartment/corpus.TestOrdinaryPrograms), so hardening changes none.
func TestOrdinaryProgramsBare(t *testing.T) {
	files, err := filepath.Glob("../testdata/ordinary/*.js")
	require.NoError(t, err)
	ran := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, program := range strings.Split("\n"+string(text), "\n//// ")[1:] {
			title, code, _ := strings.Cut(program, "\n")
			_, want, _ := strings.Cut(code, "// want: ")
			want, _, _ = strings.Cut(want, "\n")
			ran++
			t.Run(title, func(t *testing.T) {
				got, err := bare(code)
				if strings.Contains(code, "// lacks: goja\n") {
					require.NotEqual(t, want, got, "goja has it now: take the mark off")
					return
				}
				require.NoError(t, err)
				require.JSONEq(t, want, got)
			})
		}
	}
	require.Greater(t, ran, 90)
}

// bare runs a program on goja alone and returns its value, or what that promises, as JSON.
func bare(code string) (string, error) {
	vm := goja.New()
	if _, err := vm.RunString("var lookup = async (id) => ({ id, name: 'item' + id, price: id * 1.5 })"); err != nil {
		return "", err
	}
	v, err := vm.RunString(code)
	if err != nil {
		return "", err
	}
	if p, ok := v.Export().(*goja.Promise); ok {
		v = p.Result()
	}
	stringify, _ := goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("stringify"))
	out, err := stringify(goja.Undefined(), v)
	if err != nil {
		return "", err
	}
	return out.String(), nil
}
