package artifact

import (
	"errors"
	"os"
)

// unlinkedFile makes a file and takes its name away at once; on Windows, where an open file keeps its name, when it is
// closed.
func unlinkedFile(dir string) (file, error) {
	f, err := os.CreateTemp(dir, "sallyport-artifact-*")
	if err != nil {
		return nil, err
	}
	if os.Remove(f.Name()) != nil {
		return removedOnClose{f}, nil
	}
	return f, nil
}

// removedOnClose is a file whose name goes when it is closed.
type removedOnClose struct{ *os.File }

func (f removedOnClose) Close() error {
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}
