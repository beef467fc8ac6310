package live

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() { modes["attack"] = attackMain }

// Verdicts of an attacker about its attempt.
const (
	refused = "refused"
	through = "got through"
	absent  = "absent" // this kernel does not have the way in at all
)

// finding is what an attacker reports.
type finding struct{ verdict, detail string }

// attackers are the attacks by name. A function returns an error when it could not make its attempt: that is neither
// a success nor a refusal.
var attackers = map[string]func(args []string) (finding, error){}

// verdictLine begins the one line by which an attacker speaks. Without it, the attack counts as not made.
const verdictLine = "VERDICT "

// attackMain is the attacker: it runs inside the jail, makes its attempt, and exits with 0 whatever came of it.
func attackMain(args []string) int {
	// Rights and filters are per thread: everything happens on the one that was executed.
	runtime.LockOSThread()
	if len(args) == 0 || attackers[args[0]] == nil {
		fmt.Println("no such attack:", args)
		return 2
	}
	f, err := attackers[args[0]](args[1:])
	if err != nil {
		fmt.Println("the attempt could not be made:", err)
		return 3
	}
	// One line, and not too long for the report.
	detail := strings.ReplaceAll(f.detail, "\n", " ")
	if len(detail) > 600 {
		detail = detail[:600] + " …"
	}
	fmt.Printf("\n%s%s: %s\n", verdictLine, f.verdict, detail)
	return 0
}

func got(format string, args ...any) (finding, error) {
	return finding{through, fmt.Sprintf(format, args...)}, nil
}

// judge turns the error of an attempt into a finding. A refusal is one of the errnos that a boundary gives; any other
// error says that the attempt itself was wrong, and proves nothing.
func judge(what string, err error, refusals ...syscall.Errno) (finding, error) {
	if err == nil {
		return got("%s", what)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) && slices.Contains(refusals, errno) {
		return finding{refused, what + ": " + unix.ErrnoName(errno)}, nil
	}
	return finding{}, fmt.Errorf("%s: %w", what, err)
}

// attempt is one of several ways of doing the same.
type attempt struct {
	what string
	do   func() error
}

// every makes all attempts. It is refused when each is, got through when each does; a mixture is reported as got
// through, with the names, so that it fails the arm in which a refusal is due.
func every(attempts []attempt, refusals ...syscall.Errno) (finding, error) {
	var no, yes []string
	for _, a := range attempts {
		f, err := judge(a.what, a.do(), refusals...)
		if err != nil {
			return f, err
		}
		if f.verdict == refused {
			no = append(no, f.detail)
		} else {
			yes = append(yes, f.detail)
		}
	}
	switch {
	case len(yes) == 0:
		return finding{refused, strings.Join(no, ", ")}, nil
	case len(no) == 0:
		return finding{through, strings.Join(yes, ", ")}, nil
	}
	return finding{through, "in part: " + strings.Join(yes, ", ") + "; but not: " + strings.Join(no, ", ")}, nil
}

// fileRefusals are the errnos by which mounts, covers and Landlock refuse.
var fileRefusals = []syscall.Errno{unix.EROFS, unix.EACCES, unix.EPERM, unix.EBUSY, unix.EXDEV}

// parseVerdict finds the verdict in an attacker's output.
func parseVerdict(out string) (finding, bool) {
	for _, line := range strings.Split(out, "\n") {
		if rest, ok := strings.CutPrefix(line, verdictLine); ok {
			v, detail, _ := strings.Cut(rest, ": ")
			return finding{v, detail}, true
		}
	}
	return finding{}, false
}

// need gives the arguments of an attack, or an error that says how many are missing.
func need(args []string, n int) error {
	if len(args) != n {
		return fmt.Errorf("want %d arguments, have %q", n, args)
	}
	return nil
}

// writeInto opens a file for writing the way a program would, and writes.
func writeInto(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString("written by the attacker\n")
	return errors.Join(err, f.Close())
}
