package compartment

import "fmt"

// DynamicCode says what becomes of code that is made from text: eval and the function constructors.
type DynamicCode uint8

const (
	// RefuseCode refuses it (KindDynamicCode); the program can catch that.
	RefuseCode DynamicCode = iota
	// OwnGlobal lets it run, in the compartment's own global object, like any other code of the compartment. Old libraries want it.
	OwnGlobal
)

// String is the name of the constant.
func (d DynamicCode) String() string {
	switch d {
	case RefuseCode:
		return "RefuseCode"
	case OwnGlobal:
		return "OwnGlobal"
	}
	return fmt.Sprintf("DynamicCode(%d)", uint8(d))
}

// validate refuses what is none of the constants: it would be taken for one of them somewhere.
func (d DynamicCode) validate() error {
	if d > OwnGlobal {
		return &Error{Code: CodeConfig, Field: "dynamic_code", Value: d.String(), Bound: "RefuseCode or OwnGlobal"}
	}
	return nil
}
