package broker

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// gitNames are what git obeys in the directory of a repository, whatever that directory is called: a worktree's or a
// submodule's lies inside another .git, and a bare one has a name of its own. Mandatory names that the policy lifts are
// lifted here too.
var gitNames = []struct{ name, mandatory string }{
	{"hooks", ".git/hooks"},
	{"config", ".git/config"},
	{"config.worktree", ".git/config.worktree"},
}

// gitInside decides about hooks and configuration in the directory of a repository that exists. It is known by what it
// holds: one that a command makes itself is not known, and is the command's own.
func (b *Broker) gitInside(path string, decide judge) (policy.Decision, bool) {
	for _, n := range gitNames {
		at := strings.Index(path, "/"+n.name)
		for at >= 0 {
			end := at + 1 + len(n.name)
			if end == len(path) || path[end] == '/' {
				if d, ok := b.gitName(path, path[:at], n.mandatory+path[end:], decide); ok {
					return d, true
				}
			}
			next := strings.Index(path[end:], "/"+n.name)
			if next < 0 {
				break
			}
			at = end + next
		}
	}
	return policy.Decision{}, false
}

// gitName decides about one name in a directory, if that is a repository's.
func (b *Broker) gitName(path, dir, inGit string, decide judge) (policy.Decision, bool) {
	if strings.EqualFold(dir[strings.LastIndexByte(dir, '/')+1:], ".git") || !isRepository(dir) {
		return policy.Decision{}, false // ".git" itself is in the rules
	}
	if _, private := b.Rules.PrivateAt(path); private {
		return policy.Decision{}, false
	}
	if !decide(path).Allowed {
		return policy.Decision{}, false // the rules say why
	}
	// As the rules decide about the same name in a .git beside it, which knows what is lifted and what is a sample.
	d := decide(dir + "/" + inGit)
	d.Path = path
	return d, !d.Allowed
}

// isRepository says whether a directory is one that git works with, or takes configuration and hooks from: the latter
// needs no HEAD, when a file "commondir" leads to it.
func isRepository(dir string) bool { return isRepositoryWith(dir, "") }

// isRepositoryWith says it of a directory in which one more name is made.
func isRepositoryWith(dir, made string) bool {
	has := func(name string) bool { return name == made || exists(dir+"/"+name) }
	return has("objects") && has("refs") || has("HEAD") && (has("objects") || has("commondir"))
}

func exists(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// completing are the names by which a directory becomes a repository.
var completing = []string{"HEAD", "objects", "refs", "commondir"}

// assembles decides about a name that would make a repository of a directory which holds configuration or hooks already:
// those were not judged when they were made. A file ".git", which a command may write, would lead git there.
func (b *Broker) assembles(path string) (policy.Decision, bool) {
	at := strings.LastIndexByte(path, '/')
	dir, base := path[:max(at, 0)], path[at+1:]
	if !slices.Contains(completing, base) || strings.EqualFold(dir[strings.LastIndexByte(dir, '/')+1:], ".git") {
		return policy.Decision{}, false // in ".git" itself the rules know the names
	}
	if _, private := b.Rules.PrivateAt(path); private || isRepository(dir) || !isRepositoryWith(dir, base) {
		return policy.Decision{}, false
	}
	for _, n := range gitNames {
		if !obeyed(dir + "/" + n.name) {
			continue
		}
		if d := b.Rules.Write(dir + "/" + n.mandatory + "/any"); !d.Allowed {
			d.Path = path
			return d, true
		}
	}
	return policy.Decision{}, false
}

// obeyed says whether git would obey what is at a path: a file, a link, whatever it leads to now, or a directory with more in it than samples.
func obeyed(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return false
	}
	if err != nil { // also a link: what it leads to can be put there later, under a name that nobody judges
		return true
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	names, err := f.Readdirnames(1000) // git's own samples are a dozen
	if err != nil && err != io.EOF {
		return true
	}
	return len(names) == 1000 || slices.ContainsFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".sample") })
}

// hold keeps names as they are until letGo: what moves, links or completes a repository waits, or, when it is one of these itself, waits for all others. The
// real paths of the places are read again, since a directory may have been moved after they were.
func (t *task) hold(moves bool, places ...*place) unix.Errno {
	if t.held == nil {
		for _, p := range places {
			moves = moves || !p.special && slices.Contains(completing, p.base)
		}
		if moves {
			t.moves.Lock()
			t.held = t.moves.Unlock
		} else {
			t.moves.RLock()
			t.held = t.moves.RUnlock
		}
	}
	for _, p := range places {
		if p.special {
			continue
		}
		dir, errno := t.realPath(p.dir)
		if errno != 0 {
			return errno
		}
		if dir == "" || dir[0] != '/' {
			return unix.ENOTDIR
		}
		p.path = strings.TrimSuffix(dir, "/") + "/" + p.base
	}
	return 0
}

// holdFile is hold for a file that was found.
func (t *task) holdFile(f *found) unix.Errno {
	if errno := t.hold(false); errno != 0 {
		return errno
	}
	now, errno := t.name(f.fd)
	*f = now
	return errno
}

// letGo is the end of hold. It may be called when nothing is held.
func (t *task) letGo() {
	if t.held != nil {
		t.held()
		t.held = nil
	}
}
