package goja

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// TestSourceMapsOpenNothing: a comment of the guest names a file. The file is a pipe, so whoever opens it to read is
// seen: a writer can open it only then. Plain goja opens it, from the source and from eval; a compartment does not.
func TestSourceMapsOpenNothing(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "map")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	comment := "\n//# sourceMappingURL=file://" + pipe

	for _, plain := range []string{"1 + 1" + comment, "eval('1 + 1" + `\n//# sourceMappingURL=file://` + pipe + "')"} {
		done := make(chan error, 1)
		go func() {
			_, err := goja.New().RunString(plain)
			done <- err
		}()
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until somebody reads: the attack is real
		require.NoError(t, err)
		require.NoError(t, w.Close())
		<-done
	}

	for _, source := range []string{
		"1 + 1" + comment,
		"await 1" + comment,
		"const x = ;" + comment,
		"eval('1" + `\n//# sourceMappingURL=file://` + pipe + "')",
		"Function('" + `\n//# sourceMappingURL=file://` + pipe + "')",
		"(() => {}).constructor('1" + `\n//# sourceMappingURL=file://` + pipe + "')",
		"new RegExp('a" + `\n//# sourceMappingURL=file://` + pipe + "')",
		"throw new Error('x')" + comment,
	} {
		for code := range compartment.OwnGlobal + 1 {
			_, err := open(t, compartment.Config{DynamicCode: code}).Evaluate(t.Context(), source)
			require.NoError(t, err) // it would hang here, until its limit, if the pipe were opened
			fd, err := syscall.Open(pipe, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil {
				syscall.Close(fd)
			}
			require.True(t, errors.Is(err, syscall.ENXIO), "somebody has the pipe open: %q", source)
		}
	}
}
