//go:build race

package corpus

// raceFactor is how much slower everything may be: the race detector looks at every access of the host to memory.
const raceFactor = 8
