package broker

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// brokerFor is a broker that judges, without a listener.
func brokerFor(t *testing.T, fs policy.Filesystem, guarded ...Guard) *Broker {
	t.Helper()
	rules, err := policy.Policy{Filesystem: fs}.Compile(policy.CompileOptions{})
	require.NoError(t, err)
	return &Broker{Config: Config{Rules: rules, Guarded: guarded, Listener: -1, Main: -1}}
}

func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o755))
		} else {
			require.NoError(t, os.WriteFile(path, nil, 0o644))
		}
	}
}

// TestSizes: the ioctls have the size of their structure in their number; a structure that does not fit would have the
// kernel write past its end.
func TestSizes(t *testing.T) {
	size := func(ioctl uintptr) uintptr { return ioctl >> 16 & 0x3fff }
	require.Equal(t, size(ioctlReceive), unsafe.Sizeof(notification{}))
	require.Equal(t, size(ioctlSend), unsafe.Sizeof(response{}))
	require.Equal(t, size(ioctlAddFD), unsafe.Sizeof(handOver{}))
	require.Equal(t, size(ioctlValid), unsafe.Sizeof(uint64(0)))
	require.Equal(t, size(ioctlSetFlags), unsafe.Sizeof(uint64(0)))
}

// TestGuarded: what is guarded is refused with what lies below it, and nothing beside it.
func TestGuarded(t *testing.T) {
	b := brokerFor(t, policy.Filesystem{AllowWrite: policy.Paths("/w")}, Guard{"/w/bin/tool", "it starts jails"})
	for path, allowed := range map[string]bool{"/w/bin/tool": false, "/w/bin/tool/x": false, "/w/bin/tools": true, "/w/bin": true} {
		d := b.write(path)
		require.Equal(t, allowed, d.Allowed, "%s: %s", path, d.Reason)
	}
	require.False(t, b.move("/w/bin/tool", "/w/x").Allowed)
	require.False(t, b.move("/w/x", "/w/bin/tool").Allowed)
	require.False(t, b.move("/w/bin", "/w/x").Allowed, "it would move along")
	require.False(t, b.move("", "/w/bin").Allowed, "a link there could lead to another one")
	require.True(t, b.move("/w/bi", "/w/x").Allowed)
	require.Empty(t, b.write("/w/bin/tool").Remedy)
}

// TestRepositoryThatExists: hooks and configuration of a repository under any name are protected as those of ".git" are.
func TestRepositoryThatExists(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "bare/HEAD", "bare/objects/", "worktree/HEAD", "worktree/commondir", "common/objects/", "common/refs/", "plain/HEAD")
	b := brokerFor(t, policy.Filesystem{AllowWrite: policy.Paths(dir)})
	for name, allowed := range map[string]bool{
		"bare/config": false, "bare/hooks/pre-commit": false, "bare/hooks/pre-commit.sample": true, "bare/description": true,
		"bare/config.worktree": false, "bare/configure": true, "bare/x/config": true, "worktree/config": false, "common/config": false,
		"plain/config": true, "plain/hooks/pre-commit": true, "bare/HEAD": true, "bare/refs": true,
	} {
		d := b.write(dir + "/" + name)
		require.Equal(t, allowed, d.Allowed, "%s: %s", name, d.Reason)
		if !allowed {
			require.Equal(t, policy.ListMandatory, d.Rule.List)
			require.Equal(t, dir+"/"+name, d.Path)
		}
	}
	require.True(t, b.emptyDir(dir+"/bare/hooks").Allowed)
	lifted := brokerFor(t, policy.Filesystem{AllowWrite: policy.Paths(dir), AllowGitConfig: true})
	require.True(t, lifted.write(dir+"/bare/config").Allowed)
	require.False(t, lifted.write(dir+"/bare/hooks/pre-commit").Allowed)
}

// TestAssembles: the last piece of a repository is refused where configuration or hooks stand already.
func TestAssembles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir,
		"a/config", "a/refs/", "b/hooks/pre-commit", "b/objects/", "c/hooks/x.sample", "c/refs/", "d/refs/",
		"e/config", "e/HEAD", "f/config", "g/config", "g/HEAD", "g/objects/", "h/.git/refs/", "h/.git/config")
	require.NoError(t, os.Mkdir(dir+"/i", 0o755))
	require.NoError(t, os.Symlink("nowhere", dir+"/i/config"))
	put(t, dir, "i/refs/", "j/refs/", "k/refs/", "empty/")
	require.NoError(t, os.Symlink("../empty", dir+"/j/config")) // which can become a file under a name that nobody judges
	require.NoError(t, os.Symlink("../empty", dir+"/k/hooks"))
	b := brokerFor(t, policy.Filesystem{AllowWrite: policy.Paths(dir)})
	for name, allowed := range map[string]bool{
		"a/objects": false, "a/HEAD": true, "b/refs": false, "b/HEAD": false, "c/objects": true, "d/objects": true,
		"e/objects": false, "e/commondir": false, "e/refs": true, "f/objects": true, "f/HEAD": true,
		"g/refs":         true, // it is one already, and what is in it is protected
		"h/.git/objects": true, // the rules know ".git"
		"i/objects":      false, "j/objects": false, "k/objects": false, "k/HEAD": true,
	} {
		path := dir + "/" + name
		for what, d := range map[string]policy.Decision{"write": b.write(path), "mkdir": b.emptyDir(path), "move": b.move(dir+"/mine", path)} {
			if what == "move" && name == "h/.git/objects" {
				continue
			}
			require.Equal(t, allowed, d.Allowed, "%s %s: %s", what, name, d.Reason)
		}
	}
	lifted := brokerFor(t, policy.Filesystem{AllowWrite: policy.Paths(dir), AllowGitConfig: true})
	require.True(t, lifted.write(dir+"/a/objects").Allowed)
	require.False(t, lifted.write(dir+"/b/refs").Allowed)
}

// TestOpening: which opens can change a file.
func TestOpening(t *testing.T) {
	for flags, writes := range map[int]bool{
		unix.O_RDONLY: false, unix.O_WRONLY: true, unix.O_RDWR: true, unix.O_ACCMODE: true, unix.O_RDONLY | unix.O_TRUNC: true,
		unix.O_RDONLY | unix.O_CREAT: false, unix.O_RDONLY | unix.O_APPEND: false, unix.O_TMPFILE | unix.O_RDWR: true,
	} {
		o := opening{flags: flags}
		require.Equal(t, writes, o.writes(), "%#x", flags)
	}
}

// TestDestination: addresses as the kernel reads them, and what is too short for one.
func TestDestination(t *testing.T) {
	family := func(f uint16, rest ...byte) []byte { return append(binary.NativeEndian.AppendUint16(nil, f), rest...) }
	v6 := family(unix.AF_INET6, append([]byte{1, 187, 0, 0, 0, 0}, make([]byte, 20)...)...)
	v6[23] = 1
	for _, tc := range []struct {
		address []byte
		want    string
	}{
		{family(unix.AF_INET, 0, 80, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0), "192.0.2.1:80"},
		{family(unix.AF_INET, 0, 80, 192, 0, 2, 1, 0, 0), ""},
		{family(unix.AF_INET, 0, 80, 192, 0, 2), ""},
		{v6, "[::1]:443"},
		{v6[:23], ""},
		{family(unix.AF_UNIX, '/', 'x'), ""},
		{family(unix.AF_INET), ""},
	} {
		to, ok := destination(tc.address)
		require.Equal(t, tc.want != "", ok, "%x", tc.address)
		if ok {
			require.Equal(t, tc.want, to.String())
		}
	}
}

// TestErrno: no error that is not the kernel's becomes success.
func TestErrno(t *testing.T) {
	require.Zero(t, errnoOf(nil))
	require.Equal(t, unix.ENOENT, errnoOf(unix.ENOENT))
	require.Equal(t, unix.EACCES, errnoOf(os.ErrInvalid))
	require.Equal(t, answer{errno: unix.EACCES}, result(os.ErrClosed))
}

// TestUnknownCall: a call that nobody handles, and one that no row refuses, fail. They never go on.
func TestUnknownCall(t *testing.T) {
	b := brokerFor(t, policy.Filesystem{})
	for _, nr := range []int{-1, 1 << 20, unix.SYS_GETPID} {
		a := (&task{worker: &worker{Broker: b}, nr: nr}).handle()
		require.Equal(t, answer{errno: unix.ENOSYS}, a, "%d", nr)
	}
	b.Refused = func(int, [6]uint64) (Refusal, bool) { return Refusal{}, false }
	require.Equal(t, answer{errno: unix.EPERM}, (&task{worker: &worker{Broker: b}, nr: unix.SYS_GETPID}).handle())
}

// TestCallerThatIsGone: without a listener that knows the call, nobody waits for it: nothing is read of the process that
// has its number, and the answer is a refusal.
func TestCallerThatIsGone(t *testing.T) {
	b := brokerFor(t, policy.Filesystem{AllowWrite: policy.Paths("/")})
	path := append([]byte(t.TempDir()+"/made"), 0)
	for nr, args := range map[int][6]uint64{
		unix.SYS_OPENAT:   {^uint64(99), uint64(uintptr(unsafe.Pointer(&path[0]))), unix.O_CREAT | unix.O_WRONLY, 0o600},
		unix.SYS_MKDIRAT:  {^uint64(99), uint64(uintptr(unsafe.Pointer(&path[0]))), 0o700},
		unix.SYS_FCHMOD:   {0, 0o700},
		unix.SYS_TRUNCATE: {uint64(uintptr(unsafe.Pointer(&path[0])))},
	} {
		a := (&task{worker: &worker{Broker: b}, tid: os.Getpid(), nr: nr, args: args}).handle()
		require.Equal(t, unix.ESRCH, a.errno, "%d", nr)
		require.False(t, a.goOn)
	}
	_, err := os.Lstat(string(path[:len(path)-1]))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestTurns: one worker at a time has the turn, whoever takes and passes it.
func TestTurns(t *testing.T) {
	var b Broker
	b.free.L, b.workers = &b.mu, maxWorkers // so that passing starts nobody
	holders, most := 0, 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for id := range int64(8) {
		all.Go(func() {
			for range 500 {
				b.take(id + 1)
				mu.Lock()
				holders++
				most = max(most, holders)
				holders--
				mu.Unlock()
				b.pass(id + 1)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, most)
	require.Zero(t, b.turn.Load())
}
