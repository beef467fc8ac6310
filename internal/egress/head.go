package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// head is the head of an HTTP/1 message: its first line and its fields, in order, as they were sent.
type head struct {
	first  string
	fields []field
	size   int // bytes
	// connection are the options of Connection, in lower case.
	connection []string
}

type field struct{ name, value string }

// headError says why a head is refused; it is the child's to read.
type headError string

func (e headError) Error() string { return string(e) }

func headFault(format string, args ...any) error { return headError(fmt.Sprintf(format, args...)) }

const maxFields = 256 // of one head; servers take about a hundred

// readHead reads a head of up to limit bytes. Of a request (strict) every line ends in CR LF and no field is folded,
// because the next program on the way may read those differently. Servers get more leave: they are not who attacks.
func readHead(br *bufio.Reader, limit int, strict bool) (head, error) {
	var h head
	for n := 0; ; n++ {
		line, err := readLine(br, limit-h.size, strict)
		if err != nil {
			if err == io.EOF && n > 0 {
				err = io.ErrUnexpectedEOF
			}
			return h, err
		}
		h.size += len(line) + 2
		switch {
		case n > 2*maxFields: // folded: each is a copy of what the field has so far
			return h, headFault("more than %d lines", 2*maxFields)
		case line == "" && n == 0: // RFC 9112 2.2: an empty line before a request is skipped
		case line == "":
			h.connection = h.list("Connection")
			if len(h.connection) > maxFields { // each is compared with each field
				return h, headFault("more than %d options in Connection", maxFields)
			}
			return h, nil
		case h.first == "":
			if n > 1 {
				return h, headFault("empty lines before it")
			}
			h.first = line
		case line[0] == ' ' || line[0] == '\t':
			if strict || len(h.fields) == 0 {
				return h, headFault("a folded header field")
			}
			last := &h.fields[len(h.fields)-1]
			last.value += " " + strings.Trim(line, " \t")
		default:
			f, err := parseField(line)
			if err != nil {
				return h, err
			}
			if len(h.fields) == maxFields {
				return h, headFault("more than %d header fields", maxFields)
			}
			h.fields = append(h.fields, f)
		}
	}
}

// readLine reads to the end of a line and leaves the end away.
func readLine(br *bufio.Reader, limit int, strict bool) (string, error) {
	var long []byte
	for {
		piece, err := br.ReadSlice('\n')
		if len(long)+len(piece) > limit {
			return "", headFault("a head that is too long")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, piece...)
			continue
		}
		if err != nil {
			if err == io.EOF && len(long)+len(piece) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
		line := string(append(long, piece[:len(piece)-1]...))
		cut, ok := strings.CutSuffix(line, "\r")
		if !ok && strict {
			return "", headFault("a line that does not end in CR LF")
		}
		if i := strings.IndexFunc(cut, isControl); i >= 0 {
			return "", headFault("a control character (%#02x)", cut[i])
		}
		return cut, nil
	}
}

// isControl is about every control character but the tab.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func parseField(line string) (field, error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return field{}, headFault("a line that is no header field")
	}
	return field{name, strings.Trim(value, " \t")}, nil
}

// isToken says whether a text is a method or a field's name (RFC 9110 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// values gives the values of the fields of a name.
func (h head) values(name string) (found []string) {
	for _, f := range h.fields {
		if strings.EqualFold(f.name, name) {
			found = append(found, f.value)
		}
	}
	return found
}

// list gives the members of the comma-separated fields of a name, in lower case.
func (h head) list(name string) (members []string) {
	for _, v := range h.values(name) {
		for m := range strings.SplitSeq(v, ",") {
			if m = strings.ToLower(strings.Trim(m, " \t")); m != "" {
				members = append(members, m)
			}
		}
	}
	return members
}

// hopByHop are the fields that belong to one connection and go no further (RFC 9110 7.6.1). Host and the framing are
// written anew.
var hopByHop = map[string]bool{
	"connection": true, "keep-alive": true, "proxy-connection": true, "proxy-authenticate": true, "proxy-authorization": true,
	"proxy-authentication-info": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
	"content-length": true, "host": true, "http2-settings": true,
}

// endToEnd appends the fields that go on to the other side.
func (h head) endToEnd(b []byte, keepHost bool) []byte {
	for _, f := range h.fields {
		lower := strings.ToLower(f.name)
		if hopByHop[lower] && !(keepHost && lower == "host") || slices.Contains(h.connection, lower) {
			continue
		}
		b = append(b, f.name...)
		b = append(b, ": "...)
		b = append(b, f.value...)
		b = append(b, "\r\n"...)
	}
	return b
}
