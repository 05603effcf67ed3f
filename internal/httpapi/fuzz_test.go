package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzBodies demands that no body, and no query, makes the API fail or panic: what is wrong is the client's fault.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		"", "{}", "null", "[", `{"spec":""}`, `{"spec":{}}`, `{"spec":{"name":1}}`, `{"spec":"name: x","params":{"a":null}}`,
		`{"priority":1e400}`, `{"priority":-1}`, `{"policy":"fifo","maxWait":"1h"}`, envelope(f, ""), envelope(f, `,"params":{"input":"\u0000"}`),
		strings.Repeat(`{"spec":`, 1000), wordcount, string(knowledge(f, acquainted()...)), `{"version":1,"classes":[null]}`,
		`{"version":1,"classes":[{"class":"a","preferences":[{"class":"b","h":1e9}]}]}`, `{"classes":[],"classes":[]}`, "a: &a [*a]", "\xff\xfe",
	} {
		f.Add(body, "limit=1&state=queued", byte(0))
		f.Add(body, "param=input=x&name=%00", byte(1))
		f.Add(body, "", byte(4))
		f.Add(body, "", byte(5))
	}
	fake := submitted(f, 1)
	h := handler(f, fake)
	targets := []struct{ method, path, kind string }{
		{"POST", "/v1/runs", "application/json"},
		{"POST", "/v1/runs", "application/yaml"},
		{"PATCH", "/v1/runs/1", "application/json"},
		{"PUT", "/v1/config", "application/json"},
		{"POST", "/v1/neighbours", "application/json"},
		{"PUT", "/v1/neighbours", "application/json"},
		{"GET", "/v1/runs", ""},
		{"GET", "/v1/neighbours", ""},
		{"GET", "/v1/events", ""},
		{"GET", "/v1/runs/1/logs", ""},
	}
	f.Fuzz(func(t *testing.T, body, query string, which byte) {
		target := targets[int(which)%len(targets)]
		r := httptest.NewRequest(target.method, target.path, strings.NewReader(body))
		r.Host, r.URL.RawQuery = "localhost", query
		r.Header.Set("Content-Type", target.kind)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%s %s?%s with %q: %d %s", target.method, target.path, query, body, w.Code, w.Body)
		}
	})
}
