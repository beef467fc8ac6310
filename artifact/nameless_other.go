//go:build !linux

package artifact

// namelessFile makes a file and takes its name away.
func namelessFile(dir string) (file, error) { return unlinkedFile(dir) }
