//go:build !linux

package shell

import (
	"context"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// supported refuses every platform but Linux before anything else is looked at (R23, R59, R312).
func supported() error {
	e := &Error{Code: CodeUnsupportedEnv, Detail: "there is no process boundary on " + runtime.GOOS}
	switch runtime.GOOS {
	case "windows":
		e.Hints = []string{"run it inside WSL2, which is Linux"}
	case "darwin":
		e.Hints = []string{"run it in a Linux virtual machine"}
	}
	return e
}

func errnoText(errno syscall.Errno) string { return errno.Error() }

func platformText() (string, []string) { return runtime.GOOS, nil }

// HostConfinement finds out nothing on this platform.
func HostConfinement() Confinement { return Confinement{Landlock: -1} }

// The rest lets the package compile here. Open refuses before any of it is reached, and a Sandbox that Open did not
// make has no jail to give.
type (
	jailPlan    struct{ users int }
	jailProcess struct {
		pid      int
		plan     *jailPlan
		report   Report
		breaches map[string]int
		killed   bool
		records  []Violation
		told     func(Violation)
		over     atomic.Bool
	}
	commandSpec struct {
		name, dir string
		argv, env []string
	}
)

func makePlan(context.Context, policy.Policy, *policy.Rules, []jail.Resolved, Options) (*jailPlan, error) {
	return nil, supported()
}

func (*jailPlan) start(context.Context) (*jailProcess, error)  { return nil, supported() }
func (*jailPlan) rulesWritten() (*policy.Rules, error)         { return nil, supported() }
func (p *jailPlan) renewed(context.Context) (*jailPlan, error) { return nil, supported() }
func (*jailPlan) listens() bool                                { return false }
func (*jailPlan) listed() *policy.Rules                        { return nil }
func (*jailPlan) setLists(*policy.Rules)                       {}
func (*jailPlan) current() bool                                { return false }
func (*jailPlan) close()                                       {}
func (*jailPlan) end()                                         {}
func (*jailProcess) run(context.Context, commandSpec, []*os.File) error {
	return supported()
}
func (*jailProcess) wait() (Completion, error)            { return Completion{}, supported() }
func (*jailProcess) reported() Report                     { return Report{} }
func (*jailProcess) signal(os.Signal) error               { return supported() }
func (*jailProcess) kill()                                {}
func (*jailProcess) sound() bool                          { return false }
func (*jailProcess) end()                                 {}
func (*jailProcess) discard()                             {}
func (*jailProcess) expose(string, int) (net.Addr, error) { return nil, supported() }
