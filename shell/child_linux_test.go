package shell_test

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

// childWord makes the test binary one of the children below instead of the tests.
const childWord = "sallyport-test-child"

// children that run inside a jail, where a shell script would not do.
var childPrograms = map[string]func(args []string) error{
	"allocate": childAllocate,
	"probe":    childProbe,
	"vandal":   childVandal,
}

func runChild(name string, args []string) int {
	program, ok := childPrograms[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "no child program", name)
		return 64
	}
	if err := program(args); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 65
	}
	return 0
}

// withChild lets the policy show the test binary, which lies in the host's /tmp, and names it.
func withChild(t testing.TB, p policy.Policy) (policy.Policy, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.Filesystem.AllowRead = append(p.Filesystem.AllowRead[:len(p.Filesystem.AllowRead):len(p.Filesystem.AllowRead)], policy.PathEntry{Path: exe})
	return p, exe
}

// child makes a command that runs one of the children.
func child(t testing.TB, box *shell.Sandbox, exe, name string, args ...string) *shell.Cmd {
	cmd := command(t, box, exe, append([]string{childWord, name}, args...)...)
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"} // under the race detector a program sleeps for a second when it ends
	return cmd
}

// childAllocate touches so many MiB of memory, says so, and keeps them until its standard input ends.
func childAllocate(args []string) error {
	mib, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	memory, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	fmt.Println("allocated")
	_, err = os.Stdin.Read(make([]byte, 1))
	if err != nil && err.Error() != "EOF" {
		return err
	}
	return nil
}

// childProbe reads paths, one a line, and says of each whether it can be read, and whether it can be written: an existing
// file gets a byte more, in a directory a file is made. Nothing is cleaned up: the host looks at what changed.
func childProbe([]string) error {
	in := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		path := in.Text()
		fmt.Fprintf(out, "%t %t %s\n", canRead(path), canWrite(path), path)
	}
	if err := in.Err(); err != nil {
		return err
	}
	fmt.Fprintln(out, "done")
	return out.Flush()
}

func canRead(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_, err := f.ReadDir(-1)
		return err == nil
	}
	_, err = f.Read(make([]byte, 1))
	return err == nil
}

func canWrite(path string) bool {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		path += "/" + probeName
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	_, err = f.WriteString("+")
	return f.Close() == nil && err == nil
}

// probeName is the file that the probe makes in a directory.
const probeName = "made-by-the-probe"

// childVandal reads paths, one a line, and tries to change each in every other way, counting on none to work. It says
// which did.
func childVandal([]string) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		path := in.Text()
		for _, try := range []struct {
			name string
			run  func() error
		}{
			{"truncate", func() error { return os.Truncate(path, 0) }},
			{"chmod", func() error { return os.Chmod(path, 0o777) }},
			{"utimes", func() error { return os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)) }},
			{"setxattr", func() error { return unix.Lsetxattr(path, "user.vandal", []byte("x"), 0) }},
			{"link", func() error { return os.Link(path, path+".link") }},
			{"rename", func() error { return os.Rename(path, path+".moved") }},
			{"replace", func() error { return os.Rename("/tmp/replacement", path) }},
			{"remove", func() error { return os.Remove(path) }},
		} {
			if try.run() == nil {
				fmt.Println(try.name, path)
			}
		}
	}
	fmt.Println("done")
	return in.Err()
}
