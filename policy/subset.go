package policy

import (
	"errors"
	"slices"
	"strconv"
)

// ErrWider is the branch every *SubsetError belongs to: errors.Is(err, ErrWider).
var ErrWider = errors.New("wider policy")

// SubsetError is the first thing found that keeps a policy from being a part of another one.
type SubsetError struct {
	// Axis is the key of the policy that is wider: "filesystem.denyRead", "network.allowedDomains".
	Axis string
	// Entry is what stands there too much, or is missing, as its policy spells it. Empty for a switch.
	Entry string
	// Reason is a lower-case phrase.
	Reason string
}

// Error is one lower-case line.
func (e *SubsetError) Error() string {
	if e.Entry == "" {
		return "wider policy: " + e.Axis + ": " + e.Reason
	}
	return "wider policy: " + e.Axis + " " + strconv.Quote(shorten(e.Entry)) + ": " + e.Reason
}

// Is makes every *SubsetError match ErrWider.
func (e *SubsetError) Is(target error) bool { return target == ErrWider }

// Subset proves that whatever child allows, parent allows: it returns nil, or the first axis, entry and reason as a *SubsetError
// (R69). The proof is by comparing entries, in their real spelling: each allowance of child is one of parent's, and each denial of parent's is one of
// child's. It is conservative: two patterns compare only when they are the same (R70), a directory below an allowed one has to be allowed by name, and so
// a child that is no wider can be refused; one that is wider never passes (R71). What is allowed under ListPrivate, and the default devices in a private
// directory, are a command's own and are not compared.
func Subset(child, parent *Rules) error {
	if child.platform != parent.platform {
		return &SubsetError{Axis: "matcher", Entry: child.platform.String(), Reason: "names are compared as on " + parent.platform.String() + " there"}
	}
	if err := samePrivate(child, parent); err != nil {
		return err
	}
	if err := subsetFiles(child, parent); err != nil {
		return err
	}
	return subsetNetwork(child, parent)
}

// samePrivate: a directory that is private for one alone is the host's for the other.
func samePrivate(child, parent *Rules) error {
	for _, d := range parent.private {
		if !slices.ContainsFunc(child.private, func(o PrivateDir) bool { return o.Path == d.Path }) {
			return &SubsetError{Axis: "private", Entry: d.Path, Reason: "every command has one of its own there"}
		}
	}
	return nil
}

func subsetFiles(child, parent *Rules) error {
	switch {
	case parent.policy.Filesystem.Disabled:
		return nil // everything about files is allowed there
	case child.policy.Filesystem.Disabled:
		return &SubsetError{Axis: "filesystem.disabled", Reason: "rules about files are in force there"}
	}
	for _, name := range child.lifted {
		if !slices.Contains(parent.lifted, name) {
			return &SubsetError{Axis: "filesystem.allowMandatory", Entry: name, Reason: "the name is not lifted there"}
		}
	}
	for _, keep := range [...]struct {
		axis          string
		child, parent pathList
	}{
		{"filesystem.denyRead", child.denyRead, parent.denyRead},
		{"filesystem.denyWrite", child.denyWrite, parent.denyWrite},
	} {
		if e := missing(keep.parent, keep.child); e != nil {
			return &SubsetError{Axis: keep.axis, Entry: e.Given, Reason: "it is denied there and not here"}
		}
	}
	for _, add := range [...]struct {
		axis          string
		child, parent pathList
	}{
		{"filesystem.allowRead", child.allowRead, parent.allowRead},
		{"filesystem.allowWrite", child.allowWrite, parent.allowWrite},
	} {
		if e := missing(add.child, add.parent); e != nil {
			return &SubsetError{Axis: add.axis, Entry: e.Given, Reason: "it is not allowed there"}
		}
	}
	return keptRoots(child, parent)
}

// missing is the first entry in force in has that stands in want not, or not in force.
func missing(has, want pathList) *Entry {
	for i := range has.entries {
		e := &has.entries[i]
		if e.Allow && (e.Absent || e.Undecidable) {
			continue // it allows nothing
		}
		if !slices.ContainsFunc(want.entries, func(o Entry) bool {
			return o.Real == e.Real && o.Glob == e.Glob && o.keys == e.keys && !(o.Allow && o.Absent)
		}) {
			return e
		}
	}
	return nil
}

// keptRoots: some mandatory names hold at the top of each writable root alone. A root that is left out takes them along: where it is inside another one that
// still allows writing, and where it is above one whose own path has such a name.
func keptRoots(child, parent *Rules) error {
	for i := range parent.allowWrite.entries {
		e := &parent.allowWrite.entries[i]
		if e.Undecidable || slices.ContainsFunc(child.allowWrite.entries, func(o Entry) bool { return o.Real == e.Real && o.Glob == e.Glob }) {
			continue
		}
		lost := e.Glob && len(child.allowWrite.entries) > 0 || child.allowWrite.covering(e.keys[0]) != nil
		for j := range child.allowWrite.entries {
			o := &child.allowWrite.entries[j]
			above := within(o.keys[0], e.keys[0])
			lost = lost || above && (o.Glob || child.Write(o.Base).Allowed && !parent.Write(o.Base).Allowed)
		}
		if lost {
			return &SubsetError{Axis: "filesystem.allowWrite", Entry: e.Given,
				Reason: "the names at its top stay as they are there; without it, they could be written as a part of another directory"}
		}
	}
	return nil
}

func subsetNetwork(child, parent *Rules) error {
	if !parent.network.Unrestricted {
		if child.network.Unrestricted {
			return &SubsetError{Axis: "network.disabled", Reason: "rules about hosts are in force there"}
		}
		for i, d := range child.allowed.parsed {
			if !slices.Contains(parent.allowed.parsed, d) {
				return &SubsetError{Axis: "network.allowedDomains", Entry: child.allowed.given[i], Reason: "it is not allowed there"}
			}
		}
		for i, d := range parent.denied.parsed {
			if !slices.Contains(child.denied.parsed, d) {
				return &SubsetError{Axis: "network.deniedDomains", Entry: parent.denied.given[i], Reason: "it is denied there and not here"}
			}
		}
	}
	for _, s := range child.sockets {
		if !slices.ContainsFunc(parent.sockets, func(o socket) bool { return o.key == s.key }) {
			return &SubsetError{Axis: "network.allowUnixSockets", Entry: s.given, Reason: "it is not allowed there"}
		}
	}
	return nil
}
