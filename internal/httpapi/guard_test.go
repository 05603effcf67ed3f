package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
)

func TestCheckListen(t *testing.T) {
	tests := []struct {
		addr, token string
		ok          bool
		reason      string
	}{
		{"127.0.0.1:7171", "", true, "only this machine reaches it"},
		{"127.8.9.1:0", "", true, "all of 127/8 is loopback"},
		{"[::1]:7171", "", true, "loopback of IPv6"},
		{"[::ffff:127.0.0.1]:7171", "", true, "loopback of IPv4, written as IPv6"},
		{"localhost:7171", "", true, "the name of loopback"},
		{"LocalHost:7171", "", true, "names have no case"},
		{":7171", "", false, "an empty host means all interfaces"},
		{"0.0.0.0:7171", "", false, "all interfaces"},
		{"[::]:7171", "", false, "all interfaces of IPv6"},
		{"192.168.1.5:7171", "", false, "the network reaches it"},
		{"localhost.example.com:7171", "", false, "somebody else's name"},
		{"0.0.0.0:7171", "s3cret", true, "a token guards it"},
		{"7171", "s3cret", false, "no address"},
		{"", "", false, "nothing"},
	}
	for _, tt := range tests {
		err := httpapi.CheckListen(tt.addr, tt.token)
		if (err == nil) != tt.ok || (err != nil && dovetail.CodeOf(err) != dovetail.Invalid) {
			t.Errorf("%q with token %q: %v; %s", tt.addr, tt.token, err, tt.reason)
		}
	}
}

func TestGuard(t *testing.T) {
	const bearer = "Authorization: Bearer s3cret"
	tests := []struct {
		reason, token, request string
		headers                []string
		status                 int
	}{
		{"no token is needed", "", "GET /v1/runs", nil, 200},
		{"the right token", "s3cret", "GET /v1/runs", []string{bearer}, 200},
		{"schemes have no case", "s3cret", "GET /v1/runs", []string{"Authorization: bearer s3cret"}, 200},
		{"the token is missing", "s3cret", "GET /v1/runs", nil, 401},
		{"the token is wrong", "s3cret", "GET /v1/runs", []string{"Authorization: Bearer s3cre"}, 401},
		{"the token is empty", "s3cret", "GET /v1/runs", []string{"Authorization: Bearer "}, 401},
		{"another scheme", "s3cret", "GET /v1/runs", []string{"Authorization: Basic s3cret"}, 401},
		{"unknown paths say nothing to strangers", "s3cret", "GET /nowhere", nil, 401},
		{"metrics are not for strangers", "s3cret", "GET /metrics", nil, 401},
		{"the document is not for strangers", "s3cret", "GET /openapi.yaml", nil, 401},
		{"event streams are not for strangers", "s3cret", "GET /v1/watch", nil, 401},
		{"liveness is for everybody", "s3cret", "GET /healthz", nil, 200},
		{"the loopback name", "", "GET /v1/runs", []string{"Host: localhost:7171"}, 200},
		{"loopback of IPv6", "", "GET /v1/runs", []string{"Host: [::1]:7171"}, 200},
		{"loopback of IPv6 at the default port", "", "GET /v1/runs", []string{"Host: [::1]"}, 200},
		{"a name that was made to resolve to loopback", "", "GET /v1/runs", []string{"Host: evil.example:7171"}, 403},
		{"the same, at liveness", "", "GET /healthz", []string{"Host: evil.example:7171"}, 403},
		{"with a token any name will do", "s3cret", "GET /v1/runs", []string{"Host: dovetail.example", bearer}, 200},
		{"a page of another site posts", "", "POST /v1/runs/1/cancel", []string{"Origin: http://evil.example"}, 403},
		{"a page of another port posts", "", "POST /v1/runs/1/cancel", []string{"Origin: http://127.0.0.1:3000"}, 403},
		{"a page without an origin posts", "", "POST /v1/runs/1/cancel", []string{"Origin: null"}, 403},
		{"a page of another site reads", "", "GET /v1/runs", []string{"Origin: https://evil.example"}, 403},
		{"an old-fashioned form of another site", "", "POST /v1/runs/1/cancel", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		{"a page of the daemon itself", "", "POST /v1/runs/1/hold", []string{"Origin: http://127.0.0.1:7171", "Sec-Fetch-Site: same-origin"}, 200},
		{"a link from another site", "", "GET /", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200},
		{"a form of another site navigates", "", "POST /v1/runs/1/cancel", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 403},
	}
	f := submitted(t, 1)
	handlers := map[string]http.Handler{}
	for _, token := range []string{"", "s3cret"} {
		handlers[token] = handler(t, f, func(o *httpapi.Options) { o.Token = token })
	}
	for _, tt := range tests {
		w := call(t, handlers[tt.token], tt.request, "", tt.headers...)
		if w.Code != tt.status {
			t.Errorf("%s: %s: %d %s, want %d", tt.reason, tt.request, w.Code, w.Body, tt.status)
		}
		if w.Code == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: 401 without WWW-Authenticate", tt.reason)
		}
	}
}
