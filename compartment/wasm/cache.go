package wasm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"runtime"

	"sallyport/compartment"

	"github.com/tetratelabs/wazero"
)

// codeCache keeps the machine code of one guest. Every version of guest, metering and machine has a directory of its own; in it are wazero's files and a
// list of their hashes, written last. A directory whose files are not what the list says is thrown away and made anew. It is made under another name
// and renamed, so that processes that start at the same time do not get in each other's way.
type codeCache struct {
	parent string // "": no cache
	final  string // where it is when it is whole
	work   string // where it is made, when it has to be
}

// sealName is the file with the hashes.
const sealName = "files.json"

// codeFormat is part of the directory's name. It changes when what is in it is made differently.
const codeFormat = "1"

// openCache finds the cache for a module. A cache that cannot be used for want of a directory is none; a directory that others may write to is an error.
func openCache(o Options, module []byte) (*codeCache, error) {
	if o.NoCache || !compilerSupported() {
		return &codeCache{}, nil
	}
	parent := o.CacheDir
	if parent == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return &codeCache{}, nil // no home directory: nothing to keep it in
		}
		parent = filepath.Join(dir, "sallyport", "code")
	}
	if err := privateDir(parent); err != nil {
		if o.CacheDir == "" && !errors.Is(err, errShared) {
			return &codeCache{}, nil // a read-only home
		}
		return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "cache_dir", Reason: err.Error(),
			Hint: "give a directory that only this user can write to, or set NoCache"}
	}
	sum := sha256.Sum256(module)
	name := fmt.Sprintf("%s-%s-%s-%s", codeFormat, runtime.GOOS, runtime.GOARCH, hex.EncodeToString(sum[:16]))
	c := &codeCache{parent: parent, final: filepath.Join(parent, name)}
	if !c.whole() {
		c.discard()
	}
	return c, nil
}

// errShared is a directory that others may write to.
var errShared = errors.New("others may write to the directory of compiled code")

// privateDir makes a directory that only this user can write to, or makes sure that it is one.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" && st.Mode().Perm()&0o022 != 0 {
		return errShared
	}
	return ownedByUs(st)
}

// usable tells whether there is a cache that was used.
func (c *codeCache) usable() bool { return c.parent != "" && c.work == "" }

// discard throws away what is there and has it made anew. Without room for that there is no cache.
func (c *codeCache) discard() {
	_ = os.RemoveAll(c.final) // another process may be doing the same
	work, err := os.MkdirTemp(c.parent, "new-*")
	if err != nil {
		c.parent = ""
		return
	}
	c.work = work
}

// configure makes a runtime use the cache.
func (c *codeCache) configure(config wazero.RuntimeConfig) (wazero.RuntimeConfig, error) {
	if c.parent == "" {
		return config, nil
	}
	dir := c.final
	if c.work != "" {
		dir = c.work
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the compiled code: %w", err)
	}
	return config.WithCompilationCache(cache), nil
}

// seal writes the list of hashes and puts a new cache where the next process finds it.
func (c *codeCache) seal() error {
	if c.work == "" {
		return nil
	}
	work := c.work
	c.work = ""
	sums, err := hashFiles(work)
	if err != nil {
		return errors.Join(fmt.Errorf("look at the compiled code: %w", err), os.RemoveAll(work))
	}
	b, err := json.Marshal(sums)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, sealName), b, 0o600); err != nil {
		return errors.Join(fmt.Errorf("list the compiled code: %w", err), os.RemoveAll(work))
	}
	if err := os.Rename(work, c.final); err != nil {
		return os.RemoveAll(work) // another process was first
	}
	return nil
}

// whole tells whether the cache is there and every file in it is what it was.
func (c *codeCache) whole() bool {
	b, err := os.ReadFile(filepath.Join(c.final, sealName))
	if err != nil {
		return false
	}
	var want map[string]string
	if json.Unmarshal(b, &want) != nil || len(want) == 0 {
		return false
	}
	have, err := hashFiles(c.final)
	if err != nil || len(have) != len(want) {
		return false
	}
	for name, sum := range want {
		if have[name] != sum {
			return false
		}
	}
	return true
}

// hashFiles hashes the files below a directory, but for the list of hashes.
func hashFiles(dir string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d iofs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == sealName {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		sums[filepath.ToSlash(name)] = hex.EncodeToString(sum[:])
		return nil
	})
	return sums, err
}
