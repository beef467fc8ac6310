package jail

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readFile reads a small file of /proc. The os package is not used here: it would start the runtime's poller, with
// descriptors of its own, in every jail.
func readFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var out []byte
	buf := make([]byte, 8192)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return out, nil
		}
		out = append(out, buf[:n]...)
	}
}

// statusFields gives the "Name: value" lines of a status file.
func statusFields(path string) (map[string]string, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for _, line := range strings.Split(string(b), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok {
			fields[k] = strings.TrimSpace(v)
		}
	}
	return fields, nil
}

// statusNumber gives the number in front of a status line's unit ("RssAnon: 120 kB").
func statusNumber(path, key string) (int64, error) {
	fields, err := statusFields(path)
	if err != nil {
		return 0, err
	}
	number, _, _ := strings.Cut(fields[key], " ")
	return strconv.ParseInt(number, 10, 64)
}

// processes lists the PIDs that /proc shows.
func processes() ([]int, error) { return numericEntries("/proc") }

// numericEntries lists the entries of a directory whose names are numbers.
func numericEntries(dir string) ([]int, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var out []int
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return out, err
		}
		for _, name := range direntNames(buf[:n]) {
			if v, err := strconv.Atoi(name); err == nil {
				out = append(out, v)
			}
		}
	}
}

func direntNames(buf []byte) []string {
	_, _, names := unix.ParseDirent(buf, -1, nil)
	return names
}

// readlink reads a link of /proc.
func readlink(path string) (string, error) {
	buf := make([]byte, 256)
	n, err := unix.Readlink(path, buf)
	if err != nil {
		return "", err
	}
	return string(bytes.TrimRight(buf[:n], "\x00")), nil
}
