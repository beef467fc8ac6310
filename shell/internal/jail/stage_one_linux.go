package jail

import (
	"golang.org/x/sys/unix"
)

// stageOne puts the layers up and executes the program once more. It returns only when something failed.
func stageOne() error {
	plan, err := readPlan()
	if err != nil {
		return err
	}
	exe, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail("exec", "open", err, "open the program's own file")
	}
	if plan.Layers.Has(LayerFDs) {
		if err := sealDescriptors(); err != nil {
			return err
		}
	}
	probe, err := landlockProbe(plan)
	if err != nil {
		return err
	}
	steps := []struct {
		on  Layers
		run func(*Plan, int) error
	}{
		{LayerNamespaces, nameHost},
		{LayerNetwork, raiseLoopback},
		{0, putUpMounts},
		{LayerCaps, dropCapabilities},
		{LayerNNP, setNoNewPrivs},
		{LayerRlimits, forbidCoreFiles},
		{LayerLandlock, restrictWithLandlock},
	}
	for _, s := range steps {
		if !plan.Layers.Has(s.on) {
			continue
		}
		if err := s.run(plan, exe); err != nil {
			return err
		}
	}
	return fail("exec", "execveat", execSelf(exe, probe), "start the second stage")
}

// sealDescriptors marks everything that was inherited, but for the socket and the plan, to be closed at the exec into
// stage two. A descriptor of the host that was opened without O_CLOEXEC, such as a directory handle to "/", would
// otherwise reach the command (CVE-2024-21626).
func sealDescriptors() error {
	err := unix.CloseRange(PlanFD+1, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
	return fail("descriptors", "close_range", err, "close inherited descriptors")
}

// nameHost gives the UTS namespace a name of its own: the host's is nobody's business.
func nameHost(*Plan, int) error {
	return fail("namespaces", "sethostname", unix.Sethostname([]byte("sallyport")), "name the jail's host")
}

// raiseLoopback brings "lo" up, so that a command can talk to servers that it started itself.
func raiseLoopback(plan *Plan, _ int) error {
	if plan.Network == NetworkHost {
		return nil
	}
	const doing = "bring the loopback interface up"
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail("network", "socket", err, doing)
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return fail("network", "ifreq", err, doing)
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return fail("network", "ioctl(SIOCSIFFLAGS)", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr), doing)
}

// setNoNewPrivs makes set-user-id bits and file capabilities mean nothing from here on.
func setNoNewPrivs(*Plan, int) error {
	return fail("no_new_privs", "prctl(PR_SET_NO_NEW_PRIVS)", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no_new_privs")
}

// forbidCoreFiles keeps a crash from writing memory into the workspace. The limits of the command itself are set when
// it is started: see rlimits_linux.go.
func forbidCoreFiles(*Plan, int) error {
	err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	return fail("rlimits", "setrlimit(RLIMIT_CORE)", err, "forbid core files")
}
