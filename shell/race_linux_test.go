//go:build race

package shell_test

// slowness divides the number of rounds under the race detector, where a jail takes ten times as long.
const slowness = 5
