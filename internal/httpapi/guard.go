package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// writeTimeout bounds the time in which a client must take an answer, or a piece of a stream.
const writeTimeout = time.Minute

// CheckListen refuses to serve an address that others can reach without a token; the error is dovetail.Invalid. Only the
// loopback addresses and localhost need none.
func CheckListen(addr, token string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return dovetail.Errorf(dovetail.Invalid, "cannot listen on %q: expected HOST:PORT, such as 127.0.0.1:7171", addr)
	}
	if token != "" || loopback(host) {
		return nil
	}
	return dovetail.Errorf(dovetail.Invalid,
		"refusing to listen on %q without a token: everybody who reaches it could run programs here; set DOVETAIL_TOKEN, or listen on 127.0.0.1",
		addr)
}

// loopback reports whether a host, with or without brackets, can only be this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// guard wraps the whole API: no panic escapes, no browser is used against the user, nobody enters without the token.
func (s *server) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recover(w, r)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not all writers can
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if p := s.refuseBrowser(r); p != nil {
			p.send(w)
			return
		}
		if s.token != "" && r.URL.Path != "/healthz" {
			scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			got := sha256.Sum256([]byte(strings.TrimSpace(given)))
			if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
				problem(http.StatusUnauthorized, dovetail.Unauthorized,
					"this daemon wants its token in the header Authorization: Bearer TOKEN; the token is missing or wrong").send(w)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// recover answers 500 after a panic, and tells only the log why.
func (s *server) recover(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	s.log.ErrorContext(r.Context(), "panic in a request", "method", r.Method, "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	if t, ok := w.(*tracked); ok && t.status != 0 {
		panic(http.ErrAbortHandler) // the answer is half sent: cut it off visibly
	}
	problem(http.StatusInternalServerError, dovetail.Internal, "the daemon failed; its log says why").send(w)
}

// refuseBrowser refuses what a web page of somebody else makes a browser send. A daemon without a token trusts everybody
// on this machine, the browser too; so the page must not reach it through a name that it made resolve to a loopback
// address (DNS rebinding: the Host header shows it), nor directly (the Origin header shows it).
func (s *server) refuseBrowser(r *http.Request) *Problem {
	if s.token == "" {
		host := r.Host
		if h, _, err := net.SplitHostPort(r.Host); err == nil {
			host = h
		}
		if !loopback(host) {
			return problem(http.StatusForbidden, dovetail.Unauthorized,
				"without a token this daemon answers only to localhost, 127.0.0.1 and [::1]; it was called by another name in the Host header")
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		link := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" && !link {
			return foreign()
		}
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
		return foreign()
	}
	return nil
}

func foreign() *Problem {
	return problem(http.StatusForbidden, dovetail.Unauthorized, "a web page of another site may not use this daemon")
}

// tracked remembers whether an answer has begun.
type tracked struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the status.
func (t *tracked) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

// Write begins the answer.
func (t *tracked) Write(p []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	return t.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }
