package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// acquainted is what is known of two job classes: sort is slowed down by wordcount, and wordcount likes sort.
func acquainted() []dovetail.KnownClass {
	return []dovetail.KnownClass{
		{Class: "sort", Seen: epoch, Evidence: &dovetail.Evidence{Class: "sort", Runs: 14, Until: epoch, Rates: []dovetail.Rate{
			{Beside: "", Rate: 1, Low: 0.95, High: 1.05, Runs: 14, Seconds: 900},
			{Beside: "wordcount?input=small", Rate: 0.5, Low: 0.45, High: 0.55, Runs: 12, Seconds: 300},
		}}},
		{Class: "wordcount?input=small", Seen: epoch, Goodness: 4, Updates: 30, Preferences: []dovetail.Preference{
			{Class: "sort", H: 1, Updates: 30, Goodness: 4.5},
		}},
	}
}

// remembering is a fake whose core knows these classes.
func remembering(t testing.TB, classes ...dovetail.KnownClass) *fake {
	t.Helper()
	f := submitted(t, 1)
	if err := f.core.Apply(epoch, dovetail.Recalled{Classes: classes}); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNeighbours(t *testing.T) {
	c := dial(t, remembering(t, acquainted()...), "s3cret")
	got, err := c.Neighbours(t.Context(), client.NeighboursQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(acquainted(), got.Classes); diff != "" || got.Version != dovetail.KnowledgeVersion {
		t.Errorf("version %d; classes (-want +got):\n%s", got.Version, diff)
	}
	if len(got.Rows) != 2 || len(got.Rows[0].Pairs) != 1 || len(got.Rows[1].Pairs) != 1 {
		t.Fatalf("rows %+v, want two with a pair each", got.Rows)
	}
	slow, like := got.Rows[0].Pairs[0], got.Rows[1].Pairs[0]
	if s := slow.Slowdown; s == nil || math.Abs(s.Times-2) > 1e-12 || !(s.Low < 2 && s.High > 2) || s.Runs != 12 || s.Seconds != 300 || !s.Proven() {
		t.Errorf("sort beside wordcount: %+v, want twice as long, proven", slow)
	}
	// Two classes are known; the preference for the one that wordcount has not met is 0.
	if want := math.E / (math.E + 1); math.Abs(like.Likes-want) > 1e-12 || like.Goodness != 4.5 || like.Updates != 30 || like.Slowdown != nil {
		t.Errorf("wordcount likes sort: %+v, want %v", like, want)
	}
	if want := 1 / (math.E + 1); math.Abs(got.Rows[1].Rest-want) > 1e-12 {
		t.Errorf("the rest of wordcount: %v, want %v", got.Rows[1].Rest, want)
	}
}

func TestNeighboursOfSome(t *testing.T) {
	third := dovetail.KnownClass{Class: "tpch", Seen: epoch, Updates: 3, Goodness: 4, Preferences: []dovetail.Preference{
		{Class: "kmeans", H: 1, Updates: 3, Goodness: 4}, {Class: "sort", H: -1, Updates: 3, Goodness: 4},
	}}
	f := remembering(t, acquainted()[0], third, acquainted()[1])
	c := dial(t, f, "")
	pairs := func(n dovetail.Neighbours) string {
		var all []string
		for _, r := range n.Rows {
			for _, p := range r.Pairs {
				all = append(all, r.Class+"/"+p.Newcomer)
			}
		}
		return strings.Join(all, " ")
	}
	for _, tc := range []struct {
		reason string
		query  client.NeighboursQuery
		want   string
	}{
		{"all", client.NeighboursQuery{}, "sort/wordcount?input=small tpch/kmeans tpch/sort wordcount?input=small/sort"},
		{"of a class, in rows and columns", client.NeighboursQuery{Class: "sort"}, "sort/wordcount?input=small tpch/sort wordcount?input=small/sort"},
		{"of an application", client.NeighboursQuery{App: "wordcount"}, "sort/wordcount?input=small wordcount?input=small/sort"},
		{"of one that is known from others alone", client.NeighboursQuery{Class: "kmeans"}, "tpch/kmeans"},
	} {
		got, err := c.Neighbours(t.Context(), tc.query)
		if err != nil || pairs(got) != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.reason, pairs(got), err, tc.want)
		}
	}
	if _, err := c.Neighbours(t.Context(), client.NeighboursQuery{App: "nosuch"}); dovetail.CodeOf(err) != dovetail.NotFound || !strings.Contains(err.Error(), "known are sort, tpch") {
		t.Errorf("an application that nobody knows: %v", err)
	}
	if _, err := c.Neighbours(t.Context(), client.NeighboursQuery{App: "sort", Class: "sort"}); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("an application and a class: %v", err)
	}
	if got, err := dial(t, newFake(t), "").Neighbours(t.Context(), client.NeighboursQuery{}); err != nil || got.Rows == nil || len(got.Rows) != 0 {
		t.Errorf("nothing is known: %+v, %v; want empty lists", got, err)
	}
}

func TestNeighboursPutAway(t *testing.T) {
	f := remembering(t, acquainted()[:1]...)
	f.away = acquainted()[1:]
	c := dial(t, f, "")
	if got, err := c.Neighbours(t.Context(), client.NeighboursQuery{}); err != nil || len(got.Classes) != 1 {
		t.Errorf("at hand: %+v %v, want one class", got, err)
	}
	got, err := c.Neighbours(t.Context(), client.NeighboursQuery{PutAway: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(acquainted(), got.Classes); diff != "" {
		t.Errorf("with those put away (-want +got):\n%s", diff)
	}
	if gone, err := c.ForgetNeighbours(t.Context(), "wordcount?input=small"); err != nil || gone.Classes != 1 || gone.Pairs != 2 {
		t.Errorf("one that was put away is forgotten: %+v %v, want it and its pairs, here and there", gone, err)
	}
}

func TestForgetNeighbours(t *testing.T) {
	f := remembering(t, acquainted()...)
	c := dial(t, f, "")
	if _, err := c.ForgetNeighbours(t.Context(), "nosuch"); dovetail.CodeOf(err) != dovetail.NotFound || len(f.told) != 0 {
		t.Errorf("of a class that nobody knows: %v, told %v", err, f.told)
	}
	gone, err := c.ForgetNeighbours(t.Context(), "wordcount?input=small")
	if err != nil || gone != (client.Forgotten{Classes: 1, Pairs: 2}) {
		t.Errorf("forgotten: %+v %v, want the class, its pair and that of sort with it", gone, err)
	}
	if diff := cmp.Diff([]dovetail.Event{dovetail.Forgotten{Class: "wordcount?input=small"}}, f.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if gone, err = c.ForgetNeighbours(t.Context(), ""); err != nil || gone.Classes != 1 {
		t.Errorf("all: %+v %v, want the class that is left", gone, err)
	}
	if left, err := c.Neighbours(t.Context(), client.NeighboursQuery{}); err != nil || strings.Contains(fmt.Sprint(left.Rows), "sort/") {
		t.Errorf("left: %+v %v", left, err)
	}
}

func knowledge(t testing.TB, classes ...dovetail.KnownClass) []byte {
	t.Helper()
	data, err := json.MarshalIndent(dovetail.Knowledge{Version: dovetail.KnowledgeVersion, Classes: classes}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRecallNeighbours(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		here    []dovetail.KnownClass
		there   []dovetail.KnownClass
		replace bool
		want    client.Recalled
		left    string
	}{
		{"into nothing", nil, acquainted(), false, client.Recalled{Recalled: 2}, "sort wordcount?input=small"},
		{"one of two is replaced, the other one stays", acquainted(), acquainted()[:1], false, client.Recalled{Recalled: 1, Replaced: 1}, "sort wordcount?input=small"},
		{"all else is forgotten", acquainted(), acquainted()[:1], true, client.Recalled{Recalled: 1, Replaced: 1, Forgotten: 1}, "sort"},
		{"nothing instead of all", acquainted(), nil, true, client.Recalled{Forgotten: 2}, ""},
		{"the order does not matter", nil, []dovetail.KnownClass{acquainted()[1], acquainted()[0]}, false, client.Recalled{Recalled: 2}, "sort wordcount?input=small"},
	} {
		c := dial(t, remembering(t, tc.here...), "")
		there := tc.there
		if there == nil {
			there = []dovetail.KnownClass{}
		}
		got, err := c.RecallNeighbours(t.Context(), knowledge(t, there...), tc.replace)
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v %v, want %+v", tc.reason, got, err, tc.want)
		}
		n, err := c.Neighbours(t.Context(), client.NeighboursQuery{})
		var left []string
		for _, k := range n.Classes {
			if k.Evidence != nil || len(k.Preferences) > 0 {
				left = append(left, k.Class)
			}
		}
		if err != nil || strings.Join(left, " ") != tc.left {
			t.Errorf("%s: known are %v %v, want %s", tc.reason, left, err, tc.left)
		}
	}
}

// What was exported is what was imported, to the last digit.
func TestNeighboursRoundTrip(t *testing.T) {
	here, there := dial(t, remembering(t, acquainted()...), ""), dial(t, newFake(t), "")
	n, err := here.Neighbours(t.Context(), client.NeighboursQuery{PutAway: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := there.RecallNeighbours(t.Context(), knowledge(t, n.Classes...), false); err != nil {
		t.Fatal(err)
	}
	again, err := there.Neighbours(t.Context(), client.NeighboursQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(n, again); diff != "" {
		t.Errorf("(-here +there):\n%s", diff)
	}
}

// Whatever is wrong with knowledge is named with its line, and changes nothing.
func TestRecallNeighboursRefuses(t *testing.T) {
	f := remembering(t, acquainted()...)
	h := handler(t, f)
	before, _ := json.Marshal(f.core.Neighbours())
	good := string(knowledge(t, acquainted()...))
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("the document has no %q", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	line := func(text string) int {
		before, _, _ := strings.Cut(good, text)
		return 1 + strings.Count(before, "\n")
	}
	for _, tc := range []struct {
		reason, body, says string
		line               int // 0: whatever
	}{
		{"nothing", "", "ends early", 0},
		{"no JSON", "no", "invalid", 1},
		{"cut off", good[:len(good)/2], "ends early", 0},
		{"another document", `{"runs": []}`, "unknown member; known are version, classes", 0},
		{"no version", `{"classes": []}`, "export", 0},
		{"no classes", `{"version": 1}`, "export", 0},
		{"a version to come", change(`"version": 1`, `"version": 2`), "reads version 1", 0},
		{"classes that are no list", `{"version": 1, "classes": {}}`, "expected a list", 0},
		{"a class that is nothing", `{"version": 1, "classes": [null]}`, "classes[0]", 0},
		{"a member that there is not", change(`"class": "sort"`, `"klass": "sort"`), `unknown field \"klass\"`, 4},
		{"text in place of a number", change(`"rate": 0.5`, `"rate": "x"`), "classes[0].evidence.rates.rate", line(`"rate": 0.5`)},
		{"a number that is none", change(`"rate": 0.5`, `"rate": NaN`), "invalid", line(`"rate": 0.5`)},
		{"a number too large", change(`"h": 1`, `"h": 1e999`), "classes[1].preferences.h", line(`"h": 1`)},
		{"a preference out of bounds", change(`"h": 1`, `"h": 1e9`), "preferences[0].h", line(`"class": "wordcount`) - 1},
		{"a rate of 0", change(`"rate": 0.5`, `"rate": 0`), "rates[1].rate", 4},
		{"an interval beside its rate", change(`"high": 0.55`, `"high": 0.4`), "rates[1].high", 4},
		{"fewer than no updates", change(`"updates": 30`, `"updates": -30`), "updates", 0},
		{"a class twice", change(`"class": "wordcount?input=small",
      "seen"`, `"class": "sort",
      "seen"`), "is classes[0] already", 0},
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut} {
			w := call(t, h, method+" /v1/neighbours", tc.body, "Content-Type: application/json")
			if w.Code < 400 || w.Code >= 500 || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%s, %s: %d %s, want an error that says %q", method, tc.reason, w.Code, w.Body, tc.says)
				continue
			}
			var p struct{ Faults []dovetail.Fault }
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || tc.line > 0 && (len(p.Faults) != 1 || p.Faults[0].Line != tc.line) {
				t.Errorf("%s, %s: faults %v, want line %d", method, tc.reason, p.Faults, tc.line)
			}
		}
	}
	if after, _ := json.Marshal(f.core.Neighbours()); !bytes.Equal(before, after) || len(f.told) != 0 {
		t.Errorf("something was told: %v", f.told)
	}
}

func TestNeighboursMethods(t *testing.T) {
	h := handler(t, newFake(t))
	if w := call(t, h, "PATCH /v1/neighbours", ""); w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Header().Get("Allow"), "DELETE") {
		t.Errorf("PATCH: %d, allowed %q", w.Code, w.Header().Get("Allow"))
	}
	if w := call(t, h, "DELETE /v1/neighbours/"+url.PathEscape("a?b=%2F/c"), ""); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "a?b=%2F/c") {
		t.Errorf("a class with all kinds of characters: %d %s", w.Code, w.Body)
	}
}

// The company of a run that has ended is that of its history, with what it cost.
func TestCompany(t *testing.T) {
	f := remembering(t, acquainted()...)
	from, to := epoch, epoch.Add(100*time.Second)
	f.status = append(f.status, dovetail.RunStatus{
		ID: 2, Name: "sort-2", Class: "sort", App: "sort", State: dovetail.Ended, Outcome: dovetail.OutcomeSucceeded,
		Submitted: from, Started: &from, Ready: &from, Ended: &to,
	})
	f.runs = append(f.runs, &dovetail.Run{ID: 2, Name: "sort-2", Class: "sort", App: f.runs[0].App})
	f.history = []dovetail.History{{
		Status: f.status[1], App: f.runs[0].App,
		Placements: []dovetail.Placement{{At: from, Slot: dovetail.Slot{Run: 2, Node: "n1"}, N: 1}},
		Neighbours: []dovetail.Neighbour{{Run: 1, Class: "wordcount?input=small", Node: "n1", From: from, To: from.Add(40 * time.Second)}},
	}}
	c := dial(t, f, "")
	got, err := c.Company(t.Context(), "2")
	if err != nil || !got.Ended || len(got.Beside) != 1 {
		t.Fatalf("got %+v %v, want one companion", got, err)
	}
	with := got.Beside[0]
	if with.Class != "wordcount?input=small" || with.Seconds != 40 || !with.Known || math.Abs(with.Lost-20) > 1e-9 || with.Slowdown == nil {
		t.Errorf("got %+v, want 40 s at half the pace: 20 s lost", with)
	}
	if got, err = c.Company(t.Context(), "1"); err != nil || got.Ended || got.Beside == nil || len(got.Beside) != 0 {
		t.Errorf("of a run that waits: %+v %v, want nobody", got, err)
	}
	if _, err = c.Company(t.Context(), "99"); dovetail.CodeOf(err) != dovetail.NotFound {
		t.Errorf("of a run that there is not: %v", err)
	}
}

// A neighbour that nobody knows is no reason to refuse a submission, and one to say so.
func TestSubmitWarnsOfUnknownNeighbours(t *testing.T) {
	f := remembering(t, acquainted()...)
	c := dial(t, f, "")
	spec := strings.Replace(wordcount, "components:", "colocation: {avoid: [sort, nosuch], prefer: [wordcount, 'wordcount?input=big']}\ncomponents:", 1)
	got, err := c.Submit(t.Context(), client.SubmitRequest{Spec: []byte(spec)})
	if err != nil || !got.Created || len(got.Warnings) != 2 {
		t.Fatalf("got %+v %v, want two warnings", got, err)
	}
	for i, want := range []string{"colocation.avoid names nosuch", "colocation.prefer names wordcount?input=big"} {
		if !strings.HasPrefix(got.Warnings[i], want) {
			t.Errorf("warning %q, want %q", got.Warnings[i], want)
		}
	}
	if dry, err := c.DryRun(t.Context(), client.SubmitRequest{Spec: []byte(spec)}); err != nil || len(dry.Warnings) != 2 {
		t.Errorf("dry run: %+v %v, want two warnings", dry, err)
	}
	if plain, err := c.Submit(t.Context(), client.SubmitRequest{Spec: []byte(wordcount)}); err != nil || plain.Warnings != nil {
		t.Errorf("without a word on neighbours: %+v %v", plain, err)
	}
}
