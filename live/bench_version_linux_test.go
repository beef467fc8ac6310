package live

import (
	"os/exec"
	"strings"
)

// bubblewrapVersion is what the peer in the benchmark says of itself.
func bubblewrapVersion() string {
	out, err := exec.Command("bwrap", "--version").Output()
	if err != nil {
		return "not installed"
	}
	return strings.TrimSpace(string(out))
}
