// Package policy says what code that is not trusted may reach, as plain data, and decides about one path or host at a
// time, giving the rule that decided.
//
// It enforces nothing. It opens no file, resolves no name and dials no host: the process boundary, the file tools and
// the network side all ask it, so that they give one answer. The one call most programs need:
//
//	p, err := policy.Parse(data)              // or a policy.Policy literal
//	rules, err := p.Compile(policy.CompileOptions{Resolve: filepath.EvalSymlinks})
//	d := rules.Write("/work/out/x")           // d.Allowed, d.Rule, d.Reason, d.Remedy
//
// # Reads and writes
//
// Reads are allowed unless denied. Of an allowRead and a denyRead entry that both cover a path, the one that names more
// of it decides; at a tie the path may be read. A denied pattern is lifted only by the same pattern on the allow list.
//
// Writes are refused unless allowed, and a denyWrite entry wins over every allowWrite entry. The two precedences are
// opposite on purpose and share no code.
//
// A path that may not be read may not be written. A few devices may be written whatever the policy says (Derived lists
// them). An entry covers what is below it, and a pattern what is below the directories it matches.
//
// # Patterns
//
// An entry with *, ?, ** or a closed [class] is a pattern. * and ? stay within one name, "**/" is zero or more
// directories, ** elsewhere is anything, "/**" at the end is the directory itself, and an entry may begin with "**" to
// match anywhere. To name a file that has a "[" in its name, write "[[]". A pattern that means nothing, such as [z-a],
// matches everything on a deny list and nothing on an allow list.
//
// # Mandatory names
//
// Some names are never writable, because a program outside the sandbox acts on them: .bashrc, .git/hooks and so on,
// Mandatories has them all. They hold by name, so also for files that do not exist yet, at any depth or at the top of a
// writable root as the table says, and on Linux without regard to case. AllowMandatory lifts one; AllowGitConfig lifts
// .git/config. Naming such a path in allowWrite does not lift it.
//
// # Hosts
//
// An entry is a name, "*.name" for its sub-domains alone, "*" for every name, an address or a range, each with an
// optional port. A denied entry beats an allowed one. A wildcard never covers an address on the allow list. Hosts are
// judged in the spelling of CanonicalHost, and must be dialled in it.
//
// # What it does not stop
//
//   - Links. Rules are about real paths. Compile follows links in the policy; whoever asks Read or Write follows those in
//     the question, with Canonical or by asking about what was opened. A link that is swapped between the question and the
//     use is the enforcer's business, and so is a hard link, which has no real path.
//   - A .git that is a file, as worktrees and submodules have, or a bare repository, leads git to a directory of another
//     name. A program that may write both can have hooks there. Git of a version that asks for safe.bareRepository helps
//     with the second.
//   - On a macOS volume that ignores case, .BASHRC is .bashrc and the rules do not know it. Spellings that a file system
//     takes for the same by Unicode normalisation are different names here.
//   - Real secrets belong outside the directories that are opened to untrusted code (R67). SecretPlaces is a list of the
//     usual places; nothing here applies it.
//
// # Errors
//
// Parse, Validate and Compile return *Error, which is ErrInvalid and says where, what and the nearest known spelling. An
// allowed path that does not exist is fs.ErrNotExist as well. Decisions are never errors: what is no path or host is
// refused, under the rule ListInvalid.
package policy
