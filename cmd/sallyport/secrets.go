package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sallyport/policy"
)

// secretPlaces are the places of the caller's home directories that hold secrets. The list is policy's (A20). A place
// that does not exist is denied all the same: it may come to exist while a command runs.
func secretPlaces() ([]policy.PathEntry, error) {
	homes := homeDirectories()
	if len(homes) == 0 {
		return nil, &trouble{
			text: "the home directory is not known, so its secret places cannot be denied",
			hint: "set HOME, or say with --policy what may be read",
		}
	}
	var places []policy.PathEntry
	for _, home := range homes {
		here, err := policy.DenySecrets(home)
		if err != nil {
			return nil, &trouble{text: "the secret places of the home directory", err: err, hint: "set HOME to an absolute path"}
		}
		places = append(places, here...)
	}
	return places, nil
}

// homeDirectories are the one that HOME names and the one on record for the user: with sudo, and with an empty
// environment, they differ, and the secrets may be in either.
func homeDirectories() []string {
	var homes []string
	if home := os.Getenv("HOME"); home != "" {
		homes = append(homes, home)
	}
	passwd, err := os.Open("/etc/passwd")
	if err != nil {
		return homes // a system without one; HOME alone decides there
	}
	defer passwd.Close()
	if home := homeOnRecord(passwd, os.Getuid()); home != "" && !slices.Contains(homes, home) {
		homes = append(homes, home)
	}
	return homes
}

// homeOnRecord finds a user's home directory in a passwd file: name:password:uid:gid:comment:home:shell. Package os/user
// would bring cgo in.
func homeOnRecord(passwd io.Reader, uid int) string {
	lines := bufio.NewScanner(passwd)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) >= 7 && fields[2] == strconv.Itoa(uid) && filepath.IsAbs(fields[5]) {
			return filepath.Clean(fields[5])
		}
	}
	return ""
}
