//go:build !race

package corpus

const raceFactor = 1
