package shell

import "sallyport/policy"

// Read decides whether a command of this sandbox could read a real path of the host, as Rules().Read does.
func (s *Sandbox) Read(path string) policy.Decision { return s.rules.Read(path) }

// Write decides whether a command of this sandbox could write a real path of the host. It knows more than Rules().Write:
// what git would take for a repository's hooks or configuration under any name, what a git configuration leads to, and
// the program that starts jails. Whatever else is done with the host's files on behalf of the same policy should ask here,
// so that it permits no more than a command has.
//
// As with the rules, a path in a directory of which every command has its own is allowed under policy.ListPrivate, which says nothing of
// the host's.
func (s *Sandbox) Write(path string) policy.Decision { return s.decideWrite(path) }

// ReadsBelow is Rules().ReadsBelow.
func (s *Sandbox) ReadsBelow(dir string) bool { return s.rules.ReadsBelow(dir) }
