package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	iofs "io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A kept entry is two files. The text is written under a name that Open removes, is synced and gets its name; then the
// same is done with what is known about it. An entry exists when its second file does.
const (
	lockName    = "lock"
	reserveName = "reserve"
	partSuffix  = ".part"
	textSuffix  = ".text"
	metaSuffix  = ".entry"
)

// maxMetaBytes bounds the second file of an entry: the final lines in base64, and a little more.
const maxMetaBytes = 2*maxFinalBytes + 4096

// reserveBytes are held back so that the end of an entry can be written on a full disk: the final lines in base64 and
// blocks for two names.
const reserveBytes = 2*maxFinalBytes + 16<<10

// meta is what is known about a kept entry.
type meta struct {
	Version int    `json:"version"`
	Kind    Kind   `json:"kind"`
	Label   string `json:"label"`
	Size    int64  `json:"size"` // of the file
	Sum     uint32 `json:"crc32c"`
	Missing int64  `json:"missing"`
	Tail    []byte `json:"tail"`
}

// keep is a directory with entries.
type keep struct {
	root       *os.Root
	lock       *os.File
	unfinished int

	mu      sync.Mutex
	entries map[string]meta
}

// openKeep opens the directory, locks it, and removes what was not finished.
func openKeep(dir string) (*keep, int64, error) {
	root, err := openPrivate(dir)
	if err != nil {
		return nil, 0, err
	}
	k := &keep{root: root, entries: map[string]meta{}}
	if k.lock, err = lockIn(root); err != nil {
		_ = root.Close()
		return nil, 0, err
	}
	used, err := k.recover()
	if err != nil {
		_ = k.close()
		return nil, 0, &Error{Kind: ErrConfig, What: "dir", Detail: "it cannot be read", Err: err}
	}
	k.fillReserve()
	return k, used, nil
}

// openPrivate opens a directory that is ours alone, and makes sure that it is the one that was looked at.
func openPrivate(dir string) (*os.Root, error) {
	bad := func(detail string, err error) (*os.Root, error) {
		return nil, &Error{Kind: ErrConfig, What: "dir", Detail: detail, Err: err}
	}
	if !filepath.IsAbs(dir) {
		return bad("must be an absolute path", nil)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, iofs.ErrExist) {
		return bad("it cannot be made", err)
	}
	before, err := os.Lstat(dir)
	switch {
	case err != nil:
		return bad("it cannot be read", err)
	case before.Mode()&iofs.ModeSymlink != 0:
		return bad("it is a symbolic link", nil)
	case !before.IsDir():
		return bad("it is not a directory", nil)
	}
	if detail := notOurs(before); detail != "" {
		return bad(detail, nil)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return bad("it cannot be opened", err)
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(before, now) {
		_ = root.Close()
		return bad("it was replaced while it was opened", err)
	}
	return root, nil
}

// recover reads the entries and removes every file that belongs to none.
func (k *keep) recover() (int64, error) {
	names, err := iofs.ReadDir(k.root.FS(), ".")
	if err != nil {
		return 0, err
	}
	var used int64
	for _, f := range names {
		if name, ok := entryOf(f.Name()); ok && f.Name() == name+metaSuffix {
			if m, err := k.readMeta(name); err == nil {
				k.entries[name], used = m, used+m.Size
			}
		}
	}
	broken := map[string]bool{}
	for _, f := range names {
		name, ours := entryOf(f.Name())
		if _, whole := k.entries[name]; !ours || whole && !strings.HasSuffix(f.Name(), partSuffix) {
			continue
		}
		broken[name] = true
		if err := k.root.Remove(f.Name()); err != nil {
			return 0, err
		}
	}
	k.unfinished = len(broken)
	return used, nil
}

// entryName is what randomID makes.
var entryName = regexp.MustCompile(`^[a-z2-7]{26}$`)

// entryOf gives the entry that a file belongs to. Files that are not of our making are left alone: a person may keep a
// notes.text beside them.
func entryOf(file string) (string, bool) {
	name := strings.TrimSuffix(file, partSuffix)
	for _, suffix := range []string{textSuffix, metaSuffix} {
		if n, ok := strings.CutSuffix(name, suffix); ok {
			return n, entryName.MatchString(n)
		}
	}
	return "", false
}

// readMeta reads what is known about an entry and compares it with the file.
func (k *keep) readMeta(name string) (meta, error) {
	var m meta
	torn := func(detail string, err error) (meta, error) {
		return meta{}, &Error{Kind: ErrTorn, What: "entry", Detail: detail, Err: err}
	}
	info, err := k.root.Lstat(name + metaSuffix)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxMetaBytes {
		return torn("it has no description", err)
	}
	text, err := k.root.ReadFile(name + metaSuffix)
	if err != nil {
		return torn("it has no description", err)
	}
	body, sum, _ := strings.Cut(string(text), "\n")
	if sum != checksum(body) {
		return torn("its description is damaged", nil)
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Version != 1 || !m.Kind.valid() {
		return torn("its description is not understood", err)
	}
	info, err = k.root.Lstat(name + textSuffix)
	if err != nil || !info.Mode().IsRegular() || info.Size() != m.Size {
		return torn("its length is another", err)
	}
	return m, nil
}

// checksum is the second line of a description.
func checksum(body string) string {
	return fmt.Sprintf("%08x\n", crc32.Checksum([]byte(body), castagnoli))
}

// create makes the file of a new entry.
func (k *keep) create(name string) (file, error) {
	return k.root.OpenFile(name+textSuffix+partSuffix, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// commit makes an entry of a sealed artifact.
func (k *keep) commit(a *Artifact) error {
	a.s.commit.Lock()
	defer a.s.commit.Unlock()
	a.s.mu.Lock()
	over, f := a.s.over, a.s.file
	m := meta{Version: 1, Kind: a.kind, Label: a.label, Size: a.s.index.size, Sum: a.s.sum, Missing: a.s.missing, Tail: a.s.tail}
	a.s.mu.Unlock()
	if over {
		return &Error{Kind: ErrReleased}
	}
	err := k.commitFiles(a.entry, f, m)
	if err != nil && diskFull(err) {
		_ = k.root.Remove(reserveName) // this is what it is for
		err = k.commitFiles(a.entry, f, m)
		k.fillReserve()
	}
	if err != nil {
		return &Error{Kind: ErrIO, Detail: "it will not be kept after the turn", Err: err}
	}
	a.s.kept = true
	return nil
}

// commitFiles can be repeated when it failed half-way.
func (k *keep) commitFiles(name string, f file, m meta) error {
	if err := f.Sync(); err != nil {
		return err
	}
	err := k.root.Rename(name+textSuffix+partSuffix, name+textSuffix)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	part := name + metaSuffix + partSuffix
	if err := k.writeSynced(part, string(body)+"\n"+checksum(string(body))); err != nil {
		return err
	}
	if err := k.root.Rename(part, name+metaSuffix); err != nil {
		return err
	}
	if err := k.syncDir(); err != nil {
		return err
	}
	k.mu.Lock()
	k.entries[name] = m
	k.mu.Unlock()
	return nil
}

// writeSynced writes a small file and waits until it is on the disk.
func (k *keep) writeSynced(name, text string) error {
	f, err := k.root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the names durable.
func (k *keep) syncDir() error {
	d, err := k.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// fillReserve holds some room back. Where there is none the end of an entry may be lost, which Close then says.
func (k *keep) fillReserve() {
	if info, err := k.root.Lstat(reserveName); err == nil && info.Size() == reserveBytes {
		return
	}
	if err := k.writeSynced(reserveName, strings.Repeat("\n", reserveBytes)); err != nil {
		_ = k.root.Remove(reserveName)
	}
}

// list lists the entries by name.
func (k *keep) list() []Entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]Entry, 0, len(k.entries))
	for name, m := range k.entries {
		all = append(all, Entry{Name: name, Label: m.Label, Kind: m.Kind, Bytes: m.Size + int64(len(m.Tail)), Missing: m.Missing})
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// open opens an entry for reading.
func (k *keep) open(name string) (file, meta, error) {
	k.mu.Lock()
	_, ok := k.entries[name]
	k.mu.Unlock()
	if !ok {
		return nil, meta{}, unknownEntry(name)
	}
	m, err := k.readMeta(name)
	if err != nil {
		return nil, meta{}, err
	}
	f, err := k.root.Open(name + textSuffix)
	if err != nil {
		return nil, meta{}, &Error{Kind: ErrIO, What: "entry", Err: err}
	}
	return f, m, nil
}

// remove removes an entry and gives its size. The description goes first: without it there is no entry.
func (k *keep) remove(name string) (int64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	m, ok := k.entries[name]
	if !ok {
		return 0, unknownEntry(name)
	}
	for _, suffix := range []string{metaSuffix, textSuffix} {
		if err := k.root.Remove(name + suffix); err != nil && !errors.Is(err, iofs.ErrNotExist) {
			return 0, &Error{Kind: ErrIO, What: "entry", Err: err}
		}
	}
	delete(k.entries, name)
	return m.Size, nil
}

// discard removes the files of an artifact that never became an entry. What cannot be removed now is removed by the next
// Open.
func (k *keep) discard(name string) {
	for _, suffix := range []string{textSuffix + partSuffix, metaSuffix + partSuffix, metaSuffix, textSuffix} {
		_ = k.root.Remove(name + suffix)
	}
}

// close gives the directory free.
func (k *keep) close() error {
	return errors.Join(k.root.Close(), k.lock.Close())
}
