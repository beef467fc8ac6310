package corpus

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/compartment/wasm"
)

// childEngine names the environment variable that makes a test binary run attacks instead of tests. childControl makes it do, besides, what a
// watcher must see.
const (
	childEngine  = "SALLYPORT_CORPUS_ENGINE"
	childControl = "SALLYPORT_CORPUS_CONTROL"
)

// addressSpace bounds a child: an attack that fills the memory ends its process and not the machine. What the engines reserve without using it is
// counted too.
const addressSpace = 4 << 30

// marker is a name that is nowhere. Trying to open it tells a watcher that the attacks begin, or that they are over.
const marker = "/sallyport-corpus-marker"

// makeEngine makes an engine by its name.
func makeEngine(name string) (compartment.Engine, func() error, error) {
	if name == "goja" {
		return goja.NewWithoutMemoryLimit(), func() error { return nil }, nil
	}
	e, err := wasm.New(context.Background(), wasm.Options{NoCache: true})
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}

// childMain runs the attacks whose ids are on the standard input, one a line, and writes a verdict for each. It ends early, for another to go on, when the
// engine lost one: what that left running would be counted against the next.
func childMain(engine string) int {
	if err := limitAddressSpace(addressSpace); err != nil {
		return failed(err)
	}
	all, err := readAttacks()
	if err != nil {
		return failed(err)
	}
	ids, err := io.ReadAll(os.Stdin)
	if err != nil {
		return failed(err)
	}
	e, closeEngine, err := makeEngine(engine)
	if err != nil {
		return failed(err)
	}
	s, err := newStage(e)
	if err != nil {
		return failed(err)
	}
	mark()
	defer mark()
	for _, id := range strings.Fields(string(ids)) {
		i := slices.IndexFunc(all, func(a attack) bool { return a.ID == id })
		if i < 0 {
			return failed(fmt.Errorf("no attack %s", id))
		}
		emit(map[string]string{"begin": id})
		if os.Getenv(childControl) != "" {
			control()
		}
		v := s.run(all[i])
		emit(v)
		if v.Word == string(compartment.StatusEngineLost) {
			return 0
		}
	}
	if err := closeEngine(); err != nil {
		return failed(err)
	}
	return 0
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 3
}

func emit(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n'))
}

// mark is seen by a watcher of system calls, and does nothing.
func mark() {
	if f, err := os.Open(marker); err == nil {
		f.Close()
	}
}

// control does what no attack may: it opens a file.
func control() {
	if f, err := os.Open("/etc/hosts"); err == nil {
		f.Close()
	}
}

// command is how a child is started.
func command(ctx context.Context, engine string, wrapper ...string) *exec.Cmd {
	args := append(slices.Clone(wrapper), os.Args[0], "-test.run=^$")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childEngine+"="+engine)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// runAll runs attacks in children, a new one whenever the last has ended, and returns a verdict for each. Each child is started through the wrapper, when
// there is one.
func runAll(ctx context.Context, engine string, attacks []attack, wrapper ...string) (map[string]verdict, error) {
	verdicts := map[string]verdict{}
	for left := attacks; len(left) > 0; {
		got, begun, ended, err := runSome(ctx, engine, left, wrapper)
		if err != nil {
			return nil, err
		}
		for _, v := range got {
			verdicts[v.ID] = v
		}
		if _, had := verdicts[begun]; begun != "" && !had {
			verdicts[begun] = verdict{ID: begun, Word: "died", Died: ended}
		} else if ended != "" {
			return nil, fmt.Errorf("a child that was at nothing ended: %s", ended)
		}
		left = slices.DeleteFunc(slices.Clone(left), func(a attack) bool { _, done := verdicts[a.ID]; return done })
	}
	return verdicts, nil
}

// runSome runs one child: its verdicts, the attack it was at last, and how it ended when not well.
func runSome(ctx context.Context, engine string, attacks []attack, wrapper []string) (got []verdict, begun, ended string, err error) {
	cmd := command(ctx, engine, wrapper...)
	var ids, complaint strings.Builder
	for _, a := range attacks {
		ids.WriteString(a.ID + "\n")
	}
	cmd.Stdin = strings.NewReader(ids.String())
	cmd.Stderr = &head{to: &complaint, room: 4 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", "", err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			verdict
			Begin string `json:"begin"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // what a dying process wrote
		}
		if line.Begin != "" {
			begun = line.Begin
		} else {
			got = append(got, line.verdict)
		}
	}
	if err := cmd.Wait(); err != nil {
		ended = fmt.Sprintf("%v: %s", err, firstLine(complaint.String()))
	}
	if len(got) == 0 && begun == "" {
		return nil, "", "", errors.Join(lines.Err(), fmt.Errorf("the child did nothing: %s", ended))
	}
	return got, begun, ended, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// head keeps the beginning of what is written: a process that dies of its stack writes megabytes.
type head struct {
	to   *strings.Builder
	room int
}

func (h *head) Write(b []byte) (int, error) {
	keep := b[:min(len(b), h.room)]
	h.room -= len(keep)
	h.to.Write(keep)
	return len(b), nil
}
