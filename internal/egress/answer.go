package egress

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// answer is what the proxy itself says: a status line, and a body that explains it.
type answer struct {
	status int
	phrase string
	code   string
	text   string
	json   any
}

var titles = map[string]string{
	CodeAllowList: "Connection blocked by network allowlist",
	CodeDenyList:  "Connection blocked by network denylist",
	CodeRuntime:   "Connection blocked by sandbox runtime",
	CodeRequest:   "Request not forwarded by the sandbox's proxy",
}

// refusalJSON is the body for a program that accepts JSON.
type refusalJSON struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
	Remedy  string `json:"remedy"`
	Note    string `json:"note"`
}

func answerRefusal(r *Refusal) answer {
	a := answer{status: 403, code: r.Code, phrase: titles[r.Code] + ": " + r.Target()}
	switch {
	case r.Code == CodeRequest:
		a.status, a.phrase = 400, r.Reason
	case r.Rule.List == ListLimit:
		a.status = 503
	}
	a.text = fmt.Sprintf("%s\n\nThis sandbox %s.\nhost: %s\nport: %d\nrule: %s\nremedy: %s\n%s\n",
		titles[r.Code], r.Reason, r.Host, r.Port, r.RuleText(), r.Remedy, policyNotFault)
	a.json = refusalJSON{r.Code, titles[r.Code], r.Host, r.Port, r.RuleText(), r.Reason, r.Remedy, policyNotFault}
	return a
}

func answerFailure(f *Failure) answer {
	a := answer{status: 502, code: "upstream-failed", phrase: "Upstream failed: " + f.Error()}
	if f.Errno == "ETIMEDOUT" {
		a.status = 504
	}
	note := "The policy allows this host. This is a fault of the network or of the host, not of the sandbox."
	a.text = f.Error() + "\n" + note + "\n"
	a.json = refusalJSON{Error: a.code, Message: f.Error(), Host: f.Host, Port: f.Port, Reason: f.Reason, Note: note}
	return a
}

// answerError words either kind. Anything else would be a fault of this package, and says so.
func answerError(err error) answer {
	var r *Refusal
	var f *Failure
	switch {
	case errors.As(err, &r):
		return answerRefusal(r)
	case errors.As(err, &f):
		return answerFailure(f)
	}
	return answer{status: 500, code: "internal", phrase: "Internal error", text: "The proxy failed.\n", json: refusalJSON{Error: "internal"}}
}

// bytes writes the answer out, to a request with that head.
func (a answer) bytes(h head, withBody, last bool) []byte {
	body, kind := []byte(a.text), "text/plain; charset=utf-8"
	if wantsJSON(h) {
		if text, err := json.Marshal(a.json); err == nil {
			body, kind = append(text, '\n'), "application/json"
		}
	}
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nX-Proxy-Error: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\n",
		a.status, onOneLine(a.phrase), a.code, kind, len(body))
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	if withBody {
		b = append(b, body...)
	}
	return b
}

// wantsJSON says whether a program asks for JSON by name; "*/*" does not.
func wantsJSON(h head) bool {
	for _, m := range h.list("Accept") {
		kind, _, _ := strings.Cut(m, ";")
		if strings.Trim(kind, " ") == "application/json" {
			return true
		}
	}
	return false
}

// onOneLine makes a text fit for a status line: printable ASCII, and short.
func onOneLine(s string) string {
	if len(s) > 400 {
		s = s[:400]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
