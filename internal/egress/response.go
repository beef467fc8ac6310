package egress

import (
	"slices"
	"strconv"
	"strings"
)

// response is the head of a host's answer.
type response struct {
	head
	status  int
	framing framing
	close   bool // the host will not take another request
	bare    bool // has no body, whatever its fields say
}

// parseResponse reads the head of the answer to a request.
func parseResponse(h head, r *request) (*response, error) {
	version, rest, _ := strings.Cut(h.first, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.ParseUint(code, 10, 16)
	if err != nil || len(code) != 3 || status < 100 || (version != "HTTP/1.1" && version != "HTTP/1.0") {
		return nil, headFault("a status line that is none")
	}
	a := &response{head: h, status: int(status)}
	a.bare = r.method == "HEAD" || status < 200 || status == 204 || status == 304
	a.close = version == "HTTP/1.0" || slices.Contains(h.connection, "close")
	if !a.bare {
		if a.framing, err = responseFraming(h); err != nil {
			return nil, err
		}
	}
	a.close = a.close || a.framing.length < 0
	return a, nil
}

// responseFraming finds out where the body of an answer ends (RFC 9112 6.3).
func responseFraming(h head) (framing, error) {
	lengths, encodings := h.values("Content-Length"), h.list("Transfer-Encoding")
	switch {
	case len(encodings) > 0 && len(lengths) > 0, len(slices.Compact(lengths)) > 1:
		return framing{}, headFault("an answer with two lengths")
	case slices.Equal(encodings, []string{"chunked"}):
		return framing{chunked: true}, nil
	case len(encodings) > 0:
		return framing{}, headFault("an answer in an encoding that is not chunked")
	case len(lengths) > 0:
		n, err := parseLength(lengths[0])
		return framing{length: n}, err
	}
	return framing{length: -1}, nil
}

// outgoing appends the head as it goes to the client. decoded says that the body goes without its chunks.
func (a *response) outgoing(b []byte, last, decoded bool) []byte {
	_, rest, _ := strings.Cut(a.first, " ")
	b = append(b, "HTTP/1.1 "...)
	b = append(b, rest...)
	b = append(b, "\r\n"...)
	b = a.endToEnd(b, true)
	lengths := a.values("Content-Length")
	switch {
	case a.status == 101:
		b = append(b, "Connection: Upgrade\r\nUpgrade: websocket\r\n"...)
	case a.framing.chunked && !decoded:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case !a.bare && !a.framing.chunked && a.framing.length >= 0:
		b = appendLength(b, a.framing.length)
	case a.bare && a.status >= 200 && a.status != 204 && len(lengths) == 1: // what the body of a GET would have
		if n, err := parseLength(lengths[0]); err == nil {
			b = appendLength(b, n)
		}
	}
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}
