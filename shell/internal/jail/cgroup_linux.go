package jail

import (
	"time"

	"golang.org/x/sys/unix"
)

// cgroupFiles are the descriptors for each cgroup of a command, in the order in which the host sends them.
const cgroupFiles = 2

// cgroupDir is one cgroup of the command, as PID 1 holds it.
type cgroupDir struct {
	enter, parent int
	name          string
}

// cgroups splits the descriptors that came with a request.
func (s *Spawn) cgroups(files []int) []cgroupDir {
	var out []cgroupDir
	for i, name := range s.Cgroups {
		f := files[i*cgroupFiles:]
		out = append(out, cgroupDir{f[0], f[1], name})
	}
	return out
}

// enterCgroups has the new process enter its cgroups before it becomes the command, so that the limits hold from the
// first moment, and PID 1 is neither counted nor stopped by them.
func (b *builder) enterCgroups(groups []cgroupDir) {
	b.layer = "limits"
	for _, g := range groups {
		b.do("enter the command's cgroup", "write", unix.SYS_WRITE, g.enter, "0", 1)
	}
}

// removeCgroups removes the directories when every process in them is gone. The host does the same; it matters when
// the host was killed. EBUSY lasts until the last process is buried. Where the parent directory cannot be written
// without a capability (the root of a version 1 hierarchy has mode 0555), an empty directory stays until the next
// sandbox of anybody is opened and sweeps it.
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
