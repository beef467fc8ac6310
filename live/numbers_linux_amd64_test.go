package live

import "golang.org/x/sys/unix"

// sysOpen is open(2). Newer architectures do not have it: 0 there.
const sysOpen = unix.SYS_OPEN

// callsHere are the refused calls that only this architecture has.
var callsHere = []call{
	{name: "iopl", nr: unix.SYS_IOPL, args: [6]uintptr{99}, absent: true},
	{name: "ioperm", nr: unix.SYS_IOPERM, args: [6]uintptr{noFD, 1, 1}, absent: true},
	{name: "modify_ldt", nr: unix.SYS_MODIFY_LDT, args: [6]uintptr{0, 0, 0}, absent: true},
}

// foreignPrograms are machine code that makes one harmless call (getpid) the way another architecture would, and ends
// with 0 when the kernel gave a number above 0, or else with the errno.
var foreignPrograms = map[string][]byte{
	"int 0x80": append([]byte{
		0xb8, 0x14, 0x00, 0x00, 0x00, // mov eax, 20: getpid of i386
		0xcd, 0x80, // int 0x80
	}, endWithResult...),
	"x32": append([]byte{
		0xb8, 0x27, 0x00, 0x00, 0x40, // mov eax, 0x40000000 | 39: getpid of x32
		0x0f, 0x05, // syscall
	}, endWithResult...),
}

// endWithResult ends the process by the native call: exit(eax > 0 ? 0 : -eax).
var endWithResult = []byte{
	0x31, 0xff, // xor edi, edi
	0x85, 0xc0, // test eax, eax
	0x7f, 0x04, // jg +4
	0xf7, 0xd8, // neg eax
	0x89, 0xc7, // mov edi, eax
	0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60: exit
	0x0f, 0x05, // syscall
}

// elfMachine is the machine number of the programs.
const elfMachine = 62
