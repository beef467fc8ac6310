package jail

import (
	"golang.org/x/sys/unix"
)

// masked is an entry of /proc or /sys that is covered, and why. All of /proc is read-only as well: sysctls, irq, bus,
// fs, acpi and scsi look at the uid alone, so uid 0 could write them with no capability at all.
type masked struct{ path, why string }

var maskedProc = []masked{
	{"acpi", "firmware tables and wake-up switches"},
	{"scsi", "commands to the SCSI layer"},
	{"kcore", "the kernel's memory"},
	{"kmsg", "the kernel's log"},
	{"keys", "key rings, which no namespace separates"},
	{"key-users", "key rings of other users"},
	{"kpagecgroup", "physical pages"},
	{"kpagecount", "physical pages"},
	{"kpageflags", "physical pages"},
	{"latency_stats", "kernel internals of other processes"},
	{"sched_debug", "other processes' names and numbers"},
	{"slabinfo", "kernel heap layout"},
	{"sysrq-trigger", "reboots the machine"},
	{"timer_list", "other processes' timers and kernel addresses"},
	{"vmallocinfo", "kernel addresses"},
}

var maskedSys = []masked{
	{"/sys/firmware", "firmware variables and tables"},
	{"/sys/devices/virtual/powercap", "power readings that leak what others compute"},
	{"/sys/kernel/debug", "kernel internals"},
	{"/sys/kernel/tracing", "tracing of other processes"},
	{"/sys/kernel/security", "security modules' control files"},
	{"/sys/fs/bpf", "pinned programs and maps"},
	{"/sys/fs/pstore", "logs of earlier crashes"},
}

// mountProc mounts a /proc of the jail's own PID namespace, read-only, and covers what the table names.
func (m *mounter) mountProc(path string) error {
	attr := unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	fs, err := newFS("proc", nil, attr)
	if err != nil {
		if f, ok := err.(*Failure); ok {
			f.Layer = "proc"
		}
		return err
	}
	defer unix.Close(fs)
	if err := m.attach(fs, m.root, path); err != nil {
		return err
	}
	for _, e := range maskedProc {
		if err := m.mountCover(&Op{Kind: Cover, Path: []byte(path + "/" + e.path)}); err != nil {
			return err
		}
	}
	return nil
}

func (m *mounter) maskSys() error {
	for _, e := range maskedSys {
		if err := m.mountCover(&Op{Kind: Cover, Path: []byte(e.path)}); err != nil {
			return err
		}
	}
	return nil
}
