// Command firstprocess is the first process of a jail as a program of its own, for shell.Options.Helper.
//
//	go build -o /usr/local/lib/sallyport/firstprocess sallyport/shell/firstprocess
//
// Without it, a jail's first process is the program that embeds package shell, started once more. Bringing a large program
// in, page by page, and the init functions of all its packages then take more time than everything else of a jail. This one
// holds nothing but what the first process does.
//
// Build it from the same source as the program that uses it: the two speak a protocol that has no versions.
package main

import (
	"fmt"
	"os"

	_ "sallyport/shell/internal/jail" // takes over before main when it was started as what it is
)

func main() {
	fmt.Fprintln(os.Stderr, "firstprocess: name this program as shell.Options.Helper; it does nothing by itself")
	os.Exit(2)
}
