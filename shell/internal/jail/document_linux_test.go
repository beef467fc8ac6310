package jail

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated documents anew")

// The tables that the set-up is compiled from are also the document: it cannot say anything else than what is enforced.
func TestSyscallsDocumentIsCurrent(t *testing.T) {
	const path = "../../../docs/syscalls.md"
	want := syscallsDocument()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "stale: go test ./shell/internal/jail -run SyscallsDocument -update")
}

func syscallsDocument() string {
	var b strings.Builder
	b.WriteString(`# What a command may not call, and what it does not see

Generated from the tables in shell/internal/jail (go test ./shell/internal/jail -run SyscallsDocument -update).

## System calls

The filter kills the process on a call of another architecture (` + "`int 0x80`" + ` on amd64). A call through x32, and every call newer
than the table (number ` + fmt.Sprint(lastCall) + `), returns ENOSYS. What no row names is allowed. Where memory is limited without a
cgroup, ` + "`memfd_create`" + ` returns ENOSYS as well.

| call | when | result | why |
|---|---|---|---|
`)
	for _, row := range Table {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.Name, describeTests(row.When), errnoName[row.Errno], row.Why)
	}
	b.WriteString(`
Where files are decided by name, these are refused too:

| call | when | result | why |
|---|---|---|---|
`)
	for _, row := range landlockRows {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.Name, describeTests(row.When), errnoName[row.Errno], row.Why)
	}
	b.WriteString(`
A refusal of these is told to the record: ` + recordedNames() + `.

## Decided by name

The kernel hands these calls to the first process of the jail, which judges the names in them and makes the call itself. The
first table holds where anything may be written or is recorded, the second where reads are decided by name or recorded, the
third is for the record alone.
`)
	for _, table := range [][]Notified{writeCalls, readCalls, networkCalls} {
		b.WriteString("\n| call | when | why |\n|---|---|---|\n")
		for _, c := range table {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, describeTests(c.When), c.Why)
		}
	}
	b.WriteString("\n## Covered in /proc\n\nAll of /proc is read-only as well.\n\n| path | why |\n|---|---|\n")
	for _, e := range maskedProc {
		fmt.Fprintf(&b, "| `/proc/%s` | %s |\n", e.path, e.why)
	}
	b.WriteString("\n## Covered in /sys\n\n| path | why |\n|---|---|\n")
	for _, e := range maskedSys {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.path, e.why)
	}
	return b.String()
}

func recordedNames() string {
	var names []string
	for name := range recorded {
		names = append(names, "`"+name+"`")
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

var errnoName = map[uint16]string{errPERM: "EPERM", errNOSYS: "ENOSYS", errAFNOSUPPORT: "EAFNOSUPPORT", errPROTONOSUPPORT: "EPROTONOSUPPORT", errOPNOTSUPP: "EOPNOTSUPP"}

func describeTests(tests []Test) string {
	if len(tests) == 0 {
		return "always"
	}
	var parts []string
	for _, t := range tests {
		var values []string
		for _, v := range t.Values {
			values = append(values, fmt.Sprintf("%#x", v))
		}
		arg := fmt.Sprintf("argument %d", t.Arg)
		if t.Mask != 0 {
			arg += fmt.Sprintf(" & %#x", t.Mask)
		}
		list := strings.Join(values, ", ")
		parts = append(parts, map[string]string{
			"any":  arg + " has a bit of " + list,
			"none": arg + " has no bit of " + list,
			"in":   arg + " is " + list,
			"not":  arg + " is none of " + list,
			"set":  arg + " is not null",
		}[t.Op])
	}
	return strings.Join(parts, ", and ")
}

// Every row has a reason: a reader must be able to tell why a call is refused.
func TestEveryTableRowSaysWhy(t *testing.T) {
	for _, row := range Table {
		require.NotEmpty(t, row.Why, row.Name)
		require.Contains(t, errnoName, row.Errno, row.Name)
	}
	for _, row := range landlockRows {
		require.NotEmpty(t, row.Why, row.Name)
		require.Contains(t, errnoName, row.Errno, row.Name)
	}
	for _, c := range slices.Concat(writeCalls, readCalls, networkCalls) {
		require.NotEmpty(t, c.Why, c.Name)
	}
	for _, e := range append(append([]masked{}, maskedProc...), maskedSys...) {
		require.NotEmpty(t, e.why, e.path)
	}
}
