package egress

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"sallyport/policy"
)

// nameServer starts the name server over UDP and TCP and gives a function that asks it both ways.
func (w *world) nameServer() func(name string, kind uint16) *dns.Msg {
	w.t.Helper()
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(w.t, err)
	w.ServeDNSPackets(pc)
	ln := listen(w.t)
	w.ServeDNS(ln)
	return func(name string, kind uint16) *dns.Msg {
		w.t.Helper()
		q := new(dns.Msg).SetQuestion(name, kind)
		q.SetEdns0(4096, true)
		over := map[string]*dns.Msg{}
		for network, address := range map[string]string{"udp": pc.LocalAddr().String(), "tcp": ln.Addr().String()} {
			a, _, err := (&dns.Client{Net: network, Timeout: patience}).Exchange(q, address)
			require.NoError(w.t, err)
			require.Equal(w.t, q.Question, a.Question)
			require.Equal(w.t, q.Id, a.Id)
			over[network] = a
		}
		require.Equal(w.t, over["udp"].String(), over["tcp"].String())
		return over["udp"]
	}
}

// TestDNS: allowed names have an address that stands for them; everything else is refused, and nobody is asked.
func TestDNS(t *testing.T) {
	w := newWorld(t, compile(t, policy.Network{
		AllowedDomains: []string{"good.test:443", "*.wild.test", "9.9.9.9"}, DeniedDomains: []string{"no.wild.test"},
		DeniedDomainReasons: map[string]string{"no.wild.test": "because"},
	}), Limits{})
	w.resolver = resolverFunc(func(string) []string { panic("the name server asks nobody") })
	ask := w.nameServer()
	address := func(name string) netip.Addr {
		a := ask(name, dns.TypeA)
		require.Equal(t, dns.RcodeSuccess, a.Rcode, name)
		require.Len(t, a.Answer, 1)
		require.Equal(t, name, a.Answer[0].Header().Name, "the name as it was asked")
		ip, _ := netip.AddrFromSlice(a.Answer[0].(*dns.A).A.To4())
		require.True(t, synthetic.Contains(ip))
		return ip
	}
	good := address("good.test.")
	require.Equal(t, good, address("GOOD.tesT."), "one name, one address")
	require.NotEqual(t, good, address("a.wild.test."))
	for _, kind := range []uint16{dns.TypeAAAA, dns.TypeTXT, dns.TypeMX, dns.TypeHTTPS, dns.TypeSVCB, dns.TypeSRV, dns.TypeNS, dns.TypeSOA, dns.TypeCNAME, dns.TypeNULL} {
		a := ask("good.test.", kind)
		require.Equal(t, dns.RcodeSuccess, a.Rcode)
		require.Empty(t, a.Answer)
	}
	back, err := dns.ReverseAddr(good.String())
	require.NoError(t, err)
	require.Equal(t, "good.test.", ask(back, dns.TypePTR).Answer[0].(*dns.PTR).Ptr)
	require.Equal(t, "localhost.", ask("1.0.0.127.in-addr.arpa.", dns.TypePTR).Answer[0].(*dns.PTR).Ptr)
	require.Equal(t, "127.0.0.1", ask("localhost.", dns.TypeA).Answer[0].(*dns.A).A.String())
	require.Equal(t, "::1", ask("localhost.", dns.TypeAAAA).Answer[0].(*dns.AAAA).AAAA.String())
	require.Empty(t, w.records.all())

	refused := []struct {
		name string
		kind uint16
	}{
		{"evil.test.", dns.TypeA}, {"secret.evil.test.", dns.TypeTXT}, {"wild.test.", dns.TypeA}, {"no.wild.test.", dns.TypeA}, {"evil.test.", dns.TypeAAAA},
		{"x.good.test.", dns.TypeA}, {".", dns.TypeNS}, {"8.8.8.8.in-addr.arpa.", dns.TypePTR}, {"255.255.19.198.in-addr.arpa.", dns.TypePTR},
		{"good.test.", dns.TypeANY}, {"9.9.9.9.", dns.TypeA}, {`good.test\000.`, dns.TypeA}, {`good\.test.`, dns.TypeA}, {"good.test.local.", dns.TypeA},
		{"2130706433.", dns.TypeA}, {"_dns.resolver.arpa.", dns.TypeSVCB},
	}
	for _, c := range refused {
		a := ask(c.name, c.kind)
		require.Equal(t, dns.RcodeRefused, a.Rcode, c.name)
		require.Empty(t, a.Answer)
		ede := a.IsEdns0().Option[0].(*dns.EDNS0_EDE)
		require.Equal(t, dns.ExtendedErrorCodeBlocked, ede.InfoCode)
		require.Contains(t, ede.ExtraText, policyNotFault)
	}
	records := w.records.all()
	require.Len(t, records, 2*len(refused), "over UDP and TCP")
	for _, r := range records {
		require.Equal(t, OpResolve, r.Operation)
		require.Equal(t, "DNS REFUSED", r.How)
		require.Zero(t, r.Port)
		require.NotEmpty(t, r.Remedy)
		require.Contains(t, r.Reason, "tried to resolve")
	}
	require.Contains(t, records[6].RuleText(), "because")
}

// TestDNSPackets: what is no question is answered with its error, or not at all.
func TestDNSPackets(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{})
	q := new(dns.Msg).SetQuestion("good.test.", dns.TypeA)
	pack := func(change func(*dns.Msg)) []byte {
		m := q.Copy()
		change(m)
		b, err := m.Pack()
		require.NoError(t, err)
		return b
	}
	two := dns.Question{Name: "evil.test.", Qtype: dns.TypeA, Qclass: dns.ClassINET}
	for name, c := range map[string]struct {
		packet []byte
		rcode  int
	}{
		"two questions": {pack(func(m *dns.Msg) { m.Question = append(m.Question, two) }), dns.RcodeFormatError},
		"none":          {pack(func(m *dns.Msg) { m.Question = nil }), dns.RcodeFormatError},
		"NOTIFY":        {pack(func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify }), dns.RcodeNotImplemented},
		"UPDATE":        {pack(func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }), dns.RcodeNotImplemented},
		"CHAOS":         {pack(func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }), dns.RcodeRefused},
		"cut off":       {pack(func(*dns.Msg) {})[:20], dns.RcodeFormatError},
		"an answer":     {pack(func(m *dns.Msg) { m.Response = true }), -1},
		"junk":          {[]byte("x"), -1},
		"nothing":       {nil, -1},
	} {
		answer := w.answerDNS(c.packet, false)
		if c.rcode < 0 {
			require.Nil(t, answer, name)
			continue
		}
		var a dns.Msg
		require.NoError(t, a.Unpack(answer), name)
		require.Equal(t, c.rcode, a.Rcode, name)
		require.Empty(t, a.Answer, name)
		require.True(t, a.Response, name)
	}
}

// TestSyntheticAddresses: a connection to an address that stands for a name is one to the name, in every protocol.
func TestSyntheticAddresses(t *testing.T) {
	w := newWorld(t, allow(t, "good.test:80"), Limits{})
	ln := echo(t)
	w.host("good.test", 80, ln.Addr())
	a := w.names.address("good.test").String()
	proxy := w.proxy()
	got := socksAnswer(t, proxy, append(socksRequest(1, a, 80), "hi"...))
	require.Contains(t, string(got), "hibye")
	resp, _ := w.raw(proxy, "CONNECT "+a+":80 HTTP/1.1\r\n\r\n")
	require.Equal(t, 200, resp.StatusCode)
	u, err := w.ConnectCaptured(t.Context(), a, 80)
	require.NoError(t, err)
	require.NoError(t, u.Close())
	for _, d := range w.dialled() {
		require.Equal(t, "good.test 8.8.8.8:80", d)
	}
	for _, host := range []string{a, "198.18.77.77"} {
		_, err = w.ConnectCaptured(t.Context(), host, 81)
		var r *Refusal
		require.ErrorAs(t, err, &r)
		require.Equal(t, "EACCES", r.How)
	}
	require.Equal(t, "good.test", w.records.all()[0].Host)
}

// TestNames: the map is stable, goes both ways, and is bounded; an address is not soon another name's.
func TestNames(t *testing.T) {
	n := newNames(3)
	given := map[string]netip.Addr{}
	for i := range 10 {
		name := fmt.Sprintf("n%d.test", i)
		given[name] = n.address(name)
		require.Equal(t, given[name], n.address(name))
		back, ok := n.name(given[name])
		require.True(t, ok)
		require.Equal(t, name, back)
		_, ok = n.name(given["n0.test"]) // asked for all the time, so it stays
		require.True(t, ok)
	}
	require.Len(t, n.byName, 3)
	require.Len(t, n.byAddr, 3)
	require.Equal(t, 3, n.recent.Len())
	_, ok := n.name(given["n4.test"])
	require.False(t, ok, "forgotten")
	require.Len(t, given, 10)

	n = newNames(1 << 30)
	seen := map[netip.Addr]bool{}
	for i := range 3 * syntheticSize {
		a := n.address(fmt.Sprint("x", i))
		require.True(t, synthetic.Contains(a))
		seen[a] = true
	}
	require.Len(t, seen, syntheticSize-2, "the whole range is used before an address comes again")
	require.Len(t, n.byAddr, syntheticSize/2)
}
