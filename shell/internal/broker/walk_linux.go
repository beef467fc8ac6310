package broker

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links the kernel follows in one path.
const maxLinks = 40

// walk is object for paths that lead through /proc. It goes name by name, so that "self" and "thread-self" are the
// caller's, and a magic link is followed only where the caller may.
func (t *task) walk(start int, path string, follow bool) (int, unix.Errno) {
	at, errno := t.walkStart(start, path)
	links := 0
	for errno == 0 {
		path = strings.TrimLeft(path, "/")
		if path == "" {
			return at, 0
		}
		name, rest, slash := strings.Cut(path, "/")
		var fd int
		if fd, errno = openat2(at, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC}); errno != 0 {
			break
		}
		t.keep(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return -1, errnoOf(err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			if slash && st.Mode&unix.S_IFMT != unix.S_IFDIR {
				return -1, unix.ENOTDIR
			}
			at, path = fd, rest
			continue
		}
		if !slash && !follow { // the last name
			return fd, 0
		}
		if links++; links > maxLinks {
			return -1, unix.ELOOP
		}
		var text string
		text, fd, errno = t.follow(at, name)
		switch {
		case errno != 0:
		case text == "":
			at, path = fd, rest
		default:
			if at, errno = t.walkStart(at, text); slash {
				text += "/" + rest
			}
			path = text
		}
	}
	return -1, errno
}

// walkStart is where a path begins: at the root, or where we are.
func (t *task) walkStart(at int, path string) (int, unix.Errno) {
	if at != unix.AT_FDCWD && !strings.HasPrefix(path, "/") {
		return at, 0
	}
	fd, errno := openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if errno == 0 {
		t.keep(fd)
	}
	return fd, errno
}

// follow says where a symbolic link leads: by a text, or, when it is a magic link, to an open file.
func (t *task) follow(dir int, name string) (text string, fd int, errno unix.Errno) {
	where, errno := t.realPath(dir)
	if errno != 0 {
		return "", -1, errno
	}
	if inProc(where) {
		switch {
		case where == "/proc" && (name == "self" || name == "thread-self"):
			text, errno := t.ownName(name)
			return text, -1, errno
		case where != "/proc":
			probe, errno := openat2(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
			if errno == unix.ELOOP {
				fd, errno = t.jump(dir, where, name)
				return "", fd, errno
			}
			if errno == 0 {
				unix.Close(probe)
			}
		}
	}
	n, err := unix.Readlinkat(dir, name, t.link[:])
	if err != nil {
		return "", -1, errnoOf(err)
	}
	if n == 0 || n == len(t.link) {
		return "", -1, unix.ENAMETOOLONG
	}
	return string(t.link[:n]), -1, 0
}

// ownName is what /proc/self and /proc/thread-self lead the caller to.
func (t *task) ownName(link string) (string, unix.Errno) {
	pid, errno := t.process()
	if errno != 0 || link == "self" {
		return strconv.Itoa(pid), errno
	}
	return strconv.Itoa(pid) + "/task/" + strconv.Itoa(t.tid), 0
}

// jump follows a magic link. The kernel lets this process follow those of every process that has the same user; its own
// are the exception that the caller may not follow.
func (t *task) jump(dir int, where, name string) (int, unix.Errno) {
	if t.ours(where) {
		return -1, unix.EACCES
	}
	fd, errno := openat2(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if errno == 0 {
		t.keep(fd)
	}
	return fd, errno
}

// ours says whether a path in /proc belongs to this process or one of its threads.
func (t *task) ours(path string) bool {
	number, _, _ := strings.Cut(strings.TrimPrefix(path, "/proc/"), "/")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	var st unix.Stat_t
	return pid == t.pid || unix.Fstatat(t.proc, "self/task/"+number, &st, 0) == nil
}

// shown are the files of a process that everybody may read, whoever looks.
var shown = []string{"", "task", "stat", "statm", "status", "cmdline", "comm", "cgroup", "limits", "mounts", "mountinfo", "oom_score"}

// withheld says whether a path in /proc is what this process may read of itself and others may not.
func (t *task) withheld(path string) bool {
	if !inProc(path) || !t.ours(path) {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(path, "/proc/"), "/") // process, or process, "task", thread; and the rest
	rest := parts[1:]
	if len(rest) > 1 && rest[0] == "task" {
		rest = rest[2:]
	}
	return len(rest) > 1 || len(rest) == 1 && !slices.Contains(shown, rest[0])
}
