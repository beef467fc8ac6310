package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptAgent plays an agent: it starts a session of the tools, makes the calls of a file one after the other, as a model would, and
// writes down what a model reads of each: agent calls.txt seen.txt [FLAG]...
//
// In a call, $artifact and $media stand for the ids of the last artifact and media that came. In what is written down, ids and
// fences, which are random, have other names.
func scriptAgent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: agent CALLS SEEN [FLAG]...")
	}
	binary, err := exec.LookPath("sallyport")
	ts.Check(err)
	cmd := exec.Command(binary, append([]string{"tool", "--session", "--json"}, args[2:]...)...)
	cmd.Dir, cmd.Env = ts.Getenv("WORK"), append(cmd.Environ(), "PATH="+ts.Getenv("PATH"), "HOME="+ts.Getenv("HOME"), "TMPDIR="+ts.Getenv("TMPDIR"), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	seen, err := play(strings.Split(ts.ReadFile(args[0]), "\n"), in, bufio.NewReader(out))
	ts.Check(in.Close())
	_ = cmd.Wait() // its status says whether a call was refused, and that is written down
	if err != nil {
		ts.Fatalf("%v\n%s\n%s", err, seen, complaints.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(seen), 0o644))
}

// random are the ids, fences and times in what a model reads.
var random = regexp.MustCompile(`\b[0-9a-f]{8}(-\d+)?\b|\bm-[a-z2-7]{26}\b|\bcall-[A-Z2-7]{16}\b|"wall_ms":\{"used":\d+|json, \d+ bytes`)

// play makes the calls and writes down what comes of them.
func play(calls []string, in io.Writer, out *bufio.Reader) (string, error) {
	var seen strings.Builder
	artifact, media := "", ""
	for _, call := range calls {
		if call == "" {
			continue
		}
		line := strings.NewReplacer("$artifact", artifact, "$media", media).Replace(call)
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			return seen.String(), err
		}
		answer, err := out.ReadBytes('\n')
		if err != nil {
			return seen.String(), err
		}
		var r toolResult
		if err := json.Unmarshal(answer, &r); err != nil {
			return seen.String(), err
		}
		if r.Artifact != nil {
			artifact = r.Artifact.ID
		}
		if r.Media != nil {
			media = r.Media.ID
		}
		seen.WriteString("> " + call + "\n" + random.ReplaceAllString(r.Model, "ID") + "\n")
	}
	return seen.String(), nil
}
