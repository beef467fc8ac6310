package live

import (
	"bytes"
	"encoding/binary"
)

// elfBase is where the program is loaded.
const elfBase = 0x400000

// elfProgram makes a static program of a few instructions: an ELF header, one segment, and the code behind them.
func elfProgram(code []byte) []byte {
	const headers = 64 + 56
	size := uint64(headers + len(code))
	header := struct {
		Ident                                                [16]byte
		Type, Machine                                        uint16
		Version                                              uint32
		Entry, Phoff, Shoff                                  uint64
		Flags                                                uint32
		Ehsize, Phentsize, Phnum, Shentsize, Shnum, Shstrndx uint16
	}{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: 2, Machine: elfMachine, Version: 1,
		Entry: elfBase + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	segment := struct {
		Type, Flags                                uint32
		Offset, Vaddr, Paddr, Filesz, Memsz, Align uint64
	}{Type: 1, Flags: 5, Vaddr: elfBase, Paddr: elfBase, Filesz: size, Memsz: size, Align: 0x1000}
	var b bytes.Buffer
	for _, part := range []any{header, segment, code} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err) // fixed sizes into memory: cannot happen
		}
	}
	return b.Bytes()
}
