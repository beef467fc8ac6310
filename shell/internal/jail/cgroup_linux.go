package jail

import (
	"time"

	"golang.org/x/sys/unix"
)

// cgroupFiles are the descriptors for each cgroup of a command, in the order in which the host sends them.
const cgroupFiles = 3

// cgroupDir is one cgroup of the command, as PID 1 holds it.
type cgroupDir struct {
	enter, leave, parent int
	name                 string
}

// cgroups splits the descriptors that came with a request.
func (s *Spawn) cgroups(files []int) []cgroupDir {
	var out []cgroupDir
	for i, name := range s.Cgroups {
		f := files[i*cgroupFiles:]
		out = append(out, cgroupDir{f[0], f[1], f[2], name})
	}
	return out
}

// inCgroups runs f with this process inside the cgroups, so that what f forks is born in them, and leaves them again:
// PID 1 must neither be counted nor stopped by the command's limits.
func inCgroups(groups []cgroupDir, f func() error) error {
	for _, g := range groups {
		if err := moveSelf(g.enter, "enter"); err != nil {
			return err
		}
	}
	err := f()
	for _, g := range groups {
		if leaveErr := moveSelf(g.leave, "leave"); err == nil {
			err = leaveErr
		}
	}
	return err
}

func moveSelf(fd int, what string) error {
	_, err := unix.Write(fd, []byte("0"))
	return fail("limits", "write", err, what+" the command's cgroup")
}

// removeCgroups removes the directories when every process in them is gone. The host does the same; it matters when
// the host was killed. EBUSY lasts until the last process is buried.
func removeCgroups(groups []cgroupDir) {
	for _, g := range groups {
		for tries := 0; tries < 100; tries++ {
			if unix.Unlinkat(g.parent, g.name, unix.AT_REMOVEDIR) != unix.EBUSY {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
