// Package egress takes every connection of one child to the one place where it is judged: it decides by name, resolves
// once, checks every address, and dials what it checked.
//
//	g, err := egress.New(egress.Config{Rules: rules, Record: record})
//	if err != nil {
//		return err
//	}
//	defer g.Close()                  // cuts everything; nothing is left behind
//	g.ServeProxy(proxyListener)      // HTTP CONNECT, http:// requests and SOCKS5, told apart by the first byte
//	g.ServeDNS(dnsListener)          // over TCP
//	g.ServeDNSPackets(dnsPackets)    // over UDP
//	g.ServeCaptured(listener, meant) // connections of programs that know no proxy
//
// A Gateway belongs to one child: who asks is known by the listener it comes in on, so the listeners must be ones that
// only that child can reach. Nothing a child sends names it, and there is no password.
//
// # Deciding
//
// The name is judged in its canonical spelling and dialled in that spelling, by policy.Rules.Connect. An address that a
// name resolves to must not be private, loopback, link-local, multicast, reserved, a metadata service, an address of the
// host itself, or an IPv4 address carried in IPv6, unless the policy grants that very address; SpecialRanges has the list.
// Of the addresses that pass, and of no other, one is dialled. An address of the well-known NAT64 prefix is judged as
// the IPv4 address it carries, because a network without IPv4 has no other addresses.
//
// The name localhost is the host's loopback, and only an entry that spells it grants it. It is never looked up.
//
// # Names
//
// The name server asks nobody. It answers an allowed name with an address from 198.18.0.0/15, which stands for that
// name and no other, and every connection to such an address is judged as the name. AAAA is answered empty, so that
// programs take the IPv4 address; so is every other type, so that no record carries text in or out. That an allowed name
// does not exist is found when it is connected to.
//
// # Server names
//
// In a tunnel that was granted by name, a TLS client hello at its beginning must carry that name. On port 443 a hello
// that carries none is refused as well; on other ports it passes, because some clients of databases send none. A tunnel
// granted by address, and one to localhost, is not looked into. What is not TLS passes as the policy allows.
//
// # Refusals
//
// A refusal tells the program, and who reads its output, what was refused, by which rule, what would allow it, and that
// other flags will not help. Config.Record gets each one, and nothing about what is allowed. A Failure is the other thing:
// it was allowed and the network did not do it. Neither carries a path or a user name of the host.
//
// # What it does not stop
//
//   - Data for a granted host. Whoever may connect may send.
//   - Fronting: a Host header inside TLS, a second hello after a retry, an encrypted client hello whose outer name is the
//     granted one. They are behind the encryption, which is not opened. A server that serves several names on one address
//     can be asked for another one that way.
//   - TLS begun later in a stream (STARTTLS, PostgreSQL's SSLRequest), or a plain HTTP Host inside a tunnel: a tunnel is
//     looked at once, at its beginning.
//   - An address of the host that no interface has, such as a public one that a router translates: grant no name that
//     leads there.
//   - A range granted by address is granted whole, the special addresses inside it too: 0.0.0.0/0 grants loopback.
//
// # Errors
//
// *Refusal is a decision and *Failure is the network. There is no third kind.
package egress
