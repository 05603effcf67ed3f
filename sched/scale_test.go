package sched

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// stage is a core whose back-end obeys at once: replicas come up as they are asked for and stop when they are no longer wanted.
type stage struct {
	t    *testing.T
	core *Core
	now  time.Time
	next dovetail.RunID
	said []dovetail.Choice // of the last turn
}

// newStage has nodes of 4 CPUs.
func newStage(t *testing.T, cfg dovetail.Config, nodes int) *stage {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, core: c, now: epoch, next: 1}
	for i := range nodes {
		s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: fmt.Sprint("n", i), Capacity: unit(4)}})
	}
	return s
}

func (s *stage) apply(e dovetail.Event) {
	s.t.Helper()
	if err := s.core.Apply(s.now, e); err != nil {
		s.t.Fatalf("%T: %v", e, err)
	}
}

func (s *stage) submit(class string, app *dovetail.Application) dovetail.RunID {
	s.t.Helper()
	s.apply(dovetail.Submitted{Run: &dovetail.Run{ID: s.next, Name: class, Class: class, App: app}})
	s.next++
	return s.next - 1
}

// turn decides until there is nothing more to say.
func (s *stage) turn() {
	s.t.Helper()
	s.said = nil
	for plan := s.core.Decide(s.now); !plan.Empty(); plan = s.core.Decide(s.now) {
		s.apply(dovetail.Decided{Plan: plan})
		s.said = append(s.said, plan.Choices...)
		if v := s.core.Validate(); len(v) > 0 {
			s.t.Fatal(v)
		}
		s.obey()
	}
}

// obey does what the core has told the back-end.
func (s *stage) obey() {
	s.t.Helper()
	for _, id := range s.core.Serving() {
		r := s.core.runs[id]
		for ci := range r.comps {
			for _, k := range append([]cell(nil), r.comps[ci].cells...) {
				slot := s.core.slot(r, ci, &k)
				if n := k.told - k.up; n > 0 {
					s.apply(dovetail.ReplicasUp{Slot: slot, N: n})
				} else if n := k.live - k.told; n > 0 {
					s.apply(dovetail.ReplicasDown{Slot: slot, N: n, WasUp: true, Exit: dovetail.Exit{Asked: true}})
				}
			}
		}
	}
}

// at lets time pass and takes a turn.
func (s *stage) at(seconds float64) {
	s.t.Helper()
	s.now = epoch.Add(time.Duration(seconds * float64(time.Second)))
	s.apply(dovetail.Tick{})
	s.turn()
}

// holds checks how many replicas runs are granted, by run from 1 on.
func (s *stage) holds(reason string, want ...int) {
	s.t.Helper()
	for i, n := range want {
		got := 0
		if r := s.core.runs[dovetail.RunID(i+1)]; r != nil && r.comps != nil {
			got = r.comps[0].want[core] + r.comps[0].want[elastic]
		}
		if got != n {
			s.t.Errorf("%s: run %d has %d replicas, expected %d", reason, i+1, got, n)
		}
	}
}

func (s *stage) choice(id dovetail.RunID) dovetail.Choice {
	s.t.Helper()
	st, ok := s.core.Status(id)
	if !ok || st.Choice == nil {
		s.t.Fatalf("run %d has no choice", id)
	}
	return *st.Choice
}

func (s *stage) end(id dovetail.RunID) {
	s.t.Helper()
	r := s.core.runs[id]
	for ci := range r.comps {
		for _, k := range append([]cell(nil), r.comps[ci].cells...) {
			if k.class == core && k.live > 0 {
				s.apply(dovetail.ReplicasDown{Slot: s.core.slot(r, ci, &k), N: k.live, WasUp: true})
			}
		}
	}
}

// aiming is an application with a target in seconds, of one component with replicas of one CPU.
func aiming(count, limit int, seconds float64, confidence float64) *dovetail.Application {
	a := oneComponent(count, limit, 1)
	a.Target = &dovetail.Target{Runtime: dovetail.Duration(time.Duration(seconds * float64(time.Second))), Confidence: confidence}
	return a
}

// spread is an outlook of 1000/x seconds, 10 % more or less in one case of ten each; three times as slow beside class "noisy".
func spread(class string) dovetail.Outlook {
	o := outlookOf(class, 0, 20, nil)
	o.Levels = []float64{.1, .5, .9}
	slow := dovetail.Beside{Class: "noisy", Runs: 5}
	for i, x := range o.ScaleOuts {
		y := 1000 / float64(x)
		o.Alone[i] = []float64{.9 * y, y, 1.1 * y}
		slow.Seconds = append(slow.Seconds, []float64{2.7 * y, 3 * y, 3.3 * y})
	}
	o.Beside = []dovetail.Beside{slow}
	return o
}

func TestSmallestScaleOutThatMeetsTheTarget(t *testing.T) {
	for _, alloc := range []string{"rigid", "malleable", "flexible", "eager"} {
		t.Run(alloc, func(t *testing.T) {
			cfg := dovetail.DefaultConfig()
			cfg.Alloc = alloc
			s := newStage(t, cfg, 5)
			s.apply(dovetail.Fitted{Outlook: spread("a")})
			s.submit("a", aiming(2, 20, 100, .9)) // 1.1·1000/11 = 100
			s.turn()
			s.holds("the 90 % quantile meets 100 s at 11", 11)
			x := s.choice(1)
			if x.Model != "test" || x.Runs != 10 || !x.Known || x.Missed || math.Abs(x.Probability-.9) > 1e-9 ||
				!x.Deadline.Equal(epoch.Add(100*time.Second)) || x.Confidence != .9 {
				t.Errorf("%+v", x)
			}
			s.submit("a", aiming(2, 8, 100, .5))
			s.turn()
			s.holds("no scale-out is enough: the limit", 11, 8)
			if x := s.choice(2); !x.Missed || x.Probability >= .5 {
				t.Errorf("%+v", x)
			}
			if p := s.core.runs[1].forecast; p == nil || p.ScaleOut != 11 && alloc != "malleable" || math.Abs(p.High/p.Median-1.1) > 1e-9 {
				t.Errorf("prediction %+v", p)
			}
		})
	}
}

func TestFinishBy(t *testing.T) {
	s := newStage(t, dovetail.DefaultConfig(), 5)
	s.apply(dovetail.Fitted{Outlook: outlookOf("a", 0, 20, func(x int) float64 { return 1000 / float64(x) })})
	by := epoch.Add(200 * time.Second)
	app := oneComponent(1, 20, 1)
	app.FinishBy = &by
	s.submit("a", app)
	s.at(75)
	s.holds("8 replicas take 125 s, the time that is left", 8)
	late := oneComponent(1, 4, 1)
	past := epoch.Add(time.Second)
	late.FinishBy = &past
	s.submit("a", late)
	s.at(76)
	s.holds("too late: the limit", 8, 4)
	if x := s.choice(2); !x.Missed || x.Probability != 0 || !x.Known {
		t.Errorf("%+v", x)
	}
}

func TestFirstRunsExplore(t *testing.T) {
	s := newStage(t, dovetail.DefaultConfig(), 5)
	first := []dovetail.Stretch{{ScaleOut: 20, Seconds: 60}, {ScaleOut: 11, Seconds: 100}}
	for n, want := range []struct {
		scaleOut int
		model    string
	}{{20, "max"}, {11, "bootstrap"}, {15, "bootstrap"}} {
		if n > 0 {
			s.apply(dovetail.Fitted{Outlook: dovetail.Outlook{Class: "a", Runs: n, First: first[:n]}})
		}
		id := s.submit("a", aiming(2, 20, 90, .9))
		s.turn()
		if x := s.choice(id); x.ScaleOut != want.scaleOut || x.Model != want.model || x.Known || x.Missed {
			t.Errorf("run %d: %+v, expected %+v", n+1, x, want)
		}
		s.apply(dovetail.Fitted{Outlook: spread("b")}) // of another class
		s.end(id)
		s.turn()
	}
}

// A neighbour that runs for as long as the target, on one of two nodes.
func TestNeighboursCount(t *testing.T) {
	s := newStage(t, dovetail.DefaultConfig(), 2)
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("noisy", oneComponent(1, 1, 4)) // fills a node
	s.turn()
	s.submit("a", aiming(1, 4, 1000, .5))
	s.turn()
	x := s.choice(2)
	if len(x.Overlaps) != 1 || x.Overlaps[0] != (dovetail.Overlap{Class: "noisy", Ratio: .5}) {
		t.Errorf("overlaps %+v", x.Overlaps)
	}
	s.holds("1000·(1 + 0.5·2)/x within 1000 s: 2", 1, 2)

	// Now the neighbour is known to end soon: 100 s of 1000 are a tenth.
	s = newStage(t, dovetail.DefaultConfig(), 2)
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.apply(dovetail.Fitted{Outlook: outlookOf("noisy", 0, 1, func(int) float64 { return 150 })})
	s.submit("noisy", oneComponent(1, 1, 4))
	s.turn()
	s.at(50)
	s.submit("a", aiming(1, 4, 1000, .5))
	s.turn()
	if x := s.choice(2); len(x.Overlaps) != 1 || math.Abs(x.Overlaps[0].Ratio-.05) > 1e-9 {
		t.Errorf("overlaps %+v", x.Overlaps)
	}
	s.holds("1000·1.1/x", 1, 2)

	// Two that start together expect each other.
	s = newStage(t, dovetail.DefaultConfig(), 2)
	o := spread("a")
	o.Beside[0].Class = "a"
	s.apply(dovetail.Fitted{Outlook: o})
	s.submit("a", aiming(1, 8, 1000, .5))
	s.submit("a", aiming(1, 8, 1000, .5))
	s.turn()
	if one, two := s.choice(1), s.choice(2); len(one.Overlaps) != 0 || len(two.Overlaps) != 1 {
		t.Errorf("%+v, %+v", one.Overlaps, two.Overlaps)
	}
}

func TestGuardedReplicas(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Alloc, cfg.InteractiveFirst = "eager", true
	s := newStage(t, cfg, 2)
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("a", aiming(1, 8, 250, .5)) // 4
	s.submit("b", oneComponent(1, 8, 1)) // the rest
	s.turn()
	s.holds("all is granted", 4, 4)
	s.submit("b", oneComponent(3, 3, 1))
	s.turn()
	s.holds("a core takes what is not guarded", 4, 1, 3)
	person := oneComponent(1, 1, 1)
	person.Kind = dovetail.Interactive
	s.submit("b", person)
	s.turn()
	s.holds("an interactive run of the same priority takes nothing that is guarded", 4, 1, 3, 0)
	urgent := oneComponent(2, 2, 1)
	urgent.Priority = 1
	s.submit("b", urgent)
	s.turn()
	s.holds("a higher priority does", 2, 1, 3, 0, 2)
	x := s.choice(1)
	if len(s.said) != 1 || x.ScaleOut != 4 || x.Probability > .01 || x.Missed {
		t.Errorf("the probability with 2 of 4 replicas is small: %+v; said %+v", x, s.said)
	}
	s.apply(dovetail.Cancelled{Run: 4})
	s.end(5)
	s.turn()
	s.holds("what is free again goes to the run with the target first", 4, 1, 3)
}

func TestTopUp(t *testing.T) {
	for _, tc := range []struct {
		alloc  string
		change func(cfg *dovetail.Config)
		want   int
	}{{alloc: "flexible", want: 5}, {alloc: "eager", want: 5}, {alloc: "malleable", want: 1}} {
		t.Run(tc.alloc, func(t *testing.T) {
			cfg := dovetail.DefaultConfig()
			cfg.Alloc, cfg.Regrow = tc.alloc, dovetail.Duration(20*time.Second)
			s := newStage(t, cfg, 2)
			s.apply(dovetail.Fitted{Outlook: spread("a")})
			s.submit("b", oneComponent(1, 7, 1))
			s.turn()
			s.submit("a", aiming(1, 8, 200, .5))
			s.at(1)
			s.holds("the run with a target takes elastic replicas of the other, and no more than its ceiling", 8-tc.want, tc.want)
			s.submit("a", aiming(1, 8, 200, .5))
			s.at(2)
			if tc.alloc == "eager" {
				s.holds("a core takes one; the other core stays", 1, 5, 2)
			}
		})
	}
	t.Run("priority", func(t *testing.T) {
		s := newStage(t, dovetail.DefaultConfig(), 2)
		s.apply(dovetail.Fitted{Outlook: spread("a")})
		high := oneComponent(1, 7, 1)
		high.Priority = 1
		s.submit("b", high)
		s.turn()
		s.submit("a", aiming(1, 8, 200, .5))
		s.turn()
		s.holds("not from a run of higher priority", 7, 1)
	})
}

// Progress is what the median says, by the replicas that were there; choices follow it at the beginning of each period.
func TestReconsider(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Replan = dovetail.Duration(10 * time.Second)
	s := newStage(t, cfg, 5)
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("a", aiming(1, 20, 220, .9)) // 5: 1.1·200
	s.turn()
	s.holds("at first", 5)
	if wake := s.core.Wake(); !wake.Equal(epoch.Add(10 * time.Second)) {
		t.Errorf("wakes at %s", wake)
	}
	urgent := oneComponent(18, 18, 1)
	urgent.Priority = 1
	s.submit("b", urgent)
	s.at(21)
	s.holds("an urgent run takes three", 2, 18)
	if done := s.core.doneBy(s.core.runs[1], s.now); math.Abs(done-21./200) > 1e-9 {
		t.Errorf("after 21 s of 200: %g of the work is done", done)
	}
	s.at(101)
	if done := s.core.doneBy(s.core.runs[1], s.now); math.Abs(done-21./200-80./500) > 1e-9 {
		t.Errorf("80 s of 500 later: %g of the work is done", done)
	}
	// 0.265 are done and 119 s are left: 9 in 10 take up to 1.1 of the median, so that it must be 119/(1.1 − 0.265) at most. With 7 it is 1000/7.
	if x := s.choice(1); x.ScaleOut != 8 || x.Missed || x.Probability < .9 || len(s.said) != 1 {
		t.Errorf("%+v; said %+v", x, s.said)
	}
	s.end(2)
	s.turn()
	s.holds("it catches up", 8)
	for sec := 102.; sec < 110; sec++ {
		if s.at(sec); len(s.said) > 0 {
			t.Errorf("within a period: %+v", s.said)
		}
	}
}

// A neighbour costs progress while it is there, and no longer; what was expected of it does not count.
func TestProgressBesideOthers(t *testing.T) {
	s := newStage(t, dovetail.DefaultConfig(), 0)
	s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(8)}})
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.apply(dovetail.Fitted{Outlook: outlookOf("noisy", 0, 1, func(int) float64 { return 30 })})
	s.submit("noisy", oneComponent(1, 1, 1))
	s.turn()
	app := aiming(4, 4, 900, .9)
	s.submit("a", app)
	s.turn()
	if x := s.choice(2); len(x.Overlaps) != 1 || math.Abs(x.Overlaps[0].Ratio-30./900) > 1e-9 {
		t.Errorf("expected are 30 s of 900: %+v", x.Overlaps)
	}
	done := func(reason string, want float64) {
		t.Helper()
		if got := s.core.doneBy(s.core.runs[2], s.now); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %g of the work is done, expected %g", reason, got, want)
		}
	}
	s.at(75)
	done("75 s of 750, three times as long as alone", .1)
	s.end(1)
	s.turn()
	s.at(100)
	done("25 s of 250 more without it", .2)
	s.submit("noisy", oneComponent(1, 1, 1))
	s.turn()
	s.at(175)
	done("75 s of 750 more", .3)
	s.apply(dovetail.Suspended{Run: 3})
	s.at(200)
	done("25 s of 250 more while the other stands still", .4)
	data, err := s.core.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if s.core, err = Restore(data); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(25 * time.Second)
	done("after a restart", .5)
}

func TestGivesBack(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Replan = dovetail.Duration(10 * time.Second)
	s := newStage(t, cfg, 5)
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("noisy", oneComponent(1, 1, 4))
	s.turn()
	s.submit("a", aiming(1, 15, 250, .9))
	s.turn()
	if x := s.choice(2); x.ScaleOut != 7 { // 1.1·1000·(1 + 2/5)/7 = 220; 6: 257
		t.Fatalf("%+v", x)
	}
	s.at(9)
	s.end(1)
	s.at(10)
	x := s.choice(2)
	if x.ScaleOut != 5 || x.Probability < .95 || len(x.Overlaps) != 0 {
		t.Errorf("without the neighbour 5 do: %+v", x)
	}
	s.holds("what is not needed is given back", 0, 5)
	var later []int
	for sec := 20.; sec < 200; sec += 10 {
		s.at(sec)
		for _, x := range s.said {
			later = append(later, x.ScaleOut)
		}
	}
	if fmt.Sprint(later) != "[4]" { // the nearer the end, the surer; and nothing that was given back is asked for again
		t.Errorf("later choices: %v", later)
	}
}

func TestChoicesAreClosedOnce(t *testing.T) {
	for reason, tc := range map[string]struct {
		seconds float64
		finish  func(s *stage)
		closed  string
	}{
		"in time":   {250, func(s *stage) { s.end(1) }, "met"},
		"late":      {250.001, func(s *stage) { s.end(1) }, "missed"},
		"cancelled": {10, func(s *stage) { s.apply(dovetail.Cancelled{Run: 1}) }, "abandoned"},
		"failed": {10, func(s *stage) {
			s.apply(dovetail.ReplicasDown{Slot: dovetail.Slot{Run: 1, Node: "n0"}, N: 1, WasUp: true, Exit: dovetail.Exit{Code: 1}})
		}, "failed"},
		"lost": {10, func(s *stage) { s.apply(dovetail.NodeDown{Node: "n0"}) }, "failed"},
	} {
		t.Run(reason, func(t *testing.T) {
			s := newStage(t, dovetail.DefaultConfig(), 2)
			s.apply(dovetail.Fitted{Outlook: spread("a")})
			s.submit("a", aiming(1, 8, 250, .5))
			s.turn()
			s.core.Changed()
			s.now = epoch.Add(time.Duration(tc.seconds * float64(time.Second)))
			tc.finish(s)
			s.turn()
			var ended []dovetail.RunStatus
			for _, st := range s.core.Changed() {
				if st.State == dovetail.Ended {
					ended = append(ended, st)
				}
			}
			if len(ended) != 1 || ended[0].Choice == nil || ended[0].Choice.Closed != tc.closed {
				t.Errorf("%+v", ended)
			}
		})
	}
}

// A plan that was made by another program, or was tampered with.
func TestMisfitChoicesAreRefused(t *testing.T) {
	s := newStage(t, dovetail.DefaultConfig(), 1)
	s.submit("a", aiming(1, 4, 250, .5))
	for reason, x := range map[string]dovetail.Choice{
		"no such run":    {Run: 7, ScaleOut: 2},
		"above":          {Run: 1, ScaleOut: 5},
		"below":          {Run: 1},
		"does not start": {Run: 1, ScaleOut: 2},
	} {
		p := dovetail.Plan{Seq: 1, Choices: []dovetail.Choice{x}}
		if reason == "above" || reason == "below" {
			p.Assign = []dovetail.Assign{{Slot: dovetail.Slot{Run: 1, Node: "n0"}, N: 1}}
		}
		if err := s.core.Apply(s.now, dovetail.Decided{Plan: p}); err == nil {
			t.Errorf("%s: applied", reason)
		}
	}
}

func TestSizesComeFromOutlooks(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Policy = "sjf"
	s := newStage(t, cfg, 1)
	said := oneComponent(4, 4, 1)
	said.Expected = dovetail.Duration(100 * time.Second)
	s.submit("x", oneComponent(4, 4, 1)) // in service
	s.turn()
	s.submit("a", oneComponent(4, 4, 1))
	s.submit("b", oneComponent(4, 4, 1))
	s.submit("c", said)
	next := func() dovetail.RunID {
		for w := range s.core.waiting(s.now) {
			return w.id
		}
		return 0
	}
	if n := next(); n != 4 {
		t.Errorf("run %d is first; of the others nobody knows how long they take: an hour", n)
	}
	s.apply(dovetail.Fitted{Outlook: outlookOf("b", 0, 4, func(int) float64 { return 50 })})
	if n := next(); n != 3 {
		t.Errorf("run %d is first; run 3 takes 50 s", n)
	}
	s.apply(dovetail.Fitted{Outlook: outlookOf("a", 0, 4, func(int) float64 { return 20 })})
	s.apply(dovetail.Fitted{Outlook: outlookOf("c", 0, 4, func(int) float64 { return 1 })})
	if n := next(); n != 2 {
		t.Errorf("run %d is first; run 2 takes 20 s, and of run 4 its user says 100", n)
	}
	s.apply(dovetail.Configured{Config: dovetail.Config{Policy: "edf", Alloc: "flexible", Reclaim: "any", Place: "zoe"}})
	wide := spread("b") // 1.1·250 s at 4
	wide.ScaleOuts, wide.Alone, wide.Beside = wide.ScaleOuts[3:4], wide.Alone[3:4], nil
	s.apply(dovetail.Fitted{Outlook: wide})
	s.apply(dovetail.Fitted{Outlook: outlookOf("a", 0, 4, func(int) float64 { return 260 })})
	s.apply(dovetail.Cancelled{Run: 4})
	s.apply(dovetail.Decided{Plan: s.core.Decide(s.now)})
	if n := next(); n != 2 {
		t.Errorf("run %d is first; with 260 s run 2 is shorter than what run 3 rarely exceeds, 275 s", n)
	}
}

func TestExplainSaysWhatATargetMakesOfTheScaleOut(t *testing.T) {
	for reason, tc := range map[string]struct {
		outlook dovetail.Outlook
		seconds float64
		text    string
	}{
		"nothing known": {dovetail.Outlook{Class: "b"}, 100, "it may have 8 replicas of w, all it can use, as nothing is known"},
		"exploring":     {dovetail.Outlook{Class: "a", Runs: 1, First: []dovetail.Stretch{{ScaleOut: 8, Seconds: 3}}}, 100, "it may have 4 replicas of w, to explore (finished runs of its class: 1)"},
		"enough":        {spread("a"), 200, "it may have 5 replicas of w: the probability of meeting it was 50 % at 2026-01-01T00:00:00Z"},
		"not enough":    {spread("a"), 1, "it may have 8 replicas of w, all it can use: the probability of meeting it is 0 %, wanted are 50 %"},
	} {
		s := newStage(t, dovetail.DefaultConfig(), 2)
		s.apply(dovetail.Fitted{Outlook: tc.outlook})
		s.submit("a", aiming(1, 8, tc.seconds, .5))
		s.turn()
		if x, _ := s.core.Explain(1, s.now); !strings.Contains(x.Text, tc.text) {
			t.Errorf("%s: %s", reason, x.Text)
		}
	}
}

// A node that shrinks under runs with and without a target, and one that is drained.
func TestShrunkenNodeTakesWhatIsGuardedLast(t *testing.T) {
	s := newStage(t, dovetail.DefaultConfig(), 0)
	s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(8)}})
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("b", oneComponent(1, 4, 1))
	s.submit("a", aiming(1, 8, 250, .5))
	s.turn()
	s.holds("before", 4, 4)
	s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(6)}})
	s.turn()
	s.holds("two less: of the run without a target, though it comes first", 2, 4)
	s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(4)}})
	s.turn()
	s.holds("two less again: there is one that is not guarded", 1, 3)
	if len(s.said) != 1 || s.said[0].ScaleOut != 4 || s.said[0].Probability > .01 {
		t.Errorf("said %+v", s.said)
	}
}

func TestStatusOfARun(t *testing.T) {
	s := newStage(t, dovetail.DefaultConfig(), 0)
	s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n0", Capacity: unit(1), Labels: map[string]string{"class": "m5.large"}}})
	s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n1", Capacity: unit(2)}})
	app := oneComponent(3, 3, 1)
	app.InputSize = 1 << 30
	s.submit("a", app)
	s.now = epoch.Add(time.Second)
	s.turn()
	st, _ := s.core.Status(1)
	if st.Ready == nil || !st.Ready.Equal(s.now) || st.InputSize != 1<<30 || fmt.Sprint(st.NodeClasses) != fmt.Sprint([]string{unit(2).String(), "m5.large"}) {
		t.Errorf("%+v", st)
	}
	if st.Prediction != nil || st.Choice != nil {
		t.Errorf("from nothing: %+v, %+v", st.Prediction, st.Choice)
	}
}
