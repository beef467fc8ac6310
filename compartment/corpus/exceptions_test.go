package corpus

// exception is an attack that an engine does not pass, and why. One is flaky when it is passed now and then: what decides is the machine.
type exception struct {
	id, why string
	flaky   bool
}

// Reasons that come again.
const (
	whyRefused = "the operation is refused before it runs, as an error that the program can catch; nothing is allocated"
	whyRegExp  = "a pattern with look-ahead or a back-reference is matched by a library that does not look for a stop: Evaluate returns in time, the goroutine goes on"
	whyBuiltIn = "one built-in, or the copying of its result, takes longer than its limit and does not look for a stop: Evaluate returns in time, the goroutine goes on"
)

// gojaExceptions are what goja does not pass. Its package comment says the same in general. What goja passes by being quick enough is flaky: a slower machine
// finds it still running.
var gojaExceptions = []exception{
	{id: "RV-34", why: whyBuiltIn, flaky: true},
	{id: "RV-35", why: whyRefused},
	{id: "RX-10", why: whyBuiltIn, flaky: true},
	{id: "RX-15", why: whyRefused},
	{id: "RX-19", why: "memory has no limit: a loop that allocates takes gigabytes before its time is over, and a process that has not so many ends", flaky: true},
	{id: "RX-22", why: whyBuiltIn, flaky: true},
	{id: "RX-23", why: whyBuiltIn, flaky: true},
	{id: "RX-24", why: whyBuiltIn, flaky: true},
	{id: "RX-26", why: whyRegExp},
	{id: "RX-27", why: whyRegExp},
	{id: "RX-31", why: whyBuiltIn, flaky: true},
	{id: "CI-08", why: whyRefused},
	{id: "CI-18", why: whyBuiltIn, flaky: true},
	{id: "EI-20", why: whyBuiltIn, flaky: true},
}
