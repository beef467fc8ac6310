package live

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

var (
	mountsAlone   = []string{"mounts"}
	namesAlone    = []string{"names"}
	landlockAlone = []string{"landlock"}
	seccompAlone  = []string{"seccomp"}
	capsAlone     = []string{"capabilities"}
)

func workspaceAndOutside(f *field) []string { return []string{f.ws, f.outside} }

// fileAttacks are the attacks on files outside of what may be written (R8, R34; process cases 1, 2, 13, 15-17).
var fileAttacks = []attack{
	{
		name:  "write-by-symlink",
		why:   "a link inside the workspace points out of it (case 1)",
		alone: [][]string{mountsAlone, landlockAlone},
		before: func(f *field) {
			require.NoError(f.t, os.Symlink(f.outside, f.ws+"/absolute"))
			require.NoError(f.t, os.Symlink("../outside", f.ws+"/relative"))
			require.NoError(f.t, os.Mkdir(f.ws+"/sub", 0o755))
		},
		args:  workspaceAndOutside,
		after: (*field).touched,
	},
	{
		name:  "swap-directory-and-symlink",
		why:   "a name is a directory when it is checked and a link out when it is used (case 2)",
		alone: [][]string{mountsAlone, landlockAlone},
		args:  workspaceAndOutside,
		after: (*field).touched,
	},
	{
		name:  "write-outside",
		why:   "every call that makes, opens, moves or removes must get the same answer (cases 16, 17)",
		alone: [][]string{mountsAlone, landlockAlone},
		args:  workspaceAndOutside,
		after: (*field).touched,
	},
	{
		name:  "change-metadata",
		why:   "Landlock does not look at chmod, chown, utimes and xattr (case 15)",
		alone: [][]string{mountsAlone},
		notBy: [][]string{landlockAlone},
		args:  func(f *field) []string { return []string{f.secret} },
	},
	{
		name:     "open-by-handle",
		why:      "a handle names the file itself, whatever the mounts show (case 16)",
		alone:    [][]string{seccompAlone, capsAlone},
		rootOnly: true,
		args:     func(f *field) []string { return []string{f.ws, f.secret} },
	},
	{
		name:     "make-device",
		why:      "a node of its own gives the disk or the memory (case 16)",
		alone:    [][]string{landlockAlone, capsAlone},
		rootOnly: true,
		args:     func(f *field) []string { return []string{f.ws} },
	},
	{
		name:     "read-denied",
		why:      "a denied file in a writable directory is read under another name (cases 3, 4)",
		alone:    [][]string{append([]string{"capabilities"}, mountsAlone...)},
		together: "root's capabilities read what has no mode bits at all",
		before: func(f *field) {
			f.write(f.ws+"/home/.aws/credentials", secretText)
		},
		policy: func(f *field) policy.Policy {
			p := f.writable()
			p.Filesystem.DenyRead = policy.Paths(f.ws + "/home/.aws/credentials")
			return p
		},
		args: func(f *field) []string { return []string{f.ws + "/home/.aws/credentials"} },
	},
}

// TestFileAttacks runs the table.
func TestFileAttacks(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, a := range fileAttacks {
			a.test(t)
		}
	})
}

// mandatoryFiles gives a file for every mandatory name: the name itself, or one inside when it is a directory's.
func mandatoryFiles(root string) []string {
	var files []string
	for _, m := range policy.Mandatories() {
		name := filepath.Join(root, m.Name)
		if m.Dir {
			name = filepath.Join(name, "file")
		}
		files = append(files, name)
	}
	return files
}

// nearNames are names in other spellings and in nested repositories, not far below the root, and farNames are further
// down than anybody searches.
func nearNames(root string) []string {
	return append(mandatoryFiles(root),
		root+"/vendor/sub/.git/hooks/pre-commit",
		root+"/vendor/sub/.git/config",
		root+"/upper/.BASHRC",
		root+"/upper/.GIT/Hooks/pre-push",
	)
}

func farNames(root string) []string {
	return []string{
		root + "/a/b/c/d/e/f/.bashrc",
		root + "/a/b/c/d/e/f/.git/hooks/pre-commit",
		root + "/.git/modules/sub/.git/hooks/post-checkout",
	}
}

// TestProtectedNames: what exists of the mandatory names stays as it is in a writable root, at any depth and in any
// case, and so do the directories that lead to it (R49-R51, R55, R56; process cases 5, 6; conformance 36, 40, 42). What
// lies near is mounted read-only too: either layer holds alone.
func TestProtectedNames(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		changeNames(nearNames, mountsAlone, namesAlone).test(t)
		changeNames(farNames, namesAlone).test(t)
	})
}

func changeNames(names func(root string) []string, alone ...[]string) attack {
	return attack{
		name:  "change-protected-names",
		why:   "what a program outside runs or obeys later",
		alone: alone,
		before: func(f *field) {
			for _, p := range names(f.ws) {
				f.write(p, "as it was\n")
			}
		},
		args: func(f *field) []string { return names(f.ws) },
		after: func(f *field) string {
			for _, p := range names(f.ws) {
				if b, err := os.ReadFile(p); err != nil || string(b) != "as it was\n" {
					return p + " was changed"
				}
			}
			return ""
		},
	}
}

// TestProtectedParents: the directory in which a protected name stands can be neither renamed nor exchanged, so that no
// tree of the attacker's comes to stand in its place. A directory further up takes the name along, and it is protected
// there; what is beside it is as writable as ever.
func TestProtectedParents(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		f.write(f.ws+"/vendor/sub/.git/hooks/pre-commit", "as it was\n")
		f.write(f.ws+"/vendor/plain", "")
		script := `cd vendor/sub; mkdir mine mine/hooks && echo evil >mine/hooks/pre-commit
		mv .git away && echo moved
		mv -T mine .git && echo replaced
		mv .git/hooks away && echo moved hooks
		ln -s mine .Git && echo linked
		mv mine .GIT && echo spelled
		rm -rf .git && echo removed
		cd ../..; mv vendor moved && echo evil >moved/sub/.git/hooks/pre-commit
		echo x >moved/plain && echo x >moved/new && echo x >moved/sub/new && echo control`
		code, out := f.run(f.writable(), "sh", "-c", "exec 2>/dev/null; "+script)
		require.Equal(t, 0, code)
		require.Equal(t, "control\n", out)
		b, err := os.ReadFile(f.ws + "/moved/sub/.git/hooks/pre-commit")
		require.NoError(t, err)
		require.Equal(t, "as it was\n", string(b))
	})
}

// makingNames are the mandatory names in three spellings, the any-depth ones at depths 0, 1 and 6, the others at depth 0.
func makingNames(root string) []string {
	var names []string
	for _, m := range policy.Mandatories() {
		name := strings.ReplaceAll(m.Name, "**", "some")
		for _, spelling := range []string{name, strings.ToUpper(name), strings.ToUpper(name[:2]) + name[2:]} {
			names = append(names, filepath.Join(root, spelling))
			if !m.Depth0 {
				names = append(names, filepath.Join(root, "one", spelling), filepath.Join(root, "1/2/3/4/5/6", spelling))
			}
		}
	}
	return names
}

// TestAbsentNames: a protected name that does not exist yet cannot be made, by any call, in any spelling, at any depth, and
// no placeholder of ours is on the host afterwards (R49-R51, R55, R60; process cases 5, 6, 16, 17; conformance 40-42).
func TestAbsentNames(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		attack{
			name:  "make-protected-names",
			why:   "what a program outside runs or obeys as soon as it is there",
			alone: [][]string{namesAlone},
			args: func(f *field) []string {
				for _, name := range makingNames(f.ws) {
					require.NoError(f.t, os.MkdirAll(filepath.Dir(name), 0o755))
				}
				return makingNames(f.ws)
			},
			after: func(f *field) string {
				for _, name := range makingNames(f.ws) {
					if _, err := os.Lstat(name); err == nil {
						return name + " was made"
					}
				}
				return ""
			},
		}.test(t)
	})
}

// tree lists everything below a directory.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all = append(all, d.Type().String()+" "+strings.TrimPrefix(path, dir))
		return nil
	}))
	return all
}

// TestLeakedDescriptor: a directory handle that the host has open without O_CLOEXEC does not reach the command
// (process case 14, CVE-2024-21626).
func TestLeakedDescriptor(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		attack{
			name:  "use-leaked-directory",
			why:   "a handle to / opens everything, past every mount",
			alone: [][]string{{"descriptors"}},
			args: func(f *field) []string {
				// Over the numbers that the attacker's runtime takes for itself.
				fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
				require.NoError(f.t, err)
				leak, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 200)
				require.NoError(f.t, err)
				require.NoError(f.t, unix.Close(fd))
				f.t.Cleanup(func() { require.NoError(f.t, unix.Close(leak)) })
				return []string{strconv.Itoa(leak), "etc/passwd"}
			},
		}.test(t)
	})
}

// TestFullTmp: the command's /tmp has a size, and filling it hurts nobody (process case 41).
func TestFullTmp(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		attack{
			name:    "fill-tmp",
			why:     "what is written to a private /tmp is memory of the host",
			alone:   [][]string{mountsAlone},
			options: shell.Options{TmpBytes: 1 << 20},
			args:    func(*field) []string { return []string{"/tmp"} },
		}.test(t)
	})
}
