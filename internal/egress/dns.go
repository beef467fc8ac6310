package egress

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"

	"sallyport/policy"
)

const (
	dnsTTL        = 60      // seconds; what an address stands for is decided anew at each connection anyway
	maxDNSMessage = 4 << 10 // bytes of a question; one has a few hundred at most
	dnsUDPSize    = 1232    // what we take and give over UDP with EDNS, as is usual
)

// ServeDNSPackets answers questions over UDP until the gateway or the socket closes. It returns at once.
func (g *Gateway) ServeDNSPackets(pc net.PacketConn) {
	g.begin(pc, func() {
		buf := make([]byte, maxDNSMessage)
		var wait time.Duration
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				if g.ctx.Err() != nil || isClosed(err) || !g.pause(&wait) {
					return
				}
				continue
			}
			wait = 0
			// Answering blocks on nothing, so one packet after the other is enough, and a flood makes no goroutines.
			if answer := g.answerSafely(buf[:n], false); answer != nil {
				pc.WriteTo(answer, from) // a lost answer is asked for again
			}
		}
	})
}

// ServeDNS answers questions over TCP until the gateway or the listener closes. It returns at once.
func (g *Gateway) ServeDNS(ln net.Listener) {
	g.accept(ln, func(c client) {
		buf := make([]byte, 2+maxDNSMessage)
		for {
			c.SetDeadline(time.Now().Add(g.limits.Head))
			if _, err := io.ReadFull(c, buf[:2]); err != nil {
				return
			}
			n := int(binary.BigEndian.Uint16(buf))
			if n > maxDNSMessage {
				return
			}
			if _, err := io.ReadFull(c, buf[2:2+n]); err != nil {
				return
			}
			answer := g.answerSafely(buf[2:2+n], true)
			if answer == nil {
				return
			}
			if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
				return
			}
		}
	}, hangUp)
}

// answerSafely is answerDNS for a packet that may hit a fault in the parser: a child must not be able to end the host.
func (g *Gateway) answerSafely(packet []byte, tcp bool) (answer []byte) {
	defer func() {
		if recover() != nil {
			answer = nil
		}
	}()
	return g.answerDNS(packet, tcp)
}

// answerDNS answers one message, or gives nil when there is nothing to answer. It asks nobody.
func (g *Gateway) answerDNS(packet []byte, tcp bool) []byte {
	var q dns.Msg
	if err := q.Unpack(packet); err != nil {
		return malformed(packet)
	}
	if q.Response {
		return nil
	}
	a := new(dns.Msg).SetReply(&q)
	a.RecursionAvailable = true
	size := dns.MinMsgSize
	edns := q.IsEdns0()
	if edns != nil {
		a.SetEdns0(dnsUDPSize, false)
		size = min(max(int(edns.UDPSize()), dns.MinMsgSize), dnsUDPSize)
	}
	switch {
	case q.Opcode != dns.OpcodeQuery:
		a.Rcode = dns.RcodeNotImplemented
	case len(q.Question) != 1:
		a.Rcode = dns.RcodeFormatError
	default:
		g.resolve(a, q.Question[0])
	}
	if tcp {
		size = dns.MaxMsgSize
	}
	a.Truncate(size)
	b, err := a.Pack()
	if err != nil {
		return malformed(packet)
	}
	return b
}

// malformed answers what cannot be read: its id, and that it cannot.
func malformed(packet []byte) []byte {
	if len(packet) < 12 || packet[2]&0x80 != 0 {
		return nil
	}
	return []byte{packet[0], packet[1], 0x80 | packet[2]&0x79, dns.RcodeFormatError, 0, 0, 0, 0, 0, 0, 0, 0}
}

// resolve answers one question into a.
func (g *Gateway) resolve(a *dns.Msg, q dns.Question) {
	if q.Qclass == dns.ClassINET && g.reverse(a, q) {
		return
	}
	host := strings.TrimSuffix(q.Name, ".")
	canonical, err := policy.CanonicalHost(host)
	if err == nil && canonical == localhost && q.Qclass == dns.ClassINET { // RFC 6761: the asker's own, whatever the policy
		addAddress(a, q, loopbacks[0], loopbacks[1])
		return
	}
	d := g.rules.Load().Lookup(host)
	if _, literal := netip.ParseAddr(canonical); !d.Allowed || literal == nil || q.Qclass != dns.ClassINET || q.Qtype == dns.TypeANY {
		g.refuseName(a, host, d)
		return
	}
	if q.Qtype == dns.TypeA {
		addAddress(a, q, g.names.address(canonical), netip.Addr{})
	}
}

// addAddress answers A and AAAA. The name is repeated as it was asked, letter case and all: some resolvers compare.
func addAddress(a *dns.Msg, q dns.Question, v4, v6 netip.Addr) {
	h := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: dnsTTL}
	switch {
	case q.Qtype == dns.TypeA:
		a.Answer = append(a.Answer, &dns.A{Hdr: h, A: v4.AsSlice()})
	case q.Qtype == dns.TypeAAAA && v6.IsValid():
		a.Answer = append(a.Answer, &dns.AAAA{Hdr: h, AAAA: v6.AsSlice()})
	}
}

// refuseName answers REFUSED, with the reason for who can read it (RFC 8914).
func (g *Gateway) refuseName(a *dns.Msg, host string, d policy.Decision) {
	r := fromDecision(OpResolve, host, 0, d)
	if d.Allowed { // the name is, and the question is not one that is answered
		r.Code = CodeRequest
		r.Rule = policy.Rule{List: ListProtocol, Index: -1, Why: "only questions for one type of a name are answered"}
		r.Reason = "tried to resolve " + r.Host + " by a question that is not answered"
		r.Remedy = "ask for the A record of a name"
	}
	g.refuse(r, "DNS REFUSED")
	a.Rcode = dns.RcodeRefused
	if edns := a.IsEdns0(); edns != nil {
		text := onOneLine(policyNotFault + " " + r.Reason)
		edns.Option = append(edns.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeBlocked, ExtraText: text[:min(len(text), 200)]})
	}
}

// reverse answers PTR for the addresses that stand for names, and for loopback.
func (g *Gateway) reverse(a *dns.Msg, q dns.Question) bool {
	if q.Qtype != dns.TypePTR {
		return false
	}
	address, ok := reversed(q.Name)
	if !ok {
		return false
	}
	name, ok := g.names.name(address)
	if address == loopbacks[0] {
		name, ok = localhost, true
	}
	if ok {
		h := dns.RR_Header{Name: q.Name, Rrtype: dns.TypePTR, Class: dns.ClassINET, Ttl: dnsTTL}
		a.Answer = append(a.Answer, &dns.PTR{Hdr: h, Ptr: name + "."})
	}
	return ok
}

// reversed reads the name under in-addr.arpa that stands for an IPv4 address.
func reversed(name string) (netip.Addr, bool) {
	rest, ok := strings.CutSuffix(strings.ToLower(name), ".in-addr.arpa.")
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 4 {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(parts[3] + "." + parts[2] + "." + parts[1] + "." + parts[0])
	return a, err == nil && a.Is4()
}
