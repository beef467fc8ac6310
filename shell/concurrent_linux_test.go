package shell_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestConcurrentCommands: commands of one sandbox at the same time do not get each other's words, input, output, files,
// exit codes or processes.
func TestConcurrentCommands(t *testing.T) {
	dir := workspace(t)
	box := open(t, writable(dir), shell.Options{})
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			me := fmt.Sprint("number ", i)
			cmd := script(t, box, `read line; echo "$1 $line $OWN"; echo "$1" >&2; echo "$1" >"/tmp/private"; [ "$(cat /tmp/private)" = "$1" ] || exit 99
				echo "$1" >"$2"; exit $3`, me, filepath.Join(dir, me), fmt.Sprint(i))
			cmd.Env = []string{"OWN=own " + me}
			cmd.Stdin = strings.NewReader("input " + me + "\n")
			var stdout, stderr writerBuffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if !assert.NoError(t, cmd.Run()) {
				return
			}
			assert.Equal(t, i, cmd.Completion.ExitCode)
			assert.Equal(t, fmt.Sprintf("%s input %s own %s\n", me, me, me), stdout.String())
			assert.Equal(t, me+"\n", stderr.String())
			assert.Equal(t, me+"\n", read(t, filepath.Join(dir, me)))
		})
	}
	group.Wait()
	noChildren(t)
}

// TestConcurrentSandboxes: two policies at once in one process; each command has its own sandbox's and no other.
func TestConcurrentSandboxes(t *testing.T) {
	dirs := []string{workspace(t), workspace(t)}
	var boxes []*shell.Sandbox
	for _, dir := range dirs {
		boxes = append(boxes, open(t, writable(dir), shell.Options{Env: []string{"MINE=" + dir}}))
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			mine, other := dirs[i%2], dirs[1-i%2]
			out, err := script(t, boxes[i%2], `echo "$MINE"; echo $1 >"$2/$1" && echo wrote; echo $1 2>/dev/null >"$3/$1" || echo refused`, fmt.Sprint(i), mine, other).Output()
			assert.NoError(t, err)
			assert.Equal(t, mine+"\nwrote\nrefused\n", string(out))
		})
	}
	group.Wait()
	for i, dir := range dirs {
		names, err := readNames(dir)
		require.NoError(t, err)
		require.Len(t, names, 10)
		for _, name := range names {
			number, err := strconv.Atoi(name)
			require.NoError(t, err)
			require.Equal(t, i, number%2)
			require.Equal(t, name+"\n", read(t, filepath.Join(dir, name)))
		}
	}
}

// TestPrivateTmp: every command has a /tmp of its own, which is gone when it ends.
func TestPrivateTmp(t *testing.T) {
	hidden := workspace(t) // in the host's /tmp
	box := open(t, policy.Policy{}, shell.Options{})
	for range 2 {
		out := output(t, script(t, box, `[ -e "$1" ] || echo hidden; for d in /tmp /var/tmp /dev/shm; do [ -z "$(ls -A $d)" ] && echo empty; echo x >$d/left && echo wrote; done`, hidden))
		require.Equal(t, "hidden\n"+strings.Repeat("empty\nwrote\n", 3), out)
	}
	require.NoFileExists(t, "/tmp/left")
}

// TestTmpBytes: the private directories are bounded, each by itself.
func TestTmpBytes(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{TmpBytes: 1 << 20})
	out := output(t, script(t, box, `for d in /tmp /var/tmp /dev/shm; do
		head -c 524288 /dev/zero >$d/fits && echo fits
		head -c 2097152 /dev/zero >$d/large 2>/dev/null || echo full
		stat -c %s $d/large
	done`))
	require.Equal(t, strings.Repeat("fits\nfull\n524288\n", 3), out)
}
