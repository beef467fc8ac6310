package live

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// seen is what the tests compare of a record.
func seen(f *field, v shell.Violation) string {
	target := v.Target
	for _, dir := range []string{f.ws, f.outside} {
		target = strings.ReplaceAll(target, dir, filepath.Base(dir))
	}
	rule := v.Decision.Rule.List
	if rule == policy.ListMandatory {
		rule += " " + v.Decision.Rule.Entry
	}
	return fmt.Sprintf("%s %s %s %s ×%d", v.Operation, target, v.Errno, rule, v.Count)
}

// honest leaves out what the C library tries by itself, to look users and hosts up: sockets of a daemon that is not there.
func honest(f *field, all []shell.Violation) []string {
	lines := []string{}
	for _, v := range all {
		if v.Operation != "unix" && v.Operation != "connect" {
			lines = append(lines, seen(f, v))
		}
	}
	return lines
}

// denial is one thing that a command is denied, or not: a script, what it prints, how it ends, and what is recorded.
type denial struct {
	name   string
	script string
	out    string // standard output and error together
	code   int
	want   []string
}

// denials are rows of one policy: ws is writable, but ws/secret, ws/secrets and what matches ws/**/*.key may not be read,
// and ws/kept, ws/sub/kept, the absent ws/later and what matches ws/**/*.lock may not be written.
var denials = []denial{
	{"read a denied file", "cat secret", "cat: secret: Permission denied\n", 1, []string{"read ws/secret EACCES denyRead ×1"}},
	{"read in a denied directory", "cat secrets/inside", "cat: secrets/inside: Permission denied\n", 1,
		[]string{"read ws/secrets/inside EACCES denyRead ×1"}},
	{"list a denied directory", "ls secrets", "ls: cannot open directory 'secrets': Permission denied\n", 2,
		[]string{"read ws/secrets EACCES denyRead ×1"}},
	// stat is not an open: a covered file shows its cover, and one in a covered directory is not to be seen.
	{"stat a denied file", "stat -c '%a %s' secret", "0 0\n", 0, nil},
	{"stat in a denied directory", "stat -c %a secrets/inside 2>&1 | cut -d: -f3", " Permission denied\n", 0, nil},
	{"read what matches", "cat sub/a.key", "cat: sub/a.key: Permission denied\n", 1, []string{"read ws/sub/a.key EACCES denyRead ×1"}},
	{"read what matches by a link", "ln -s sub/a.key l; cat l", "cat: l: Permission denied\n", 1, []string{"read ws/sub/a.key EACCES denyRead ×1"}},
	{"move what matches away", "mv sub/a.key b", "mv: cannot move 'sub/a.key' to 'b': Permission denied\n", 1,
		[]string{"write ws/sub/a.key EACCES denyRead ×1"}},
	{"link what matches", "ln sub/a.key b", "ln: failed to create hard link 'b' => 'sub/a.key': Permission denied\n", 1,
		[]string{"write ws/sub/a.key EACCES denyRead ×1"}},
	{"make what matches", "echo x >new.key", "sh: 1: cannot create new.key: Permission denied\n", 2,
		[]string{"create ws/new.key EACCES denyRead ×1"}},

	{"write into a denied directory", "echo x >secrets/new", "sh: 1: cannot create secrets/new: Permission denied\n", 2,
		[]string{"create ws/secrets/new EACCES denyRead ×1"}},
	{"write outside", "echo x >../outside/new", "sh: 1: cannot create ../outside/new: Read-only file system\n", 2,
		[]string{"create outside/new EROFS default ×1"}},
	{"write to a file outside", "echo x >../outside/secret", "sh: 1: cannot create ../outside/secret: Read-only file system\n", 2,
		[]string{"write outside/secret EROFS default ×1"}},
	{"write through a link", "ln -s ../outside o; echo x >o/new", "sh: 1: cannot create o/new: Read-only file system\n", 2,
		[]string{"create outside/new EROFS default ×1"}},
	{"make a directory outside", "mkdir ../outside/d", "mkdir: cannot create directory '../outside/d': Read-only file system\n", 1,
		[]string{"create outside/d EROFS default ×1"}},
	{"a directory that is there", "mkdir -p ../outside /usr/bin . && echo fine", "fine\n", 0, nil},

	{"write a denied file", "echo x >kept", "sh: 1: cannot create kept: Read-only file system\n", 2, []string{"write ws/kept EROFS denyWrite ×1"}},
	{"remove it", "rm -f kept", "rm: cannot remove 'kept': Device or resource busy\n", 1, []string{"write ws/kept EBUSY denyWrite ×1"}},
	{"move it", "mv kept k2", "mv: cannot move 'kept' to 'k2': Device or resource busy\n", 1, []string{"write ws/kept EBUSY denyWrite ×1"}},
	{"replace it", "echo x >n; mv n kept", "mv: cannot move 'n' to 'kept': Device or resource busy\n", 1, []string{"create ws/kept EBUSY denyWrite ×1"}},
	{"change its mode", "chmod 777 kept", "chmod: changing permissions of 'kept': Read-only file system\n", 1, []string{"write ws/kept EROFS denyWrite ×1"}},
	{"shorten it", "truncate -s 0 kept", "truncate: cannot open 'kept' for writing: Read-only file system\n", 1,
		[]string{"write ws/kept EROFS denyWrite ×1"}},
	{"link it", "ln kept k2", "ln: failed to create hard link 'k2': Read-only file system\n", 1,
		[]string{"write ws/kept EROFS denyWrite ×1"}},
	{"touch it", "touch kept", "touch: cannot touch 'kept': Read-only file system\n", 1, []string{"write ws/kept EROFS denyWrite ×2"}},
	{"move its parent", "mv sub s2", "mv: cannot move 'sub' to 's2': Device or resource busy\n", 1, []string{"write ws/sub EBUSY denyWrite ×1"}},
	{"make a denied name", "echo x >later", "sh: 1: cannot create later: Permission denied\n", 2, []string{"create ws/later EACCES denyWrite ×1"}},
	{"make it a directory", "mkdir later", "mkdir: cannot create directory 'later': Permission denied\n", 1,
		[]string{"create ws/later EACCES denyWrite ×1"}},
	{"make a name that matches", "mkdir d; echo x >d/a.lock", "sh: 1: cannot create d/a.lock: Permission denied\n", 2,
		[]string{"create ws/d/a.lock EACCES denyWrite ×1"}},
	{"move to a name that matches", "echo x >n; mv n n.lock", "mv: cannot move 'n' to 'n.lock': Permission denied\n", 1,
		[]string{"create ws/n.lock EACCES denyWrite ×1"}},

	{"open for both, then for reading", "exec 3<>kept || true", "sh: 1: cannot create kept: Read-only file system\n", 2,
		[]string{"write ws/kept EROFS denyWrite ×1"}},
	{"shared memory and the name of a thread", "echo x >/dev/shm/x && echo name >/proc/self/comm && cat /dev/shm/x", "x\n", 0, nil},
	{"a private directory", "mkdir /tmp/.vscode && echo x >/tmp/.bashrc && echo fine", "fine\n", 0, nil},
	{"a device", "echo x >/dev/null && dd if=/dev/zero of=/dev/full count=1 2>&1 | head -1 | cut -d: -f3", " No space left on device\n", 0, nil},
	{"a call that no command may make", "unshare -U true", "unshare: unshare failed: Operation not permitted\n", 1,
		[]string{"syscall unshare EPERM default ×1"}},
	{"a name that another name begins", "echo x >.bashrcs && mkdir .vscodes .git .git/hooks && echo x >.git/hooks/a.sample && echo fine", "fine\n", 0, nil},
	{"a sample made a hook", "mkdir -p .git/hooks; echo x >.git/hooks/pre-push.sample; mv .git/hooks/pre-push.sample .git/hooks/pre-push",
		"mv: cannot move '.git/hooks/pre-push.sample' to '.git/hooks/pre-push': Permission denied\n", 1,
		[]string{"create ws/.git/hooks/pre-push EACCES mandatory .git/hooks ×1"}},
}

// denialPolicy is the policy of the table; see there.
func denialPolicy(f *field) policy.Policy {
	p := f.writable()
	p.Filesystem.DenyRead = policy.Paths(f.ws+"/secret", f.ws+"/secrets", f.ws+"/**/*.key")
	p.Filesystem.DenyWrite = policy.Paths(f.ws+"/kept", f.ws+"/sub/kept", f.ws+"/later", f.ws+"/**/*.lock")
	return p
}

func denialField(t *testing.T) *field {
	f := newField(t)
	for _, name := range []string{"secret", "secrets/inside", "kept", "sub/kept", "sub/a.key"} {
		f.write(f.ws+"/"+name, "as it was\n")
	}
	return f
}

// TestDenials: every row ends as it says and leaves the records that it says and no others, for a command in a jail of its
// own, and nothing that is denied has changed (R34, R136, R293; process cases 5, 16, 45; conformance 29-42, 62, 64, 67, 68).
func TestDenials(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, d := range denials {
			t.Run(strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) {
				f := denialField(t)
				var told []shell.Violation
				box := open(t, denialPolicy(f), shell.Options{OnViolation: func(v shell.Violation) { told = append(told, v) }})
				cmd := command(t, box, f.ws, "sh", "-c", d.script)
				out, err := cmd.CombinedOutput()
				require.NoError(t, explain(err), "%s", out)
				require.Equal(t, d.out, string(out))
				require.Equal(t, d.code, cmd.Completion.ExitCode)
				if d.want == nil {
					d.want = []string{}
				}
				require.Equal(t, d.want, honest(f, cmd.Violations()))
				for _, v := range cmd.Violations() {
					require.Equal(t, cmd.ID, v.ID)
					require.NotEmpty(t, v.Rule)
					require.Positive(t, v.PID)
					require.True(t, strings.HasPrefix(v.Program, "/"), "%q", v.Program)
					require.WithinDuration(t, time.Now(), v.Time, time.Minute)
					require.NotContains(t, v.Text(f.ws), f.dir, "a path of the host's is told")
					require.NotContains(t, v.Text(f.ws), "\n")
					require.Contains(t, v.Text(f.ws), "do not retry")
				}
				if len(d.want) > 0 {
					require.NotEmpty(t, told, "nothing was told as it happened")
				}
				for _, name := range []string{"secret", "secrets/inside", "kept", "sub/kept", "sub/a.key"} {
					b, err := os.ReadFile(f.ws + "/" + name)
					require.NoError(t, err)
					require.Equal(t, "as it was\n", string(b), name)
				}
				require.Empty(t, f.touched())
			})
		}
	})
}

// TestNoRecords: without records every denial stays one.
func TestNoRecords(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, d := range denials {
			t.Run(strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) {
				f := denialField(t)
				box := open(t, denialPolicy(f), shell.Options{NoRecords: true})
				cmd := command(t, box, f.ws, "sh", "-c", d.script)
				out, err := cmd.CombinedOutput()
				require.NoError(t, explain(err), "%s", out)
				require.Equal(t, d.out, string(out))
				require.Equal(t, d.code, cmd.Completion.ExitCode)
				require.Empty(t, cmd.Violations())
			})
		}
	})
}

// TestManyDenials: ten thousand denials of one thing are one record with a number, ten thousand of different things are a
// bounded list that says how much is missing, and the list is complete when Wait returns (R299).
func TestManyDenials(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := denialField(t)
		box := open(t, denialPolicy(f), shell.Options{})
		cmd := command(t, box, f.ws, attacker(), "attack", "denied-opens", "same", "10000")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, []string{"write ws/kept EROFS denyWrite ×10000"}, honest(f, cmd.Violations()))

		cmd = command(t, box, f.ws, attacker(), "attack", "denied-opens", "different", "10000")
		out, err = cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		all := cmd.Violations()
		require.Len(t, all, 1001)
		last := all[len(all)-1]
		require.Equal(t, "limit records", last.Operation+" "+last.Target)
		require.Equal(t, 9000, last.Count)
	})
}

// TestRecordsAreCompleteAtTheEnd: a denial that is the last thing a command does is there, every time (R299).
func TestRecordsAreCompleteAtTheEnd(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := denialField(t)
		box := open(t, denialPolicy(f), shell.Options{})
		for range 100 {
			cmd := command(t, box, f.ws, "sh", "-c", "echo x >later")
			_, err := cmd.CombinedOutput()
			require.NoError(t, err)
			require.Equal(t, []string{"create ws/later EACCES denyWrite ×1"}, honest(f, cmd.Violations()))
		}
	})
}

// TestForgedDenials: nothing that a command prints, or writes to any descriptor that it has, becomes a record (R296;
// process case 45).
func TestForgedDenials(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := denialField(t)
		cmd := command(t, open(t, denialPolicy(f), shell.Options{}), f.ws, attacker(), "attack", "forge-denials")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		require.Contains(t, string(out), "Operation not permitted: /etc/shadow")
		require.Equal(t, []string{"write /proc/1/comm EROFS private ×1"}, honest(f, cmd.Violations()), "what it really tried")
	})
}

// TestDenialsAreNotMixed: two commands of one sandbox at once have each their own (R159, R296).
func TestDenialsAreNotMixed(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := denialField(t)
		box := open(t, denialPolicy(f), shell.Options{})
		var all sync.WaitGroup
		for i := range 8 {
			cmd := command(t, box, f.ws, "sh", "-c", fmt.Sprintf("for n in 1 2 3; do echo x >../outside/%d; done", i))
			cmd.ID = strings.Repeat("x", 100) + fmt.Sprint(i)
			all.Go(func() {
				if _, err := cmd.CombinedOutput(); err != nil {
					t.Error(err)
				}
				if got, want := honest(f, cmd.Violations()), fmt.Sprintf("create outside/%d EROFS default ×3", i); len(got) != 1 || got[0] != want {
					t.Errorf("%d: %v", i, got)
				}
				for _, v := range cmd.Violations() {
					if v.ID != cmd.ID {
						t.Errorf("%q has the record of %q", cmd.ID, v.ID)
					}
				}
			})
		}
		all.Wait()
	})
}

// TestDenialAtTimeout: what was denied before a command was killed is not lost.
func TestDenialAtTimeout(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := denialField(t)
		box := open(t, denialPolicy(f), shell.Options{})
		var out bytes.Buffer
		cmd := command(t, box, f.ws, "sh", "-c", "echo x >later; echo done; sleep 300")
		r, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = out.ReadFrom(&oneLine{r: r})
		require.NoError(t, err)
		require.NoError(t, cmd.Signal(os.Kill))
		require.NoError(t, cmd.Wait())
		require.Equal(t, []string{"create ws/later EACCES denyWrite ×1"}, honest(f, cmd.Violations()))
	})
}
