package policy

import "encoding/json"

// The JSON shape, in the order and spelling of the reference. Lists that are empty are left out.
type (
	jsonPolicy struct {
		Filesystem jsonFilesystem `json:"filesystem"`
		Network    jsonNetwork    `json:"network"`
	}
	jsonFilesystem struct {
		AllowRead                []PathEntry `json:"allowRead,omitempty"`
		DenyRead                 []PathEntry `json:"denyRead,omitempty"`
		AllowWrite               []PathEntry `json:"allowWrite,omitempty"`
		DenyWrite                []PathEntry `json:"denyWrite,omitempty"`
		GitSafeDirectories       []string    `json:"gitSafeDirectories,omitempty"`
		AllowGitConfig           bool        `json:"allowGitConfig,omitempty"`
		AllowMandatory           []string    `json:"allowMandatory,omitempty"`
		MandatoryDenySearchDepth *int        `json:"mandatoryDenySearchDepth,omitempty"`
		Disabled                 bool        `json:"disabled,omitempty"`
	}
	jsonNetwork struct {
		AllowedDomains      []string          `json:"allowedDomains,omitempty"`
		DeniedDomains       []string          `json:"deniedDomains,omitempty"`
		DeniedDomainReasons map[string]string `json:"deniedDomainReasons,omitempty"`
		AllowUnixSockets    []string          `json:"allowUnixSockets,omitempty"`
		Disabled            bool              `json:"disabled,omitempty"`
	}
	jsonEntry struct {
		Path     string `json:"path"`
		Optional bool   `json:"optional"`
	}
)

// MarshalJSON writes what Parse reads back as the same policy; empty lists come back as nil. It refuses a policy that
// Validate refuses, because JSON would carry some of those as something else.
func (p Policy) MarshalJSON() ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	n := p.Network
	return json.Marshal(jsonPolicy{
		Filesystem: jsonFilesystem(p.Filesystem),
		Network: jsonNetwork{
			AllowedDomains: n.AllowedDomains, DeniedDomains: n.DeniedDomains, DeniedDomainReasons: n.DeniedDomainReasons,
			AllowUnixSockets: n.AllowUnixSockets, Disabled: n.Unrestricted,
		},
	})
}

// MarshalJSON writes a string, or an object when the entry is optional.
func (e PathEntry) MarshalJSON() ([]byte, error) {
	if !e.Optional {
		return json.Marshal(e.Path)
	}
	return json.Marshal(jsonEntry(e))
}
