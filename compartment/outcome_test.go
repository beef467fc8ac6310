package compartment

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutcomeJSON pins the shape a program reads: ten names in lower snake case.
func TestOutcomeJSON(t *testing.T) {
	e := begin(t, Limits{}, Power{Name: "f", Params: []Param{{Name: "n"}}, Do: nothing})
	e.Call(0, []Value{OfNumber(1)})
	e.Wait()
	e.Log("warn", "careful")
	o := e.Finish(Ending{Value: OfObject(Field{"a", OfNumber(1)}), Unhandled: 1, Session: SessionKept})
	o.Effects.Done[0].ID, o.Used.Wall.Used = "call-1", 5
	b, err := json.Marshal(o)
	require.NoError(t, err)
	require.Equal(t, `{"status":"ok","kind":"","where":null,`+
		`"effects":{"done":[{"id":"call-1","power":"f","args":{"n":1},"result":"ok"}],"unknown":[]},`+
		`"session":{"state":"kept"},`+
		`"value":{"type":"object","text":"{a: 1}","partial":false,"omitted":0},"data":{"a":1},`+
		`"console":{"entries":[{"level":"warn","text":"careful"}],"dropped_entries":0,"dropped_bytes":0,"unhandled_rejections":1},`+
		`"used":{"wall_ms":{"used":5,"limit":30000},"source_bytes":{"used":6,"limit":262144},"host_calls":{"used":1,"limit":1000},"calls":{"f":{"used":1,"limit":1000}}},`+
		`"next":"A promise was rejected and nobody looked: await it, or catch it."}`, string(b))
}

// TestGuestPartial: what JSON cannot say is still a success, and says that it is partial; what is too long for data
// is too (R257).
func TestGuestPartial(t *testing.T) {
	for _, v := range []Value{{}, OfNumber(math.NaN()), OfBigInt(bigOne()), OfMark(TypeMap, ""), OfMark(TypeSymbol, "s"), OfArray(Value{}), OfArray().Omitting(1)} {
		o := begin(t, Limits{}).Finish(Ending{Value: v})
		require.Equal(t, StatusOK, o.Status)
		require.True(t, o.Value.Partial, v.Text(10))
		require.Nil(t, o.Data)
		require.NotEmpty(t, o.Value.Text)
	}
	long := OfString(strings.Repeat("x", 5000))
	require.False(t, begin(t, Limits{OutputBytes: 6000}).Finish(Ending{Value: long}).Value.Partial)
	o := begin(t, Limits{OutputBytes: 4096}).Finish(Ending{Value: long})
	require.True(t, o.Value.Partial)
	require.Nil(t, o.Data)
	o = begin(t, Limits{}).Finish(Ending{Value: OfArray(OfArray().Omitting(2), OfArray().Omitting(3))})
	require.Equal(t, int64(5), o.Value.Omitted)
}

// TestNoValueIsNotUndefined: an evaluation that was stopped has no value; one that threw undefined has.
func TestNoValueIsNotUndefined(t *testing.T) {
	o := begin(t, Limits{}).Finish(Ending{Kind: KindTime})
	require.Equal(t, Rendering{}, o.Value)
	o = begin(t, Limits{}).Finish(Ending{Kind: KindParse, Exception: &Exception{Name: "SyntaxError"}})
	require.Equal(t, "", o.Value.Type)
	o = begin(t, Limits{}).Finish(Ending{Kind: KindThrown})
	require.Equal(t, "undefined", o.Value.Type)
}

// TestKinds: each kind begins with a status, and the failure of a power decides over the way it was thrown.
func TestKinds(t *testing.T) {
	for k, want := range map[Kind]Status{"": StatusOK, KindThrown: StatusException, KindParse: StatusSyntax, KindGate: StatusRefused, KindTime: StatusStopped,
		KindPowerPanic: StatusHostFailure, KindEnginePanic: StatusEngineLost} {
		require.Equal(t, want, k.Status())
	}
	f := FailureOf(KindByPower, "Error", "no")
	f.Code = "busy"
	o := begin(t, Limits{}).Finish(Ending{Kind: KindRejected, Failure: f, Exception: &Exception{Name: "Error"}})
	require.Equal(t, StatusRefused, o.Status)
	require.Equal(t, KindByPower, o.Kind)
	require.Equal(t, "busy", o.Value.Exception.Code)
}

// TestNextNamesWhatIsGranted: the one sentence of advice holds signatures of powers and no guest text.
func TestNextNamesWhatIsGranted(t *testing.T) {
	o := begin(t, Limits{}, Power{Name: "f", Do: nothing, Returns: Param{Types: []Type{TypeString}}}).Finish(Ending{Kind: KindWithheld})
	require.Equal(t, "The operator can grant it; code cannot. Granted: f(): Promise<string>.", o.Next)
	o = begin(t, Limits{}).Finish(Ending{Kind: KindThrown, Undeclared: true})
	require.Equal(t, "A name is not declared. Besides the language there is only what was granted: nothing. The operator can grant more; code cannot.", o.Next)
	for k := range nextTable {
		require.NotEmpty(t, k.Status())
		require.NotEqual(t, StatusOK, k.Status(), k)
	}
}

// TestAt: places are in the guest's own lines, whatever ends them, and the caret stands under the column.
func TestAt(t *testing.T) {
	require.Nil(t, At("a", 2, 1, nil))
	require.Nil(t, At("a", 0, 1, nil))
	source := "one\r\ntwo\rthree\u2028four\nfive\n"
	for line, want := range map[int]string{1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: ""} {
		w := At(source, line, 1, nil)
		require.NotNil(t, w, line)
		require.Equal(t, want, w.Source)
		require.Equal(t, "^", w.Caret)
	}
	w := At("\tä😀 = x", 1, 6, nil) // a tab, ä, two units of the emoji, a space
	require.Equal(t, " ä😀 = x", w.Source)
	require.Equal(t, "    ^", w.Caret)
	w = At(strings.Repeat("a", 1000)+"!"+strings.Repeat("b", 1000), 1, 1001, nil)
	require.Equal(t, "…"+strings.Repeat("a", 80)+"!"+strings.Repeat("b", 79)+"…", w.Source)
	require.Equal(t, strings.Repeat(" ", 81)+"^", w.Caret)
	require.Equal(t, `x\u{202e}y`, At("x\u202ey", 1, 1, nil).Source)
	w = At("x", 1, 50, make([]Frame, 9))
	require.Len(t, w.Frames, 5)
	require.Equal(t, " ^", w.Caret)
}

// TestCauseIsNotInJSON: the cause of a failure is for the host and is in no JSON.
func TestCauseIsNotInJSON(t *testing.T) {
	e := begin(t, Limits{}, Power{Name: "f", Do: func(context.Context, *Call) (Value, error) { panic("/srv/secret") }})
	e.Call(0, nil)
	s, _ := e.Wait()
	o := e.Finish(Ending{Kind: KindRejected, Failure: s.Failure, Exception: &Exception{Name: "Error", Message: s.Failure.Text}})
	b, err := json.Marshal(o)
	require.NoError(t, err)
	require.NotContains(t, string(b), "secret")
	require.ErrorContains(t, o.Cause, "/srv/secret")
}
