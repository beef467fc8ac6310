package artifact

import (
	"os"

	"golang.org/x/sys/unix"
)

// namelessFile makes a file that has no name from its first moment, so that nothing is left of it when the program is
// killed. Where the file system has no such files it has a name for some microseconds.
func namelessFile(dir string) (file, error) {
	f, err := os.OpenFile(dir, unix.O_TMPFILE|unix.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return unlinkedFile(dir)
	}
	return f, nil
}
