package live

import "golang.org/x/sys/unix"

// sysOpen is open(2), which newer architectures do not have.
const sysOpen = unix.SYS_OPEN
