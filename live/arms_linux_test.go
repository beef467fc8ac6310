package live

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// attack is one row of a table of attacks. Only [attack.test] runs it, with every arm: no arm can be run without the
// others.
type attack struct {
	name string // of the attacker's function
	why  string // what it tries, and where it was seen

	// alone are the sets of layers of which each refuses the attack while no other layer is up, but for its carriers.
	alone [][]string
	// together says why a set has more than one layer.
	together string
	// notBy are layers that do not refuse it, pinned so that nobody counts on them.
	notBy [][]string
	// rootOnly: with nothing up, an ordinary user is refused all the same, by the kernel's usual rules; the open arm is
	// evidence as root only.
	rootOnly bool
	// mayBeAbsent: this way in is not in every kernel. With nothing up, the attacker may find that it does not exist.
	mayBeAbsent string
	// alike: the same refusal comes with nothing up, so there is no open arm. It says why.
	alike string

	policy  func(f *field) policy.Policy // nil: the workspace may be written
	options shell.Options
	before  func(f *field)
	files   func(f *field) []*os.File // descriptors 3, 4, … of the attacker
	args    func(f *field) []string
	after   func(f *field) string // looks from the host: what got through, or ""
}

// arm is one way of running an attack.
type arm struct {
	name    string
	options func(shell.Options) shell.Options
	want    string
}

// test runs the attack with every arm that this build has.
func (a attack) test(t *testing.T) {
	t.Helper()
	for _, set := range a.alone {
		require.False(t, len(set) > 1 && a.together == "", "%s: say why %v needs all of its layers", a.name, set)
	}
	t.Run(a.name, func(t *testing.T) {
		for _, arm := range a.arms() {
			t.Run(strings.ReplaceAll(arm.name, " ", "_"), func(t *testing.T) { a.run(t, arm) })
		}
	})
}

// arms are all arms of this build; what a layer does alone can be asked in a build for tests only.
func (a attack) arms() []arm {
	released := func(o shell.Options) shell.Options { return o }
	return append(a.layerArms(), arm{"everything up", released, refused})
}

// run runs one arm on a field of its own and compares the attacker's word and the host's view with what is due.
func (a attack) run(t *testing.T, arm arm) {
	t.Helper()
	f := newField(t)
	if a.before != nil {
		a.before(f)
	}
	p := f.writable()
	if a.policy != nil {
		p = a.policy(f)
	}
	var files []*os.File
	if a.files != nil {
		files = a.files(f)
	}
	var args []string
	if a.args != nil {
		args = a.args(f)
	}
	box := open(t, p, arm.options(a.options))
	found := attackIn(t, box, f.ws, files, a.name, args...)
	t.Logf("%s: %s", found.verdict, found.detail)
	record(entry{Kind: "arm", Test: t.Name(), Attack: a.name, Arm: arm.name, Outcome: found.verdict, Detail: found.detail})
	if arm.want == through && found.verdict == absent && a.mayBeAbsent != "" {
		record(entry{Kind: "note", Test: t.Name(), Attack: a.name, Detail: "this kernel lacks the way in (" + a.mayBeAbsent + "); the compiled filter is tested instead"})
		return
	}
	require.Equal(t, arm.want, found.verdict, "%s: %s", a.name, found.detail)
	if a.after == nil {
		return
	}
	if seen := a.after(f); arm.want == refused {
		require.Empty(t, seen, "the attacker says refused, the host sees otherwise")
	} else {
		require.NotEmpty(t, seen, "the attacker says that it got through, the host sees nothing of it")
	}
}
