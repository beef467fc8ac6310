//go:build js

package shell

// In a browser there is no process to confine: the code boundary (package evaljs) is the boundary there. This line
// does not compile, on purpose, so that nobody takes a shim for a sandbox (R300, R316).
var _ = the_process_boundary_does_not_exist_in_a_browser_use_package_evaljs
