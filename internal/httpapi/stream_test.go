package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
)

// patience bounds every wait in these tests.
const patience = 2 * time.Minute

// stream is an open stream of server-sent events.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	close context.CancelFunc
}

// open starts a stream; headers are as for call.
func open(t *testing.T, server *httptest.Server, path string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("%s: %d %s", path, resp.StatusCode, kind)
	}
	return &stream{t: t, lines: bufio.NewScanner(resp.Body), close: cancel}
}

// next returns the id of the next message, with "+" behind it if it has data, or ":" for a comment.
func (s *stream) next() string {
	s.t.Helper()
	id, data := "", ""
	for s.lines.Scan() {
		line := s.lines.Text()
		switch {
		case line == "":
			return id + data
		case line == ":":
			id = ":"
		case strings.HasPrefix(line, "id: "):
			id = strings.TrimPrefix(line, "id: ")
		case strings.HasPrefix(line, "data: "):
			data = "+"
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return ""
}

// expect reads messages until the last one that is wanted.
func (s *stream) expect(reason string, want ...string) {
	s.t.Helper()
	got := []string{}
	for range want {
		got = append(got, s.next())
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		s.t.Errorf("%s: messages (-want +got):\n%s", reason, diff)
	}
}

// serve starts a server on the fake.
func serve(t *testing.T, f *fake, changes ...func(*httpapi.Options)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler(t, f, changes...))
	t.Cleanup(server.Close)
	return server
}

// happen publishes records of run 1 at these positions of the journal.
func (f *fake) happen(seqs ...int64) {
	f.locked(func() {
		for _, seq := range seqs {
			f.publish(dovetail.EventRecord{Seq: seq, At: epoch, Type: "up", Run: 1, Text: "it happened"})
		}
	})
}

// watched waits until there are n watchers.
func (f *fake) watched(t *testing.T, n int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var now int
		f.locked(func() { now = len(f.watchers) })
		if now == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d watchers, want %d", now, n)
		}
		<-time.After(time.Millisecond)
	}
}

func TestWatch(t *testing.T) {
	tests := []struct {
		reason, path string
		headers      []string
		past, live   []int64
		want         []string
	}{
		{"all that is past, then what happens", "/v1/watch", nil, []int64{2, 3}, []int64{4}, []string{"1.1+", "2.1+", "3.1+", "3.1", "4.1+"}},
		{"positions with many records", "/v1/watch", nil, []int64{2, 2}, []int64{3, 3}, []string{"1.1+", "2.1+", "2.2+", "2.2", "3.1+", "3.2+"}},
		{"after a position", "/v1/watch?after=1", nil, []int64{2}, []int64{3}, []string{"2.1+", "2.1", "3.1+"}},
		{"nothing of the past", "/v1/watch?tail=-1", nil, []int64{2}, []int64{3}, []string{"2", "3.1+"}},
		{"the last two", "/v1/watch?tail=2", nil, []int64{2, 3, 3}, []int64{4}, []string{"3.1+", "3.2+", "3.2", "4.1+"}},
		{"the last one, in the middle of a position", "/v1/watch?tail=1", nil, []int64{2, 3, 3}, []int64{4}, []string{"3.2+", "3.2", "4.1+"}},
		{"resume", "/v1/watch", []string{"Last-Event-ID: 2.1"}, []int64{2, 3}, []int64{4}, []string{"3.1+", "3.1", "4.1+"}},
		{"resume in the middle of a position", "/v1/watch", []string{"Last-Event-ID: 2.1"}, []int64{2, 2, 2}, nil, []string{"2.2+", "2.3+", "2.3"}},
		{"resume behind a position", "/v1/watch", []string{"Last-Event-ID: 2"}, []int64{2, 2, 3}, nil, []string{"3.1+", "3.1"}},
		{"a resume beats tail", "/v1/watch?tail=1", []string{"Last-Event-ID: 1.1"}, []int64{2, 3}, nil, []string{"2.1+", "3.1+", "3.1"}},
		{"a resume behind all", "/v1/watch", []string{"Last-Event-ID: 2.1"}, []int64{2}, []int64{3}, []string{"2.1", "3.1+"}},
		{"some types", "/v1/watch?type=up&type=down", nil, []int64{2}, []int64{3}, []string{"2.1+", "2.1", "3.1+"}},
		{"a type that does not happen", "/v1/watch?type=down", nil, []int64{2}, nil, []string{"0"}},
		{"one run", "/v1/watch?run=1", nil, []int64{2}, nil, []string{"1.1+", "2.1+", "2.1"}},
		{"one run by name", "/v1/watch?run=wordcount-1", nil, nil, []int64{2}, []string{"1.1+", "1.1", "2.1+"}},
		{"one run below its path", "/v1/runs/1/events", []string{"Accept: text/event-stream"}, nil, []int64{2}, []string{"1.1+", "1.1", "2.1+"}},
		{"events as a stream", "/v1/events", []string{"Accept: text/event-stream"}, nil, []int64{2}, []string{"1.1+", "1.1", "2.1+"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			f := submitted(t, 1)
			f.happen(tt.past...)
			s := open(t, serve(t, f), tt.path, tt.headers...)
			n := slices.IndexFunc(tt.want, func(m string) bool { return !strings.HasSuffix(m, "+") })
			s.expect("past", tt.want[:n+1]...)
			f.happen(tt.live...)
			s.expect("live", tt.want[n+1:]...)
		})
	}
}

func TestWatchPastPages(t *testing.T) {
	f := submitted(t, 1)
	for range 1500 { // one position that fills more than a page, between two others
		f.happen(2)
	}
	f.happen(3)
	s := open(t, serve(t, f), "/v1/watch?after=1")
	for i := range 1500 {
		if got, want := s.next(), fmt.Sprintf("2.%d+", i+1); got != want {
			t.Fatalf("message %d: %s, want %s", i, got, want)
		}
	}
	s.expect("behind the long position", "3.1+", "3.1")
}

func TestWatchFallsBehind(t *testing.T) {
	f := submitted(t, 1)
	s := open(t, serve(t, f), "/v1/watch?after=1")
	s.expect("begin", "1")
	f.watched(t, 1)
	var seqs []int64
	for seq := int64(2); seq < 200; seq++ { // more than the fake's subscription holds
		seqs = append(seqs, seq)
	}
	f.happen(seqs...)
	want := int64(2)
	for want < 200 {
		got := s.next()
		if !strings.HasSuffix(got, "+") {
			continue // the marks between two subscriptions
		}
		if got != fmt.Sprintf("%d.1+", want) {
			t.Fatalf("message %s, want that of position %d: none may be lost or come twice", got, want)
		}
		want++
	}
}

func TestWatchEndsWithTheEngine(t *testing.T) {
	f := submitted(t, 1)
	s := open(t, serve(t, f), "/v1/watch?tail=-1")
	s.expect("begin", "1")
	f.watched(t, 1)
	f.locked(func() {
		f.stopped = true
		for ch := range f.watchers {
			f.unwatch(ch)
		}
	})
	for s.lines.Scan() {
		if strings.HasPrefix(s.lines.Text(), "data:") {
			t.Errorf("unexpected %q", s.lines.Text())
		}
	}
	if err := s.lines.Err(); err != nil {
		t.Errorf("the stream was cut off, want an orderly end: %v", err)
	}
}

func TestHeartbeat(t *testing.T) {
	s := open(t, serve(t, submitted(t, 1), func(o *httpapi.Options) { o.Heartbeat = time.Millisecond }), "/v1/watch?tail=-1")
	s.expect("a silent stream shows that it lives", "1", ":", ":")
}

func TestWatchersAreReleased(t *testing.T) {
	f := submitted(t, 1)
	s := open(t, serve(t, f), "/v1/watch?tail=-1")
	s.expect("begin", "1")
	f.watched(t, 1)
	s.close()
	f.watched(t, 0)
}

// withLogs gives run 1 two attempts of master.0, of which the second still writes.
func withLogs(t *testing.T) *fake {
	t.Helper()
	f := submitted(t, 1)
	f.replicas = []dovetail.ReplicaStatus{
		{Replica: dovetail.Replica{Run: 1, Attempt: 1}, Component: "master", Up: &epoch, Down: &epoch},
		{Replica: dovetail.Replica{Run: 1, Attempt: 4}, Component: "master", Up: &epoch},
		{Replica: dovetail.Replica{Run: 1, Component: 1, Attempt: 2}, Component: "worker", Up: &epoch},
	}
	f.logs["0.0.1/stdout"] = newTape("first life\n")
	f.logs["0.0.4/stdout"] = newTape("0123456789")
	f.logs["1.0.2/stderr"] = newTape("oh\n")
	return f
}

func TestLogs(t *testing.T) {
	tests := []struct {
		reason, query string
		headers       []string
		status        int
		body          string
		contentRange  string
	}{
		{"the newest attempt of the first component", "", nil, 200, "0123456789", ""},
		{"an older attempt", "?attempt=1", nil, 200, "first life\n", ""},
		{"another component and stream", "?component=worker&stream=stderr", nil, 200, "oh\n", ""},
		{"skip", "?offset=4", nil, 200, "456789", ""},
		{"skip all", "?offset=99", nil, 200, "", ""},
		{"skip and limit", "?offset=4&limit=2", nil, 200, "45", ""},
		{"a range", "", []string{"Range: bytes=2-4"}, 206, "234", "bytes 2-4/*"},
		{"a range that is longer than the log", "", []string{"Range: bytes=8-99"}, 206, "89", "bytes 8-9/*"},
		{"a range without end", "", []string{"Range: bytes=7-"}, 206, "789", "bytes 7-9/*"},
		{"a range behind the end", "", []string{"Range: bytes=10-"}, 416, "", ""},
		{"a suffix is ignored: the length may grow", "", []string{"Range: bytes=-3"}, 200, "0123456789", ""},
		{"two ranges are ignored", "", []string{"Range: bytes=0-1,3-4"}, 200, "0123456789", ""},
		{"a range backwards is ignored", "", []string{"Range: bytes=4-2"}, 200, "0123456789", ""},
		{"a range of another unit is ignored", "", []string{"Range: lines=0-1"}, 200, "0123456789", ""},
		{"numbers that overflow are ignored", "", []string{"Range: bytes=0-99999999999999999999"}, 200, "0123456789", ""},
		{"a stream that was never written", "?stream=stderr", nil, 404, "", ""},
		{"an attempt that never was", "?attempt=2", nil, 404, "", ""},
	}
	h := handler(t, withLogs(t))
	for _, tt := range tests {
		w := call(t, h, "GET /v1/runs/1/logs"+tt.query, "", tt.headers...)
		if w.Code != tt.status || w.Header().Get("Content-Range") != tt.contentRange || (tt.status < 300 && w.Body.String() != tt.body) {
			t.Errorf("%s: %d %q %q, want %d %q %q", tt.reason, w.Code, w.Header().Get("Content-Range"), w.Body, tt.status, tt.contentRange, tt.body)
		}
	}
}

func TestLogFollow(t *testing.T) {
	f := withLogs(t)
	server := serve(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v1/runs/1/logs?follow=true&offset=8", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Range", "bytes=0-1") // means nothing while following
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	read := func(n int) string {
		data := make([]byte, n)
		if _, err := io.ReadFull(resp.Body, data); err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got := read(2); got != "89" {
		t.Errorf("what is there: %q, want 89 at once", got)
	}
	f.logs["0.0.4/stdout"].write("abc", false)
	if got := read(3); got != "abc" {
		t.Errorf("what is added: %q, want abc while the replica lives", got)
	}
	f.logs["0.0.4/stdout"].write("end", true)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "end" {
		t.Errorf("the rest: %q %v, want end and the end of the body", rest, err)
	}
}
