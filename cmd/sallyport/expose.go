package main

import (
	"fmt"
	"strconv"
	"strings"

	"sallyport/shell"
)

// exposure is one --expose: a port here, 0 for any, and the port of a server of the command's.
type exposure struct{ here, port int }

// parseExposure reads "[N:]PORT".
func parseExposure(s string) (e exposure, err error) {
	here, port, both := strings.Cut(s, ":")
	if !both {
		here, port = "", here
	}
	if e.port, err = parsePort(port); err == nil && both {
		e.here, err = parsePort(here)
	}
	if err != nil {
		return e, fmt.Errorf("%q is no port, as in 8000, and no pair of them, as in 9000:8000", s)
	}
	return e, nil
}

func parsePort(s string) (int, error) {
	n, err := parseCount(s)
	if err == nil && n > 65535 {
		err = fmt.Errorf("there is no port %d", n)
	}
	return int(n), err
}

// expose opens the ports that were asked for.
func (r *run) expose(cmd *shell.Cmd) error {
	for _, e := range r.exposed {
		address, err := cmd.Expose("127.0.0.1:"+strconv.Itoa(e.here), e.port)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.outputs.stderr, "sallyport: %s leads to port %d of the command\n", address, e.port)
	}
	return nil
}
