//go:build !unix

package seek

// Nothing is searched where there is no jail.
const (
	openWaitless = 0
	openFlags    = 0
)
