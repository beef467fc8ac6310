// Package corpus is the evidence for the code boundary. It has no code but tests:
//
//   - every attack of ../testdata/js-attacks.jsonl on every engine, each with its own rule and with what must hold whatever a guest
//     does (attacks_test.go, invariants_test.go);
//   - the same run under strace, which shows that nothing is opened (strace_linux_test.go);
//   - ordinary programs, which must give the same answers in a compartment as anywhere else (ordinary_test.go);
//   - the tables of docs/compartment.md, each row run (results_test.go, promises_test.go, document_test.go);
//   - many compartments at once and one after the other (scale_test.go).
//
// Attacks run in child processes of the test binary, whose memory is bounded: an attack that ends its process is told by name, and the
// machine stays well.
package corpus
