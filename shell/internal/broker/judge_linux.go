package broker

import (
	"strings"

	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// judge is one question of the rules.
type judge func(path string) policy.Decision

// write decides about changing a path.
func (b *Broker) write(path string) policy.Decision {
	if d, ok := b.guarded(path, b.Rules.Write); ok {
		return d
	}
	return b.Rules.Write(path)
}

// emptyDir decides about making or removing a directory that is empty.
func (b *Broker) emptyDir(path string) policy.Decision {
	if d, ok := b.guarded(path, b.Rules.Mkdir); ok {
		return d
	}
	return b.Rules.Mkdir(path)
}

// move decides about a directory or a link that comes to stand at a path, from another one or made anew.
func (b *Broker) move(from, to string) policy.Decision {
	for _, p := range []string{from, to} {
		if p == "" {
			continue // a link that is made
		}
		if d, ok := b.guarded(p, b.Rules.Write); ok {
			return d
		}
		for _, g := range b.Guarded {
			if strings.HasPrefix(g.Path, p+"/") {
				return g.refuses(p, "which leads to "+g.Path+", and that stays where it is")
			}
		}
	}
	return b.Rules.Move(from, to)
}

// replacesSocket says whether something that is moved or linked to a path would come to stand for a granted path socket. A
// socket that is not granted would be reached by it. A server that is made there is the command's own.
func (b *Broker) replacesSocket(path string) (policy.Decision, bool) {
	given := b.Rules.LeadsToSocket(path)
	if given == "" {
		return policy.Decision{}, false
	}
	const why = "what is moved there would be connected to in its place"
	return policy.Decision{
		Axis: policy.AxisWrite, Path: path,
		Rule:   policy.Rule{List: "allowUnixSockets", Entry: given, Index: -1, Why: why},
		Reason: "tried to write " + path + ", where a granted socket is: " + why,
	}, true
}

// guarded says whether a path is protected for a reason that the rules do not know.
func (b *Broker) guarded(path string, decide judge) (policy.Decision, bool) {
	if d, ok := b.gitInside(path, decide); ok {
		return d, true
	}
	if d, ok := b.assembles(path); ok {
		return d, true
	}
	for _, g := range b.Guarded {
		if path == g.Path || strings.HasPrefix(path, g.Path+"/") {
			return g.refuses(path, "which stays as it is"), true
		}
	}
	return policy.Decision{}, false
}

func (g *Guard) refuses(path, clause string) policy.Decision {
	return policy.Decision{
		Axis: policy.AxisWrite, Path: path,
		Rule:   policy.Rule{List: policy.ListMandatory, Entry: g.Path, Index: -1, Why: g.Why},
		Reason: "tried to write " + path + ", " + clause + ": " + g.Why,
	}
}

// decide is write, or read where reads are decided.
func (t *task) decide(path string, writing bool) policy.Decision {
	if writing {
		return t.write(path)
	}
	if !t.DecideReads {
		return policy.Decision{Allowed: true}
	}
	if d := t.Rules.Read(path); !d.Allowed && !t.ownPrivate(path, d) {
		return d
	}
	return policy.Decision{Allowed: true, Axis: policy.AxisRead}
}

// ownPrivate says whether a refused read is of the command's own directory. The rules speak of the host's, which is not
// to be seen there.
func (b *Broker) ownPrivate(path string, d policy.Decision) bool {
	_, private := b.Rules.PrivateAt(path)
	return private && d.Rule.List == policy.ListPrivate
}

// refused is the answer for what was judged and denied, and its record. errno is as the kernel gives it where a mount
// refuses too: a program that copes with one copes with the other.
func (t *task) refused(operation string, d policy.Decision, dir int) answer {
	errno := unix.EACCES // as a cover gives it
	if d.Rule.List != "denyRead" && readOnly(dir) {
		errno = unix.EROFS
	}
	return t.deny(operation, d, errno)
}

func (t *task) deny(operation string, d policy.Decision, errno unix.Errno) answer {
	if inProc(d.Path) {
		d.Remedy = "" // it is the command's own, and no policy can show the host's
	}
	if t.Record != nil {
		t.Record(Denial{Operation: operation, Target: d.Path, Errno: errno, Decision: d}, t.who)
	}
	return failed(errno)
}

// recordOpaque is the record of a call whose arguments could not be read: it was refused without being judged.
func (t *task) recordOpaque(errno unix.Errno) {
	if t.Record == nil || errno == 0 {
		return
	}
	d := policy.Decision{
		Axis: policy.AxisWrite, Rule: policy.Rule{List: policy.ListInvalid, Index: -1, Why: whyOpaque},
		Reason: "tried to change a file, " + whyOpaque,
		Remedy: "have the program leave itself readable (prctl PR_SET_DUMPABLE, and read permission on its file)",
	}
	t.Record(Denial{Operation: "write", Target: "a path that could not be read", Errno: errno, Decision: d}, t.who)
}

const whyOpaque = "the process does not let its memory be read, so that what it asked for cannot be judged"

func readOnly(fd int) bool {
	var st unix.Statfs_t
	if fd == unix.AT_FDCWD {
		return unix.Statfs("/", &st) == nil && st.Flags&unix.ST_RDONLY != 0
	}
	return unix.Fstatfs(fd, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

// isMountPoint says whether a name is where something is mounted: the kernel then says EBUSY to moving or removing it.
func isMountPoint(p *place) bool {
	var stx unix.Statx_t
	err := unix.Statx(p.dir, p.base, unix.AT_SYMLINK_NOFOLLOW, 0, &stx)
	return err == nil && stx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// statName looks at a name itself.
func statName(p *place) (unix.Stat_t, unix.Errno) {
	var st unix.Stat_t
	err := unix.Fstatat(p.dir, p.base, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, errnoOf(err)
}

// Judged is how a probe is answered whose path was read, judged and denied. No call that is made says that.
const Judged = unix.EKEYREJECTED

// probe answers the main thread: it makes calls only to find out whether they are judged, and none of them is made.
func (t *task) probe() answer {
	path, errno := t.path(3, false)
	if errno != 0 {
		return failed(errno)
	}
	if t.write(path).Allowed {
		return answer{}
	}
	return failed(Judged)
}
