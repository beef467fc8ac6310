// Package broker performs system calls for the processes of a jail, so that they are decided by name.
//
// A mount protects a file that exists. What has to hold for names that do not exist yet, at any depth, or by a pattern,
// no mount can say. So the second seccomp program of a jail hands every call that changes files to the jail's first
// process, and a [Broker] there answers it:
//
//  1. It copies the arguments out of the caller's memory, once.
//  2. It resolves the parent directory itself, from the caller's own working directory or descriptor, and keeps it open.
//  3. It asks the policy about the real path of the parent and the last name.
//  4. It makes the call itself, relative to the open parent, in a way that cannot go elsewhere, and hands the result
//     or the new descriptor back.
//
// A call that was judged is never continued: the caller's memory may have changed meanwhile, and it decides nothing any
// more once it was copied. Whatever goes wrong on the way (a caller that is gone, memory that cannot be read, a path
// too long to be known) is a refusal.
//
// Calls are answered with the errors that the kernel would give. umask, O_EXCL, O_NOFOLLOW, links, /proc/self and names
// that are no UTF-8 behave as if the caller had made the call.
//
// # What it does not see
//
// Descriptors that were handed to the command open for writing; another hard link of a protected file; what other
// programs do to the same directories from outside.
package broker
