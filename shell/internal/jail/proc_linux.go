package jail

// masked is an entry of /proc or /sys that is covered, and why. All of /proc is read-only as well: sysctls, irq, bus,
// fs, acpi and scsi look at the uid alone, so uid 0 could write them with no capability at all.
type masked struct {
	path string
	dir  bool
	why  string
}

var maskedProc = []masked{
	{"acpi", true, "firmware tables and wake-up switches"},
	{"scsi", true, "commands to the SCSI layer"},
	{"kcore", false, "the kernel's memory"},
	{"kmsg", false, "the kernel's log"},
	{"keys", false, "key rings, which no namespace separates"},
	{"key-users", false, "key rings of other users"},
	{"kpagecgroup", false, "physical pages"},
	{"kpagecount", false, "physical pages"},
	{"kpageflags", false, "physical pages"},
	{"latency_stats", false, "kernel internals of other processes"},
	{"sched_debug", false, "other processes' names and numbers"},
	{"slabinfo", false, "kernel heap layout"},
	{"sysrq-trigger", false, "reboots the machine"},
	{"timer_list", false, "other processes' timers and kernel addresses"},
	{"vmallocinfo", false, "kernel addresses"},
}

var maskedSys = []masked{
	{"/sys/firmware", true, "firmware variables and tables"},
	{"/sys/devices/virtual/powercap", true, "power readings that leak what others compute"},
	{"/sys/kernel/debug", true, "kernel internals"},
	{"/sys/kernel/tracing", true, "tracing of other processes"},
	{"/sys/kernel/security", true, "security modules' control files"},
	{"/sys/fs/bpf", true, "pinned programs and maps"},
	{"/sys/fs/pstore", true, "logs of earlier crashes"},
}
