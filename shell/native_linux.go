package shell

import (
	"encoding/json"
	"io"
	"strconv"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// rulesWritten compiles the rules from the sealed file that every jail of the plan reads, the way a jail does.
func (p *jailPlan) rulesWritten() (*policy.Rules, error) {
	info, err := p.file.Stat()
	if err != nil {
		return nil, systemError("fstat", err, "read the plan of the jail")
	}
	body := make([]byte, info.Size())
	if _, err := p.file.ReadAt(body, 0); err != nil && err != io.EOF {
		return nil, systemError("pread", err, "read the plan of the jail")
	}
	var wire jail.Plan
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, err
	}
	if wire.Names == nil {
		return p.rules, nil // nothing is decided by name, and the mounts were made from these
	}
	return wire.Names.Rules()
}

// scopingABI is the first Landlock that keeps signals and abstract sockets to a jail.
const scopingABI = 6

// platformText names what the rules about files depend on, and says what it lacks.
func platformText() (text string, warnings []string) {
	abi := jail.LandlockVersion()
	if abi < scopingABI {
		warnings = append(warnings, "Landlock ABI "+strconv.Itoa(abi)+" keeps no signals and abstract sockets to a jail: namespaces alone do")
	}
	return "Linux " + kernelRelease() + ", Landlock ABI " + strconv.Itoa(abi), warnings
}
