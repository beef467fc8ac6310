package egress

import (
	"strconv"
	"strings"

	"sallyport/policy"
)

// hello is what the first bytes of a stream say about TLS.
type hello struct {
	state helloState
	name  string // the server name; "" when the hello has none
	fault string // why a hello cannot be read
}

type helloState int

const (
	helloPartial helloState = iota // more bytes are needed to tell
	helloNone                      // not TLS
	helloRead                      // a whole hello
	helloBad                       // TLS, and not to be understood
)

const (
	maxHello    = 32 << 10 // of the handshake message; real ones have up to 2 KiB
	maxFragment = 1 << 14  // of a record (RFC 8446)
)

func bad(fault string) hello { return hello{state: helloBad, fault: fault} }

// maxEmptyRecords before a hello; Go's TLS takes 16 and OpenSSL 32. Without a bound they could go on for as long as there is
// memory.
const maxEmptyRecords = 32

// helloReader reads the client hello at the beginning of a stream, over as many records as it takes. A record is looked at
// once, when it is whole: a hello in thousands of them would otherwise cost the square of their number.
type helloReader struct {
	read    int    // how much of the stream is in message, or was nothing
	message []byte // of the handshake, so far
	empty   int
}

func readHello(b []byte) hello { return new(helloReader).next(b) }

// next looks at the whole of the stream so far, of which it has seen a part before.
func (r *helloReader) next(stream []byte) hello {
	for r.read < len(stream) {
		b := stream[r.read:]
		begun := len(r.message) > 0
		frame := readFrame(b)
		switch {
		case frame == framePartial:
			return hello{}
		case frame == frameNone && begun:
			return bad("a record that is no TLS")
		case frame == frameNone:
			return hello{state: helloNone}
		case frame == frameEmpty && !begun:
			if r.empty++; r.empty > maxEmptyRecords {
				return bad("more empty records than a server takes")
			}
			r.read += 5
			continue
		}
		n := int(b[3])<<8 | int(b[4])
		switch {
		case frame != frameHandshake || n > maxFragment:
			return bad("a TLS record that does not belong before the hello")
		case !begun && len(b) > 5 && b[5] != typeClientHello:
			return bad("a handshake that does not begin with a client hello")
		case len(b) < 5+n:
			return hello{}
		}
		r.message = append(r.message, b[5:5+n]...)
		r.read += 5 + n
		if h := parseHello(r.message); h.state != helloPartial {
			return h
		}
	}
	return hello{}
}

const typeClientHello = 1

// frame is what the next record of a stream is.
type frame int

const (
	framePartial   frame = iota // more bytes are needed to tell
	frameNone                   // no TLS
	frameHandshake              // a piece of a handshake
	frameEmpty                  // empty, and of a version that does not exist: TLS only if TLS follows
	frameOther                  // TLS, and no handshake
)

// readFrame looks at the next record. Its version says little: Go takes every one below 16.0 for a first record, so a
// hello under a version that does not exist is one. But so begin messages of other protocols, with their length in
// front as a number; so of such a record its first byte must fit too.
func readFrame(b []byte) frame {
	switch {
	case b[0] < 0x14 || b[0] > 0x18 || len(b) > 1 && b[1] >= 0x10:
		return frameNone
	case len(b) < 5:
		return framePartial
	}
	n := int(b[3])<<8 | int(b[4])
	if b[1] == 3 {
		if b[0] == 0x16 && n > 0 {
			return frameHandshake
		}
		return frameOther
	}
	switch {
	case n == 0:
		return frameEmpty
	case len(b) < 6:
		return framePartial
	case b[0] == 0x16 && b[5] == 1:
		return frameHandshake
	case b[0] == 0x15 && n == 2 && (b[5] == 1 || b[5] == 2), b[0] == 0x14 && n == 1 && b[5] == 1: // an alert, a change of cipher
		return frameOther
	}
	return frameNone
}

// parseHello reads a handshake message that begins a client hello.
func parseHello(m []byte) hello {
	if len(m) < 4 {
		return hello{}
	}
	n := int(m[1])<<16 | int(m[2])<<8 | int(m[3])
	if n > maxHello {
		return bad("a client hello of more than " + strconv.Itoa(maxHello) + " bytes")
	}
	if len(m) < 4+n {
		return hello{}
	}
	body := reader{m[4 : 4+n], true}
	body.take(2 + 32) // version and random
	body.vector(1)    // session
	body.vector(2)    // cipher suites
	body.vector(1)    // compression
	if !body.ok {
		return bad("a client hello that ends early")
	}
	if len(body.b) == 0 { // before extensions there were hellos without
		return hello{state: helloRead}
	}
	extensions := body.vector(2)
	if !body.ok || len(body.b) > 0 {
		return bad("a client hello with something after it")
	}
	return serverName(extensions)
}

// serverName finds the one server name among the extensions. Two are refused: nobody knows which the server takes.
func serverName(extensions []byte) hello {
	r := reader{extensions, true}
	found := hello{state: helloRead}
	seen := false
	for len(r.b) > 0 {
		kind := r.take(2)
		body := reader{r.vector(2), true}
		if !r.ok {
			return bad("an extension that ends early")
		}
		if kind[0] != 0 || kind[1] != 0 {
			continue
		}
		if seen {
			return bad("two server names")
		}
		seen = true
		list := reader{body.vector(2), true}
		kind = list.take(1)
		name := list.vector(2)
		if !body.ok || !list.ok || len(body.b) > 0 || len(list.b) > 0 || kind[0] != 0 || len(name) == 0 {
			return bad("a server name that cannot be read in one way only")
		}
		found.name = string(name)
	}
	return found
}

// reader takes a message apart; after a piece is missing ok is false and everything empty.
type reader struct {
	b  []byte
	ok bool
}

func (r *reader) take(n int) []byte {
	if !r.ok || n > len(r.b) {
		r.b, r.ok = nil, false
		return make([]byte, min(n, 2)) // the callers look at up to two bytes before they look at ok
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// vector takes a piece with its length before it, in so many bytes.
func (r *reader) vector(lengthBytes int) []byte {
	n := 0
	for _, b := range r.take(lengthBytes) {
		n = n<<8 | int(b)
	}
	return r.take(n)
}

// judgeServerName compares the hello with the name that was granted.
func (t target) judgeServerName(h hello) *Refusal {
	if h.state == helloNone || h.state == helloRead && h.name == "" && t.port != 443 {
		return nil
	}
	what := ""
	if h.state == helloBad {
		what = "with a TLS hello that cannot be judged: " + h.fault
	} else if h.name == "" {
		what = "without a TLS server name"
	} else if name, err := policy.CanonicalHost(h.name); err != nil || name != t.host || strings.HasSuffix(h.name, ".") {
		what = "with the TLS server name " + quoted(h.name)
	}
	if what == "" {
		return nil
	}
	return &Refusal{
		Operation: OpConnect, Host: t.host, Port: t.port, Code: CodeRuntime,
		Rule:   policy.Rule{List: ListServerName, Entry: t.host, Index: -1, Why: "a tunnel that was granted by name carries that name"},
		Reason: "tried to use the tunnel to " + joinHostPort(t.host, t.port) + " " + what,
		Remedy: "use the name that was connected to as the server name, or have the other name added to network.allowedDomains and connect to it",
	}
}
