package wasm

import "unicode/utf8"

// moduleName is asked for the name of a module that is imported. Only a specifier of the import map has one, and it is its own name: there are no
// paths, so what imports it does not matter.
func (in *instance) moduleName(s []uint64) {
	name, ok := in.zeroEnded(uint32(s[1]))
	s[0] = 0
	if !ok {
		return
	}
	if _, ok := in.realm.host.Module(name); !ok {
		in.throw(in.realm.host.NoModule(name))
		return
	}
	s[0] = uint64(in.give(name))
}

// moduleSource is asked for the source of a module. The name is looked up once more: nothing but moduleName stands between a guest and this, and a
// mistake there must not become a way to read something else.
func (in *instance) moduleSource(s []uint64) {
	name, ok := in.zeroEnded(uint32(s[0]))
	length := uint32(s[1])
	s[0] = 0
	if !ok {
		return
	}
	source, ok := in.realm.host.Module(name)
	if !ok {
		in.throw(in.realm.host.NoModule(name))
		return
	}
	p := in.give(source)
	if p != 0 {
		in.setWord(length, uint32(len(source)))
	}
	s[0] = uint64(p)
}

// give copies a text into memory of the guest's that the guest frees; 0 when there is none.
func (in *instance) give(text string) uint32 {
	p := uint32(in.call(xMalloc, uint64(len(text)+1)))
	if p == 0 {
		in.outOfRoom()
		return 0
	}
	in.writeText(p, text)
	return p
}

// longestName is more than any specifier of an import map.
const longestName = 4096

// zeroEnded reads a text of the guest's that ends with a zero byte. One that is longer than any name, or no text, is cut: it is no module's name either way.
func (in *instance) zeroEnded(p uint32) (string, bool) {
	b := in.mem.bytes()
	if uint64(p) >= uint64(len(b)) {
		in.fault("a name outside of its memory")
		return "", false
	}
	b = b[p:min(uint64(len(b)), uint64(p)+longestName)]
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	if !utf8.Valid(b) {
		return "\ufffd", true
	}
	return string(b), true
}
