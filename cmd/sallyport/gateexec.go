package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"sallyport/gate"
	"sallyport/internal/strict"
)

// execGate has a program decide about each call: the call is one JSON object on its standard input, and its verdict one
// on its standard output.
type execGate struct {
	program string    // absolute
	log     io.Writer // gets its standard error
}

// longestVerdict is far more than a verdict with a note needs.
const longestVerdict = 64 << 10

// drainTime is how long output is waited for that something the gate program left behind holds open.
const drainTime = 2 * time.Second

// ask is a gate.Func. Every error is "unavailable". When ctx ends, the program is killed with everything that it
// started.
func (g *execGate) ask(ctx context.Context, c gate.Call) (gate.Verdict, error) {
	question, err := json.Marshal(c)
	if err != nil {
		return gate.Verdict{}, fmt.Errorf("the call as JSON: %w", err)
	}
	answer := &bounded{limit: longestVerdict}
	cmd := exec.CommandContext(ctx, g.program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(question, '\n')), answer, g.log
	cmd.WaitDelay = drainTime
	ownTree(cmd)
	cmd.Cancel = func() error { return killTree(cmd.Process.Pid) }
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = killTree(cmd.Process.Pid) // what it left behind is in its group
	}
	switch {
	case ctx.Err() != nil:
		return gate.Verdict{}, ctx.Err()
	case err != nil:
		return gate.Verdict{}, fmt.Errorf("the gate program: %w", err)
	case answer.over:
		return gate.Verdict{}, fmt.Errorf("the gate program wrote more than %d bytes", longestVerdict)
	}
	v, err := parseVerdict(answer.kept)
	if err != nil {
		return gate.Verdict{}, fmt.Errorf("the answer of the gate program: %w", err)
	}
	return v, nil
}

// parseVerdict reads {"approved":true}, or {"approved":false} with or without a note, and nothing else: an answer that is
// nearly an approval was made by a program that does not know what it says.
func parseVerdict(data []byte) (gate.Verdict, error) {
	if err := strict.Check(data); err != nil {
		return gate.Verdict{}, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return gate.Verdict{}, errors.New("not an object")
	}
	approved, ok := fields["approved"].(bool)
	if !ok {
		return gate.Verdict{}, errors.New(`"approved" is not true or false`)
	}
	note, noted := fields["note"]
	text, isText := note.(string)
	switch {
	case noted && !isText:
		return gate.Verdict{}, errors.New(`"note" is not a string`)
	case noted && approved:
		return gate.Verdict{}, errors.New(`an approval takes no "note"`)
	case noted && len(fields) > 2, !noted && len(fields) > 1:
		return gate.Verdict{}, errors.New(`it has more than "approved" and "note"`)
	}
	return gate.Verdict{Approved: approved, Note: text}, nil
}

// bounded keeps the first bytes that are written, and takes the rest without keeping it: a program that writes for ever
// must not be stopped by a full pipe, where nobody would see why.
type bounded struct {
	kept  []byte
	limit int
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || len(b.kept)+len(p) > b.limit; !b.over {
		b.kept = append(b.kept, p...)
	}
	return len(p), nil
}
