package broker

import (
	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// placeAt reads a path from an argument and finds where its last name stands.
func (t *task) placeAt(dirfd int32, arg int) (place, unix.Errno) {
	path, errno := t.path(arg, false)
	if errno != 0 {
		return place{}, errno
	}
	start, errno := t.base(dirfd, path)
	if errno != 0 {
		return place{}, errno
	}
	return t.place(start, path)
}

func (t *task) mkdir() answer   { return t.makeDir(unix.AT_FDCWD, 0, t.args[1]) }
func (t *task) mkdirat() answer { return t.makeDir(int32(t.args[0]), 1, t.args[2]) }

func (t *task) makeDir(dirfd int32, arg int, mode uint64) answer {
	p, errno := t.placeAt(dirfd, arg)
	if errno != 0 {
		return failed(errno)
	}
	if errno := t.takeUmask(); errno != 0 {
		return failed(errno)
	}
	defer t.letGo()
	if errno := t.hold(false, &p); errno != 0 {
		return failed(errno)
	}
	if !p.special {
		if d := t.emptyDir(p.path); !d.Allowed {
			return t.refuseNew(&p, d, true)
		}
	}
	return result(unix.Mkdirat(p.dir, p.name, uint32(mode)))
}

func (t *task) mknod() answer   { return t.makeNode(unix.AT_FDCWD, 0, t.args[1], t.args[2]) }
func (t *task) mknodat() answer { return t.makeNode(int32(t.args[0]), 1, t.args[2], t.args[3]) }

func (t *task) makeNode(dirfd int32, arg int, mode, device uint64) answer {
	p, errno := t.placeAt(dirfd, arg)
	if errno != 0 {
		return failed(errno)
	}
	if errno := t.takeUmask(); errno != 0 {
		return failed(errno)
	}
	defer t.letGo()
	if errno := t.hold(false, &p); errno != 0 {
		return failed(errno)
	}
	if !p.special {
		if d := t.write(p.path); !d.Allowed {
			return t.refuseNew(&p, d, false)
		}
	}
	return result(unix.Mknodat(p.dir, p.name, uint32(mode), int(uint32(device))))
}

func (t *task) symlink() answer   { return t.makeLink(unix.AT_FDCWD, 1) }
func (t *task) symlinkat() answer { return t.makeLink(int32(t.args[1]), 2) }

func (t *task) makeLink(dirfd int32, arg int) answer {
	target, errno := t.path(0, false)
	if errno != 0 {
		return failed(errno)
	}
	p, errno := t.placeAt(dirfd, arg)
	if errno != 0 {
		return failed(errno)
	}
	defer t.letGo()
	if errno := t.hold(true, &p); errno != 0 {
		return failed(errno)
	}
	if !p.special {
		if d := t.move("", p.path); !d.Allowed {
			return t.refuseNew(&p, d, false)
		}
	}
	return result(unix.Symlinkat(target, p.dir, p.name))
}

func (t *task) linkOld() answer { return t.linkTo(unix.AT_FDCWD, 0, unix.AT_FDCWD, 1, 0) }
func (t *task) linkat() answer {
	return t.linkTo(int32(t.args[0]), 1, int32(t.args[2]), 3, int(int32(t.args[4])))
}

func (t *task) linkTo(fromFD int32, fromArg int, toFD int32, toArg, flags int) answer {
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return failed(unix.EINVAL)
	}
	f, errno := t.objectAt(fromFD, fromArg, flags&unix.AT_SYMLINK_FOLLOW != 0, flags&unix.AT_EMPTY_PATH != 0)
	if errno != 0 {
		return failed(errno)
	}
	p, errno := t.placeAt(toFD, toArg)
	if errno != 0 {
		return failed(errno)
	}
	defer t.letGo()
	if errno := t.hold(true, &p); errno != 0 {
		return failed(errno)
	}
	if f, errno = t.name(f.fd); errno != 0 {
		return failed(errno)
	}
	if !p.special {
		if a, denied := t.denyLink(f, &p); denied {
			return a
		}
	}
	return result(unix.Linkat(unix.AT_FDCWD, selfPath(f.fd), p.dir, p.name, unix.AT_SYMLINK_FOLLOW))
}

// denyLink judges another name for an open file: the file must be one that may be written, since it can be under the new
// name, and the name one that may be made.
func (t *task) denyLink(f found, p *place) (answer, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return result(err), true
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return failed(unix.EPERM), true
	}
	if d := t.write(f.path); !d.Allowed && !t.ownObject(f) {
		return t.refused("write", d, f.fd), true
	}
	d, replaces := t.replacesSocket(p.path)
	switch {
	case replaces:
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		d = t.move("", p.path)
	default:
		d = t.write(p.path)
	}
	if !d.Allowed {
		return t.refuseNew(p, d, false), true
	}
	return answer{}, false
}

// refuseNew is the answer for a name that may not be made. One that exists already is no denial.
func (t *task) refuseNew(p *place, d policy.Decision, dir bool) answer {
	switch _, errno := statName(p); {
	case errno == 0:
		return failed(unix.EEXIST)
	case errno == unix.EACCES: // a covered directory
		return t.refused("create", d, p.dir)
	case errno != unix.ENOENT:
		return failed(errno)
	case p.slashes() && !dir:
		return failed(unix.ENOENT)
	}
	return t.refused("create", d, p.dir)
}

func (t *task) unlink() answer { return t.remove(unix.AT_FDCWD, 0, 0) }
func (t *task) rmdir() answer  { return t.remove(unix.AT_FDCWD, 0, unix.AT_REMOVEDIR) }
func (t *task) unlinkat() answer {
	return t.remove(int32(t.args[0]), 1, int(int32(t.args[2])))
}

func (t *task) remove(dirfd int32, arg, flags int) answer {
	if flags&^unix.AT_REMOVEDIR != 0 {
		return failed(unix.EINVAL)
	}
	p, errno := t.placeAt(dirfd, arg)
	if errno != 0 {
		return failed(errno)
	}
	defer t.letGo()
	if errno := t.hold(false, &p); errno != 0 {
		return failed(errno)
	}
	if !p.special {
		decide := t.write
		if flags != 0 {
			decide = t.emptyDir
		}
		if d := decide(p.path); !d.Allowed {
			return t.refuseRemoval(&p, d, flags != 0)
		}
	}
	return result(unix.Unlinkat(p.dir, p.name, flags))
}

func (t *task) refuseRemoval(p *place, d policy.Decision, dir bool) answer {
	st, errno := statName(p)
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case errno == unix.EACCES: // a covered directory
		return t.refused("write", d, p.dir)
	case errno != 0:
		return failed(errno)
	case dir && !isDir, p.slashes() && !isDir:
		return failed(unix.ENOTDIR)
	case !dir && isDir:
		return failed(unix.EISDIR)
	}
	return t.refusedName("write", d, p)
}

// refusedName is refused for what moves or removes a name.
func (t *task) refusedName(operation string, d policy.Decision, p *place) answer {
	if isMountPoint(p) {
		return t.deny(operation, d, unix.EBUSY)
	}
	return t.refused(operation, d, p.dir)
}

func (t *task) rename() answer { return t.renameTo(unix.AT_FDCWD, 0, unix.AT_FDCWD, 1, 0) }
func (t *task) renameat() answer {
	return t.renameTo(int32(t.args[0]), 1, int32(t.args[2]), 3, 0)
}
func (t *task) renameat2() answer {
	return t.renameTo(int32(t.args[0]), 1, int32(t.args[2]), 3, uint(uint32(t.args[4])))
}

func (t *task) renameTo(fromFD int32, fromArg int, toFD int32, toArg int, flags uint) answer {
	const known = unix.RENAME_NOREPLACE | unix.RENAME_EXCHANGE | unix.RENAME_WHITEOUT
	if flags&^known != 0 || flags&unix.RENAME_EXCHANGE != 0 && flags != unix.RENAME_EXCHANGE {
		return failed(unix.EINVAL)
	}
	from, errno := t.placeAt(fromFD, fromArg)
	if errno != 0 {
		return failed(errno)
	}
	to, errno := t.placeAt(toFD, toArg)
	if errno != 0 {
		return failed(errno)
	}
	defer t.letGo()
	if errno := t.hold(true, &from, &to); errno != 0 {
		return failed(errno)
	}
	if !from.special && !to.special {
		if a, denied := t.denyRename(&from, &to, flags); denied {
			return a
		}
	}
	err := unix.Renameat2(from.dir, from.name, to.dir, to.name, flags)
	if err == nil && !from.special && !to.special && flags&unix.RENAME_EXCHANGE == 0 {
		return t.confirm(&from, &to)
	}
	return result(err)
}

// confirm looks at what was moved to where a mandatory name begins. A program outside of this jail could have exchanged
// it since it was judged; then it is moved back.
func (t *task) confirm(from, to *place) answer {
	if _, ok := t.Rules.MandatoryComponent(to.path); !ok {
		return answer{}
	}
	st, errno := statName(to)
	if kind := st.Mode & unix.S_IFMT; errno != 0 || kind != unix.S_IFDIR && kind != unix.S_IFLNK {
		return answer{}
	}
	if t.move(from.path, to.path).Allowed {
		return answer{}
	}
	_ = unix.Renameat2(to.dir, to.base, from.dir, from.base, unix.RENAME_NOREPLACE) // whoever exchanged it may be faster
	return failed(unix.EACCES)
}

// denyRename judges both names, and what is moved. Whether it is a directory stays so while moves is locked: every call
// that could put another thing in its place comes through here.
func (t *task) denyRename(from, to *place, flags uint) (answer, bool) {
	st, errno := statName(from)
	if d := t.write(from.path); errno == unix.EACCES && !d.Allowed { // a covered directory
		return t.refused("write", d, from.dir), true
	}
	if errno != 0 {
		return failed(errno), true
	}
	if d := t.departs(from, to, &st); !d.Allowed {
		return t.refuseRename(from, to, d, flags), true
	}
	if flags&unix.RENAME_EXCHANGE == 0 {
		return answer{}, false
	}
	if st, errno = statName(to); errno != 0 {
		return failed(errno), true
	}
	if d := t.departs(to, from, &st); !d.Allowed {
		return t.refuseRename(to, from, d, flags), true
	}
	return answer{}, false
}

// departs decides about one thing that moves from one name to another.
func (t *task) departs(from, to *place, st *unix.Stat_t) policy.Decision {
	if d, ok := t.replacesSocket(to.path); ok {
		return d
	}
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFDIR || kind == unix.S_IFLNK {
		return t.move(from.path, to.path)
	}
	if d := t.write(from.path); !d.Allowed {
		return d
	}
	return t.write(to.path)
}

func (t *task) refuseRename(from, to *place, d policy.Decision, flags uint) answer {
	if d.Path == from.path {
		return t.refusedName("write", d, from)
	}
	if _, errno := statName(to); errno == 0 && flags&unix.RENAME_NOREPLACE != 0 {
		return failed(unix.EEXIST)
	}
	return t.refusedName("create", d, to)
}
