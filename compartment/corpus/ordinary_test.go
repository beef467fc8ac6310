package corpus

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// ordinary is a program that means no harm, and its answer.
type ordinary struct {
	file, title, code, want string
	lacks                   string // the engine whose language has not what it uses
}

// readOrdinary reads testdata/ordinary; the README there says how the files are written.
func readOrdinary(t *testing.T) []ordinary {
	files, err := filepath.Glob("../testdata/ordinary/*.js")
	require.NoError(t, err)
	var all []ordinary
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, part := range strings.Split("\n"+string(text), "\n//// ")[1:] {
			p := ordinary{file: strings.TrimSuffix(filepath.Base(f), ".js")}
			p.title, p.code, _ = strings.Cut(part, "\n")
			for line := range strings.SplitSeq(p.code, "\n") {
				p.want += after(line, "// want: ")
				p.lacks += after(line, "// lacks: ")
			}
			require.NotEmpty(t, p.want, p.title)
			all = append(all, p)
		}
	}
	return all
}

// after is what follows a prefix, or nothing.
func after(line, prefix string) string {
	rest, ok := strings.CutPrefix(line, prefix)
	if !ok {
		return ""
	}
	return rest
}

// lookup is the one power of the ordinary programs.
func lookup() compartment.Power {
	return compartment.Power{Name: "lookup", OnCancel: compartment.CancelDiscards, Params: []compartment.Param{{Name: "id", Types: number}},
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			id, _ := c.Arg(0).AsNumber()
			return compartment.OfObject(compartment.Field{Name: "id", Value: c.Arg(0)},
				compartment.Field{Name: "name", Value: compartment.OfString("item" + c.Arg(0).Text(20))},
				compartment.Field{Name: "price", Value: compartment.OfNumber(id * 1.5)}), nil
		}}
}

// TestOrdinaryPrograms: a hardened compartment gives the answers that the language gives. The bare engines are asked the same by
// compartment/goja.TestOrdinaryProgramsBare and compartment/wasm.TestOrdinaryProgramsBare.
func TestOrdinaryPrograms(t *testing.T) {
	all := readOrdinary(t)
	require.Greater(t, len(all), 90)
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		for _, p := range all {
			t.Run(p.file+"/"+p.title, func(t *testing.T) {
				o := evaluate(t, e, p.code, compartment.Config{Powers: []compartment.Power{lookup()}})
				if p.lacks == e.Name() {
					require.NotEqual(t, p.want, string(o.Data), "it has it now: take the mark off")
					return
				}
				require.Equal(t, compartment.StatusOK, o.Status, "%s %+v", o.Kind, o.Value)
				require.JSONEq(t, p.want, string(o.Data), "%s", o.Value.Text)
			})
		}
	})
}
