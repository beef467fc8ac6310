package seek

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// MaxPattern bounds a pattern as it is written and as it is spelled out, in bytes: a program's argument has room for
// 128 KiB. A Unicode class alone takes several thousand.
const MaxPattern = 64 << 10

var (
	errLongPattern = errors.New("it is too long")
	errLineBreak   = errors.New("it asks for a line break, and lines are searched one by one")
)

// Pattern turns a pattern in the syntax of package regexp, or a literal text, into one spelling that package regexp and
// ripgrep understand alike: classes are spelled out, so that \d and \w are ASCII for both, braces that repeat nothing are
// themselves, and ^ and $ are the ends of a line. The error says what is wrong with it.
func Pattern(given string, literal, ignoreCase bool) (string, error) {
	if len(given) > MaxPattern {
		return "", errLongPattern
	}
	if literal {
		given = regexp.QuoteMeta(given)
	}
	flags := syntax.Perl &^ syntax.OneLine
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(given, flags)
	if err != nil {
		var e *syntax.Error
		if errors.As(err, &e) {
			return "", errors.New(string(e.Code) + ": " + e.Expr)
		}
		return "", err
	}
	if asksForLineBreak(tree) {
		return "", errLineBreak
	}
	spelled := tree.String()
	if len(spelled) > MaxPattern {
		return "", errLongPattern
	}
	if _, err := regexp.Compile(spelled); err != nil {
		return "", err
	}
	return spelled, nil
}

// asksForLineBreak says whether a match would have to hold one. A class that has others besides, such as \s, does not.
func asksForLineBreak(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpLiteral:
		return strings.ContainsRune(string(tree.Rune), '\n')
	case syntax.OpCharClass:
		return len(tree.Rune) == 2 && tree.Rune[0] == '\n' && tree.Rune[1] == '\n'
	}
	for _, sub := range tree.Sub {
		if asksForLineBreak(sub) {
			return true
		}
	}
	return false
}

// ForRipgrep changes a spelled pattern so that word boundaries are ASCII in ripgrep as they are here.
func ForRipgrep(spelled string) string {
	var b strings.Builder
	for i := 0; i < len(spelled); i++ {
		if spelled[i] != '\\' || i+1 == len(spelled) {
			b.WriteByte(spelled[i])
			continue
		}
		i++
		if spelled[i] == 'b' || spelled[i] == 'B' {
			b.WriteString(`(?-u:\` + spelled[i:i+1] + `)`)
		} else {
			b.WriteString(spelled[i-1 : i+1])
		}
	}
	return b.String()
}

// required is the longest text that every match contains as it is, or "".
func required(tree *syntax.Regexp) string {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return string(tree.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return required(tree.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range tree.Sub {
			if text := required(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	}
	return ""
}

// matcher finds lines.
type matcher struct {
	re    *regexp.Regexp
	must  []byte // every match contains it
	plain bool   // it is all there is to a match
}

func newMatcher(spelled string) (*matcher, error) {
	re, err := regexp.Compile(spelled)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(spelled, syntax.Perl)
	if err != nil {
		return nil, err
	}
	must := required(tree)
	return &matcher{re: re, must: []byte(must), plain: tree.Op == syntax.OpLiteral && must != ""}, nil
}
