package httpapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// handler returns an API on the fake. Changes may be made to its options.
func handler(t testing.TB, f *fake, changes ...func(*httpapi.Options)) http.Handler {
	t.Helper()
	o := httpapi.Options{Engine: f, Reader: f, Logs: f, Version: "test", MaxBody: 64 << 10}
	for _, c := range changes {
		c(&o)
	}
	h, err := httpapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// call makes one request: method and path, headers as "Name: value", and the body.
func call(t testing.TB, h http.Handler, request string, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:7171"
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// submitted returns a fake with n runs.
func submitted(t testing.TB, n int) *fake {
	t.Helper()
	f := newFake(t)
	app, err := describe.Application([]byte(wordcount), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, _, err := f.Submit(t.Context(), engine.Submission{App: app, Params: map[string]string{"input": "small"}}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func decode[T any](t testing.TB, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("decode %s: %v", w.Body, err)
	}
	return v
}

func TestRoutes(t *testing.T) {
	tests := []struct {
		reason, request, body string
		headers               []string
		status                int
		contains              string
	}{
		{"the index says where to go on", "GET /", "", nil, 200, "/openapi.yaml"},
		{"the process answers", "GET /healthz", "", nil, 200, "ok"},
		{"the engine is ready", "GET /readyz", "", nil, 200, `{"ready":true}`},
		{"the version is told", "GET /v1/version", "", nil, 200, `"version":"test"`},
		{"editors get the schema", "GET /v1/schema/application.json", "", nil, 200, `"$schema"`},
		{"the document as JSON", "GET /openapi.json", "", nil, 200, `"openapi":"3.1.0"`},
		{"the document as YAML", "GET /openapi.yaml", "", nil, 200, `openapi: 3.1.0`},
		{"metrics", "GET /metrics", "", nil, 200, "dovetail_turns_total 7"},
		{"submit YAML in JSON", "POST /v1/runs", envelope(t, `,"name":"mine"`), nil, 201, `"name":"mine"`},
		{"submit a JSON object", "POST /v1/runs", `{"spec":{"apiVersion":"dovetail/v1","name":"a","components":[{"name":"c","command":["x"],"count":1,"resources":{"cpu":"1"}}]}}`, nil, 201, `"app":"a"`},
		{"submit bare YAML", "POST /v1/runs?name=bare&param=input=big&user=me&hold=true", wordcount, []string{"Content-Type: application/yaml"}, 201, `"held":true`},
		{"dry run", "POST /v1/runs?dryRun=true", envelope(t, ""), nil, 200, `"text":"it starts at once"`},
		{"dry run of bare YAML", "POST /v1/runs?dryRun=true", wordcount, []string{"Content-Type: text/yaml"}, 200, `"plan"`},
		{"list", "GET /v1/runs", "", nil, 200, `"id":2`},
		{"list by state", "GET /v1/runs?state=running&state=starting", "", nil, 200, `{"runs":[]}`},
		{"list by time", "GET /v1/runs?since=2099-01-01T00:00:00Z", "", nil, 200, `{"runs":[]}`},
		{"show by number", "GET /v1/runs/1", "", nil, 200, `"replicas":[]`},
		{"show by name", "GET /v1/runs/wordcount-2", "", nil, 200, `"id":2`},
		{"hold", "POST /v1/runs/1/hold", "", nil, 200, `"held":true`},
		{"cancel", "POST /v1/runs/1/cancel", "", nil, 200, `"outcome":"cancelled"`},
		{"prioritise", "PATCH /v1/runs/1", `{"priority": 5}`, nil, 200, `"priority":5`},
		{"explain", "GET /v1/runs/1/explain", "", nil, 200, `"run":1`},
		{"events of a run", "GET /v1/runs/2/events", "", nil, 200, `"seq":2`},
		{"events by type", "GET /v1/events?type=up", "", nil, 200, `{"events":[]}`},
		{"the last event", "GET /v1/events?tail=1", "", nil, 200, `{"events":[{"seq":2,`},
		{"nodes", "GET /v1/nodes", "", nil, 200, `"name":"n1"`},
		{"cordon", "POST /v1/nodes/n1/cordon", "", nil, 200, `"cordoned":true`},
		{"uncordon", "POST /v1/nodes/n1/uncordon", "", nil, 200, `"up":true`},
		{"drain", "POST /v1/nodes/n1/drain", "", nil, 200, `"draining":true`},
		{"configuration", "GET /v1/config", "", nil, 200, `"alloc":"flexible"`},
		{"configure", "PUT /v1/config", `{"policy":"fifo","alloc":"rigid","reclaim":"any","place":"zoe"}`, nil, 200, `"alloc":"rigid"`},
		{"history", "GET /v1/history?app=wordcount", "", nil, 200, `{"history":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			w := call(t, handler(t, submitted(t, 2)), tt.request, tt.body, tt.headers...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.contains) {
				t.Errorf("%s: %d %s\nwant %d with %s", tt.request, w.Code, w.Body, tt.status, tt.contains)
			}
		})
	}
}

// meter says of every replica that it consumed a second.
type meter struct{}

func (meter) Usage(dovetail.Replica) (dovetail.Usage, bool) {
	return dovetail.Usage{CPU: time.Second}, true
}

func TestUsageOfLivingReplicas(t *testing.T) {
	f := submitted(t, 1)
	at := time.Now()
	of := func(index int, up, down *time.Time) dovetail.ReplicaStatus {
		return dovetail.ReplicaStatus{Replica: dovetail.Replica{Run: 1, Index: index}, Up: up, Down: down, Usage: dovetail.Usage{CPU: time.Minute}}
	}
	f.replicas = []dovetail.ReplicaStatus{of(0, nil, nil), of(1, &at, nil), of(2, &at, &at)}
	h := handler(t, f, func(o *httpapi.Options) { o.Meter = meter{} })
	var got []time.Duration
	for _, r := range decode[client.RunDetail](t, call(t, h, "GET /v1/runs/1", "")).Replicas {
		got = append(got, r.Usage.CPU)
	}
	if want := []time.Duration{time.Minute, time.Second, time.Minute}; !slices.Equal(got, want) {
		t.Errorf("CPU time of a replica that starts, one that lives and one that ended: %v, want %v", got, want)
	}
}

func TestBadRequests(t *testing.T) {
	const json, yaml = "Content-Type: application/json", "Content-Type: application/yaml"
	tests := []struct {
		reason, request, body string
		headers               []string
		status                int
		code                  dovetail.ErrorCode
		contains              string
	}{
		{"no body", "POST /v1/runs", "", nil, 400, "invalid", "ends early"},
		{"half a body", "POST /v1/runs", `{"spec": `, nil, 400, "invalid", "ends early"},
		{"no JSON", "POST /v1/runs", "spec: x", nil, 400, "invalid", "invalid character 's'"},
		{"JSON that is no object", "POST /v1/runs", `[1]`, nil, 422, "invalid", "expected a JSON object"},
		{"text behind the object", "POST /v1/runs", envelope(t, "") + "{}", nil, 422, "invalid", "after the end"},
		{"unknown member", "POST /v1/runs", envelope(t, `,"prio":1`), nil, 422, "invalid", `"prio","message":"unknown member`},
		{"member in capitals", "POST /v1/runs", envelope(t, `,"Name":"x"`), nil, 422, "invalid", "unknown member"},
		{"member given twice", "POST /v1/runs", envelope(t, `,"name":"x","name":"y"`), nil, 422, "invalid", "given twice"},
		{"parameter given twice", "POST /v1/runs", envelope(t, `,"params":{"input":"a","input":"b"}`), nil, 422, "invalid", `"params.input","message":"is given twice"`},
		{"member of the wrong type", "POST /v1/runs", envelope(t, `,"hold":"yes"`), nil, 422, "invalid", "expected true or false, found string"},
		{"parameter that is no string", "POST /v1/runs", envelope(t, `,"params":{"input":1}`), nil, 422, "invalid", "expected a string"},
		{"no description", "POST /v1/runs", `{"name":"x"}`, nil, 422, "invalid", `"spec"`},
		{"description that is a number", "POST /v1/runs", `{"spec":1}`, nil, 422, "invalid", `"spec"`},
		{"unknown field in the description", "POST /v1/runs", strings.Replace(wordcount, "count: 1", "cuont: 1", 1), []string{yaml}, 422, "invalid", `"line":8`},
		{"unknown parameter", "POST /v1/runs", envelope(t, `,"params":{"x":"1"}`), nil, 422, "invalid", "params.x"},
		{"parameter without value", "POST /v1/runs?param=x", wordcount, []string{yaml}, 422, "invalid", "name=value"},
		{"parameter given twice in the query", "POST /v1/runs?param=input=a&param=input=b", wordcount, []string{yaml}, 422, "invalid", "each name once"},
		{"query beside JSON", "POST /v1/runs?name=x", envelope(t, ""), nil, 422, "invalid", "belongs into the body"},
		{"name that is a number", "POST /v1/runs", envelope(t, `,"name":"12"`), nil, 422, "invalid", "must not be a number"},
		{"name with a slash", "POST /v1/runs", envelope(t, `,"name":"a/b"`), nil, 422, "invalid", "letters, digits"},
		{"name that is too long", "POST /v1/runs", envelope(t, `,"name":"`+strings.Repeat("x", 64)+`"`), nil, 422, "invalid", "63 at most"},
		{"user with a line break", "POST /v1/runs", envelope(t, `,"user":"a\nb"`), nil, 422, "invalid", "printable"},
		{"key that is too long", "POST /v1/runs", envelope(t, ""), []string{"Idempotency-Key: " + strings.Repeat("k", 257)}, 422, "invalid", "256 bytes"},
		{"two keys", "POST /v1/runs", envelope(t, `,"key":"a"`), []string{"Idempotency-Key: b"}, 422, "invalid", "differ"},
		{"bad UTF-8 in JSON", "POST /v1/runs", "{\n\"spec\":\"\xff\"}", []string{json}, 400, "invalid", `"line":2,"column":8`},
		{"bad UTF-8 in YAML", "POST /v1/runs", "name: \xff", []string{yaml}, 400, "invalid", "not UTF-8"},
		{"body of another type", "POST /v1/runs", "x=1", []string{"Content-Type: application/x-www-form-urlencoded"}, 415, "invalid", "expected application/json"},
		{"body that is too large", "POST /v1/runs", strings.Repeat(" ", 10<<20), nil, 413, "invalid", "larger than 65536 bytes"},
		{"unknown query parameter", "GET /v1/runs?sate=queued", "", nil, 422, "invalid", "known are state, outcome"},
		{"query of the wrong type", "GET /v1/runs?limit=many", "", nil, 422, "invalid", "query.limit"},
		{"limit out of range", "GET /v1/runs?limit=1001", "", nil, 422, "invalid", "query.limit"},
		{"unknown state", "GET /v1/runs?state=asleep", "", nil, 422, "invalid", "query.state"},
		{"no time", "GET /v1/runs?since=yesterday", "", nil, 422, "invalid", "query.since"},
		{"unknown run", "GET /v1/runs/99", "", nil, 404, "not_found", "no run"},
		{"run 0", "GET /v1/runs/0", "", nil, 404, "not_found", "no run"},
		{"number that overflows", "GET /v1/runs/99999999999999999999", "", nil, 404, "not_found", "no run"},
		{"unknown name", "GET /v1/runs/nobody", "", nil, 404, "not_found", "no run"},
		{"the application's name is not the run's", "GET /v1/runs/wordcount", "", nil, 404, "not_found", "no run"},
		{"pattern in place of a name", "POST /v1/runs/wordcount*/cancel", "", nil, 404, "not_found", "no run"},
		{"path traversal", "GET /v1/runs/..%2f..%2fetc%2fpasswd", "", nil, 404, "not_found", "no run"},
		{"cancel of an unknown run", "POST /v1/runs/99/cancel", "", nil, 404, "not_found", ""},
		{"events of an unknown run", "GET /v1/runs/99/events", "", nil, 404, "not_found", ""},
		{"tail -1 of a list", "GET /v1/events?tail=-1", "", nil, 422, "invalid", "stream"},
		{"strange Last-Event-ID", "GET /v1/watch", "", []string{"Last-Event-ID: x"}, 422, "invalid", "Last-Event-ID"},
		{"nothing to change", "PATCH /v1/runs/1", `{}`, nil, 422, "invalid", "priority"},
		{"priority that is no number", "PATCH /v1/runs/1", `{"priority":"high"}`, nil, 422, "invalid", "expected a number"},
		{"unknown node", "POST /v1/nodes/n9/cordon", "", nil, 404, "not_found", ""},
		{"unknown member of the configuration", "PUT /v1/config", `{"polic":"fifo"}`, nil, 422, "invalid", "unknown member"},
		{"unknown policy", "PUT /v1/config", `{"policy":"x","alloc":"rigid","reclaim":"any","place":"zoe"}`, nil, 422, "invalid", ""},
		{"wrong duration", "PUT /v1/config", `{"maxWait":"soon"}`, nil, 422, "invalid", "90s"},
		{"log of an unknown component", "GET /v1/runs/1/logs?component=..%2f..", "", nil, 404, "not_found", "it has master worker"},
		{"log of a replica that never was", "GET /v1/runs/1/logs?component=worker&index=7", "", nil, 404, "not_found", "worker.7"},
		{"log of a strange stream", "GET /v1/runs/1/logs?stream=..%2fpasswd", "", nil, 422, "invalid", "query.stream"},
		{"negative offset", "GET /v1/runs/1/logs?offset=-1", "", nil, 422, "invalid", "query.offset"},
		{"unknown path", "GET /v2/runs", "", nil, 404, "not_found", "/openapi.yaml"},
		{"wrong method", "DELETE /v1/runs/1", "", nil, 405, "invalid", "GET, PATCH"},
	}
	h := handler(t, submitted(t, 1)) // what is refused changes nothing
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			w := call(t, h, tt.request, tt.body, tt.headers...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.contains) {
				t.Errorf("%s: %d %s\nwant %d with %s", tt.request, w.Code, w.Body, tt.status, tt.contains)
			}
			if kind := w.Header().Get("Content-Type"); kind != "application/problem+json" {
				t.Errorf("Content-Type %q, want problem details", kind)
			}
			p := decode[httpapi.Problem](t, w)
			if p.Code != string(tt.code) || p.Status != tt.status || p.Detail == "" || p.Title == "" {
				t.Errorf("problem %+v, want code %s, status %d, title and detail", p, tt.code, tt.status)
			}
		})
	}
}

func TestIdempotency(t *testing.T) {
	h := handler(t, newFake(t))
	first := call(t, h, "POST /v1/runs", envelope(t, `,"key":"k"`))
	if first.Code != http.StatusCreated || first.Header().Get("Location") != "/v1/runs/1" {
		t.Fatalf("first: %d %q", first.Code, first.Header().Get("Location"))
	}
	tests := []struct {
		reason, target, body string
		headers              []string
		status               int
	}{
		{"the same again", "POST /v1/runs", envelope(t, `,"key":"k"`), nil, 200},
		{"the same, with the key in the header", "POST /v1/runs", envelope(t, ""), []string{"Idempotency-Key: k"}, 200},
		{"the same, as bare YAML with other blanks", "POST /v1/runs", wordcount + "\n# a comment\n", []string{"Idempotency-Key: k", "Content-Type: application/yaml"}, 200},
		{"the same, with the default spelled out", "POST /v1/runs", envelope(t, `,"key":"k","params":{"input":"small"}`), nil, 200},
		{"another parameter", "POST /v1/runs", envelope(t, `,"key":"k","params":{"input":"big"}`), nil, 409},
		{"another user", "POST /v1/runs", envelope(t, `,"key":"k","user":"you"`), nil, 409},
		{"on hold", "POST /v1/runs", envelope(t, `,"key":"k","hold":true`), nil, 409},
		{"another description", "POST /v1/runs", strings.Replace(wordcount, "500m", "501m", 1), []string{"Idempotency-Key: k", "Content-Type: application/yaml"}, 409},
		{"another key", "POST /v1/runs", envelope(t, `,"key":"l"`), nil, 201},
	}
	for _, tt := range tests {
		if w := call(t, h, tt.target, tt.body, tt.headers...); w.Code != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.reason, w.Code, w.Body, tt.status)
		}
	}
}

func TestErrorsOfTheEngine(t *testing.T) {
	tests := []struct {
		reason string
		err    error
		status int
		header string
	}{
		{"overload can be tried again", dovetail.Errorf(dovetail.Unavailable, "the disk is full"), 503, "Retry-After"},
		{"a core that never fits", dovetail.Errorf(dovetail.Invalid, "needs 9 cpu, the cluster has 4"), 422, ""},
		{"a fault of the program stays inside", fmt.Errorf("secret: sqlite at /var/lib"), 500, ""},
		{"an internal error stays inside", dovetail.Errorf(dovetail.Internal, "secret"), 500, ""},
	}
	for _, tt := range tests {
		f := submitted(t, 1)
		f.fail = tt.err
		h := handler(t, f)
		for _, request := range []string{"POST /v1/runs", "POST /v1/runs/1/cancel", "GET /v1/runs", "GET /v1/nodes", "GET /v1/events"} {
			w := call(t, h, request, envelope(t, ""))
			if w.Code != tt.status || (tt.header != "" && w.Header().Get(tt.header) == "") {
				t.Errorf("%s: %s: %d %v, want %d", tt.reason, request, w.Code, w.Header(), tt.status)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s: %s leaks %s", tt.reason, request, w.Body)
			}
		}
	}
}

func TestPanicIsContained(t *testing.T) {
	f := newFake(t)
	f.explode = true
	var log bytes.Buffer
	h := handler(t, f, func(o *httpapi.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	w := call(t, h, "GET /v1/nodes", "")
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "fire") {
		t.Errorf("got %d %s, want 500 without the cause", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "on fire") {
		t.Errorf("the log lacks the cause: %s", log.String())
	}
}

func TestTimeout(t *testing.T) {
	f := submitted(t, 1)
	f.hang = true
	h := handler(t, f, func(o *httpapi.Options) { o.Timeout = time.Millisecond })
	w := call(t, h, "POST /v1/runs/1/cancel", "")
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "in time") {
		t.Errorf("an engine that hangs: %d %s, want 503 and why", w.Code, w.Body)
	}
}

func TestBodyOfUnknownLength(t *testing.T) {
	server := serve(t, newFake(t))
	endless := io.LimitReader(zeros{}, 10<<20) // sent in chunks: the server cannot know how long it is
	resp, err := server.Client().Post(server.URL+"/v1/runs", "application/yaml", endless)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("10 MB in chunks: %s, want 413", resp.Status)
	}
}

func TestBodyThatBreaksOff(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/v1/runs", io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	r.Host = "localhost"
	w := httptest.NewRecorder()
	handler(t, newFake(t)).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("a client that goes away while it sends: %d %s, want 400", w.Code, w.Body)
	}
}

// zeros is an endless stream.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestReadiness(t *testing.T) {
	f := newFake(t)
	f.health = engine.Health{Problem: "the disk is full"}
	h := handler(t, f)
	if w := call(t, h, "GET /readyz", ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "disk is full") {
		t.Errorf("readyz: %d %s, want 503 with the problem", w.Code, w.Body)
	}
	if w := call(t, h, "GET /healthz", ""); w.Code != http.StatusOK {
		t.Errorf("healthz: %d, want 200: the process lives", w.Code)
	}
}

func TestPages(t *testing.T) {
	h := handler(t, submitted(t, 5))
	type page struct {
		Runs []dovetail.RunStatus
		Next string
	}
	var seen []dovetail.RunID
	path := "/v1/runs?limit=2&state=queued"
	for range 3 {
		w := call(t, h, "GET "+path, "")
		p := decode[page](t, w)
		for _, r := range p.Runs {
			seen = append(seen, r.ID)
		}
		if p.Next == "" {
			break
		}
		link, _, _ := strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
		if !strings.Contains(link, "state=queued") || !strings.Contains(link, "before="+p.Next) {
			t.Fatalf("link %q lacks the filter or the cursor %s", link, p.Next)
		}
		path = link
	}
	if diff := cmp.Diff([]dovetail.RunID{5, 4, 3, 2, 1}, seen); diff != "" {
		t.Errorf("runs over the pages (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	f := submitted(t, 0)
	h := handler(t, f)
	for range 2 {
		call(t, h, "POST /v1/runs", envelope(t, `,"name":"twin"`))
	}
	if w := call(t, h, "GET /v1/runs/twin", ""); w.Code != http.StatusConflict {
		t.Errorf("two living runs of one name: %d %s, want 409", w.Code, w.Body)
	}
	call(t, h, "POST /v1/runs/2/cancel", "")
	if w := call(t, h, "GET /v1/runs/twin", ""); !strings.Contains(w.Body.String(), `"id":1,`) {
		t.Errorf("the living one is meant, got %s", w.Body)
	}
	call(t, h, "POST /v1/runs/1/cancel", "")
	if w := call(t, h, "POST /v1/runs/1/cancel", ""); w.Code != http.StatusConflict {
		t.Errorf("cancel of an ended run: %d %s, want 409", w.Code, w.Body)
	}
	if w := call(t, h, "GET /v1/runs/twin", ""); !strings.Contains(w.Body.String(), `"id":2,`) {
		t.Errorf("the newest one is meant when all have ended, got %s", w.Body)
	}
	if w := call(t, h, "GET /v1/runs/1/explain", ""); !strings.Contains(w.Body.String(), "it has ended: cancelled") {
		t.Errorf("explanation of an ended run: %s", w.Body)
	}
}

func TestChosenNamesMayBeLong(t *testing.T) {
	h := handler(t, newFake(t))
	long := strings.Repeat("a", 63) // the longest name of an application; the engine puts a number behind it
	call(t, h, "POST /v1/runs", strings.Replace(wordcount, "name: wordcount", "name: "+long, 1), "Content-Type: application/yaml")
	if w := call(t, h, "GET /v1/runs/"+long+"-1", ""); w.Code != http.StatusOK {
		t.Errorf("run of the longest name: %d %s, want 200", w.Code, w.Body)
	}
}

func TestURLs(t *testing.T) {
	f := submitted(t, 1)
	f.replicas = []dovetail.ReplicaStatus{
		{Replica: dovetail.Replica{Run: 1}, Component: "master", Node: "n1", Host: "10.0.0.1", Ports: map[string]int{"rpc": 7000, "ui": 8123}, Up: &epoch},
		{Replica: dovetail.Replica{Run: 1, Attempt: 1}, Component: "master", Node: "n1", Host: "10.0.0.1", Ports: map[string]int{"ui": 8000}, Up: &epoch, Down: &epoch},
	}
	got := decode[struct{ URLs map[string]string }](t, call(t, handler(t, f), "GET /v1/runs/1", ""))
	if diff := cmp.Diff(map[string]string{"master.0.ui": "http://10.0.0.1:8123/"}, got.URLs); diff != "" {
		t.Errorf("urls (-want +got):\n%s", diff)
	}
}

func TestOpenAPIGolden(t *testing.T) {
	got, err := io.ReadAll(call(t, handler(t, newFake(t)), "GET /openapi.yaml", "").Body)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.yaml", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the API changed; look at the difference, then run go test ./internal/httpapi -update (-want +got):\n%s", diff)
	}
}
