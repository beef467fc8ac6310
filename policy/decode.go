package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sallyport/internal/nearest"
)

// MaxBytes bounds a policy document. Ten thousand domains fit in a third of it; what is larger is not a policy.
const MaxBytes = 1 << 20

// Parse reads a policy from JSON. It is strict, because a key that is silently ignored is a rule that silently does not
// hold: unknown and repeated keys, wrong types, null, trailing text, invalid UTF-8, lone surrogates and documents over
// MaxBytes are refused, and so is everything Validate refuses. Errors are *Error, with the key and the nearest known one.
func Parse(data []byte) (Policy, error) {
	if err := checkDocument(data); err != nil {
		return Policy{}, err
	}
	p, err := decodePolicy(data)
	if err != nil {
		return Policy{}, err
	}
	if err := p.Validate(); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// UnmarshalJSON is Parse. Unlike most decoders it refuses null, which would be a policy that lets everything be read.
func (p *Policy) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(data)
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// UnmarshalJSON reads a string, or an object with "path" and "optional".
func (e *PathEntry) UnmarshalJSON(data []byte) error {
	if err := checkDocument(data); err != nil {
		return err
	}
	entry, err := decodeEntry("", data)
	if err != nil {
		return err
	}
	if err := checkEntry("", entry.Path); err != nil {
		return err
	}
	*e = entry
	return nil
}

// checkDocument refuses what is not one JSON value in UTF-8 of a bounded size, with the line and column of the fault.
func checkDocument(data []byte) error {
	switch {
	case len(data) > MaxBytes:
		return &Error{Reason: fmt.Sprintf("the document has %d bytes, more than the %d a policy may have", len(data), MaxBytes)}
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return &Error{Reason: "the document begins with a byte order mark", Hint: "save it as UTF-8 without one"}
	case !utf8.Valid(data):
		return &Error{Reason: "the document is not valid UTF-8"}
	case len(bytes.TrimSpace(data)) == 0:
		return &Error{Reason: "the document is empty", Hint: "an empty policy is written {}"}
	}
	var whole json.RawMessage
	err := json.Unmarshal(data, &whole)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return &Error{Reason: "not JSON", Err: err}
	}
	before := data[:min(int(syntax.Offset), len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return &Error{Reason: fmt.Sprintf("not JSON, line %d column %d", line, column), Err: err}
}

var (
	policyKeys     = []string{"filesystem", "network"}
	filesystemKeys = []string{"allowRead", "denyRead", "allowWrite", "denyWrite", "gitSafeDirectories", "allowGitConfig",
		"allowMandatory", "mandatoryDenySearchDepth", "disabled"}
	networkKeys = []string{"allowedDomains", "deniedDomains", "deniedDomainReasons", "allowUnixSockets", "disabled"}
	entryKeys   = []string{"path", "optional"}
)

func decodePolicy(data []byte) (p Policy, err error) {
	err = eachMember("", data, policyKeys, func(name, key string, raw []byte) error {
		if name == "filesystem" {
			p.Filesystem, err = decodeFilesystem(key, raw)
		} else {
			p.Network, err = decodeNetwork(key, raw)
		}
		return err
	})
	return p, err
}

func decodeFilesystem(at string, data []byte) (f Filesystem, err error) {
	err = eachMember(at, data, filesystemKeys, func(name, key string, raw []byte) error {
		switch name {
		case "allowRead":
			f.AllowRead, err = decodeList(key, raw, decodeEntry)
		case "denyRead":
			f.DenyRead, err = decodeList(key, raw, decodeEntry)
		case "allowWrite":
			f.AllowWrite, err = decodeList(key, raw, decodeEntry)
		case "denyWrite":
			f.DenyWrite, err = decodeList(key, raw, decodeEntry)
		case "gitSafeDirectories":
			f.GitSafeDirectories, err = decodeList(key, raw, decodeString)
		case "allowGitConfig":
			f.AllowGitConfig, err = decodeBool(key, raw)
		case "allowMandatory":
			f.AllowMandatory, err = decodeList(key, raw, decodeString)
		case "mandatoryDenySearchDepth":
			var depth int
			depth, err = decodeInt(key, raw)
			f.MandatoryDenySearchDepth = &depth
		case "disabled":
			f.Disabled, err = decodeBool(key, raw)
		}
		return err
	})
	return f, err
}

func decodeNetwork(at string, data []byte) (n Network, err error) {
	err = eachMember(at, data, networkKeys, func(name, key string, raw []byte) error {
		switch name {
		case "allowedDomains":
			n.AllowedDomains, err = decodeList(key, raw, decodeString)
		case "deniedDomains":
			n.DeniedDomains, err = decodeList(key, raw, decodeString)
		case "deniedDomainReasons":
			n.DeniedDomainReasons = map[string]string{}
			err = eachMember(key, raw, nil, func(name, key string, raw []byte) error {
				n.DeniedDomainReasons[name], err = decodeString(key, raw)
				return err
			})
		case "allowUnixSockets":
			n.AllowUnixSockets, err = decodeList(key, raw, decodeString)
		case "disabled":
			n.Unrestricted, err = decodeBool(key, raw)
		}
		return err
	})
	return n, err
}

func decodeEntry(key string, raw []byte) (e PathEntry, err error) {
	switch raw[0] {
	case '"':
		e.Path, err = decodeString(key, raw)
		return e, err
	case '{':
	default:
		return e, wrongType(key, raw, `a path, or an object with "path" and "optional"`)
	}
	err = eachMember(key, raw, entryKeys, func(name, key string, raw []byte) error {
		if name == "path" {
			e.Path, err = decodeString(key, raw)
		} else {
			e.Optional, err = decodeBool(key, raw)
		}
		return err
	})
	if err == nil && e.Path == "" {
		err = &Error{Key: key, Reason: `the object has no "path"`}
	}
	return e, err
}

// eachMember walks one object and refuses repeated keys, and unknown ones when known is not nil. encoding/json alone
// would take "ALLOWREAD" for "allowRead" and the last of two equal keys.
func eachMember(at string, data []byte, known []string, visit func(name, key string, raw []byte) error) error {
	if data = bytes.TrimSpace(data); data[0] != '{' {
		return wrongType(at, data, "an object")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return &Error{Key: at, Reason: "not JSON", Err: err}
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return &Error{Key: at, Reason: "not JSON", Err: err}
		}
		name, _ := token.(string) // a syntax check has been made: a key is a string
		key := join(at, name)
		if known != nil && !slices.Contains(known, name) {
			return unknownKey(at, name, known)
		}
		if seen[name] {
			return &Error{Key: key, Reason: "the key appears twice"}
		}
		seen[name] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return &Error{Key: key, Reason: "not JSON", Err: err}
		}
		if err := visit(name, key, raw); err != nil {
			return err
		}
	}
	return nil
}

func unknownKey(at, name string, known []string) error {
	e := &Error{Key: join(at, name), Reason: "unknown key", Nearest: nearest.Of(name, known)}
	if e.Nearest == "" {
		e.Reason += ", known here are " + strings.Join(known, ", ")
	}
	return e
}

// join makes a dotted key; a name that would not read as one is quoted.
func join(at, name string) string {
	plain := name != "" && len(name) <= maxShown && strings.IndexFunc(name, func(r rune) bool {
		return r != '*' && r != '.' && r != '-' && r != ':' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
	if !plain {
		name = strconv.Quote(shorten(name))
	}
	if at == "" {
		return name
	}
	return at + "." + name
}

// maxEntries bounds one list, so that a policy built in Go is bounded too.
const maxEntries = 10_000

func decodeList[T any](key string, raw []byte, decode func(string, []byte) (T, error)) ([]T, error) {
	if raw[0] != '[' {
		return nil, wrongType(key, raw, "a list")
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, &Error{Key: key, Reason: "not JSON", Err: err}
	}
	list := make([]T, len(items))
	for i, item := range items {
		var err error
		if list[i], err = decode(fmt.Sprintf("%s[%d]", key, i), item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func decodeString(key string, raw []byte) (string, error) {
	if raw[0] != '"' {
		return "", wrongType(key, raw, "a string")
	}
	if loneSurrogate(raw) {
		return "", &Error{Key: key, Value: string(raw), Reason: "half of a surrogate pair, which is no character"}
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", &Error{Key: key, Reason: "not JSON", Err: err}
	}
	return s, nil
}

// loneSurrogate finds a \u escape that encoding/json would turn into U+FFFD, so that the policy would name another path
// than it says.
func loneSurrogate(raw []byte) bool {
	unit := func(i int) (uint64, bool) {
		if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		return v, err == nil
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		u, ok := unit(i)
		switch {
		case !ok:
			i++ // a two-byte escape, such as \\
		case u >= 0xd800 && u < 0xdc00:
			if low, ok := unit(i + 6); !ok || low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 11
		case u >= 0xdc00 && u <= 0xdfff:
			return true
		default:
			i += 5
		}
	}
	return false
}

func decodeBool(key string, raw []byte) (bool, error) {
	switch string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, wrongType(key, raw, "true or false")
}

func decodeInt(key string, raw []byte) (int, error) {
	n, err := strconv.ParseUint(string(raw), 10, 31)
	if err != nil {
		return 0, wrongType(key, raw, "a whole number, zero or more")
	}
	return int(n), nil
}

func wrongType(key string, raw []byte, want string) error {
	e := &Error{Key: key, Reason: fmt.Sprintf("%s where %s belongs", describe(raw), want)}
	if string(raw) == "null" {
		e.Hint = "leave the key out"
	}
	return e
}

// describe names the type of a JSON value; for the short ones it shows the value.
func describe(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "the string " + shorten(string(raw))
	case 'n', 't', 'f':
		return string(raw)
	}
	return "the number " + shorten(string(raw))
}
