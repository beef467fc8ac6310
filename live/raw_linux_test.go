package live

import "unsafe"

// addressOf is where bytes lie, for a raw system call. They must not move meanwhile: nothing of Go's heap does.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
