package live

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// world is the servers behind every address, and what has reached them.
type world struct {
	t     *testing.T
	dir   string
	ca    string // a file with the one authority that all certificates are from
	mux   *http.ServeMux
	sshLn net.Listener

	mu   sync.Mutex
	hits []string
	zone map[string][]string // name with its dot → addresses
}

// The names of a world and where they lead. Public addresses: special ones are refused for being that.
var worldZone = map[string][]string{
	"api.example.test.":      {"93.184.216.34"},
	"other.example.test.":    {"93.184.216.35"},
	"deep.sub.example.test.": {"93.184.216.36"},
	"example.test.":          {"93.184.216.37"},
	"evil.test.":             {"93.184.217.1"},
	"evilexample.test.":      {"93.184.217.2"},
	"api.example.test.evil.": {"93.184.217.3"},
	"loop.example.test.":     {"127.0.0.1"},
	"private.example.test.":  {"10.1.2.3"},
	"metadata.example.test.": {"169.254.169.254"},
	"mixed.example.test.":    {"10.1.2.3", "93.184.216.38"},
}

// openWorld starts the servers on the sockets that this process was started with.
func openWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: newField(t).dir, mux: http.NewServeMux(), zone: map[string][]string{}}
	for name, a := range worldZone {
		w.zone[name] = a
	}
	w.mux.HandleFunc("/", w.greet)
	w.mux.HandleFunc("/bytes", w.bytes)
	w.mux.HandleFunc("/slow", w.slow)
	var listeners []net.Listener
	var packets net.PacketConn
	for i, s := range worldSockets {
		f := os.NewFile(uintptr(firstWorldFD+i), s.network+" "+s.address)
		if s.network == "udp4" {
			c, err := net.FilePacketConn(f)
			require.NoError(t, err)
			packets = c
		} else {
			l, err := net.FileListener(f)
			require.NoError(t, err)
			listeners = append(listeners, l)
		}
		require.NoError(t, f.Close())
	}
	w.sshLn = listeners[4]
	tlsConfig := w.certificates()
	w.serveHTTP(listeners[0], nil)
	w.serveHTTP(listeners[1], tlsConfig)
	w.serveHTTP(listeners[3], nil)
	w.serveDNS(&dns.Server{Listener: listeners[2]})
	w.serveDNS(&dns.Server{PacketConn: packets})
	return w
}

func (w *world) serveHTTP(l net.Listener, config *tls.Config) {
	s := &http.Server{Handler: w.mux, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if config != nil {
			_ = s.ServeTLS(l, "", "")
			return
		}
		_ = s.Serve(l)
	}()
	w.t.Cleanup(func() {
		_ = s.Close() // a client may hold a connection open; what it says then is of no use
		<-done
	})
}

func (w *world) serveDNS(s *dns.Server) {
	s.Handler = dns.HandlerFunc(w.resolve)
	started, done := make(chan struct{}), make(chan struct{})
	s.NotifyStartedFunc = func() { close(started) }
	go func() {
		defer close(done)
		_ = s.ActivateAndServe()
	}()
	<-started
	w.t.Cleanup(func() {
		_ = s.Shutdown()
		<-done
	})
}

// resolve answers from the zone, and writes the question down.
func (w *world) resolve(out dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	for _, question := range q.Question {
		name := strings.ToLower(question.Name)
		w.note("dns " + name)
		w.mu.Lock()
		addresses, ok := w.zone[name]
		w.mu.Unlock()
		if !ok {
			m.Rcode = dns.RcodeNameError
		}
		for _, a := range addresses {
			if ip := net.ParseIP(a); ip.To4() != nil && question.Qtype == dns.TypeA {
				m.Answer = append(m.Answer, &dns.A{Hdr: dns.RR_Header{Name: question.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: ip})
			}
		}
	}
	_ = out.WriteMsg(m)
}

// set changes where a name leads.
func (w *world) set(name string, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.zone[name+"."] = addresses
}

func (w *world) note(hit string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hits = append(w.hits, hit)
}

// seen takes what has reached a server, or the name server, since the last call, without repetitions.
func (w *world) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	hits := w.hits
	w.hits = nil
	slices.Sort(hits)
	return slices.Compact(hits)
}

// reached are the hits of a kind ("http", "dns") among what was seen.
func reached(seen []string, kind string) []string {
	var of []string
	for _, s := range seen {
		if k, rest, _ := strings.Cut(s, " "); k == kind {
			of = append(of, rest)
		}
	}
	return of
}

// greet is the page of every host. It says which one was meant.
func (w *world) greet(out http.ResponseWriter, r *http.Request) {
	w.note("http " + w.name(r))
	fmt.Fprintf(out, "welcome to %s\n", r.Host)
}

func (w *world) name(r *http.Request) string {
	local := r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()
	if r.TLS != nil {
		return "https " + r.Host + " at " + local
	}
	return r.Host + " at " + local
}

// bytes is a body of ?n= bytes.
func (w *world) bytes(out http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(r.FormValue("n"), 10, 64)
	if err != nil || n < 0 || n > 1<<30 {
		http.Error(out, "n", http.StatusBadRequest)
		return
	}
	out.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	chunk := make([]byte, 256<<10)
	for n > 0 {
		m, err := out.Write(chunk[:min(n, int64(len(chunk)))])
		if err != nil {
			return
		}
		n -= int64(m)
	}
}

// slow sends a line and then one every 20 ms, until the client has gone or a minute is over.
func (w *world) slow(out http.ResponseWriter, r *http.Request) {
	w.note("http " + w.name(r))
	for range 3000 {
		if _, err := io.WriteString(out, "still here\n"); err != nil {
			return
		}
		if err := http.NewResponseController(out).Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			w.note("gone " + r.Host)
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// certificates makes an authority, writes it down, and answers each name with a certificate of it.
func (w *world) certificates() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(w.t, err)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	require.NoError(w.t, err)
	w.ca = filepath.Join(w.dir, "ca.pem")
	require.NoError(w.t, os.WriteFile(w.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	var serial int64 = 1
	var mu sync.Mutex
	return &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		serial++
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: hello.ServerName}, DNSNames: []string{hello.ServerName},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		mu.Unlock()
		der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, key)
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
	}}
}

// environment makes the clients trust the world's authority.
func (w *world) environment() []string {
	var env []string
	for _, name := range []string{"CURL_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE"} {
		env = append(env, name+"="+w.ca)
	}
	return env
}
