package seek

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// verdict is what a rule says about a name.
type verdict int

const (
	nothing verdict = iota
	ignored
	wanted // "!" in front: whatever was said before
)

// rule is one line of an ignore file, or one glob.
type rule struct {
	glob    string
	says    verdict
	dirOnly bool
	base    bool // it is about the last name of a path alone
	fold    bool // without regard to case
	kind    ruleKind
}

// ruleKind is how a glob is matched. Most are plain names or endings.
type ruleKind int

const (
	byGlob ruleKind = iota
	byName
	byEnding // "*" and a plain text
)

const meta = `*?[]{}\`

// parseRule reads one line as git does. Braces mean alternatives for globs, and themselves for git.
func parseRule(line string, braces, fold bool) (r rule, ok bool) {
	r = rule{says: ignored, fold: fold}
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " \t\r\n\v\f")
	}
	if rest, found := strings.CutPrefix(line, "!"); found {
		r.says, line = wanted, rest
	} else if strings.HasPrefix(line, `\!`) || strings.HasPrefix(line, `\#`) {
		line = line[1:]
	}
	if rest, found := strings.CutSuffix(line, "/"); found && !strings.HasSuffix(rest, `\`) {
		r.dirOnly, line = true, rest
	}
	rest, rooted := strings.CutPrefix(line, "/")
	line = rest
	if line == "" {
		return r, false
	}
	r.base = !rooted && !strings.Contains(line, "/")
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is inside, not the directory itself
	}
	line = escape(line, braces)
	if fold {
		line = strings.ToLower(line)
	}
	r.glob = line
	switch {
	case !strings.ContainsAny(line, meta):
		r.kind = byName
	case r.base && line[0] == '*' && len(line) > 1 && !strings.ContainsAny(line[1:], meta):
		r.kind, r.glob = byEnding, line[1:]
	}
	return r, doublestar.ValidatePattern(line) // what means nothing matches nothing
}

// escape makes braces outside of classes mean themselves, where they are no alternatives, and a class of what it is not
// never mean a slash.
func escape(glob string, braces bool) string {
	if !strings.ContainsAny(glob, "{}[") {
		return glob
	}
	var b strings.Builder
	class := false
	for i := 0; i < len(glob); i++ {
		switch c, next := glob[i], glob[min(i+1, len(glob)-1)]; {
		case c == '\\' && i+1 < len(glob):
			b.WriteString(glob[i : i+2])
			i++
		case c == '[' && !class && (next == '!' || next == '^'):
			b.WriteString("[" + string(next) + "/")
			class = true
			i++
		case (c == '{' || c == '}') && !class && !braces:
			b.WriteString(`\` + string(c))
		default:
			class = c == '[' || class && c != ']'
			b.WriteByte(c)
		}
	}
	return b.String()
}

// matches says whether the rule is about a path below its directory, whose last name this is.
func (r *rule) matches(rel, base string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	name := rel
	if r.base {
		name = base
	}
	if r.fold {
		name = strings.ToLower(name)
	}
	switch r.kind {
	case byName:
		return name == r.glob
	case byEnding:
		return strings.HasSuffix(name, r.glob)
	}
	return doublestar.MatchUnvalidated(r.glob, name)
}

// decide is what the last rule that is about a path says.
func decide(rules []rule, rel string, dir bool) verdict {
	base := path.Base(rel)
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].matches(rel, base, dir) {
			return rules[i].says
		}
	}
	return nothing
}

// globs are the globs of a query. They come before every ignore file.
type globs struct {
	rules []rule
	some  bool // one of them says what is wanted: no other file is
}

// newGlobs reads them. A glob says what is wanted, and with "!" in front what is not: the opposite of an ignore file.
func newGlobs(glob, iglob string) globs {
	var g globs
	add := func(text string, fold bool) {
		r, ok := parseRule(text, true, fold)
		if !ok {
			return
		}
		if r.says == wanted {
			r.says = ignored
		} else {
			r.says, g.some = wanted, true
		}
		g.rules = append(g.rules, r)
	}
	add(glob, false)
	add(iglob, true)
	add("!.git", true) // git's own files are searched only where the path of the search leads into them
	return g
}

func (g globs) decide(rel string, dir bool) verdict {
	v := decide(g.rules, rel, dir)
	if v == nothing && g.some && !dir {
		return ignored
	}
	return v
}

// CheckGlob says what is wrong with a glob, or "".
func CheckGlob(glob string) string {
	if strings.ContainsRune(glob, 0) {
		return "it holds a NUL"
	}
	if len(glob) > MaxPattern {
		return "it is too long"
	}
	if strings.HasPrefix(glob, "#") {
		return `it begins with "#": write "\#"`
	}
	if _, ok := parseRule(glob, true, false); !ok {
		return "a bracket or brace is not closed, or there is nothing in it"
	}
	return ""
}
