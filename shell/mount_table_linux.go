package shell

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hostMount is one line of the host's mount table.
type hostMount struct {
	id     uint64
	device string // major:minor
	root   string // the directory of the file system that is mounted
	point  string
	fsType string
}

// mountTable is the host's mount table, with a way to notice that it has changed.
type mountTable struct {
	fd     int
	mounts []hostMount
}

// openMountTable reads the table.
func openMountTable() (*mountTable, error) {
	// Not os.Open: the runtime's own poller would take the change away that changed asks for.
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, systemError("open", err, "read the mount table")
	}
	t := &mountTable{fd: fd}
	if err := t.read(); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *mountTable) read() error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return systemError("read", err, "read the mount table")
	}
	t.mounts = parseMounts(string(b))
	return nil
}

func parseMounts(text string) []hostMount {
	var out []hostMount
	for _, line := range strings.Split(text, "\n") {
		// 36 35 98:0 /root /mount/point options … - type source super-options
		head, tail, ok := strings.Cut(line, " - ")
		before, after := strings.Fields(head), strings.Fields(tail)
		if !ok || len(before) < 5 || len(after) < 1 {
			continue
		}
		id, err := strconv.ParseUint(before[0], 10, 64)
		if err != nil {
			continue
		}
		out = append(out, hostMount{id, before[2], unescapeMount(before[3]), unescapeMount(before[4]), after[0]})
	}
	return out
}

// unescapeMount undoes the octal escapes for blanks, tabs, newlines and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// changed says whether the table has changed since the last call. The kernel flags that on the open file: one system
// call, whatever the length of the table.
func (t *mountTable) changed() bool {
	fds := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return err != nil || n > 0 && fds[0].Revents&(unix.POLLPRI|unix.POLLERR) != 0
}

func (t *mountTable) close() { unix.Close(t.fd) }

// of gives the mount that a path is really in. The kernel says which: of several mounts on one point, or one that lies
// hidden below another, the table alone does not tell.
func (t *mountTable) of(path string) (found hostMount) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st); err != nil {
		return hostMount{}
	}
	for _, m := range t.mounts {
		if m.id == st.Mnt_id {
			return m
		}
	}
	return hostMount{}
}

// aliases are the other names under which the file or directory at path, or a part of what lies below it, is mounted:
// bind mounts of the same tree. What is denied under one name must be denied under all of them.
func (t *mountTable) aliases(path string) []string {
	own := t.of(path)
	if own.point == "" {
		return nil
	}
	inside := relocate(path, own.point, own.root) // its name inside the file system
	var out []string
	for _, m := range t.mounts {
		if m.device != own.device || m == own {
			continue
		}
		alias := ""
		switch {
		case below(inside, m.root):
			alias = relocate(inside, m.root, m.point)
		case below(m.root, inside):
			alias = m.point
		}
		// A later mount may hide that name.
		if alias != "" && alias != path && t.of(alias) == m {
			out = append(out, alias)
		}
	}
	return out
}

// relocate replaces the beginning from of a path by to.
func relocate(path, from, to string) string {
	return filepath.Join(to, strings.TrimPrefix(path, strings.TrimSuffix(from, "/")))
}

// kernelFileSystems are those whose files are the kernel's controls rather than data. Wherever they are mounted, they
// are never writable, whatever the policy says: for uid 0 a write to one needs no capability.
var kernelFileSystems = map[string]string{
	"proc":        "sysctls, processes of the host",
	"sysfs":       "devices and kernel settings",
	"cgroup":      "limits of other processes",
	"cgroup2":     "limits of other processes",
	"debugfs":     "kernel internals",
	"tracefs":     "tracing",
	"securityfs":  "security modules",
	"selinuxfs":   "security modules",
	"smackfs":     "security modules",
	"bpf":         "pinned programs",
	"configfs":    "kernel objects",
	"efivarfs":    "firmware variables",
	"pstore":      "crash logs",
	"binfmt_misc": "interpreters of the host",
	"fusectl":     "other users' mounts",
	"resctrl":     "processor controls",
	"rpc_pipefs":  "kernel RPC",
	"mqueue":      "message queues of the host",
	"nfsd":        "kernel NFS server",
}

// strayKernelMounts are mounts of kernel file systems outside of the places that the jail replaces: a second /proc in
// a chroot's tree shows the host's processes. They are covered whole.
func (t *mountTable) strayKernelMounts() (stray, sys []string) {
	for _, m := range t.mounts {
		if kernelFileSystems[m.fsType] == "" || below(m.point, "/proc") || below(m.point, "/dev") {
			continue
		}
		if below(m.point, "/sys") {
			sys = append(sys, m.point)
		} else {
			stray = append(stray, m.point)
		}
	}
	return stray, sys
}
