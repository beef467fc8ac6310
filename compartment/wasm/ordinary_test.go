package wasm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestOrdinaryProgramsBare gives the programs of testdata/ordinary to the guest's engine as it is, in a realm that nobody hardened. The answers are
// those they have in a compartment (compartment/corpus.TestOrdinaryPrograms), so hardening changes none.
func TestOrdinaryProgramsBare(t *testing.T) {
	e := testEngine(t)
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
			t.Run(title, func(t *testing.T) { require.JSONEq(t, want, bare(t, e, code)) })
		}
	}
	require.Greater(t, ran, 90)
}

// bare runs a program in a realm as the engine makes it and returns its value, or what that promises, as JSON.
func bare(t *testing.T, e *Engine, code string) string {
	in, err := e.newInstance(setupMemory, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.close()) }()
	in.call(xInitialize)
	require.Zero(t, in.call(xInit))
	in.call(xSetStackSize, setupStack)
	in.fixed = &fixed{scratch: uint32(in.call(xMalloc, scratchSize)), programFile: uint32(in.call(xMalloc, 100))}
	in.writeText(in.fixed.programFile, programFile)
	in.realm.host, err = compartment.NewHost(compartment.Config{})
	require.NoError(t, err)
	run := func(source string) handle {
		v, threw := in.unwrap(in.eval(source, in.fixed.programFile, evalPlain))
		require.NoError(t, in.dead)
		if threw {
			require.Fail(t, in.text(v), source)
		}
		return v
	}
	require.Equal(t, "number", in.text(run("typeof Math.random() + ''")), "the realm is hardened")
	run("globalThis.lookup = async (id) => ({ id, name: 'item' + id, price: id * 1.5 })")
	v := run(code)
	for in.call(xRunJob) == 1 {
	}
	require.NoError(t, in.dead)
	if in.typeOf(v) == tagObject && in.text(in.field(in.field(v, "constructor"), "name")) == "Promise" {
		require.EqualValues(t, promiseFulfilled, in.call(xPromiseState, uint64(v)))
		v = handle(in.call(xPromiseResult, uint64(v)))
	}
	stringify := run("JSON.stringify")
	in.fixed.undefined = run("undefined")
	out, threw := in.try(stringify, v)
	require.False(t, threw)
	return in.text(out)
}
