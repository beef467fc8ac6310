package egress

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sallyport/policy"
)

// What was tried.
const (
	OpConnect = "connect"
	OpResolve = "resolve"
)

// The codes of refusals, as a program sees them in the header X-Proxy-Error.
const (
	CodeAllowList = "blocked-by-allowlist"       // the host is not on the list, or is no host
	CodeDenyList  = "blocked-by-denylist"        // a denied domain
	CodeRuntime   = "blocked-by-sandbox-runtime" // the name is allowed; its address, server name or number is not
	CodeRequest   = "bad-request"                // two programs could read the request in two ways
)

// What decides besides the lists of the policy, as Refusal.Rule.List.
const (
	ListAddress    = "address"    // an allowed name led to an address that needs a grant of its own
	ListServerName = "serverName" // the TLS server name is not the name that was granted
	ListLimit      = "limit"      // a limit of the child
	ListProtocol   = "protocol"   // what was sent is not what the port speaks
)

// policyNotFault ends every text about a refusal: a model that reads it must not look for flags.
const policyNotFault = "This is policy, not a fault: other flags will not help."

// Refusal is one thing that was refused: an error, and a record.
type Refusal struct {
	Time      time.Time
	Operation string // OpConnect or OpResolve
	// Host is the canonical host, or what was sent instead of one, quoted and shortened.
	Host string
	Port int // 0 when none was named
	Code string
	Rule policy.Rule
	// Reason is a sentence: "tried to connect to api.example.com:443, which is not on the allow-list".
	Reason string
	Remedy string
	// PID and Program say who tried, when it is known: see ConnectCaptured.
	PID     int
	Program string
	// How is what the child got: "HTTP 403", "SOCKS 2", "DNS REFUSED", "EACCES", "TLS alert", "cut".
	How string
}

// Error is the reason, in one line.
func (r *Refusal) Error() string { return r.Reason }

// Target is "host:port", or the host alone when no port was named.
func (r *Refusal) Target() string {
	if r.Port == 0 {
		return r.Host
	}
	return joinHostPort(r.Host, r.Port)
}

// RuleText is the rule in one line: its list, its entry, and why it is there.
func (r *Refusal) RuleText() string {
	text := r.Rule.List
	if r.Rule.Entry != "" {
		text += " " + strconv.Quote(r.Rule.Entry)
	}
	if r.Rule.Why != "" {
		text += ": " + r.Rule.Why
	}
	return text
}

// Failure says that something was allowed and the network did not do it. Its text names no server but the one asked for.
type Failure struct {
	Host  string
	Port  int
	Errno string // as connect(2) would give it: ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH
	// Reason is a clause: "the connection was refused there".
	Reason string
	err    error
}

// Error is one line for the child: it leaves out the cause, which may name resolvers and interfaces of the host.
func (f *Failure) Error() string {
	return "connect to " + joinHostPort(f.Host, f.Port) + ": " + f.Reason
}

// Unwrap gives the cause, for the host.
func (f *Failure) Unwrap() error { return f.err }

func joinHostPort(host string, port int) string {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, `"`) {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

const maxShown = 120 // bytes of something a child sent that are worth repeating

// shown is a host that can stand in a line: canonical, or quoted.
func shown(host string) string {
	if c, err := policy.CanonicalHost(host); err == nil {
		return c
	}
	return quoted(host)
}

func quoted(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "…"
	}
	return strconv.QuoteToASCII(s)
}

// fromDecision makes the refusal of a decision of the policy.
func fromDecision(operation, host string, port int, d policy.Decision) *Refusal {
	r := &Refusal{Operation: operation, Host: shown(host), Port: port, Code: CodeAllowList, Rule: d.Rule, Reason: d.Reason, Remedy: d.Remedy}
	if d.Rule.List == "deniedDomains" {
		r.Code = CodeDenyList
	}
	if operation == OpResolve {
		r.Reason = strings.Replace(r.Reason, "tried to connect to ", "tried to resolve ", 1)
	}
	return r
}

// protocolFault refuses a request that is not judged at all, because what it means is not certain.
func protocolFault(host string, port int, format string, args ...any) *Refusal {
	what := fmt.Sprintf(format, args...)
	return &Refusal{
		Operation: OpConnect, Host: host, Port: port, Code: CodeRequest,
		Rule:   policy.Rule{List: ListProtocol, Index: -1, Why: "a request that can be read in two ways is not forwarded"},
		Reason: "sent the proxy a request that it does not forward: " + what,
		Remedy: "send a plain HTTP/1.1 proxy request, CONNECT, or SOCKS5",
	}
}

func bytesReached(t target) *Refusal {
	return limitReached(t.host, t.port, "bytes", "raise the limit of bytes, or have the command move less")
}

func limitReached(host string, port int, what, remedy string) *Refusal {
	return &Refusal{
		Operation: OpConnect, Host: host, Port: port, Code: CodeRuntime,
		Rule:   policy.Rule{List: ListLimit, Entry: what, Index: -1, Why: "a limit of this sandbox"},
		Reason: "tried to connect to " + joinHostPort(host, port) + ", over the limit of " + what,
		Remedy: remedy,
	}
}
