package jail

import (
	"time"

	"golang.org/x/sys/unix"
)

// cgroupFiles are the descriptors for each cgroup of a command, in the order in which the host sends them.
const cgroupFiles = 4

// cgroupDir is one cgroup of the command, as PID 1 holds it.
type cgroupDir struct {
	enter, leave, parent, limit int
	Cgroup
}

// cgroups splits the descriptors that came with a request.
func (s *Spawn) cgroups(files []int) []cgroupDir {
	var out []cgroupDir
	for i, c := range s.Cgroups {
		f := files[i*cgroupFiles:]
		out = append(out, cgroupDir{f[0], f[1], f[2], f[3], c})
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
		leaveErr := moveSelf(g.leave, "leave")
		if leaveErr == nil {
			_, e := unix.Write(g.limit, []byte(g.Limit))
			leaveErr = fail("limits", "write", e, "set the limit of the command's cgroup")
		}
		if err == nil {
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
			if unix.Unlinkat(g.parent, g.Name, unix.AT_REMOVEDIR) != unix.EBUSY {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
