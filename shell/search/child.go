package search

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"sallyport/shell/internal/seek"
)

// marker is the name under which this program is started in the jail to search. It is no secret and no
// authentication: whoever starts a program by this name has it list files that he could list himself.
const marker = "sallyport-search"

// init takes the process over when it is such a one, and does nothing otherwise.
func init() {
	if len(os.Args) == 2 && os.Args[0] == marker {
		syscall.Exit(child(os.Args[1])) // not os.Exit: under the race detector that sleeps for a second first
	}
}

func child(query string) int {
	var q seek.Query
	err := json.Unmarshal([]byte(query), &q)
	if err == nil {
		err = seek.Run(q, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}
