package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
)

// seer foresees what it is told to.
type seer struct {
	start  *dovetail.Expectation
	answer dovetail.WhatIf
	failed error
	asked  []dovetail.Alternative
}

func (s *seer) Expect(context.Context, dovetail.RunID) (*dovetail.Expectation, error) {
	return s.start, s.failed
}

func (s *seer) WhatIf(_ context.Context, a dovetail.Alternative) (dovetail.WhatIf, error) {
	s.asked = append(s.asked, a)
	return s.answer, s.failed
}

func foreseeing(t *testing.T, f *fake, s *seer) http.Handler {
	t.Helper()
	return handler(t, f, func(o *httpapi.Options) { o.Forecasts = s })
}

// ask returns a client of a daemon.
func ask(t *testing.T, h http.Handler) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const tiny = `{"apiVersion": "dovetail/v1", "name": "tiny", "components": [{"name": "main", "command": ["true"], "count": 1, "resources": {"cpu": "4"}}]}`

func TestExplainSaysWhenARunStarts(t *testing.T) {
	f := newFake(t)
	for _, hold := range []string{"false", "true"} {
		body := `{"spec": ` + tiny + `, "hold": ` + hold + `, "waitCapacity": true}`
		if r := call(t, handler(t, f), "POST /v1/runs", body); r.Code != 201 {
			t.Fatalf("submitting: status %d", r.Code)
		}
	}
	later := epoch.Add(time.Minute)
	x := &dovetail.Expectation{Median: &later, Confidence: 0.8, Plays: 64, Basis: "guessed"}
	for _, test := range []struct {
		reason string
		run    string
		seer   *seer
		want   *dovetail.Expectation
	}{
		{"a run that waits", "1", &seer{start: x}, x},
		{"nobody can tell", "1", &seer{}, nil},
		{"an explanation without it is better than none", "1", &seer{start: x, failed: errors.New("no luck")}, nil},
		{"a run that is held waits for somebody to release it", "2", &seer{start: x}, nil},
	} {
		r := call(t, foreseeing(t, f, test.seer), "GET /v1/runs/"+test.run+"/explain", "")
		if r.Code != 200 {
			t.Errorf("%s: status %d", test.reason, r.Code)
			continue
		}
		if diff := cmp.Diff(test.want, decode[dovetail.Explanation](t, r).ExpectedStart); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestWhatIf(t *testing.T) {
	f, s := newFake(t), &seer{}
	h := foreseeing(t, f, s)
	present := f.core.Config()
	srpt := present
	srpt.Policy, srpt.Preempt = "srpt", true
	node := dovetail.Node{Name: "new", Capacity: dovetail.Resources{dovetail.CPU: 2000}}
	for _, test := range []struct {
		reason, body string
		want         dovetail.Alternative
	}{
		{"nothing else", `{}`, dovetail.Alternative{Config: present}},
		{"what is left out stays", `{"config": {"policy": "srpt", "preempt": true}}`, dovetail.Alternative{Config: srpt}},
		{"a node", `{"nodes": [{"name": "new", "capacity": {"cpu": "2"}}]}`, dovetail.Alternative{Config: present, Nodes: []dovetail.Node{node}}},
	} {
		r := call(t, h, "POST /v1/whatif", test.body)
		if r.Code != 200 {
			t.Errorf("%s: status %d: %s", test.reason, r.Code, r.Body)
			continue
		}
		if diff := cmp.Diff(test.want, s.asked[len(s.asked)-1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
	if r := call(t, h, "POST /v1/whatif", `{"submit": {"spec": `+tiny+`, "name": "mine", "user": "ada"}}`); r.Code != 200 {
		t.Fatalf("a submission: status %d", r.Code)
	}
	if sub := s.asked[len(s.asked)-1].Submit; sub == nil || sub.Name != "mine" || sub.User != "ada" || sub.Class != "tiny" || sub.App.Name != "tiny" {
		t.Errorf("asked about the submission %+v; expected mine of ada, of class tiny", sub)
	}
	if len(f.told) > 0 || len(f.runs) > 0 {
		t.Error("a question changed something")
	}
}

func TestWhatIfRefusals(t *testing.T) {
	f := newFake(t)
	for _, test := range []struct {
		reason string
		h      http.Handler
		body   string
		status int
		says   string
	}{
		{"nobody foresees anything", handler(t, f), `{}`, 503, "makes no forecasts"},
		{"an unknown member", foreseeing(t, f, &seer{}), `{"policy": "srpt"}`, 422, "known are config, nodes, submit"},
		{"an unknown setting", foreseeing(t, f, &seer{}), `{"config": {"polizy": "srpt"}}`, 422, "config.polizy"},
		{"no description", foreseeing(t, f, &seer{}), `{"submit": {}}`, 422, "expected the description"},
		{"a bad description", foreseeing(t, f, &seer{}), `{"submit": {"spec": {}}}`, 422, "faults"},
		{"no JSON", foreseeing(t, f, &seer{}), `policy: srpt`, 400, "body"},
		{"it makes no sense", foreseeing(t, f, &seer{failed: dovetail.Errorf(dovetail.Invalid, "no such policy")}), `{}`, 422, "no such policy"},
		{"too many wait", foreseeing(t, f, &seer{failed: dovetail.Errorf(dovetail.Unavailable, "too many")}), `{}`, 503, "too many"},
	} {
		r := call(t, test.h, "POST /v1/whatif", test.body)
		if text := r.Body.String(); r.Code != test.status || !strings.Contains(text, test.says) {
			t.Errorf("%s: status %d, %s; expected %d and %q", test.reason, r.Code, text, test.status, test.says)
		}
	}
}

// The client asks, and gets what the daemon answers; false is said, not left out.
func TestWhatIfRoundTrip(t *testing.T) {
	f := newFake(t)
	later := epoch.Add(time.Minute)
	x := dovetail.Expectation{Earliest: &epoch, Median: &epoch, Latest: &later, Confidence: 0.8, Plays: 3}
	s := &seer{answer: dovetail.WhatIf{
		At: epoch, Now: dovetail.DefaultConfig(), Then: dovetail.DefaultConfig(), Plays: 3, Basis: "b",
		Runs: []dovetail.Prospect{{Run: 1, Name: "n", Class: "c", Start: &x, ThenStart: x, Change: &dovetail.Change{Low: -1, Median: 0, High: 2}}},
	}}
	c := ask(t, foreseeing(t, f, s))
	cfg := dovetail.DefaultConfig()
	cfg.InteractiveFirst, cfg.MaxWait = false, dovetail.Duration(time.Hour)
	got, err := c.WhatIf(t.Context(), client.WhatIfRequest{Config: &cfg, Submit: &client.SubmitRequest{Spec: []byte(tiny)}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.answer, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cfg, s.asked[0].Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// However many runs have finished, the client gets all of them, also those that ended at one time.
func TestAllHistory(t *testing.T) {
	f := newFake(t)
	for id := dovetail.RunID(2500); id >= 1; id-- {
		end := epoch.Add(time.Duration(id/700) * time.Second)
		f.history = append(f.history, dovetail.History{Status: dovetail.RunStatus{ID: id, App: "a", State: dovetail.Ended, Ended: &end}})
	}
	var pages []int
	all, err := ask(t, handler(t, f)).AllHistory(t.Context(), client.HistoryQuery{Replay: true}, func(n int) { pages = append(pages, n) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1000, 2000, 2500}, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	for i := range all {
		if all[i].Status.ID != dovetail.RunID(2500-i) {
			t.Fatalf("run %d is number %d of the answer; expected run %d", all[i].Status.ID, i, 2500-i)
		}
	}
}
