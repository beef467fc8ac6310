package egress

import (
	"container/list"
	"net/netip"
	"sync"
)

// synthetic is the range whose addresses stand for names. It is set aside for benchmarks (RFC 2544), so no host on the
// internet has one, no usual private network uses it, and unlike 240.0.0.0/4 every program takes it for an ordinary
// address. It is among the SpecialRanges: a name that really resolves there is refused.
var synthetic = netip.MustParsePrefix("198.18.0.0/15")

const syntheticSize = 1 << 17

// NameRange is the range whose addresses stand for names. Its first and its last address stand for none.
func NameRange() netip.Prefix { return synthetic }

// names gives each name an address of its own, and finds the name again.
type names struct {
	mu     sync.Mutex
	size   int
	next   uint32
	byName map[string]*list.Element
	byAddr map[netip.Addr]*list.Element
	recent list.List // of named, the one asked for last in front
}

type named struct {
	name    string
	address netip.Addr
}

func newNames(size int) *names {
	return &names{size: min(size, syntheticSize/2), byName: map[string]*list.Element{}, byAddr: map[netip.Addr]*list.Element{}}
}

// address gives the address of a canonical name. Addresses are handed out in turn through the whole range, so that one
// whose name was forgotten is not soon another name's.
func (n *names) address(name string) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e, ok := n.byName[name]; ok {
		n.recent.MoveToFront(e)
		return e.Value.(named).address
	}
	if len(n.byName) >= n.size {
		oldest := n.recent.Remove(n.recent.Back()).(named)
		delete(n.byName, oldest.name)
		delete(n.byAddr, oldest.address)
	}
	a := n.free()
	e := n.recent.PushFront(named{name, a})
	n.byName[name], n.byAddr[a] = e, e
	return a
}

// free finds the next address that stands for no name; there is one, for at most half of them do.
func (n *names) free() netip.Addr {
	base := synthetic.Addr().As4()
	for {
		n.next = n.next%(syntheticSize-2) + 1 // neither the first nor the last of the range
		a := netip.AddrFrom4([4]byte{base[0], base[1] + byte(n.next>>16), byte(n.next >> 8), byte(n.next)})
		if _, taken := n.byAddr[a]; !taken {
			return a
		}
	}
}

// name gives the name that an address stands for.
func (n *names) name(a netip.Addr) (string, bool) {
	if !synthetic.Contains(a) {
		return "", false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	e, ok := n.byAddr[a]
	if !ok {
		return "", false
	}
	n.recent.MoveToFront(e)
	return e.Value.(named).name, true
}
