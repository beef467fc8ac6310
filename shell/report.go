package shell

// Report says what is in force for one command. It is read back from the kernel by the jail's first process before
// anything untrusted runs, and checked by the host; it is never a copy of what was asked for (architecture, rule 2).
type Report struct {
	// Tier is "full" when every layer the policy needs is enforced.
	Tier string `json:"tier"`
	// Kernel is the release of the running kernel.
	Kernel string `json:"kernel"`
	// Layers are in the order in which they are put up.
	Layers []Layer `json:"layers"`
}

// States of a layer.
const (
	// Enforced: the kernel confirmed it.
	Enforced = "enforced"
	// Absent: it is not in force, and Evidence says why that is what the policy asked for, or what is not covered.
	Absent = "absent"
)

// Layer is one line of a [Report].
type Layer struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Evidence string `json:"evidence"`
}

// Layer gives the line with that name, or a zero Layer.
func (r Report) Layer(name string) Layer {
	for _, l := range r.Layers {
		if l.Name == name {
			return l
		}
	}
	return Layer{}
}
