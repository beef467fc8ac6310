//go:build !unix

package main

import "os"

// forwarded is what exists elsewhere. Nothing is ever passed on there: the process boundary refuses to open.
var forwarded = []os.Signal{os.Interrupt}

// nonblocking has no meaning where there are no named pipes of this kind.
const nonblocking = 0
