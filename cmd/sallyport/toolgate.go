package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"sallyport/gate"
	"sallyport/internal/terminal"
	"sallyport/policy"
	"sallyport/tools"
)

// aboutCall is what a person needs to know of a call besides its arguments: where it works, what the policy would allow it, and what it
// would change.
func aboutCall(r *tools.Registry, rules *policy.Rules, c gate.Call) ([]terminal.Part, error) {
	var args struct {
		Cwd     string `json:"cwd"`
		MediaID string `json:"media_id"`
		Path    string `json:"path"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	parts := []terminal.Part{
		{Label: "in", Text: path.Join(c.Workspace, path.Join("/", args.Cwd))},
		{Label: "policy", Text: allowance(rules, c.Policy.Tier)},
	}
	if c.Tool != tools.SaveMedia {
		return parts, nil
	}
	change, err := changeOf(r, args.MediaID, args.Path)
	return append(parts, terminal.Part{Label: "change", Text: change}), err
}

// mostListed is how many entries of a list are shown; of more it is said how many.
const mostListed = 6

// allowance says in lines what a policy lets be done.
func allowance(rules *policy.Rules, tier string) string {
	d := rules.Derived()
	if d.FilesystemDisabled {
		return fmt.Sprintf("files: no rules at all\nnetwork: %s\nenforced by the %s", network(d.Network), tier)
	}
	reads := "everything"
	if len(d.Read.DenyOnly) > 0 {
		reads += " but " + few(d.Read.DenyOnly)
	}
	if len(d.Read.AllowWithinDeny) > 0 {
		reads += "; again " + few(d.Read.AllowWithinDeny)
	}
	writes := "nothing"
	if roots := rules.WritableRoots(); len(roots) > 0 {
		writes = few(roots)
	}
	return fmt.Sprintf("may read: %s\nmay write: %s\nnetwork: %s\nenforced by the %s", reads, writes, network(d.Network), tier)
}

func network(n policy.DerivedNetwork) string {
	switch {
	case n.Disabled:
		return "all of it"
	case len(n.AllowedDomains) == 0:
		return "none"
	}
	return few(n.AllowedDomains)
}

// few shows the first entries of a list.
func few(list []string) string {
	if len(list) <= mostListed {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:mostListed], ", ") + fmt.Sprintf(" and %d more", len(list)-mostListed)
}

// changeOf says what a save would change: the difference of two texts, or the sizes of what is no text.
func changeOf(r *tools.Registry, mediaID, name string) (string, error) {
	p, err := r.Preview(mediaID, name)
	switch {
	case err != nil:
		return "cannot be told: " + err.Error(), nil
	case p.TooLong:
		return "", terminal.ErrTooLong
	case !isText(p.Old) || !isText(p.New):
		return fmt.Sprintf("%s\n%s", binary("from", p.Old, p.Absent), binary("to", p.New, false)), nil
	case p.Absent:
		return "a new file\n" + string(diff.Diff("nothing", nil, name, p.New)), nil
	case bytes.Equal(p.Old, p.New):
		return "none: the file is the same already", nil
	}
	return string(diff.Diff(name, p.Old, name, p.New)), nil
}

func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }

// binary names what cannot be shown, so exactly that another one has another name.
func binary(word string, b []byte, absent bool) string {
	if absent {
		return word + " nothing"
	}
	return fmt.Sprintf("%s %d bytes, SHA-256 %x", word, len(b), sha256.Sum256(b))
}
