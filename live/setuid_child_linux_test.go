package live

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["gain-by-setuid"] = gainBySetuid
	attackers["make-setuid"] = makeSetuidFile
	modes["effective-user"] = func([]string) int { fmt.Println(os.Geteuid()); return 0 }
}

// gainBySetuid executes a program that is another user's and has the set-user-id bit.
func gainBySetuid(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	out, err := exec.Command(args[0], "effective-user").Output()
	if err != nil {
		return finding{}, err
	}
	euid := strings.TrimSpace(string(out))
	if euid == strconv.Itoa(os.Getuid()) {
		return finding{refused, "still user " + euid}, nil
	}
	return got("user %s became %s", strconv.Itoa(os.Getuid()), euid)
}

// makeSetuidFile makes programs in the workspace that run as their owner, whoever starts them on the host.
func makeSetuidFile(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	dir := args[0]
	with := func(name string, mode uint32, make func(path string) error) attempt {
		return attempt{name, func() error {
			path := dir + "/" + name
			if err := make(path); err != nil {
				return err
			}
			var st unix.Stat_t
			if err := unix.Stat(path, &st); err != nil {
				return err
			}
			if st.Mode&mode == 0 {
				return unix.EPERM
			}
			return nil
		}}
	}
	file := func(path string) error { return os.WriteFile(path, nil, 0o755) }
	return every([]attempt{
		with("chmod", unix.S_ISUID, func(path string) error {
			if err := file(path); err != nil {
				return err
			}
			return unix.Chmod(path, 0o4755)
		}),
		with("fchmod", unix.S_ISGID, func(path string) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return unix.Fchmod(int(f.Fd()), 0o2755)
		}),
		with("open", unix.S_ISUID, func(path string) error {
			fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o4755)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}),
		with("mknod", unix.S_ISUID, func(path string) error { return unix.Mknod(path, unix.S_IFREG|0o4755, 0) }),
	}, unix.EPERM)
}
