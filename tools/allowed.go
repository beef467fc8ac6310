package tools

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A commandRefusal says why a line is not one plain command of the list.
type commandRefusal string

// plainCommand reads a line as one plain command and gives its words, or says why it is none (R212). It is read by a parser
// of the shell language, and the words are then executed as they are: no shell reads the line a second time, so none can read it
// in another way.
//
// It is a check of a name, not the boundary: what an allowed program does, and what it starts, is the kernel's to decide
// (R213).
func plainCommand(line string, allowed []string) ([]string, commandRefusal) {
	words, why := plainWords(line)
	if why != "" {
		return nil, why
	}
	if !slices.Contains(allowed, words[0]) {
		if len(allowed) == 0 {
			return nil, "no command is allowed"
		}
		return nil, commandRefusal("only these commands are allowed: " + strings.Join(allowed, ", "))
	}
	return words, ""
}

// plainWords reads a line as bash does, which has the most syntax to refuse.
func plainWords(line string) ([]string, commandRefusal) {
	for _, r := range line {
		if r < ' ' && r != '\t' || r == 0x7f {
			return nil, "it has a control character, or more lines than one"
		}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, "it is no complete command line"
	}
	if len(file.Last) > 0 || len(file.Stmts) != 1 || len(file.Stmts[0].Comments) > 0 {
		return nil, "it is not exactly one command"
	}
	stmt := file.Stmts[0]
	if stmt.Negated || stmt.Background || stmt.Coprocess || stmt.Disown || stmt.Semicolon.IsValid() || len(stmt.Redirs) > 0 {
		return nil, "it has an operator or a redirection"
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil, "it is not a plain command"
	}
	var words []string
	for i, arg := range call.Args {
		word, ok := literal(arg, i == 0)
		if !ok {
			return nil, "it has a word that a shell would change"
		}
		words = append(words, word)
	}
	return words, ""
}

// changing are the characters that mean something to a shell in a word without quotes. A backslash is among them, and so
// are those that only some shells, or only interactive ones, look at.
const changing = "\\*?[]{}~!^$`=<>()#&|;'\"%"

// literal gives the text of a word that no shell changes: plain characters, and what is in quotes. The name of the command takes
// no quotes.
func literal(w *syntax.Word, name bool) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if plain := harmless(p.Value, name); !plain {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar || name {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar || name || !inQuotes(p, &b) {
				return "", false
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// harmless says whether a shell leaves characters without quotes alone. An "=" or a "%" is a plain character but in the
// name.
func harmless(s string, name bool) bool {
	marks := changing
	if !name {
		marks = strings.NewReplacer("=", "", "%", "").Replace(marks)
	}
	return !strings.ContainsAny(s, marks)
}

// inQuotes writes the text between double quotes when it is plain: there a backslash, a dollar sign and a backquote mean something,
// and an exclamation mark to an interactive shell.
func inQuotes(q *syntax.DblQuoted, b *strings.Builder) bool {
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.ContainsAny(lit.Value, "\\$`!") {
			return false
		}
		b.WriteString(lit.Value)
	}
	return true
}
