package shell

import (
	"os"
	"strconv"
	"strings"

	"sallyport/shell/internal/jail"
)

// HostConfinement finds out how this process is confined. It changes nothing of it: how many Landlock domains there are is
// counted on a thread that ends afterwards.
func HostConfinement() Confinement {
	c := Confinement{UserNamespace: !firstUserNamespace(readText("/proc/self/uid_map")), Landlock: -1}
	for _, line := range strings.Split(readText("/proc/thread-self/status"), "\n") {
		key, value, _ := strings.Cut(line, ":")
		switch n, _ := strconv.Atoi(strings.TrimSpace(value)); key {
		case "Seccomp":
			c.Seccomp = n
		case "NoNewPrivs":
			c.NoNewPrivs = n == 1
		}
	}
	if n, err := jail.LandlockDomains(); err == nil {
		c.Landlock = n
	}
	return c
}

// firstUserNamespace: the machine's first one maps every id to itself.
func firstUserNamespace(uidMap string) bool {
	return strings.Join(strings.Fields(uidMap), " ") == "0 0 4294967295"
}

// readText reads a file of /proc about this process; one that is not there says nothing.
func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}
