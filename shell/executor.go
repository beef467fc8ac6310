package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sallyport/policy"
)

// BinaryExecutor runs a program to its end and returns what it printed, as tools for pictures, sound and film want it.
type BinaryExecutor interface {
	Exec(ctx context.Context, call BinaryCall) (BinaryResult, error)
	// RetainBytes bounds how much of each output stream is kept; zero means no bound.
	RetainBytes() int64
}

// BinaryCall is what a [BinaryExecutor] is to run.
type BinaryCall struct {
	Name  string
	Args  []string // words, without the program's name; they are never put together into a line
	Dir   string   // absolute; empty means the executor's own
	Stdin io.Reader
}

// BinaryResult is how it ended. A non-zero exit is no error.
type BinaryResult struct {
	Completion
	Stdout, Stderr []byte
	// Truncated says that more was printed than was kept.
	Truncated bool
}

// ExecutorOptions are the settings of [Session.Executor].
type ExecutorOptions struct {
	// Dir is the working directory of calls that name none. Empty means "/".
	Dir string
	// Bypass says, by its name alone, that a program may be run by the inner executor, outside of every boundary. It is for
	// an audited list of programs, not for policy: it never sees the arguments. Each use makes one loud event. Never let it
	// name an interpreter: a program that runs what its arguments say needs no hole in a boundary, it is one. Those that are
	// known, scripts, programs that a command of the session could have put there, and relative paths are run confined in
	// spite of it. A session in StrictMode ignores it.
	Bypass func(name string) bool
}

// Executor runs programs in a session, in the place of another executor. It does not stream, and keeps as much of the output
// as the inner one would.
type Executor struct {
	session *Session
	inner   BinaryExecutor
	options ExecutorOptions
}

// Executor wraps an executor so that what it runs is confined in this session. CodeInvalidConfig says that there is none,
// or that the directory is not absolute.
func (s *Session) Executor(inner BinaryExecutor, o ExecutorOptions) (*Executor, error) {
	if inner == nil {
		return nil, invalid("wrap an executor", errors.New("there is none"))
	}
	if o.Dir == "" {
		o.Dir = "/"
	}
	if !filepath.IsAbs(o.Dir) {
		return nil, invalid("wrap an executor", errors.New("ExecutorOptions.Dir is not an absolute path: "+o.Dir))
	}
	return &Executor{session: s, inner: inner, options: o}, nil
}

// Inner gives the executor back that was wrapped.
func (e *Executor) Inner() BinaryExecutor { return e.inner }

// RetainBytes is the inner executor's bound.
func (e *Executor) RetainBytes() int64 { return e.inner.RetainBytes() }

// Exec runs one program. Errors are those of [Cmd.Run].
func (e *Executor) Exec(ctx context.Context, call BinaryCall) (BinaryResult, error) {
	if call.Dir == "" {
		call.Dir = e.options.Dir
	}
	cmd := e.session.Command(ctx, call.Name, call.Args...)
	cmd.Dir, cmd.Stdin = call.Dir, call.Stdin
	if _, err := cmd.words(); err != nil {
		return BinaryResult{}, err
	}
	if err := e.session.alive(); err != nil {
		return BinaryResult{}, err
	}
	if e.bypassed(call) {
		return e.outside(cmd, call)
	}
	stdout, stderr := &kept{limit: e.RetainBytes()}, &kept{limit: e.RetainBytes()}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	result := BinaryResult{Stdout: stdout.b.Bytes(), Stderr: stderr.b.Bytes(), Truncated: stdout.more || stderr.more}
	if cmd.Completion != nil {
		result.Completion = *cmd.Completion
	}
	return result, err
}

// outside has the inner executor run it. Dispose ends its context and waits for it, as for every command of the session.
func (e *Executor) outside(cmd *Cmd, call BinaryCall) (BinaryResult, error) {
	ctx, err := e.session.enter(cmd)
	if err != nil {
		return BinaryResult{}, err
	}
	defer e.session.leave(cmd, ctx)
	result, err := e.inner.Exec(ctx, call)
	if err != nil && errors.Is(context.Cause(ctx), ErrDisposed) {
		err = &Error{Code: CodeNotInitialized, Detail: "the program was run outside", Err: ErrDisposed}
	}
	return result, err
}

// bypassed asks whether a program is to be run outside, and tells of it.
func (e *Executor) bypassed(call BinaryCall) bool {
	if e.options.Bypass == nil || e.session.strict || !e.options.Bypass(call.Name) {
		return false
	}
	event := Event{Kind: EventBypass, Loud: true, Session: e.session.id, Subject: filepath.Base(call.Name)}
	why, no := e.session.unfitOutside(call.Name)
	if no {
		event.Outcome, event.Detail = Failed, "a bypass was asked for and refused: it is "+why+"; it is run confined"
	} else {
		event.Outcome, event.Detail = Passed, "run by the inner executor, outside of every boundary"
	}
	e.session.manager.tell(event)
	return !no
}

// kept keeps the beginning of a stream and counts on.
type kept struct {
	b     bytes.Buffer
	limit int64
	more  bool
}

func (k *kept) Write(p []byte) (int, error) {
	keep := p
	if room := k.limit - int64(k.b.Len()); k.limit > 0 && int64(len(p)) > room {
		keep, k.more = p[:max(room, 0)], true
	}
	k.b.Write(keep) // never fails
	return len(p), nil
}

// unfitOutside says why a program must not be run outside: it runs what its arguments or its file say, or commands may have
// put it there, or it is not sure which one the inner executor would run.
func (s *Session) unfitOutside(name string) (why string, is bool) {
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		return "a relative path, which means one program here and another one elsewhere", true
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "a program that cannot be found", true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "a program that cannot be found", true
	}
	for _, p := range []string{name, path, real} {
		if why := runsArguments(filepath.Base(p)); why != "" {
			return "an interpreter (" + why + ")", true
		}
	}
	if s.mayWrite(path) || s.mayWrite(real) {
		return "a program that commands may replace", true
	}
	f, err := os.Open(real)
	if err != nil {
		return "a program that cannot be read", true
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != "\x7fELF" {
		return "a script", true
	}
	return "", false
}

// mayWrite says whether a command of this session, or one before anything was narrowed, may write the file, or put another
// one in its place. What a policy of a single command grants besides is not known here.
func (s *Session) mayWrite(path string) bool {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return true
	}
	path = filepath.Join(dir, filepath.Base(path))
	for _, rules := range []*policy.Rules{s.admitted(), s.est.first} {
		if d := rules.Write(path); d.Allowed && d.Rule.List != policy.ListPrivate {
			return true
		}
	}
	return false
}

// runsArguments says how a program of that name runs what its arguments say, or "". What follows the name after a digit, a dot
// or a hyphen, a version most often, changes nothing.
func runsArguments(base string) string {
	base = strings.ToLower(strings.TrimSuffix(base, ".exe"))
	for _, i := range interpreters {
		if rest, ok := strings.CutPrefix(base, i.name); ok && (rest == "" || strings.Contains("0123456789.-", rest[:1])) {
			return i.why
		}
	}
	return ""
}

// interpreters are programs that run what their arguments, or a file that these name, say.
var interpreters = []struct{ name, why string }{
	{"sh", "a shell"}, {"ash", "a shell"}, {"bash", "a shell"}, {"dash", "a shell"}, {"fish", "a shell"}, {"ksh", "a shell"},
	{"mksh", "a shell"}, {"rbash", "a shell"}, {"tcsh", "a shell"}, {"csh", "a shell"}, {"zsh", "a shell"}, {"pwsh", "a shell"},
	{"busybox", "every one of its programs, a shell among them"}, {"toybox", "every one of its programs, a shell among them"},
	{"python", "a language"}, {"pypy", "a language"}, {"node", "a language"}, {"nodejs", "a language"}, {"deno", "a language"},
	{"bun", "a language"}, {"perl", "a language"}, {"ruby", "a language"}, {"irb", "a language"}, {"php", "a language"},
	{"lua", "a language"}, {"luajit", "a language"}, {"tclsh", "a language"}, {"wish", "a language"}, {"guile", "a language"},
	{"java", "a language"}, {"jshell", "a language"}, {"dotnet", "a language"}, {"julia", "a language"}, {"rscript", "a language"},
	{"ghci", "a language"}, {"erl", "a language"}, {"elixir", "a language"}, {"osascript", "a language"}, {"go", "go run"},
	{"awk", "system() in its program"}, {"gawk", "system() in its program"}, {"mawk", "system() in its program"}, {"nawk", "system() in its program"},
	{"sed", "the command e of its script"}, {"ed", "the command !"}, {"ex", "the command !"}, {"vi", "the command !"},
	{"vim", "the command !"}, {"nvim", "the command !"}, {"emacs", "a language"}, {"gdb", "a language, and other processes"},
	{"env", "runs its arguments"}, {"xargs", "runs its arguments"}, {"find", "-exec"}, {"nohup", "runs its arguments"},
	{"nice", "runs its arguments"}, {"ionice", "runs its arguments"}, {"chrt", "runs its arguments"}, {"taskset", "runs its arguments"},
	{"timeout", "runs its arguments"}, {"time", "runs its arguments"}, {"setsid", "runs its arguments"}, {"stdbuf", "runs its arguments"},
	{"unshare", "runs its arguments"}, {"nsenter", "runs its arguments"}, {"chroot", "runs its arguments"}, {"sudo", "runs its arguments"},
	{"su", "runs its arguments"}, {"doas", "runs its arguments"}, {"setpriv", "runs its arguments"}, {"runuser", "runs its arguments"},
	{"script", "runs its arguments"}, {"watch", "runs its arguments"}, {"parallel", "runs its arguments"}, {"flock", "runs its arguments"},
	{"strace", "runs its arguments"}, {"ltrace", "runs its arguments"}, {"make", "runs a file"}, {"gmake", "runs a file"},
	{"git", "aliases and hooks"}, {"ssh", "ProxyCommand"}, {"tar", "--to-command"}, {"rsync", "-e"}, {"npm", "runs a file"},
	{"npx", "runs its arguments"}, {"docker", "runs its arguments"}, {"ld", "runs its argument, as the loader of programs"},
	{"coreutils", "every one of its programs, env among them"}, {"setarch", "runs its arguments"}, {"capsh", "a shell"},
	{"bwrap", "runs its arguments"}, {"prlimit", "runs its arguments"}, {"ssh-agent", "runs its arguments"}, {"pkexec", "runs its arguments"},
	{"socat", "EXEC:"}, {"expect", "a language"}, {"m4", "syscmd"}, {"dc", "the command !"}, {"sqlite3", "the command .shell"},
	{"gnuplot", "system"}, {"r", "a language"}, {"octave", "a language"}, {"gcc", "-wrapper"}, {"cc", "-wrapper"}, {"clang", "plug-ins"},
	{"cmake", "runs a file"}, {"ninja", "runs a file"}, {"cargo", "runs a file"}, {"split", "--filter"}, {"sort", "--compress-program"},
	{"scp", "-S"}, {"sftp", "-S"}, {"zip", "-TT"}, {"man", "-P"}, {"less", "the command !"}, {"more", "the command !"}, {"ip", "netns exec"},
}
