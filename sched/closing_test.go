package sched

import (
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// TestEndOfLine: when nobody waits but those of the window the run goes first without which all would be done later, here the second one,
// which takes longer than the others. As long as runs wait beyond the window, or if it is not known how long one takes, the first in line
// does, as prices are alike.
func TestEndOfLine(t *testing.T) {
	for _, tc := range []struct {
		reason          string
		window, waiting int
		unknown         bool // how long the last one takes
		service         bool // one of those that are there does not end
		foreseen        bool
	}{
		{reason: "one run waits, and there is no choice", window: 5, waiting: 1},
		{reason: "all are in the window", window: 5, waiting: 2, foreseen: true},
		{reason: "all are in the window, just so", window: 3, waiting: 3, foreseen: true},
		{reason: "all are in the window, beside a service", window: 3, waiting: 3, service: true, foreseen: true},
		{reason: "one is beyond the window", window: 2, waiting: 3},
		{reason: "many are beyond the window", window: 3, waiting: 9},
		{reason: "a length is not known", window: 3, waiting: 3, unknown: true},
	} {
		cfg := choosing("price")
		cfg.Colocation.Window = tc.window
		s := newStage(t, cfg, 2)
		s.apply(rates("a", map[string]float64{"a": .8}))
		lasting := func(seconds int) *dovetail.Application {
			app := half("a", 1)
			app.Expected = dovetail.Duration(time.Duration(seconds) * time.Second)
			return app
		}
		for range 2 {
			s.submit("a", lasting(60))
		}
		last := lasting(60)
		if tc.service {
			last.Kind, last.Expected = dovetail.Service, 0
		}
		s.submit("a", last)
		s.turn()
		var ids []dovetail.RunID
		for i := range tc.waiting {
			app := lasting(40)
			switch {
			case i == 1:
				app = lasting(100)
			case i == tc.waiting-1 && tc.unknown:
				app.Expected = 0
			}
			ids = append(ids, s.submit("a", app))
		}
		plan := s.core.Decide(s.now)
		if len(plan.Assign) != 1 {
			t.Fatalf("%s: %+v", tc.reason, plan)
		}
		want := ids[0]
		if tc.foreseen {
			want = ids[1]
		}
		if got := plan.Assign[0].Run; got != want {
			t.Errorf("%s: run %d starts, expected %d of %v", tc.reason, got, want, ids)
		}
	}
}
