package shell

import (
	"fmt"
	"time"
)

// Options are the settings of a [Sandbox] that are not part of a policy. The zero value is the safest and works.
type Options struct {
	// Helper is the absolute path of a program to start as the first process of each jail instead of the running one: one
	// built from sallyport/shell/firstprocess, or any other that imports this package, of the same source as the running one.
	// A jail that is not ready (see Warm) is then set up in two thirds of the time.
	Helper string
	// EnvAllow names the host's environment variables that commands see. Nil means PATH alone; a non-nil list replaces
	// the default, it never extends it (R166-R168). A name that is not set on the host is left out (R169).
	EnvAllow []string
	// Env is added for every command, as literal KEY=VALUE entries. Everything in it is readable by the command.
	Env []string
	// InheritHostEnvironmentWithItsSecrets hands every host variable to every command. Tokens, passwords and keys in
	// the environment are then readable by the untrusted command, and no other layer protects them (R174).
	InheritHostEnvironmentWithItsSecrets bool
	// Limits bound each command. A limit that cannot be put up on this machine makes Open fail.
	Limits Limits
	// NoRecords switches off what exists only to be told: nothing that was denied is recorded, and calls that other layers
	// refuse anyway are not looked at. No decision depends on it.
	NoRecords bool
	// OnViolation is called as things are denied: once for each record when it comes up, with Count 1, and once more with
	// the final Count when the command has ended and it was repeated. All calls for one command come from one goroutine,
	// before Wait returns; a call that takes long holds up Wait and nothing else.
	OnViolation func(Violation)
	// StrictReads has every open for reading decided by name, as patterns on denyRead have. A denied file is covered by a
	// mount anyway, and one that the host makes or puts in its place while a command runs is covered as soon as the kernel
	// tells of it; with StrictReads it cannot be read in that moment either. Each open for reading costs more.
	StrictReads bool
	// Warm is how many jails are kept ready for commands to come, so that starting one costs little more than a fork and an
	// exec. Each is a process that waits, of 10 MB or less. Zero means 1; a negative number means none. The first command
	// of a sandbox finds one in any case: Open sets it up.
	Warm int
	// TmpBytes bounds each of the command's private /tmp, /var/tmp and /dev/shm. Zero means 512 MiB: enough for a
	// compiler's temporary files, small enough that filling it does not hurt the host's memory.
	TmpBytes int64

	switches layerSwitch // empty but in the build for tests of single layers
}

// describe names a limit with its value, for a record.
func (l Limits) describe(limit string) string {
	switch limit {
	case "memory":
		return fmt.Sprintf("memory limit of %d bytes", l.MemoryBytes)
	case "processes":
		return fmt.Sprintf("limit of %d processes", l.Processes)
	case "write":
		return fmt.Sprintf("limit of %d bytes written", l.WriteBytes)
	case "cpu":
		return fmt.Sprintf("CPU time limit of %v", l.CPUTime)
	}
	return limit
}

// Limits bound one command with everything it starts. Zero means no limit of ours.
type Limits struct {
	// MemoryBytes bounds the resident memory of the whole tree. With a memory cgroup the kernel binds it; without one
	// the host looks every 25 ms and kills the tree when it is over ("best effort" in the report).
	MemoryBytes int64
	// Processes bounds the processes and threads of the tree that exist at one moment.
	Processes int
	// CPUTime bounds the CPU time of each single process (RLIMIT_CPU); whole seconds, rounded up.
	CPUTime time.Duration
	// FileSizeBytes bounds each single file a process writes (RLIMIT_FSIZE).
	FileSizeBytes int64
	// Descriptors bounds the descriptors that each process can have open (RLIMIT_NOFILE).
	Descriptors int
	// WriteBytes bounds by how much the file systems that hold writable directories may become fuller while the command runs.
	// The first process looks every 25 ms and kills the tree when it is more ("best effort" in the report): until then a
	// command can write what the disk takes in that time, some 50 MB. What others write there meanwhile counts too, and what
	// is removed again does not. The private /tmp has a bound of its own: Options.TmpBytes.
	WriteBytes int64
	// Connections bounds the connections to other hosts at one moment, where the policy has a list of hosts. Zero means
	// 256.
	Connections int
	// NetworkBytes bounds what goes over those connections, both ways together.
	NetworkBytes int64
	// NetworkIdle ends a connection over which nothing has gone for that long.
	NetworkIdle time.Duration
}
