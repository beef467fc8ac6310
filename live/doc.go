// Package live is the evidence for the process boundary: a real kernel, really confined children, real attacks. It has
// no code of its own, only tests.
//
// An attack is a function of this test binary. The binary is started again inside a jail as the attacker, makes its
// raw system calls there, and says in one line whether it got through. Silence, another exit status or death by a
// signal is a failure of the test, whatever was expected. Every attack is run several times:
//
//   - with only the named layer up: it must be refused;
//   - with no layer up: it must get through, or it proves nothing;
//   - with everything up, as released: it must be refused.
//
// The first two need switches that exist only under the build tag sallyport_layers:
//
//	go test -tags sallyport_layers ./live
//
// Without the tag the last arm alone is run. A layer that cannot stand alone is run with the layers that carry it, and
// the table says why. Because the open arm really runs the attack, each is harmless by construction: it opens and does
// not write, passes pointers to nothing, aims at processes and files of the test's own.
//
// Run as root, every test runs twice: as root, and as an ordinary user.
//
// Where no command can be confined, tests are skipped aloud: each skip is printed, counted, and written to the report.
// SALLYPORT_LIVE=require makes a skip a failure. The report (kernel, Landlock version, what was enforced, every arm of
// every attack) goes to live/report, or to the directory that SALLYPORT_REPORT names. A green run without such a report
// is no evidence.
//
// The benchmark compares starting a command plainly, in a jail, and under bubblewrap:
//
//	go test -run '^$' -bench Spawn ./live
package live
