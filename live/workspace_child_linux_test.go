package live

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sallyport/fs"
)

func init() { modes["operate"] = operate }

// operation is one thing that is done to a path.
type operation struct{ verb, path string }

// operate does to paths what it reads, a line each, and says for each whether it was let. What exists is not changed, and what is
// made is removed again.
func operate([]string) int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, quoted, _ := strings.Cut(in.Text(), " ")
		path, err := strconv.Unquote(quoted)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		err = operations[verb](path)
		fmt.Printf("%t %s %q %q\n", err == nil, verb, path, fmt.Sprint(err))
	}
	fmt.Println("done")
	return 0
}

var operations = map[string]func(path string) error{
	"read": func(path string) error {
		_, err := os.ReadFile(path)
		return err
	},
	"list": func(path string) error {
		_, err := os.ReadDir(path)
		return err
	},
	// The file is read as a workspace reads it.
	"read-beneath": func(path string) error {
		dir, err := fs.OpenDir(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer dir.Close()
		_, err = dir.ReadFile(filepath.Base(path), 1<<20)
		if errors.Is(err, syscall.ENOSYS) {
			return errors.Join(err, syscall.ENOSYS) // for the host to see the cause
		}
		return err
	},
	// The file is opened for writing and closed again.
	"write": func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	},
	"create": func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		// It must not be there for what comes next: one file more can make a repository of a directory.
		return errors.Join(f.Close(), os.Remove(path))
	},
}
