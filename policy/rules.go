package policy

import "errors"

type Platform int

const (
	Linux Platform = iota
	Darwin
	Windows
)

type Axis int

const (
	AxisRead Axis = iota
	AxisWrite
	AxisConnect
)

type CompileOptions struct {
	Platform Platform
	Resolve  func(path string) (real string, err error)
	Private  []PrivateDir
}

type PrivateDir struct {
	Path, Why string
	Writable  bool
}

type Rules struct{}

type Decision struct {
	Allowed bool
	Axis    Axis
	Path    string
	Rule    Rule
	Reason  string
	Remedy  string
}

type Rule struct {
	List  string
	Entry string
	Index int
	Why   string
}

type Entry struct {
	List     string
	Index    int
	Axis     Axis
	Allow    bool
	Given    string
	Real     string
	Glob     bool
	Absent   bool
	Optional bool
}

type Mandatory struct {
	Name   string
	Dir    bool
	Depth0 bool
	Why    string
}

type Secret struct{ Path, Why string }

type Derived struct{}

func Parse(data []byte) (Policy, error)                           { return Policy{}, errors.New("being written") }
func (p Policy) Validate() error                                  { return errors.New("being written") }
func (p Policy) MarshalJSON() ([]byte, error)                     { return nil, errors.New("being written") }
func (p *Policy) UnmarshalJSON(data []byte) error                 { return errors.New("being written") }
func (p Policy) Compile(o CompileOptions) (*Rules, error)         { return &Rules{}, nil }
func (r *Rules) Read(path string) Decision                        { return Decision{} }
func (r *Rules) Write(path string) Decision                       { return Decision{} }
func (r *Rules) Mkdir(path string) Decision                       { return Decision{} }
func (r *Rules) Connect(host string, port int) Decision           { return Decision{} }
func (r *Rules) Lookup(host string) Decision                      { return Decision{} }
func (r *Rules) UnixSocket(path string) Decision                  { return Decision{} }
func (r *Rules) Canonical(path string) (string, error)            { return path, nil }
func (r *Rules) PrivateAt(path string) (PrivateDir, bool)         { return PrivateDir{}, false }
func (r *Rules) Entries() []Entry                                 { return nil }
func (r *Rules) WritableRoots() []string                          { return nil }
func (r *Rules) MandatoryAt(root, rel string) (Mandatory, bool)   { return Mandatory{}, false }
func (r *Rules) MandatoryComponent(path string) (Mandatory, bool) { return Mandatory{}, false }
func (r *Rules) Derived() Derived                                 { return Derived{} }
func CanonicalHost(host string) (string, error)                   { return "", errors.New("being written") }
func Mandatories() []Mandatory                                    { return nil }
func SecretPlaces() []Secret                                      { return nil }
