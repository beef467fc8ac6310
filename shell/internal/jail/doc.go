// Package jail makes the first process of a sandbox on Linux, and is that process.
//
// [NewSetup] turns a [Plan], which is plain data, into a program of system calls. [Launch] forks with new namespaces and
// runs the program in the new process, one group of calls a layer, in this order: descriptors, user and group maps, UTS
// name, loopback, mounts, capabilities, no_new_privs, core limit, Landlock. The last call executes the host's own program
// again, under the name [Marker]. So every thread of that program is born restricted, also those its runtime starts
// later, and it is started once.
//
// There the package's init function takes over, before main. It is PID 1 for the rest of the jail's life: it puts the
// seccomp filter on the one thread that forks, reads back what is in force, tells the host, starts the one command, reaps,
// and reports how the command ended. It ends when the host's end of the socket closes, and the kernel then kills
// everything else in the PID namespace.
package jail
