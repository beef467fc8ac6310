//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownTree has a command begin a process group of its own, so that it can be killed with what it starts.
func ownTree(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killTree kills a process with its group and everything that descends from it, also what has begun a session of its own.
// They are stopped first, so that none can start another one meanwhile. What was left to init before is not found.
func killTree(pid int) error {
	_ = syscall.Kill(-pid, syscall.SIGSTOP)
	tree := map[int]bool{pid: true}
	for grown := true; grown; {
		grown = false
		for child, parent := range parents() {
			if tree[parent] && !tree[child] {
				tree[child], grown = true, true
				_ = syscall.Kill(child, syscall.SIGSTOP)
			}
		}
	}
	err := syscall.Kill(-pid, syscall.SIGKILL)
	for p := range tree {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// parents gives the parent of every process, where the system has /proc.
func parents() map[int]int {
	found := map[int]int{}
	entries, _ := os.ReadDir("/proc") // elsewhere the group has to do
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …, and a name can have anything in it
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			found[pid] = parent
		}
	}
	return found
}
