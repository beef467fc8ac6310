package live

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

func init() { modes["read-as-told"] = readAsTold }

// readAsTold opens a file again and again, and says each time what it found there when that has changed: "secret", "other"
// or the error. Between two looks it answers each line of its standard input with "mark", and it ends with that.
func readAsTold(args []string) int {
	asked := make(chan bool)
	go func() {
		for s := bufio.NewScanner(os.Stdin); s.Scan(); {
			asked <- true
		}
		close(asked)
	}()
	for last := ""; ; {
		now := looked(args[0])
		if now != last {
			fmt.Println(now)
		}
		last = now
		select {
		case _, ok := <-asked:
			if !ok {
				return 0
			}
			fmt.Println("mark")
		default:
		}
	}
}

func looked(path string) string {
	b, err := os.ReadFile(path)
	switch {
	case err != nil:
		return strings.TrimPrefix(err.Error(), "open "+path+": ")
	case string(b) == secretText:
		return "secret"
	}
	return "other"
}

// reader is a command that runs readAsTold.
type reader struct {
	t     *testing.T
	cmd   *shell.Cmd
	in    io.WriteCloser
	lines chan string
}

func startReader(t *testing.T, box *shell.Sandbox, dir, path string) *reader {
	t.Helper()
	r := &reader{t: t, cmd: command(t, box, dir, attacker(), "read-as-told", path), lines: make(chan string, 1000)}
	var err error
	r.in, err = r.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	return r
}

// sees waits until the command says that it sees something, and gives all that it said until then.
func (r *reader) sees(what string) []string {
	r.t.Helper()
	late := time.After(patience)
	var all []string
	for {
		select {
		case line, ok := <-r.lines:
			require.True(r.t, ok, "it ended after %q", all)
			if all = append(all, line); line == what {
				return all
			}
		case <-late:
			r.t.Fatalf("never %q, but %q", what, all)
		}
	}
}

// ends has the command end, and gives what it said besides.
func (r *reader) ends() (all []string) {
	r.t.Helper()
	require.NoError(r.t, r.in.Close())
	for line := range r.lines {
		all = append(all, line)
	}
	require.NoError(r.t, r.cmd.Wait())
	require.Equal(r.t, 0, r.cmd.Completion.ExitCode)
	return all
}

// replacements are what a host can do to a denied file, all of which leave a secret at its name.
var replacements = map[string]func(f *field, path string) error{
	"by rename": func(f *field, path string) error {
		f.write(path+".new", secretText)
		return os.Rename(path+".new", path)
	},
	"by removing and making it": func(f *field, path string) error {
		if err := os.Remove(path); err != nil {
			return err
		}
		f.write(path, secretText)
		return nil
	},
	"with its directory": func(f *field, path string) error {
		f.write(f.dir+"/other/"+filepath.Base(path), secretText)
		if err := os.Rename(filepath.Dir(path), f.dir+"/old"); err != nil {
			return err
		}
		return os.Rename(f.dir+"/other", filepath.Dir(path))
	},
	"by a link": func(f *field, path string) error {
		f.write(f.dir+"/elsewhere", secretText)
		if err := os.Symlink(f.dir+"/elsewhere", path+".new"); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	},
}

// settled waits until the report says that a file was covered again.
func settled(t *testing.T, cmd *shell.Cmd, path string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(time.Millisecond) {
		if e := cmd.Report().Layer("mounts").Evidence; strings.Contains(e, "covered again: ") && strings.Contains(e, path) {
			return
		}
	}
	t.Fatalf("%s was not covered again", path)
}

// TestReplacedDuringTheRun: a denied file that the host replaces while a command runs is covered again, whether records are
// kept or not, and is never read from then on. The same command reads the same change of a file that is not denied.
func TestReplacedDuringTheRun(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for name, replace := range replacements {
			for _, quiet := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, no records %v", name, quiet), func(t *testing.T) {
					f := newField(t)
					secret := f.dir + "/deep/kept/.env"
					f.write(secret, "as it was\n")

					open_ := startReader(t, open(t, policy.Policy{}, shell.Options{NoRecords: quiet}), f.ws, secret)
					open_.sees("other")
					require.NoError(t, replace(f, secret))
					open_.sees("secret") // the attack is one
					open_.ends()

					f = newField(t)
					secret = f.dir + "/deep/kept/.env"
					f.write(secret, "as it was\n")
					p := policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(secret)}}
					denied := startReader(t, open(t, p, shell.Options{NoRecords: quiet}), f.ws, secret)
					denied.sees("permission denied")
					require.NoError(t, replace(f, secret))
					settled(t, denied.cmd, ".env")
					_, err := denied.in.Write([]byte("\n"))
					require.NoError(t, err)
					t.Logf("in the window: %q", denied.sees("mark"))
					for _, line := range denied.ends() {
						require.Equal(t, "permission denied", line, "after it was covered")
					}
				})
			}
		}
	})
}

// TestAppearsDuringTheRun: a denied path that the host makes while a command runs, with the directories that lead to it,
// is covered as well.
func TestAppearsDuringTheRun(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, quiet := range []bool{false, true} {
			f := newField(t)
			secret := f.dir + "/not/yet/.env"
			p := policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(secret)}}
			r := startReader(t, open(t, p, shell.Options{NoRecords: quiet}), f.ws, secret)
			r.sees("no such file or directory")
			before, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
			require.NoError(t, err)
			f.write(secret, secretText)
			settled(t, r.cmd, secret)
			_, err = r.in.Write([]byte("\n"))
			require.NoError(t, err)
			t.Logf("in the window: %q", r.sees("mark"))
			for _, line := range r.ends() {
				require.Equal(t, "permission denied", line, "after it was covered")
			}
			after, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
			require.NoError(t, err)
			require.Equal(t, before, after, "entering the jail has changed the host's own process")
		}
	})
}

// TestReplacedWhileItWaits: a jail that was set up and waits for its command is thrown away, or has covered again, when a
// denied file is replaced: the command never reads it.
func TestReplacedWhileItWaits(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for name, replace := range replacements {
			f := newField(t)
			secret := f.dir + "/deep/kept/.env"
			f.write(secret, "as it was\n")
			p := policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(secret)}}
			box := open(t, p, shell.Options{NoRecords: true}) // a jail waits from here on
			require.NoError(t, replace(f, secret))
			for range 2 { // the one that waited, and one made after
				code, out := runIn(t, box, f.ws, "cat", secret)
				require.Equal(t, 1, code, name)
				require.Equal(t, "cat: "+secret+": Permission denied\n", out, name)
			}
		}
	})
}

// TestStrictReads: with every open decided by name there is no window, and the same where the host's directory cannot be
// watched.
func TestStrictReads(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, strict := range []bool{true, false} {
			f := newField(t)
			secret := f.dir + "/deep/kept/.env"
			f.write(secret, "as it was\n")
			if !strict {
				if os.Getuid() == 0 {
					continue // root watches everything
				}
				require.NoError(t, os.Chmod(filepath.Dir(secret), 0o311))
				t.Cleanup(func() { require.NoError(t, os.Chmod(filepath.Dir(secret), 0o755)) })
			}
			p := policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(secret)}}
			box := open(t, p, shell.Options{StrictReads: strict, NoRecords: true})
			require.Contains(t, box.Report().Layer("names").Evidence, "every open for reading")
			r := startReader(t, box, f.ws, secret)
			r.sees("permission denied")
			require.NoError(t, replacements["by rename"](f, secret))
			_, err := r.in.Write([]byte("\n"))
			require.NoError(t, err)
			require.Equal(t, []string{"mark"}, r.sees("mark"))
			require.Empty(t, r.ends())
		}
	})
}
