package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// findController finds the hierarchy that can hold a limit of the named controller for children of this process. The
// error says why there is none.
func findController(name string) (controller, error) {
	member, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return controller{}, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return controller{}, err
	}
	for _, line := range strings.Split(string(member), "\n") {
		fields := strings.SplitN(line, ":", 3)
		if len(fields) != 3 {
			continue
		}
		names := strings.Split(fields[1], ",")
		if slices.Contains(names, name) {
			return firstVersion(name, fields[2], string(mounts))
		}
	}
	for _, line := range strings.Split(string(member), "\n") {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return secondVersion(name, path, string(mounts))
		}
	}
	return controller{}, fmt.Errorf("this process is in no %s cgroup", name)
}

// firstVersion: every directory can have children with limits of their own.
func firstVersion(name, path, mounts string) (controller, error) {
	home, _, err := cgroupDir("cgroup", name, path, mounts)
	if err != nil {
		return controller{}, err
	}
	return controller{name: name, version: 1, parent: home}, nil
}

// secondVersion: a directory can have children with limits only where the controller is enabled for them, and no
// directory with processes of its own has that, but for the root. The nearest one on the way up is taken.
func secondVersion(name, path, mounts string) (controller, error) {
	home, top, err := cgroupDir("cgroup2", "", path, mounts)
	if err != nil {
		return controller{}, err
	}
	for dir := home; ; dir = filepath.Dir(dir) {
		enabled, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if err == nil && slices.Contains(strings.Fields(string(enabled)), name) && unix.Access(dir, unix.W_OK) == nil {
			return controller{name: name, version: 2, parent: dir}, nil
		}
		if dir == top || dir == "/" {
			return controller{}, fmt.Errorf("no cgroup from %s upwards has the %s controller enabled for its children", home, name)
		}
	}
}

// cgroupDir finds the directory of a cgroup path, and the mount point it lies below.
func cgroupDir(fsType, option, path, mounts string) (dir, mountPoint string, err error) {
	for _, line := range strings.Split(mounts, "\n") {
		// 36 35 98:0 /root /mount/point options … - type source super-options
		head, tail, ok := strings.Cut(line, " - ")
		before, after := strings.Fields(head), strings.Fields(tail)
		if !ok || len(before) < 5 || len(after) < 3 || after[0] != fsType {
			continue
		}
		if option != "" && !slices.Contains(strings.Split(after[2], ","), option) {
			continue
		}
		rel, err := filepath.Rel(before[3], path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue
		}
		return filepath.Join(before[4], rel), before[4], nil
	}
	return "", "", fmt.Errorf("no %s %s hierarchy is mounted", fsType, option)
}
