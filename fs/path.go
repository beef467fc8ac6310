package fs

import (
	"path"
	"strings"
)

// Reason says why a model's path was refused without looking at any file.
type Reason string

// The reasons, in the order in which they are looked for (R289, R290).
const (
	ReasonNUL    Reason = "nul"    // it holds a NUL
	ReasonHome   Reason = "home"   // it begins with ~
	ReasonDrive  Reason = "drive"  // it begins with a drive letter
	ReasonDevice Reason = "device" // it begins with a device prefix: \\.\ or \\?\
	ReasonShare  Reason = "unc"    // it begins with a network share
	ReasonEscape Reason = "escape" // it leads above the root
)

// remedies says, for each reason, what to write instead (R285).
var remedies = map[Reason]string{
	ReasonNUL:    "a path cannot hold a NUL character; leave it out",
	ReasonHome:   "~ is not expanded; write the path from the workspace's root",
	ReasonDrive:  "drive letters mean nothing here; write the path from the workspace's root",
	ReasonDevice: "device paths are not files of the workspace; write the path from the workspace's root",
	ReasonShare:  "network shares are not files of the workspace; write the path from the workspace's root",
	ReasonEscape: "the path leads out of the workspace; write a path below its root",
}

// Clean turns a path as a model writes it into a slash-separated path below the root, without "." or ".." parts; the
// root itself is ".". A leading slash means the root (R288). A backslash separates, as a slash does. Percent signs
// mean nothing: "%2e%2e" is a file name (R290). A path that cannot be below the root is an *Error of ErrPath whose
// Reason says why.
//
// Clean looks at no file. It is not the boundary; opening below a directory handle is.
func Clean(name string) (string, error) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	if r := outright(slashed); r != "" {
		return "", &Error{Kind: ErrPath, Path: name, Reason: r}
	}
	depth := 0
	for part := range strings.SplitSeq(slashed, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return "", &Error{Kind: ErrPath, Path: name, Reason: ReasonEscape}
			}
		default:
			depth++
		}
	}
	clean := path.Clean("/" + slashed)[1:]
	if clean == "" {
		clean = "."
	}
	return clean, nil
}

// outright finds what is refused whatever the rest of the path says.
func outright(slashed string) Reason {
	switch {
	case strings.ContainsRune(slashed, 0):
		return ReasonNUL
	case strings.HasPrefix(slashed, "~"):
		return ReasonHome
	case len(slashed) >= 2 && slashed[1] == ':' && isLetter(slashed[0]):
		return ReasonDrive
	case strings.HasPrefix(slashed, "//./"), strings.HasPrefix(slashed, "//?/"), strings.HasPrefix(slashed, "/??/"):
		return ReasonDevice
	case strings.HasPrefix(slashed, "//"):
		return ReasonShare
	}
	return ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
