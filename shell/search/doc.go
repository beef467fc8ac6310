// Package search finds lines and files below a directory for code that is not trusted, in a confined process: what the
// policy denies cannot be found, because it cannot be read (R239).
//
//	s := search.New(box, ws.Dir, search.Options{})
//	res, err := s.Lines(ctx, search.Query{Pattern: `func \w+Handler`, Glob: "*.go", Limit: 100}, func(m search.Match) error {
//		fmt.Println(m.Path, m.Line, m.Text)
//		return nil
//	})
//
// The work is done by ripgrep where it is installed, and else by a searcher of our own: this program, started again in the
// jail. Both run under the policy of the sandbox that is handed in, in a jail of their own for each search, and give the same
// answers; one suite of tests asks both. Matches arrive as they are found, in no order between files; a limit ends the
// process. What ripgrep finds in one file of a directory arrives when it is done with that file.
//
// # Patterns and globs
//
// A pattern has the syntax of package regexp (RE2), for both: it is parsed here and spelled out for ripgrep, so that \d, \w and
// \b are ASCII, and it takes no more time than the text is long (L14). It is matched with each line by itself; "$" does not
// match before a carriage return. A glob has *, ?, [classes], {alternatives} and **; without a slash it is about the
// last name of a path, else it is relative to the directory of the search, and a "!" in front turns it around. The two together are as with ripgrep:
// what a glob asks for is found although it is hidden or ignored.
//
// Ignore files are ripgrep's: .gitignore inside of a repository, .ignore and .rgignore, those of the directories above too; not what
// git keeps elsewhere. Git's own directory is searched only where the path of the search leads into it. Files
// with a NUL are no text and are not searched; UTF-16 is none. Bytes that are no UTF-8 and, in globs, characters beyond ASCII under "?"
// or a class are where the two may differ. No configuration of ripgrep's is read.
//
// # What it does not stop
//
// The answers come from a process that has read untrusted files: they are as untrusted as those. The process can be held up
// by a pipe in the place of an ignore file, or by a file system that does not answer: give a context that ends. Without an order
// of its own, a search that is limited gives any of the matches.
//
// # Errors
//
// A path that cannot be had is an *fs.Error, as for the other tools. Otherwise each is an *Error of ErrPattern, ErrGlob,
// ErrQuery or ErrFailed, or an error of package shell when the process could not be confined. What the process was denied
// comes in the Result beside an error too (R249).
package search
