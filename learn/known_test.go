package learn_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/learn"
)

// counting counts what a recorder is asked.
type counting struct {
	learn.Recorder
	n *int
}

func (c counting) History(ctx context.Context, f engine.HistoryFilter) ([]dovetail.History, error) {
	*c.n++
	return c.Recorder.History(ctx, f)
}

func TestUnknownRuns(t *testing.T) {
	w := newWorld(t, "cobell")
	a, b := imported("a", 4, .5, 100), imported("b", 4, 0, 0)
	w.put(a, b)
	w.run(8, nil)

	var text bytes.Buffer // what has run here, exported
	table, err := learn.NewWriter(&text)
	if err != nil {
		t.Fatal(err)
	}
	own, err := w.store.History(t.Context(), engine.HistoryFilter{Class: "sort", Learn: true})
	if err != nil || len(own) != 1 {
		t.Fatalf("%d runs of sort, %v; expected one", len(own), err)
	}
	p := learn.PastOf(&own[0])
	if err := table.Write(&p); err != nil {
		t.Fatal(err)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	exported, err := readRuns(&text, "export", learn.Defaults{})
	if err != nil {
		t.Fatal(err)
	}

	east := a
	east.Ended, east.Params, east.NodeClasses = a.Ended.In(time.FixedZone("east", 3600)), map[string]string{}, []string{}
	slower, later, elsewhere, c := a, a, a, imported("c", 4, 0, 0)
	slower.Runtime++
	later.Ended = a.Ended.Add(time.Microsecond)
	elsewhere.Class = "b"
	for _, tc := range []struct {
		reason string
		runs   []dovetail.Past
		want   []dovetail.Past
		asked  int // of the history
	}{
		{"nothing of the class", []dovetail.Past{c, imported("c", 5, 0, 0)}, []dovetail.Past{c, imported("c", 5, 0, 0)}, 1},
		{"the same again", []dovetail.Past{a, b}, nil, 4},
		{"told otherwise", []dovetail.Past{east}, nil, 2},
		{"what has run here", exported, nil, 2},
		{"another runtime, end or class", []dovetail.Past{slower, later, elsewhere}, []dovetail.Past{slower, later, elsewhere}, 5},
		{"twice in one file", []dovetail.Past{c, a, c}, []dovetail.Past{c}, 3},
	} {
		asked := 0
		got, err := learn.Unknown(t.Context(), counting{w.store, &asked}, tc.runs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || asked != tc.asked {
			t.Errorf("%s: the history was asked %d times, expected %d (-want +got):\n%s", tc.reason, asked, tc.asked, diff)
		}
	}
	if _, err := learn.Unknown(t.Context(), failing{w.store, "a"}, []dovetail.Past{a}); err == nil {
		t.Error("no error although the history does not answer")
	}
}
