// Package seek searches a directory tree: for lines that match, or for names of files. It is what runs inside a jail where
// ripgrep is not installed, and it follows ripgrep: the same ignore files with the same precedence, the same treatment of
// hidden names, globs and binary files, and the same output, as one JSON object a line.
//
// It reads with the rights of the process that it runs in, and has no opinion about what may be read. No link is
// followed, and only regular files are opened.
//
// Differences from ripgrep: braces in ignore files are themselves, as git has it, where ripgrep takes them for
// alternatives; what git keeps outside of the tree (.git/info/exclude, the global ignore file) is not looked at; a byte that is
// no UTF-8 is a character for "." and for negated classes; a line longer than 64 MiB ends the search of its file.
package seek
