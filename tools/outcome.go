package tools

// Outcome is one of the twenty ways in which a call did not give, or did not wholly give, what was asked for.
type Outcome string

// The outcomes. Outcomes lists them with their reasons.
const (
	NotFound         Outcome = "not-found"
	DeniedByPolicy   Outcome = "denied-by-policy"
	GateDeclined     Outcome = "gate-declined"
	GateUnavailable  Outcome = "gate-unavailable"
	OverBudget       Outcome = "over-budget"
	ScopeLimited     Outcome = "scope-limited"
	ResultLimited    Outcome = "result-limited"
	NotARegularFile  Outcome = "not-a-regular-file"
	IsADirectory     Outcome = "is-a-directory"
	PathRejected     Outcome = "path-rejected"
	OutsideWriteRoot Outcome = "outside-write-root"
	SandboxViolation Outcome = "sandbox-violation"
	NonzeroExit      Outcome = "nonzero-exit"
	NoMatches        Outcome = "no-matches"
	UnknownMedia     Outcome = "unknown-media"
	InvalidPattern   Outcome = "invalid-pattern"
	NotADirectory    Outcome = "not-a-directory"
	IOFailure        Outcome = "io-failure"
	Aborted          Outcome = "aborted"
	TimedOut         Outcome = "timed-out"
)

// Narration is a row of the table of outcomes: what a model reads of each, and why it is one of its own.
type Narration struct {
	Outcome Outcome
	// Reason tells the rows of one outcome apart: how a path was rejected, why there was no answer. Empty for most.
	Reason string
	// Why says why this is told in its own words.
	Why string
	// Code is the code of the error. It is empty for a line that stands in a result: there is no error then.
	Code Code
	// Action is what the model can do next; it is a part of every text.
	Action string

	says string // the text before the action; see fill for what stands in braces
}

// sameWords is what is said of a file that is not there and of one that may not be used: one text, so that files cannot
// be probed for (R220, R287).
const sameWords = "{input}: there is no such file or directory, or the policy does not let you use it."

// sameAction belongs to sameWords.
const sameAction = "Look at what is listed in its parent directory, or ask the user for access."

// Outcomes is the table, one row for each outcome and reason, in the order of the outcomes.
func Outcomes() []Narration {
	return append(errorRows(), resultRows()...)
}

// errorRows are the outcomes of calls that did nothing.
func errorRows() []Narration {
	return []Narration{
		{Outcome: NotFound, Code: CodeRefused, says: sameWords, Action: sameAction,
			Why: "the name may be misspelt; the code is that of a denial too, or the code would tell them apart"},
		{Outcome: DeniedByPolicy, Code: CodeRefused, says: sameWords, Action: sameAction,
			Why: "the host's log has to tell a denial from a wrong name, and the model must not be able to"},
		{Outcome: GateDeclined, Code: CodeRefused, says: "{tool} was declined{note}.",
			Action: "Do not repeat this call; do it another way, or ask the user.", Why: "a decision, and it stands"},
		{Outcome: GateUnavailable, Reason: ReasonError, Code: CodeRefused,
			says:   "{tool} was not approved: whoever decides could not be asked.",
			Action: "Try again once, then tell the user.", Why: "nobody said no, so another try is right"},
		{Outcome: GateUnavailable, Reason: ReasonTimeout, Code: CodeRefused,
			says:   "{tool} was not approved: nobody answered in time.",
			Action: "Tell the user that an answer is needed, then try again.", Why: "somebody has to be woken first"},
		{Outcome: OverBudget, Code: CodeRefused, says: "{input} is more than is taken at once{note}.",
			Action: "Ask for less at a time.", Why: "the call was fine and too large"},
		{Outcome: NotARegularFile, Code: CodeRefused, says: "{input} is a link, a device, a pipe or a socket.",
			Action: "Choose a regular file.", Why: "reading one can wait for ever, or never end"},
		{Outcome: IsADirectory, Code: CodeRefused, says: "{input} is a directory.",
			Action: "List it, and choose a file.", Why: "the most common slip, with an easy remedy"},
		{Outcome: NotADirectory, Code: CodeRefused, says: "{input} is a file.",
			Action: "Use the directory it is in, or open the file.", Why: "the same slip the other way round"},
		{Outcome: PathRejected, Reason: "escape", Code: CodeRefused, says: "{input} leads out of the workspace.",
			Action: "Use a path inside of the workspace.", Why: "what is outside has no name here"},
		{Outcome: PathRejected, Reason: "absolute-host", Code: CodeRefused, says: "{input} begins with a drive letter.",
			Action: "Write the path from the root of the workspace, with slashes.", Why: "a host's spelling"},
		{Outcome: PathRejected, Reason: "home", Code: CodeRefused, says: "{input} begins with ~, and there is no home directory here.",
			Action: "Write the path from the root of the workspace.", Why: "a shell's spelling"},
		{Outcome: PathRejected, Reason: "unc", Code: CodeRefused, says: "{input} names a network share.",
			Action: "Use a path inside of the workspace, with one slash at its beginning or none.", Why: "opening one would dial out"},
		{Outcome: PathRejected, Reason: "device", Code: CodeRefused, says: "{input} names a device.",
			Action: "Use the path of a file inside of the workspace.", Why: "a host's spelling, and no file"},
		{Outcome: PathRejected, Reason: "nul", Code: CodeRefused, says: "{input} has a NUL in it.",
			Action: "Remove the NUL.", Why: "the system would read another path than was judged"},
		{Outcome: OutsideWriteRoot, Code: CodeRefused, says: "{input} is outside of {root}, which alone may be saved to.",
			Action: "Save to a path below it.", Why: "the place is known, so it is named"},
		{Outcome: UnknownMedia, Code: CodeRefused, says: "There is no media {input} in this turn.",
			Action: "Stage the file first, and use the id that comes back.", Why: "ids end with their turn"},
		{Outcome: InvalidPattern, Code: CodeRefused, says: "{input} is not a valid pattern{note}.",
			Action: "Correct it, or have it taken literally.", Why: "not the same as finding nothing"},
		{Outcome: IOFailure, Code: CodeFailed, says: "{tool} could not do it: {input}: something went wrong outside of the call{note}.",
			Action: "Try again once, then tell the user.", Why: "no doing of the caller"},
		{Outcome: Aborted, Code: CodeRefused, says: "The question about {tool} was withdrawn, and nothing was done.",
			Action: "Ask the user before you try again.", Why: "neither a no nor a failure"},
	}
}

// resultRows are lines of results: what was asked for was done, and there is something to say about it.
func resultRows() []Narration {
	return []Narration{
		{Outcome: ScopeLimited, says: "Nothing deeper than {limit} levels below {input} was looked at.",
			Action: "For more, set max_depth higher or begin further down.", Why: "a listing that ends early reads like a small tree"},
		{Outcome: ResultLimited, says: "Stopped at the limit of {limit} results; there may be more.",
			Action: "For more, set limit higher or narrow the search.", Why: "a cut list reads like a whole one"},
		{Outcome: SandboxViolation, says: "Observed while it ran, and not always the reason for how it ended: {detail}.",
			Action: "Work without it, or ask the user.", Why: "a command often hides why it failed"},
		{Outcome: NonzeroExit, Reason: ReasonStatus, says: "The command exited with status {limit}.",
			Action: "Read its output to see why.", Why: "data for the model, and no error (R204)"},
		{Outcome: NonzeroExit, Reason: ReasonSignal, says: "The command was ended by {detail}.",
			Action: "Read its output, and see whether it met a limit.", Why: "a signal is no status"},
		{Outcome: NoMatches, says: "No matches for {input}.",
			Action: "Check the pattern and the path, or search elsewhere.", Why: "an empty result looks like a broken one (R241)"},
		{Outcome: TimedOut, says: "Stopped after {limit} seconds, with everything it had started; the result is not complete.",
			Action: "Set timeout_seconds higher, or do less at a time.", Why: "its output is kept, and must not read as whole (R205)"},
	}
}

// The reasons of outcomes that are no path's.
const (
	ReasonError   = "error"
	ReasonTimeout = "timeout"
	ReasonStatus  = "status"
	ReasonSignal  = "signal"
)
