//go:build !race

package shell_test

// slowness divides the number of rounds: see race_linux_test.go.
const slowness = 1
