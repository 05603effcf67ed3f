package sched

import (
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// lasting is an application of one component without elastic replicas, of which the user says how many seconds it takes; 0: nothing.
func lasting(count int, seconds float64) *dovetail.Application {
	a := oneComponent(count, count, 1)
	a.Expected = dovetail.Duration(time.Duration(seconds * float64(time.Second)))
	return a
}

// One node of 10 CPUs, of which run 1 holds 6 for 100 s; run 2 needs 8, so that it is to start then, and 2 are spare.
func TestEasyBackfilling(t *testing.T) {
	type behind struct {
		app     *dovetail.Application
		class   string
		starts  bool
		because string
	}
	for name, tc := range map[string][]behind{
		"ends in time":        {{lasting(4, 100), "x", true, "it ends when the reservation begins"}},
		"ends too late":       {{lasting(4, 101), "x", false, "it needs more than the 2 that are spare, for too long"}},
		"takes what is spare": {{lasting(2, 500), "x", true, "2 are spare"}, {lasting(2, 500), "x", false, "no longer"}, {lasting(2, 90), "x", true, "it ends in time"}},
		"unknown is long":     {{lasting(4, 0), "x", false, "an hour is assumed"}},
		"predicted":           {{lasting(4, 0), "quick", true, "it is predicted to take 90 s"}},
		"surely predicted":    {{lasting(4, 0), "a", false, "the median is 250 s"}, {lasting(3, 0), "b", true, "in nine of ten cases it takes 99 s"}},
		"may not take so long": {{func() *dovetail.Application {
			a := lasting(4, 0)
			a.MaxRuntime = dovetail.Duration(time.Minute)
			return a
		}(), "x", true, "it is stopped in time"}},
	} {
		for _, alloc := range []string{"rigid", "malleable", "flexible", "eager"} {
			t.Run(name+"/"+alloc, func(t *testing.T) {
				cfg := dovetail.DefaultConfig()
				cfg.Policy, cfg.Alloc = "fifo-easy", alloc
				s := newStage(t, cfg, 0)
				s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(10)}})
				s.apply(dovetail.Fitted{Outlook: outlookOf("quick", 0, 20, func(int) float64 { return 90 })})
				s.apply(dovetail.Fitted{Outlook: spread("a")})
				b := outlookOf("b", 0, 4, nil)
				b.Levels = []float64{.1, .5, .9}
				for i := range b.Alone {
					b.Alone[i] = []float64{50, 60, 99}
				}
				s.apply(dovetail.Fitted{Outlook: b})
				s.submit("x", lasting(6, 100))
				s.turn()
				s.submit("x", lasting(8, 10))
				var ids []dovetail.RunID
				for _, b := range tc {
					ids = append(ids, s.submit(b.class, b.app))
				}
				s.turn()
				for i, b := range tc {
					st, _ := s.core.Status(ids[i])
					if started := st.State != dovetail.Queued; started != b.starts {
						t.Errorf("%s: run %d: started %t", b.because, ids[i], started)
					}
					if !b.starts {
						x, _ := s.core.Explain(ids[i], s.now)
						if st.Reason != dovetail.Behind || x.Behind != 2 || !strings.Contains(x.Text, "does not delay run 2") {
							t.Errorf("%s; %+v", st.Reason, x)
						}
					}
				}
				if st, _ := s.core.Status(2); st.State != dovetail.Queued || st.Reason == dovetail.Behind {
					t.Errorf("the first run is %s, %s", st.State, st.Reason)
				}
			})
		}
	}
}

// The run in service is predicted to go on for as long as nine in ten that have run so long.
func TestEasyReservesByPredictedEnds(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Policy, cfg.Alloc = "fifo-easy", "rigid"
	s := newStage(t, cfg, 0)
	s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(10)}})
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("a", oneComponent(5, 5, 1)) // 1.1·200 s
	s.turn()
	s.submit("x", lasting(8, 10))
	s.submit("x", lasting(4, 50))
	s.at(171)
	s.holds("49 s are left: 50 are too long", 5, 0, 0)
	s.submit("x", lasting(4, 40))
	s.at(172)
	s.holds("40 are not", 5, 0, 0, 4)
}

// The rigid allocator starts a run with a target at its ceiling: that is what it needs, and how long it takes goes by it.
func TestEasyReckonsWithCeilings(t *testing.T) {
	for _, tc := range []struct {
		reason string
		first  *dovetail.Application // is in service for 200 s with 6 of 10
		head   *dovetail.Application
		behind *dovetail.Application // of class "a": 1000/x s, 10 % more in one case of ten
		starts bool
	}{
		{"with 4 it takes 275 s, and with all 10 it would take 110", lasting(6, 200), lasting(8, 10), aiming(1, 10, 275, .9), false},
		{"with 4 it takes 275 s", lasting(6, 300), lasting(8, 10), aiming(1, 10, 275, .9), true},
		{"4 are spare, for a head whose ceiling is 6", lasting(6, 200), aiming(1, 10, 184, .9), aiming(1, 10, 275, .9), true},
	} {
		cfg := dovetail.DefaultConfig()
		cfg.Policy, cfg.Alloc = "fifo-easy", "rigid"
		s := newStage(t, cfg, 0)
		s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(10)}})
		s.apply(dovetail.Fitted{Outlook: spread("a")})
		s.submit("x", tc.first)
		s.turn()
		s.submit("a", tc.head)
		id := s.submit("a", tc.behind)
		s.turn()
		if st, _ := s.core.Status(id); (st.State != dovetail.Queued) != tc.starts {
			t.Errorf("%s: started %t", tc.reason, !tc.starts)
		}
		if st, _ := s.core.Status(2); st.State != dovetail.Queued || st.Choice != nil {
			t.Errorf("%s: the first run is %s, with the choice %+v", tc.reason, st.State, st.Choice)
		}
	}
}
