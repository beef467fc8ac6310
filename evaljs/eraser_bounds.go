package evaljs

import (
	"fmt"
	"strings"
)

// What esbuild is trusted with. It recurses on the stack of the host, up to 4 KB for each bracket or operator and 7 KB for a word, measured with each construct
// nested; a stack of Go that reaches a gigabyte ends the process. And some constructs it reads twice at every level, so that each level doubles the
// time.
//
// Two measures are taken. The first counts bytes wherever they stand, so that no text can hide from it; it keeps the process alive. The second follows the
// tokens, and is exact but where a slash had to be guessed at; a source in which one had to be gets the first measure with smaller bounds.
const (
	maxEraserStack       = 700 << 20
	maxUnsureStack       = 96 << 20
	maxChain             = 6000 // tokens that can nest, from the beginning of the outermost statement to here
	maxDoubling          = 10   // conditions with arrow functions inside of each other
	maxUnsureDoubling    = 12   // the same words anywhere
	maxUnsureTypes       = 1500 // of <, which is tried as the beginning of types: the time is square
	maxTypes             = 100  // the same in one statement
	operatorStack        = 4096 // bytes for a byte
	letterStack          = 1000
	maxInferred          = 12
	maxCommas            = 4000 // in one round bracket or statement: the time is square
	maxDecorators        = 1000
	maxSummed            = 64 << 20 // bytes
	maxLine              = 32 << 10 // bytes: a complaint about a line holds all of it
	maxFolded            = 16 << 20 // bytes of text that enums come to, with everything that names a member
	tooManyBrackets      = "the source has so many brackets and operators that its types could not be erased if they were nested"
	tooManyInStatement   = "a statement is so long, or nests so deeply, that its types are not erased"
	tooManyConditions    = "more than %d conditions and arrow functions are inside of each other: what reads types could take for ever"
	tooManyConditionsAny = "a slash may divide or begin a pattern, and there are more than %d conditions and arrow functions: what reads types could take for ever"
)

// tooMuch says what about a source the eraser is not trusted with; empty when nothing is.
func tooMuch(l *lexer) string {
	stack, most := 0, maxEraserStack
	for i := range len(l.src) {
		switch c := l.src[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
			stack += letterStack
		case c > ' ' && (c < '0' || c > '9'):
			stack += operatorStack
		}
	}
	unsure := l.unsure || l.broken
	if unsure {
		most = maxUnsureStack
	}
	switch {
	case stack > most:
		return tooManyBrackets
	case strings.Count(l.src, "@") > maxDecorators:
		return fmt.Sprintf("more than %d decorators", maxDecorators)
	case longestLine(l.src) > maxLine:
		return fmt.Sprintf("a line of more than %d bytes", maxLine)
	case l.inferred(unsure) > maxInferred:
		return fmt.Sprintf("more than %d types are inferred: what reads types could take for ever", maxInferred)
	case unsure && min(strings.Count(l.src, "?"), strings.Count(l.src, "=>")) > maxUnsureDoubling, unsure && strings.Count(l.src, "<") > maxUnsureTypes:
		return fmt.Sprintf(tooManyConditionsAny, maxUnsureDoubling)
	case unsure && strings.Contains(l.src, "enum"):
		return "a slash may divide or begin a pattern, and there is an enum: what its texts come to cannot be told"
	case unsure:
		return ""
	case l.summed() > maxSummed:
		return "a long text, and many sums: what they come to is added up before anything runs"
	case l.folded() > maxFolded:
		return "the texts of an enum, put in wherever they are named, are too long"
	}
	return l.nested()
}

// folded is how many bytes the texts of enums can come to at most. esbuild adds them up, also where one member is made of others, and puts them in wherever a member
// is named: a text doubles with every member that is made of an earlier one twice.
func (l *lexer) folded() float64 {
	names := map[string]bool{} // of enums and their members
	var bodies []int
	for i := range l.tokens {
		if l.is(i, "enum") && !l.member(i) && l.kindOf(i+1) == kindWord && l.is(i+2, "{") {
			names[l.name(i+1)] = true
			bodies = append(bodies, i+2)
			for j := i + 3; j < l.pair(i+2); j++ {
				if l.kindOf(j) == kindWord && (j == i+3 || l.is(j-1, ",")) {
					names[l.name(j)] = true
				}
			}
		}
	}
	texts, growth := 0.0, 1.0
	for _, open := range bodies {
		hadTexts, hadGrowth, foreign := texts, growth, false
		own := map[string]bool{}
		member := 0.0 // what one member is made of
		for j := open + 1; j <= l.pair(open); j++ {
			first := j == open+1 || l.is(j-1, ",")
			switch kind := l.kindOf(j); {
			case l.is(j, ",") || j == l.pair(open):
				growth *= max(1, member)
				member = 0
			case first:
				own[l.name(j)] = true
			case kind == kindString || kind == kindTemplate:
				texts += float64(l.end(j)-l.start(j)) + 32
				if kind == kindTemplate && j+1 < len(l.tokens) {
					texts += float64(l.start(j+1) - l.end(j)) // the text between
				}
				member++
			case kind == kindWord && names[l.name(j)]:
				member++
				foreign = foreign || !own[l.name(j)]
			case kind == kindWord || kind == kindOpen || kind == kindPattern || l.is(j, "!"): // typeof, null, a list: they come to texts
				texts += 32
				member++
			}
		}
		if texts == hadTexts && !foreign {
			growth = hadGrowth // numbers of its own alone
		}
	}
	if texts == 0 {
		return 0 // numbers alone do not grow
	}
	named := 1.0
	for i := range l.tokens {
		if (l.is(i, ".") || l.is(i, "?.") || l.is(i, "[")) && l.kindOf(i-1) == kindWord && names[l.name(i-1)] {
			named++
		}
	}
	return texts * growth * named
}

// summed is how many bytes the sums of texts can come to: each makes the text up to it anew. How many there are in one statement is bounded by itself.
func (l *lexer) summed() int {
	longest, sums := 0, 0
	for i := range l.tokens {
		switch l.kindOf(i) {
		case kindString, kindTemplate:
			longest = max(longest, l.end(i)-l.start(i))
			if i+1 < len(l.tokens) && l.kindOf(i) == kindTemplate {
				longest = max(longest, l.start(i+1)-l.end(i))
			}
		case kindPunct:
			if l.is(i, "+") {
				sums++
			}
		}
	}
	return longest * sums * 2
}

// inferred counts the types that are inferred.
func (l *lexer) inferred(unsure bool) int {
	if unsure {
		return strings.Count(l.src, "infer")
	}
	n := 0
	for i := range l.tokens {
		if l.is(i, "infer") && l.kindOf(i+1) == kindWord {
			n++
		}
	}
	return n
}

// longestLine is how many bytes the longest line has.
func longestLine(source string) int {
	most := 0
	for line := range strings.SplitSeq(source, "\n") {
		most = max(most, len(line))
	}
	return most
}

// nesting counts what stands in the statement up to a token, and in those around it.
type nesting struct{ chain, conditions, arrows, types, commas int }

// opened is an open bracket, and what stands before it in its statement.
type opened struct {
	token int
	here  nesting
}

// worse adds what is around to what is here.
func (n nesting) worse(o nesting) nesting {
	return nesting{n.chain + o.chain, n.conditions + o.conditions, n.arrows + o.arrows, n.types + o.types, 0}
}

// nested follows the tokens and says what nests too much.
func (l *lexer) nested() string {
	var around []opened // the brackets that are open
	var outer, here nesting
	for i := range l.tokens {
		t := l.tokens[i]
		if l.statementEnds(i) {
			here = nesting{}
		}
		switch t.kind {
		case kindOpen:
			here.chain++
			around = append(around, opened{i, here})
			outer, here = outer.worse(here), nesting{}
		case kindClose:
			if n := len(around); n > 0 {
				here = around[n-1].here
				around = around[:n-1]
				outer = outer.less(here)
			}
		case kindPunct:
			l.count(i, &here)
			if n := len(around); here.commas > maxCommas && (n == 0 || l.is(around[n-1].token, "(") || l.tokens[around[n-1].token].block) {
				return tooManyInStatement
			}
		case kindWord:
			here.chain++
		}
		all := outer.worse(here)
		switch {
		case all.chain > maxChain || all.types > maxTypes:
			return tooManyInStatement
		case min(all.conditions, all.arrows) > maxDoubling:
			return fmt.Sprintf(tooManyConditions, maxDoubling)
		}
	}
	return ""
}

// less is the reverse of worse.
func (n nesting) less(o nesting) nesting {
	return nesting{n.chain - o.chain, n.conditions - o.conditions, n.arrows - o.arrows, n.types - o.types, 0}
}

// count counts a sign.
func (l *lexer) count(i int, here *nesting) {
	switch l.text(i) {
	case ",":
		*here = nesting{commas: here.commas + 1, types: here.types} // a list of types goes on
		return
	case ";":
		*here = nesting{}
		return
	case "?":
		here.conditions++
	case "=>":
		here.arrows++
	case "<", "<<":
		if l.kindOf(i+1) != kindNumber { // which no type begins with
			here.types++
		}
	case ">", ">>", ">>>": // those that are closed are read once
		here.types = max(0, here.types-len(l.text(i)))
	}
	here.chain++
}
