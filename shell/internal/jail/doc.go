// Package jail is the first process of a sandbox on Linux: the same program, started again inside new namespaces.
//
// It runs twice. Stage one holds every capability of its own user namespace and puts the layers up, one file a layer, in
// this order: descriptors, loopback, mounts, capabilities, no_new_privs, resource limits, Landlock. Then it executes
// itself once more, so that every thread of stage two, also those the runtime starts later, is born restricted. Stage
// two is PID 1 for the rest of the jail's life: it reads back what is in force, tells the host, starts the one command
// with the seccomp filter on the thread that forks, reaps, and reports how the command ended. It ends when the host's
// end of the socket closes, and the kernel then kills everything else in the PID namespace.
//
// The package holds no policy of its own: the host hands it a [Plan], which is plain data.
package jail
