package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
)

// dial returns a client of a server on the fake.
func dial(t testing.TB, f *fake, token string) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler(t, f, func(o *httpapi.Options) { o.Token = token }))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, token, client.WithReconnect(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientRuns(t *testing.T) {
	f, ctx := newFake(t), t.Context()
	c := dial(t, f, "s3cret")
	req := client.SubmitRequest{Spec: []byte(wordcount), Params: map[string]string{"input": "big"}, Name: "mine", User: "me", Key: "k"}
	first, err := c.Submit(ctx, req)
	if err != nil || !first.Created || first.Name != "mine" || first.User != "me" {
		t.Fatalf("submit: %+v %v", first, err)
	}
	if again, err := c.Submit(ctx, req); err != nil || again.Created || again.ID != first.ID {
		t.Errorf("the same again: %+v %v, want run %d, not created", again, err, first.ID)
	}
	req.Hold = true
	if _, err := c.Submit(ctx, req); dovetail.CodeOf(err) != dovetail.Conflict {
		t.Errorf("the key for something else: %v, want a conflict", err)
	}
	dry, err := c.DryRun(ctx, req)
	if err != nil || len(dry.Plan.Actions) != 1 || dry.Explanation.Text == "" {
		t.Errorf("dry run: %+v %v", dry, err)
	}
	for name, change := range map[string]func(context.Context, string) error{
		"hold": c.Hold, "release": c.Release, "suspend": c.Suspend, "resume": c.Resume,
	} {
		if err := change(ctx, "mine"); err != nil && dovetail.CodeOf(err) != dovetail.Conflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Prioritise(ctx, "mine", 7); err != nil {
		t.Errorf("prioritise: %v", err)
	}
	if why, err := c.Explain(ctx, "1"); err != nil || why.Run != 1 || why.Text == "" {
		t.Errorf("explain: %+v %v", why, err)
	}
	if err := c.Cancel(ctx, "mine"); err != nil {
		t.Errorf("cancel: %v", err)
	}
	detail, err := c.Run(ctx, "mine")
	if err != nil || detail.Status.Outcome != dovetail.OutcomeCancelled || detail.Status.Priority != 7 || detail.Run.Params["input"] != "big" {
		t.Errorf("show: %+v %v", detail, err)
	}
	if diff := cmp.Diff(f.runs[0], detail.Run); diff != "" {
		t.Errorf("the run changed on its way (-want +got):\n%s", diff)
	}
	page, err := c.Runs(ctx, client.RunQuery{
		States: []dovetail.State{dovetail.Ended}, Outcomes: []dovetail.Outcome{dovetail.OutcomeCancelled}, Name: "mi*", User: "me", Key: "k",
		Since: epoch.Add(-time.Hour), Until: epoch.Add(time.Hour), Limit: 5,
	})
	if err != nil || len(page.Runs) != 1 || page.Next != "" {
		t.Errorf("list: %+v %v, want the one run", page, err)
	}
}

func TestClientCluster(t *testing.T) {
	f, ctx := submitted(t, 2), t.Context()
	c := dial(t, f, "")
	f.history = []dovetail.History{{Status: f.status[0], Placements: []dovetail.Placement{{At: epoch, Slot: dovetail.Slot{Run: 1, Node: "n1"}, N: 3}}}}
	for _, tt := range []struct{ on, drain, cordoned, draining bool }{
		{true, false, true, false}, {true, true, true, true}, {false, false, false, false},
	} {
		if err := c.Cordon(ctx, "n1", tt.on, tt.drain); err != nil {
			t.Fatal(err)
		}
		nodes, err := c.Nodes(ctx)
		if err != nil || len(nodes) != 1 || nodes[0].Cordoned != tt.cordoned || nodes[0].Draining != tt.draining {
			t.Errorf("after %+v: %+v %v", tt, nodes, err)
		}
	}
	cfg, err := c.Config(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Alloc, cfg.MaxWait = "malleable", dovetail.Duration(time.Minute)
	if err := c.Configure(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Config(ctx); err != nil || got != cfg {
		t.Errorf("configuration: %+v %v, want %+v", got, err, cfg)
	}
	if h, err := c.History(ctx, client.HistoryQuery{App: "wordcount", Since: epoch, Limit: 9}); err != nil || !cmp.Equal(h, f.history) {
		t.Errorf("history: %v %v", h, err)
	}
	events, err := c.Events(ctx, client.EventQuery{Types: []string{"submitted"}, Run: "2", After: 1, Limit: 9})
	if err != nil || len(events) != 1 || events[0].Run != 2 {
		t.Errorf("events: %v %v", events, err)
	}
	if v, err := c.Version(ctx); err != nil || v.Version != "test" || v.API != "v1" {
		t.Errorf("version: %+v %v", v, err)
	}
	f.health = engine.Health{Problem: "the disk is full"}
	if h, err := c.Health(ctx); err != nil || h.Ready || h.Problem != "the disk is full" {
		t.Errorf("health: %+v %v, want the problem and no error", h, err)
	}
}

func TestClientErrors(t *testing.T) {
	f, ctx := submitted(t, 1), t.Context()
	c := dial(t, f, "s3cret")
	_, err := c.Submit(ctx, client.SubmitRequest{Spec: []byte("apiVersion: dovetail/v1\nname: x\nfoo: 1\n")})
	var e *dovetail.Error
	foo := func(f dovetail.Fault) bool { return f.Field == "foo" && f.Line == 3 }
	if !errors.As(err, &e) || e.Code != dovetail.Invalid || !slices.ContainsFunc(e.Faults, foo) {
		t.Errorf("faulty description: %v, want faults with the lines of the text", err)
	}
	if _, err := c.Run(ctx, "99"); dovetail.CodeOf(err) != dovetail.NotFound {
		t.Errorf("unknown run: %v", err)
	}
	if _, err := c.Logs(ctx, "1", client.LogQuery{Component: "worker", Index: 3}); dovetail.CodeOf(err) != dovetail.NotFound {
		t.Errorf("log of an unknown replica: %v", err)
	}
	f.fail = dovetail.Errorf(dovetail.Unavailable, "the disk is full")
	if err := c.Cancel(ctx, "1"); dovetail.CodeOf(err) != dovetail.Unavailable || err.Error() != "the disk is full" {
		t.Errorf("unavailable: %v", err)
	}
}

func TestClientLogs(t *testing.T) {
	f := withLogs(t)
	c := dial(t, f, "")
	log, err := c.Logs(t.Context(), "wordcount-1", client.LogQuery{Component: "worker", Stream: "stderr", From: 1, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if data, err := io.ReadAll(log); err != nil || string(data) != "h" {
		t.Errorf("log: %q %v, want h", data, err)
	}
}

func TestClientWatchSurvivesTheServer(t *testing.T) {
	f := submitted(t, 1)
	f.happen(2, 2)
	h := handler(t, f)
	ln, err := net.Listen("tcp", "127.0.0.2:0") // where no other test listens while this one is between two servers
	if err != nil {
		t.Fatal(err)
	}
	start := func(ln net.Listener) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- httpapi.Serve(ctx, ln, h, nil) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("serve: %v", err)
			}
		}
	}
	stop := start(ln)
	c, err := client.New("http://"+ln.Addr().String(), "", client.WithReconnect(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	enough := errors.New("enough")
	var seen []int64
	err = c.Watch(ctx, client.EventQuery{Run: "1"}, func(r dovetail.EventRecord) error {
		seen = append(seen, r.Seq)
		switch len(seen) {
		case 2: // in the middle of a position: the server goes, and comes back at the same address
			stop()
			again, err := net.Listen("tcp", ln.Addr().String())
			if err != nil {
				return err
			}
			stop = start(again)
			f.happen(3)
		case 4:
			return enough
		}
		return nil
	})
	stop()
	if !errors.Is(err, enough) {
		t.Fatalf("watch: %v", err)
	}
	if diff := cmp.Diff([]int64{1, 2, 2, 3}, seen); diff != "" {
		t.Errorf("each record once, in order (-want +got):\n%s", diff)
	}
}
