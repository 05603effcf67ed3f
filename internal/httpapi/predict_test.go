package httpapi_test

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
)

// learned returns an outlook of a class: 600/x seconds at scale-outs from 2 to 6, 10 % more or less for 80 % of runs, half as long
// again beside sgd.
func learned(class string, runs int) dovetail.Outlook {
	o := dovetail.Outlook{Class: class, Model: "bayes-cobell", Runs: runs, Levels: []float64{.1, .5, .9}}
	beside := dovetail.Beside{Class: "sgd", Runs: 4}
	for x := 2; x <= 6; x++ {
		m := 600 / float64(x)
		o.ScaleOuts = append(o.ScaleOuts, x)
		o.Alone = append(o.Alone, []float64{0.9 * m, m, 1.1 * m})
		beside.Seconds = append(beside.Seconds, []float64{1.35 * m, 1.5 * m, 1.65 * m})
	}
	o.Beside = []dovetail.Beside{beside}
	return o
}

// knowing is a fake whose core knows these outlooks.
func knowing(t *testing.T, outlooks ...dovetail.Outlook) *fake {
	t.Helper()
	f := submitted(t, 1) // of wordcount?input=small
	for _, o := range outlooks {
		if err := f.core.Apply(epoch, dovetail.Fitted{Outlook: o}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestPredict(t *testing.T) {
	c := dial(t, knowing(t, learned("wordcount?input=small", 12)), "")
	got, err := c.Predict(t.Context(), client.PredictQuery{
		App: "wordcount", Params: map[string]string{"input": "small"}, Low: 3, High: 5, Beside: []dovetail.Overlap{{Class: "sgd", Ratio: 0.5}},
		Target: 200 * time.Second, Confidence: 0.8,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Class != "wordcount?input=small" || got.App != "wordcount" || got.Model != "bayes-cobell" || got.Runs != 12 || len(got.Notes) != 0 {
		t.Errorf("got %+v", got)
	}
	if got.Target != 200 || got.Confidence != 0.8 || len(got.Points) != 3 || got.Points[0].ScaleOut != 3 {
		t.Fatalf("got %+v", got)
	}
	// Half of the time beside sgd: 1.25 times as long.
	for _, p := range got.Points {
		m := 750 / float64(p.ScaleOut)
		for _, v := range [][2]float64{{p.Median, m}, {p.Low80, 0.9 * m}, {p.High80, 1.1 * m}, {p.NodeSeconds, 750}} {
			if math.Abs(v[0]/v[1]-1) > 1e-9 {
				t.Errorf("scale-out %d: %v, want %v", p.ScaleOut, v[0], v[1])
			}
		}
		if !(p.Low95 < p.Low80 && p.High80 < p.High95) {
			t.Errorf("scale-out %d: the wider interval is not wider", p.ScaleOut)
		}
	}
	// 3: 250 s, hopeless. 4: 187.5 s, and 206 s at the 90th percentile: between .5 and .9.
	if got.Chosen == nil || got.Chosen.ScaleOut != 4 || got.Chosen.Infeasible || got.Chosen.Probability < 0.8 || got.Chosen.Probability > 0.9 {
		t.Errorf("chosen %+v", got.Chosen)
	}
}

func TestPredictNotes(t *testing.T) {
	few, sized := learned("few", 3), learned("sized", 9)
	sized.InputSize = 24e9
	h := handler(t, knowing(t, few, sized))
	for query, want := range map[string]string{
		"class=few":                           "with 3 of 6 runs these are guesses",
		"class=few&inputSize=5":               "with 3 of 6 runs these are guesses; says how much it read: the input size changes nothing",
		"class=sized&inputSize=24000000000":   "",
		"class=sized&inputSize=5000000000000": "",
	} {
		got := decode[dovetail.Curve](t, call(t, h, "GET /v1/predictions?"+query, "")).Notes
		parts := strings.Split(want, "; ")
		if want == "" {
			parts = nil
		}
		if len(got) != len(parts) {
			t.Errorf("%s: notes %q", query, got)
			continue
		}
		for i, part := range parts {
			if !strings.Contains(got[i], part) {
				t.Errorf("%s: note %q, want %q", query, got[i], part)
			}
		}
	}
}

func TestPredictFindsTheClass(t *testing.T) {
	small, large := learned("wordcount?input=small", 3), learned("wordcount?input=large", 9)
	imported := learned("sgd?data=big", 7)
	for _, tc := range []struct {
		reason string
		know   []dovetail.Outlook
		query  string
		class  string // or else
		fails  string
	}{
		{"by parameters", []dovetail.Outlook{small, large}, "app=wordcount&param=input=large", "wordcount?input=large", ""},
		{"by the defaults", []dovetail.Outlook{small, large}, "app=wordcount&param=input=small", "wordcount?input=small", ""},
		{"by its name", []dovetail.Outlook{small, large}, "class=" + url.QueryEscape("wordcount?input=large"), "wordcount?input=large", ""},
		{"the only one of an application that never ran here", []dovetail.Outlook{imported}, "app=sgd", "sgd?data=big", ""},
		{"parameters that no run had", []dovetail.Outlook{small}, "app=wordcount&param=input=huge", "", "of wordcount there are wordcount?input=small"},
		{"several and none that is meant", []dovetail.Outlook{imported, learned("sgd?data=tiny", 4)}, "app=sgd", "", "sgd?data=big, sgd?data=tiny"},
		{"nobody knows it", []dovetail.Outlook{small}, "app=nosuch", "", "no run of it has succeeded"},
		{"nobody knows the class", []dovetail.Outlook{small}, "class=wordcount", "", "nothing is known of wordcount"},
		{"a parameter that there is not", []dovetail.Outlook{small}, "app=wordcount&param=speed=high", "", "speed"},
	} {
		w := call(t, handler(t, knowing(t, tc.know...)), "GET /v1/predictions?"+tc.query, "")
		switch {
		case tc.fails != "" && (w.Code < 400 || !strings.Contains(w.Body.String(), tc.fails)):
			t.Errorf("%s: %d %s, want an error that says %q", tc.reason, w.Code, w.Body, tc.fails)
		case tc.fails == "" && (w.Code != 200 || decode[dovetail.Curve](t, w).Class != tc.class):
			t.Errorf("%s: %d %s, want %s", tc.reason, w.Code, w.Body, tc.class)
		}
	}
}

func TestPredictRefuses(t *testing.T) {
	h := handler(t, knowing(t, learned("sgd", 3)))
	for _, tc := range []struct{ reason, query, says string }{
		{"nothing asked", "", "Expected app or class"},
		{"an application and a class", "app=sgd&class=sgd", "leave app or class out"},
		{"parameters twice", "class=sgd&param=a=b", "leave param out"},
		{"no target", "app=sgd&target=soon", "expected a length of time"},
		{"a target below 0", "app=sgd&target=-5s", "above 0"},
		{"certainty", "app=sgd&target=5s&confidence=1", "between 0 and 1"},
		{"below 0", "app=sgd&confidence=-0.5", "between 0 and 1"},
		{"a neighbour without a share", "app=sgd&beside=wordcount", "CLASS=RATIO"},
		{"a share below 0", "app=sgd&beside=sgd=-1", "0 or more"},
		{"a neighbour twice", "app=sgd&beside=sgd=1&beside=sgd=1", "sgd is there twice"},
		{"a neighbour nobody met", "app=sgd&beside=wordcount=1", "they met sgd"},
		{"beyond what it can have", "app=sgd&high=12", "can have 2 to 6"},
		{"from high to low", "app=sgd&low=5&high=3", "from 5 to 3"},
	} {
		w := call(t, h, "GET /v1/predictions?"+tc.query, "")
		if w.Code < 400 || w.Code >= 500 || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%s: %d %s, want an error that says %q", tc.reason, w.Code, w.Body, tc.says)
		}
	}
	few := decode[dovetail.Curve](t, call(t, h, "GET /v1/predictions?app=sgd", ""))
	if len(few.Notes) != 1 || !strings.Contains(few.Notes[0], "3 of 6 runs") {
		t.Errorf("of three runs it says %q, want a warning", few.Notes)
	}
}

// ended is a finished run of sgd.
func ended(id int, seconds float64, outcome dovetail.Outcome) dovetail.History {
	from := epoch.Add(time.Duration(id) * time.Hour)
	to := from.Add(time.Duration(seconds * float64(time.Second)))
	return dovetail.History{
		Status: dovetail.RunStatus{
			ID: dovetail.RunID(id), Class: "sgd", App: "sgd", State: dovetail.Ended, Outcome: outcome, Submitted: from, Started: &from, Ready: &from, Ended: &to,
		},
		Placements: []dovetail.Placement{{At: from, Slot: dovetail.Slot{Run: dovetail.RunID(id), Node: "n1"}, N: 3}},
	}
}

func TestModels(t *testing.T) {
	f := knowing(t, learned("sgd", 4), learned("wordcount?input=small", 9))
	for i, seconds := range []float64{200, 205, 196, 201} {
		f.history = append([]dovetail.History{ended(i+1, seconds, dovetail.OutcomeSucceeded)}, f.history...)
	}
	f.history = append([]dovetail.History{ended(6, 7, dovetail.OutcomeFailed)}, f.history...)
	c := dial(t, f, "")
	all, err := c.Models(t.Context(), "sgd", "")
	if err != nil || len(all) != 1 {
		t.Fatalf("got %+v %v, want one class", all, err)
	}
	m := all[0]
	if m.Class != "sgd" || m.Model != "bayes-cobell" || m.Runs != 4 || !strings.Contains(m.Why, "fewer than 6") {
		t.Errorf("got %+v", m)
	}
	if diff := cmp.Diff([]dovetail.LeftOut{{Why: "failed", Runs: 1}}, m.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]dovetail.SlowedDown{{Class: "sgd", Runs: 4, ScaleOut: 4, Slowdown: 1.5}}, m.Neighbours); diff != "" {
		t.Errorf("neighbours (-want +got):\n%s", diff)
	}
	if s := m.Score; s == nil || s.Runs != 4 || !s.Spread || s.MeanError <= 0 || s.MeanError > 0.1 {
		t.Errorf("score %+v, want four runs that are predicted well", s)
	}
	if one, err := c.Models(t.Context(), "", "wordcount?input=small"); err != nil || len(one) != 1 || one[0].Score != nil {
		t.Errorf("a class without a run in the history: %+v %v, want one without a score", one, err)
	}
	if _, err := c.Models(t.Context(), "nosuch", ""); dovetail.CodeOf(err) != dovetail.NotFound || !strings.Contains(err.Error(), "no run of nosuch has finished") {
		t.Errorf("an unknown application: %v", err)
	}
	if _, err := c.Models(t.Context(), "", ""); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("nothing asked: %v", err)
	}
}

// TestMetricsOfPredictions counts each run once, however often somebody looks.
func TestMetricsOfPredictions(t *testing.T) {
	f := newFake(t)
	h := handler(t, f)
	scrape := func() string { return call(t, h, "GET /metrics", "").Body.String() }
	lacks := func(body string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(want) + `$`).MatchString(body) {
				t.Errorf("metrics lack %s", want)
			}
		}
	}
	lacks(scrape(), `dovetail_target_runs_total{outcome="met"} 0`, `dovetail_prediction_ratio_count 0`, `dovetail_prediction_within_total{band="80"} 0`)

	from := time.Now().Add(time.Hour).Truncate(time.Second)
	to := from.Add(104 * time.Second)
	add := func(id int, outcome dovetail.Outcome, closed string, high float64) {
		r := ended(id, 0, outcome)
		r.Status.Ready, r.Status.Ended = &from, &to
		r.Status.Prediction = &dovetail.Prediction{Low: 95, Median: 100, High: high}
		r.Status.Choice = &dovetail.Choice{Closed: closed}
		f.history = append([]dovetail.History{r}, f.history...)
	}
	add(1, dovetail.OutcomeSucceeded, "met", 105)
	add(2, dovetail.OutcomeSucceeded, "missed", 103)
	add(3, dovetail.OutcomeFailed, "failed", 105)
	f.history = append(f.history, ended(4, 10, dovetail.OutcomeSucceeded)) // before the daemon was started
	first := []string{
		`dovetail_target_runs_total{outcome="met"} 1`, `dovetail_target_runs_total{outcome="missed"} 1`, `dovetail_target_runs_total{outcome="failed"} 1`,
		`dovetail_prediction_ratio_count 2`, `dovetail_prediction_ratio_bucket{le="1.02"} 0`, `dovetail_prediction_ratio_bucket{le="1.05"} 2`,
		`dovetail_prediction_within_total{band="80"} 1`,
	}
	lacks(scrape(), first...)
	lacks(scrape(), first...)
	add(5, dovetail.OutcomeSucceeded, "met", 105) // at the same time as the others
	lacks(scrape(), `dovetail_target_runs_total{outcome="met"} 2`, `dovetail_target_runs_total{outcome="missed"} 1`, `dovetail_prediction_ratio_count 3`)

	to = to.Add(time.Minute)
	for id := range 1500 { // more than a page
		add(10+id, dovetail.OutcomeCancelled, "abandoned", 105)
		f.history[0].Status.Ended = &to
	}
	lacks(scrape(), fmt.Sprintf(`dovetail_target_runs_total{outcome="abandoned"} %d`, 1500), `dovetail_target_runs_total{outcome="met"} 2`)
}

// tired is a reader that has time for a few pages of the history alone.
type tired struct {
	*fake
	pages int
}

func (r *tired) History(ctx context.Context, q engine.HistoryFilter) ([]dovetail.History, error) {
	if r.pages--; r.pages < 0 {
		return nil, context.DeadlineExceeded
	}
	return r.fake.History(ctx, q)
}

// TestMetricsOfMoreRunsThanAScrapeCounts: each scrape counts some, and in the end each was counted once.
func TestMetricsOfMoreRunsThanAScrapeCounts(t *testing.T) {
	f := newFake(t)
	r := &tired{fake: f}
	h := handler(t, f, func(o *httpapi.Options) { o.Reader = r })
	end := time.Now().Add(time.Hour)
	add := func(n int) {
		for range n {
			met := ended(len(f.history)+1, 0, dovetail.OutcomeSucceeded)
			at := end
			met.Status.Ended, met.Status.Choice = &at, &dovetail.Choice{Closed: "met"}
			f.history = append([]dovetail.History{met}, f.history...)
		}
	}
	add(2500)
	for i, want := range []int{1000, 2000, 2500, 2503, 2503} {
		r.pages = 1
		if i == 1 { // some end while it counts; they are of the next walk
			end = end.Add(time.Second)
			add(3)
		}
		if body := call(t, h, "GET /metrics", "").Body.String(); !strings.Contains(body, fmt.Sprintf("\ndovetail_target_runs_total{outcome=\"met\"} %d\n", want)) {
			t.Errorf("scrape %d: expected %d runs to be counted", i, want)
		}
	}
}
