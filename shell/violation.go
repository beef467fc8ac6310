package shell

import "time"

// Violation is one thing a command was denied. It is written by the host and the jail's first process only: nothing a
// command prints or sends can add one. In JSON its fields are those of the program's contract.
type Violation struct {
	Time      time.Time `json:"time"`
	ID        string    `json:"id"`
	PID       int       `json:"pid"`
	Program   string    `json:"program"`
	Operation string    `json:"operation"` // read, write, create, connect, resolve, unix, exec, syscall, limit
	Target    string    `json:"target"`
	Errno     string    `json:"errno"`
	Rule      string    `json:"rule"`
	Remedy    string    `json:"remedy"`
	Count     int       `json:"count"`
}
