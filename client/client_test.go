package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// patience bounds every wait in these tests.
const patience = 2 * time.Minute

// dial returns a client of a server that answers as h says.
func dial(t testing.TB, h http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "s3cret", client.WithReconnect(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNew(t *testing.T) {
	tests := []struct {
		url, token string
		ok         bool
		reason     string
	}{
		{"http://127.0.0.1:7171", "", true, "the usual one"},
		{"https://dovetail.example/prefix/", "s3cret", true, "behind a proxy"},
		{"127.0.0.1:7171", "", false, "a URL has a scheme"},
		{"unix:///run/x", "", false, "neither http nor https"},
		{"http://", "", false, "no host"},
		{"http://h:port", "", false, "no port"},
		{"http://h?x=1", "", false, "a query belongs to no daemon"},
		{"", "", false, "nothing"},
		{"http://h", "with blank", false, "no header takes it"},
		{"http://h", "line\nbreak", false, "it would break the header"},
	}
	for _, tt := range tests {
		_, err := client.New(tt.url, tt.token)
		if (err == nil) != tt.ok || (err != nil && dovetail.CodeOf(err) != dovetail.Invalid) {
			t.Errorf("New(%q, %q): %v; %s", tt.url, tt.token, err, tt.reason)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		reason, kind string
		status       int
		body         string
		code         dovetail.ErrorCode
		message      string
	}{
		{"problem details", "application/problem+json", 409, `{"code":"conflict","detail":"run 1 has ended"}`, dovetail.Conflict, "run 1 has ended"},
		{"the code counts, not the status", "application/problem+json; charset=utf-8", 400, `{"code":"not_found","detail":"x"}`, dovetail.NotFound, "x"},
		{"another server", "text/html", 404, "<h1>nginx", dovetail.NotFound, "is it a Dovetail daemon?"},
		{"a gateway whose daemon is down", "text/html", 502, "", dovetail.Unavailable, "502 Bad Gateway"},
		{"a gateway that wants a password", "text/html", 401, "", dovetail.Unauthorized, "401"},
		{"problem details of somebody else", "application/problem+json", 400, `{"detail":"x"}`, dovetail.Invalid, "is it a Dovetail daemon?"},
		{"problem details that are none", "application/problem+json", 500, `{`, dovetail.Internal, "is it a Dovetail daemon?"},
		{"an answer that is no JSON", "text/html", 200, "<h1>hello", dovetail.Internal, "is it a Dovetail daemon"},
	}
	for _, tt := range tests {
		c := dial(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		})
		_, err := c.Run(t.Context(), "1")
		if dovetail.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: %v (%s), want %s with %q", tt.reason, err, dovetail.CodeOf(err), tt.code, tt.message)
		}
	}
}

func TestRequestsThatAreNotSent(t *testing.T) {
	c := dial(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL) })
	ctx := t.Context()
	for reason, err := range map[string]error{
		"no name":             c.Cancel(ctx, ""),
		"a name that climbs":  c.Hold(ctx, ".."),
		"no node":             c.Cordon(ctx, "", true, false),
		"bad UTF-8":           second(c.Submit(ctx, client.SubmitRequest{Spec: []byte("name: \xff")})),
		"bad UTF-8, dry run":  second(c.DryRun(ctx, client.SubmitRequest{Spec: []byte("name: \xff")})),
		"the log of no run":   second(c.Logs(ctx, "", client.LogQuery{})),
		"the reasons of none": second(c.Explain(ctx, ".")),
	} {
		if dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%s: %v, want an invalid error", reason, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestNamesAreEscaped(t *testing.T) {
	var got string
	c := dial(t, func(_ http.ResponseWriter, r *http.Request) { got = r.URL.EscapedPath() })
	if err := c.Cancel(t.Context(), "a/b?c"); err != nil {
		t.Fatal(err)
	}
	if want := "/v1/runs/a%2Fb%3Fc/cancel"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
}

func TestToken(t *testing.T) {
	var got []string
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{}")
	})
	_, err := c.Nodes(t.Context())
	_, err2 := c.Health(t.Context())
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Bearer s3cret", "Bearer s3cret"}, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestUnreachable(t *testing.T) {
	// Nobody listens at this address any more, and no other test does meanwhile: they use 127.0.0.1.
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	c, err := client.New(url, "")
	if err != nil {
		t.Fatal(err)
	}
	_, submit := c.Submit(t.Context(), client.SubmitRequest{})
	_, health := c.Health(t.Context())
	watch := c.Watch(t.Context(), client.EventQuery{}, nil)
	for name, err := range map[string]error{"submit": submit, "health": health, "watch": watch} {
		if dovetail.CodeOf(err) != dovetail.Unavailable || !strings.Contains(err.Error(), "dovetail serve") || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v, want unavailable, the URL and what to do", name, err)
		}
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := dial(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if _, err := c.Nodes(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// record is an event record of this position, as the daemon sends it.
func record(id string, seq int) string {
	return fmt.Sprintf("id: %s\ndata: {\"seq\":%d,\"at\":\"2026-01-02T03:04:05Z\",\"type\":\"up\",\"text\":\"x\"}\n\n", id, seq)
}

func TestWatchReconnects(t *testing.T) {
	var asked []string
	answers := []string{
		record("1.1", 1) + record("2.1", 2)[:20], // cut off in the middle of a message
		"retry: 1000\nid: 2\n\n",                 // only a mark
		": alive\n\nevent: x\r\n" + strings.ReplaceAll(record("3.1", 3), "\n", "\r\n"),
		"id: 4.1\ndata: {\"seq\":4,\ndata: \"type\":\"up\"}\n\n", // data over two lines
	}
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		if len(asked) == 3 {
			w.WriteHeader(http.StatusServiceUnavailable) // the daemon is being restarted
			return
		}
		if len(answers) > 0 {
			fmt.Fprint(w, answers[0])
			answers = answers[1:]
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	enough := errors.New("enough")
	var seen []int64
	err := c.Watch(ctx, client.EventQuery{}, func(r dovetail.EventRecord) error {
		seen = append(seen, r.Seq)
		if r.Seq == 4 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("watch: %v, want the error of the function", err)
	}
	if diff := cmp.Diff([]int64{1, 3, 4}, seen); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", "1.1", "2", "2", "3.1"}, asked); diff != "" {
		t.Errorf("Last-Event-ID of each connection (-want +got):\n%s", diff)
	}
}

func TestWatchGivesUp(t *testing.T) {
	tests := []struct {
		reason string
		answer http.HandlerFunc
		code   dovetail.ErrorCode
	}{
		{"a refusal stays one", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, dovetail.Unauthorized},
		{"a daemon that was never there", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, dovetail.Unavailable},
		{"data of another kind", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "data: hello\n\n") }, dovetail.Internal},
	}
	for _, tt := range tests {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := dial(t, tt.answer).Watch(ctx, client.EventQuery{}, func(dovetail.EventRecord) error { return nil })
		cancel()
		if dovetail.CodeOf(err) != tt.code || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %s", tt.reason, err, tt.code)
		}
	}
}

func TestWatchEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, record("1.1", 1))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	err := c.Watch(ctx, client.EventQuery{}, func(dovetail.EventRecord) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestLogsStream(t *testing.T) {
	var query string
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		fmt.Fprint(w, "line\n")
	})
	log, err := c.Logs(t.Context(), "1", client.LogQuery{Component: "worker", Index: 2, Attempt: 3, Stream: "stderr", From: 4, Limit: 5, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if text, err := io.ReadAll(log); err != nil || string(text) != "line\n" {
		t.Errorf("log %q %v", text, err)
	}
	if want := "attempt=3&component=worker&follow=true&index=2&limit=5&offset=4&stream=stderr"; query != want {
		t.Errorf("query %s, want %s", query, want)
	}
}

// FuzzWatch demands that no stream, however broken, makes a watch hang or panic.
func FuzzWatch(f *testing.F) {
	f.Add(record("1.1", 1))
	f.Add("id\ndata\n\n:\n\ndata: {}\n\n")
	f.Add("data: {\"seq\":\"x\"}\n\n")
	f.Add(strings.Repeat("data: 1\n", 100))
	f.Add("id: \x00\n\n") // no header takes it
	var body string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") != "" || body == "" {
			w.WriteHeader(http.StatusGone)
			return
		}
		fmt.Fprint(w, body)
		body = ""
	})
	server := httptest.NewServer(h)
	f.Cleanup(server.Close)
	c, err := client.New(server.URL, "", client.WithReconnect(time.Nanosecond))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		body = stream
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := c.Watch(ctx, client.EventQuery{}, func(dovetail.EventRecord) error { return nil })
		if err == nil || ctx.Err() != nil {
			t.Errorf("%q: %v, want an error at once", stream, err)
		}
	})
}
