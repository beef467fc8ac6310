package shell_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/shell"
)

// A read-only mount does not stop writing to a named pipe; Landlock does. Every layer is up here, so this is the evidence
// that Landlock's rules on writing hold in a release build, where nothing else would refuse. The pipe inside the writable
// directory can be written: the command tells the two apart.
func TestNamedPipesOutsideOfWritableTrees(t *testing.T) {
	dir, work := visible(t), visible(t)
	outside, inside := filepath.Join(dir, "pipe"), filepath.Join(work, "pipe")
	for _, p := range []string{outside, inside} {
		require.NoError(t, unix.Mkfifo(p, 0o600))
		reader, err := os.OpenFile(p, os.O_RDWR, 0) // so that opening for writing does not block
		require.NoError(t, err)
		defer reader.Close()
	}
	box := open(t, writable(work), shell.Options{})
	cmd := script(t, box, `for p; do if (echo pwn >"$p") 2>/dev/null; then echo "wrote $p"; fi; done`, outside, inside)
	require.Equal(t, "wrote "+inside+"\n", output(t, cmd))
}
