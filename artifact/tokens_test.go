package artifact

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tokenTexts are texts with their real numbers of tokens, as the encodings' own tokenizers count them: o200k, cl100k, p50k,
// r50k.
var tokenTexts = []struct {
	name, text string
	tokens     [4]int64
}{
	{"english", "A sally port is a guarded passage with two doors that are never open at once. The gate is asked before every tool call, reads included, and a gate that does not answer has refused. What a model is shown is a handle, and it asks the artifact behind it for a head, a tail, some lines or what a pattern matches.\n", [4]int64{71, 71, 72, 72}},
	{"code", "func (x *index) add(p []byte) {\n\tif x.block == 0 {\n\t\tx.block = firstBlock\n\t}\n\tfor len(p) > 0 {\n\t\tn := min(int64(len(p)), x.block-x.size%x.block)\n\t\tx.lines += int64(bytes.Count(p[:n], newline))\n\t\tp = p[n:]\n\t}\n}\n", [4]int64{75, 75, 107, 107}},
	{"json", `{"kind":"item","path":"shell/internal/jail/seccomp_test.go","line":410,"text":"\trequire.NoError(t, err)"}` + "\n" + `{"kind":"item","path":"docs/rationale.md","line":7,"text":"and bounded"}` + "\n", [4]int64{53, 54, 65, 65}},
	{"log", "2026-12-01 04:56:15 status installed libc6:amd64 2.36-9+deb12u13\n2026-12-01 04:56:16 configure ca-certificates:all 20230311+deb12u1 <none>\n-rw-r--r-- 1 root root  123456 Dec  1 04:56 libexample.so.1.2.3\n", [4]int64{93, 93, 91, 91}},
	{"chinese", "我们在这个文件中测试中文文本的长度，因为模型需要知道它有多长。\n", [4]int64{19, 27, 65, 65}},
	{"russian", "Мы проверяем длину русского текста, потому что модель должна знать, сколько в нём слов.\n", [4]int64{20, 34, 92, 92}},
}

// TestEstimateTokens: within a third of what each encoding really has, whole and in samples.
func TestEstimateTokens(t *testing.T) {
	for _, c := range tokenTexts {
		for i, name := range Encodings() {
			for _, times := range []int{1, 50, 2<<20/len(c.text) + 1} {
				got, err := closed(t, KindText, strings.Repeat(c.text, times)).EstimateTokens(name)
				require.NoError(t, err)
				ratio := float64(got) / float64(c.tokens[i]*int64(times))
				t.Logf("%s %s ×%d: %.2f", c.name, name, times, ratio)
				require.Less(t, math.Abs(math.Log(ratio)), math.Log(4.0/3), "%s %s: %d, and it is %d", c.name, name, got, c.tokens[i])
			}
		}
	}
	n, err := closed(t, KindText, "").EstimateTokens("")
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = closed(t, KindText, "x").EstimateTokens("gpt-9")
	require.ErrorIs(t, err, ErrArgument)
	require.ErrorContains(t, err, "o200k_base, cl100k_base")
}
