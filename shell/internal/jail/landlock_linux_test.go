package jail

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestLandlockRights: an older kernel is asked for nothing that it does not know, and for everything that it does.
func TestLandlockRights(t *testing.T) {
	const first = 1<<13 - 1 // the rights of ABI 1
	for abi, want := range map[int]uint64{
		1: first,
		2: first | unix.LANDLOCK_ACCESS_FS_REFER,
		3: first | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		4: first | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		5: first | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
		7: first | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
	} {
		require.Equal(t, want, landlockRights(abi), "ABI %d", abi)
	}
	require.Zero(t, landlockScopes(5))
	require.Equal(t, uint64(unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL), landlockScopes(6))
}

// TestLandlockGrants: writing is granted where the plan says, reading everywhere, and device nodes to nobody.
func TestLandlockGrants(t *testing.T) {
	plan := &Plan{Root: RootReadOnly, Ops: []Op{
		{Kind: Proc, Path: []byte("/proc"), Dir: true},
		{Kind: Dev, Path: []byte("/dev"), Dir: true},
		{Kind: Tmp, Path: []byte("/tmp"), Dir: true},
		{Kind: Cover, Path: []byte("/secret"), Dir: true},
		{Kind: Back, Path: []byte("/secret/shown"), Dir: true},
		{Kind: Writable, Path: []byte("/work"), Dir: true},
		{Kind: Writable, Path: []byte("/file")},
		{Kind: Pin, Path: []byte("/work/.git"), Dir: true},
		{Kind: ReadOnly, Path: []byte("/work/.git/hooks"), Dir: true},
	}}
	require.Equal(t, []grant{
		{"/", true, llRead}, {"/dev", true, llDevice}, {"/tmp", true, llWritable}, {"/work", true, llWritable}, {"/file", false, llWritable},
	}, landlockGrants(plan))
	plan.Root = RootWritable
	require.Equal(t, grant{"/", true, llWritable}, landlockGrants(plan)[0])
	for _, g := range landlockGrants(plan) {
		require.Zero(t, g.rights&llNode)
	}
	require.Zero(t, uint64(llRead)&uint64(llFile|llEntry))
	require.Zero(t, uint64(llOnFile)&uint64(llEntry|unix.LANDLOCK_ACCESS_FS_READ_DIR))
}
