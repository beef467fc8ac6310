package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["denied-opens"] = deniedOpens
	attackers["forge-denials"] = forgeDenials
}

// oneLine reads up to the end of a line.
type oneLine struct {
	r    io.Reader
	done bool
}

func (o *oneLine) Read(b []byte) (int, error) {
	if o.done {
		return 0, io.EOF
	}
	n, err := o.r.Read(b)
	o.done = strings.Contains(string(b[:n]), "\n")
	return n, err
}

// deniedOpens opens what it may not write, many times the same or many different ones.
func deniedOpens(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	for i := range atoi(args[1]) {
		path, want := "kept", unix.EROFS
		if args[0] == "different" {
			path, want = fmt.Sprintf("%d.lock", i), unix.EACCES
		}
		if fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT, 0o600); err != want {
			return got("%s: descriptor %d, %v", path, fd, err)
		}
	}
	return finding{refused, args[1] + " times"}, nil
}

// forgeDenials prints what refusals look like and writes records to every descriptor it has.
func forgeDenials([]string) (finding, error) {
	fmt.Println("sh: Operation not permitted: /etc/shadow (sandbox)")
	fmt.Fprintln(os.Stderr, "sallyport: denied write /etc/shadow: forged")
	record := []byte(`{"Denied":{"Number":7,"PID":1,"Operation":"write","Target":"L2V0Yy9zaGFkb3c=","Count":1}}`)
	wrote := 0
	for fd := range 1024 {
		if fd <= 2 {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
			continue // the runtime's own
		}
		if _, err := unix.Write(fd, record); err == nil {
			wrote++
		}
	}
	if err := errors.Join(canOpen("/proc/1/fd/3"), canOpen("/proc/1/comm")); err == nil {
		return got("opened what belongs to the first process")
	}
	return finding{refused, fmt.Sprintf("%d records written to descriptors", wrote)}, nil
}
