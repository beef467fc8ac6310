package policy

import (
	"path"
	"strings"
)

// maxQuery bounds a path that is judged. Far more than a kernel takes in one call. In bytes.
const maxQuery = 32 << 10

// cleanQuery takes out what changes nothing about a path for any kernel ("//", "/./", a final "/"). It refuses "..",
// which only the kernel can resolve: what "/a/link/.." is depends on the link.
func cleanQuery(p string) (clean, why string) {
	switch {
	case p == "":
		return p, "it is empty"
	case len(p) > maxQuery:
		return shorten(p), "it is too long"
	case strings.IndexByte(p, 0) >= 0:
		return p, "it contains a NUL"
	case p[0] != '/':
		return p, "it is not absolute"
	}
	if p == "/.." || strings.HasSuffix(p, "/..") || strings.Contains(p, "/../") {
		return p, "it contains .., which has to be resolved first"
	}
	if strings.Contains(p, "//") || strings.Contains(p, "/./") || strings.HasSuffix(p, "/.") || (len(p) > 1 && p[len(p)-1] == '/') {
		return path.Clean(p), ""
	}
	return p, ""
}

// within says whether p is dir or below it. Both are clean.
func within(p, dir string) bool {
	if dir == "/" {
		return true
	}
	return strings.HasPrefix(p, dir) && (len(p) == len(dir) || p[len(dir)] == '/')
}

// below is p seen from dir, without a leading "/"; "" for dir itself. p is within dir.
func below(p, dir string) string {
	if dir == "/" {
		return p[1:]
	}
	return strings.TrimPrefix(p[len(dir):], "/")
}

// parent is the directory that holds p, and "" above the root. It cuts, so it costs nothing.
func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	switch {
	case p == "/" || i < 0:
		return ""
	case i == 0:
		return "/"
	}
	return p[:i]
}

// under joins a directory and a path without a leading "/".
func under(dir, rel string) string {
	switch {
	case rel == "":
		return dir
	case dir == "/":
		return "/" + rel
	}
	return dir + "/" + rel
}
