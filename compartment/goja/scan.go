package goja

import (
	"fmt"

	"sallyport/compartment"
)

// scan looks at a source before the parser does.
func scan(source string, l compartment.Limits) *compartment.Failure {
	if len(source) > l.SourceBytes {
		return compartment.FailureOf(compartment.KindSourceSize, "SyntaxError", fmt.Sprintf("the source is %d bytes, at most %d are taken", len(source), l.SourceBytes))
	}
	return nil
}
