package compartment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of an import map. Modules are the host's own, so these only find mistakes.
const (
	maxSpecifier   = 256
	maxModuleBytes = 4 << 20
)

// checkModules says what is wrong with an import map.
func checkModules(modules map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		bad := func(bound string) error {
			return &Error{Code: CodeConfig, Field: "modules", Value: Shown(fmt.Sprintf("%q", name), 80), Bound: bound}
		}
		switch source := modules[name]; {
		case name == "" || len(name) > maxSpecifier || !utf8.ValidString(name) || strings.ContainsFunc(name, unseen):
			return bad(fmt.Sprintf("a specifier of 1 to %d bytes of text that can be seen", maxSpecifier))
		case name == "program" || name == "boundary":
			return bad("another specifier: places in the source are told apart by this name")
		case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/"):
			return bad("a bare specifier: there are no paths to resolve")
		case len(source) > maxModuleBytes || !utf8.ValidString(source) || strings.ContainsRune(source, 0):
			return bad(fmt.Sprintf("at most %d bytes of UTF-8 without a zero byte", maxModuleBytes))
		}
	}
	return nil
}

// Module is the source of a module of the import map, and whether there is one of exactly that specifier.
func (h *Host) Module(specifier string) (source string, ok bool) {
	source, ok = h.modules[specifier]
	return source, ok
}

// HasModules tells whether there is any module to import.
func (h *Host) HasModules() bool { return len(h.modules) > 0 }

// NoModule is the failure of an import of something that is not in the import map.
func (h *Host) NoModule(specifier string) *Failure {
	if len(h.modules) == 0 {
		return FailureOf(KindNoModules, "TypeError", "there are no modules here")
	}
	names := slices.Sorted(maps.Keys(h.modules))
	more := ""
	if most := 20; len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return FailureOf(KindNoModules, "TypeError", fmt.Sprintf("there is no module %s here; there are %s%s",
		`"`+Shown(specifier, 80)+`"`, strings.Join(names, ", "), more))
}
