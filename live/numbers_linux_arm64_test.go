package live

// sysOpen is open(2), which this architecture does not have.
const sysOpen = -1
