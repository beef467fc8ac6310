package broker

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// sawUmask notes that umasks differ from now on. The call itself is the caller's: its argument is a number.
func (t *task) sawUmask() answer {
	t.umaskMoved.Store(true)
	return answer{goOn: true}
}

// lookAtRead looks at an open for reading that mounts decide. What the rules deny is denied here already; the rest goes
// on, and the mounts hold whatever the caller does to its arguments meanwhile.
func (t *task) lookAtRead(dirfd int32, arg int, follow bool) answer {
	p, errno := t.path(arg, false)
	if errno != 0 {
		t.opaque = false // the kernel will say so itself
		return answer{goOn: true}
	}
	start, errno := t.base(dirfd, p)
	if errno != 0 {
		t.opaque = false
		return answer{goOn: true}
	}
	real, dir, ok := t.realOf(start, p, follow)
	if !ok {
		return answer{goOn: true}
	}
	d := t.Rules.Read(real)
	if d.Allowed || t.ownPrivate(real, d) {
		return answer{goOn: true}
	}
	return t.refused("read", d, dir)
}

// realOf is the real path of what a path leads to. When a directory on the way may not be entered, it is that of the
// directory with the rest of the path.
func (t *task) realOf(start int, p string, follow bool) (real string, dir int, ok bool) {
	rest := ""
	for p != "" {
		f, errno := t.object(start, p, follow)
		if errno == 0 {
			return path.Join(f.path, rest), f.fd, strings.HasPrefix(f.path, "/")
		}
		if errno != unix.EACCES {
			return "", -1, false
		}
		p = strings.TrimRight(p, "/")
		cut := strings.LastIndexByte(p, '/') + 1
		rest = path.Join(p[cut:], rest)
		p, follow = p[:cut], true
	}
	return "", -1, false
}

// refusedCall answers a call that is refused for what it is.
func (t *task) refusedCall() answer {
	if t.Refused == nil {
		return failed(unix.ENOSYS)
	}
	r, ok := t.Refused(t.nr, t.args)
	if !ok {
		return failed(unix.EPERM) // the filter sent it here, so something refuses it
	}
	return t.refuseKind(r)
}

func (t *task) refuseKind(r Refusal) answer {
	d := policy.Decision{
		Path: r.Target, Rule: policy.Rule{List: policy.ListDefault, Index: -1, Why: r.Why},
		Reason: "tried " + r.Target + ", which no command may: " + r.Why,
	}
	if t.Record != nil {
		t.Record(Denial{Operation: r.Operation, Target: r.Target, Errno: r.Errno, Decision: d}, t.who)
	}
	return failed(r.Errno)
}
