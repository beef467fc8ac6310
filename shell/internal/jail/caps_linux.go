package jail

import "golang.org/x/sys/unix"

// lastCapability is above every capability known; PR_CAPBSET_DROP says EINVAL at the first that does not exist.
const lastCapability = 63

// Bits of PR_SET_SECUREBITS, each with its lock bit: uid 0 gains nothing at exec, keeps nothing across setuid, and
// nobody raises ambient capabilities.
const secureBits = 1<<0 | 1<<1 | // NOROOT
	1<<2 | 1<<3 | // NO_SETUID_FIXUP
	1<<5 | // KEEP_CAPS_LOCKED
	1<<6 | 1<<7 // NO_CAP_AMBIENT_RAISE

// dropCapabilities empties the bounding, ambient, inheritable, effective and permitted sets of this thread; stage two
// inherits that on all of its threads.
func dropCapabilities(*Plan, int) error {
	const layer = "capabilities"
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fail(layer, "prctl(PR_CAP_AMBIENT)", err, "clear ambient capabilities")
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureBits, 0, 0, 0); err != nil {
		return fail(layer, "prctl(PR_SET_SECUREBITS)", err, "set the secure bits")
	}
	for c := uintptr(0); c <= lastCapability; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL {
			break
		}
		if err != nil {
			return fail(layer, "prctl(PR_CAPBSET_DROP)", err, "empty the bounding set")
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return fail(layer, "capset", unix.Capset(&header, &none[0]), "empty the capability sets")
}
