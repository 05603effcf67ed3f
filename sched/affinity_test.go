package sched

import (
	"slices"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// TestHarmfulNeighboursAreKeptApart while there is room elsewhere, and not longer.
func TestHarmfulNeighboursAreKeptApart(t *testing.T) {
	for _, choose := range []string{"", "random", "price"} {
		cfg := choosing(choose)
		cfg.Place, cfg.Colocation.Slowdown = "pack", 1.5
		s := newStage(t, cfg, 2)
		s.apply(rates("a", map[string]float64{"b": .5}))
		s.apply(rates("b", map[string]float64{"b": 1}))
		s.submit("a", half("a", 1))
		s.turn()
		s.submit("b", half("b", 1))
		s.turn()
		if slices.Equal(s.where(1), s.where(2)) {
			t.Errorf("choose %q: both are on %v although another node is empty", choose, s.where(1))
		}
		s.submit("b", half("b", 1))
		s.turn()
		if !slices.Equal(s.where(3), s.where(2)) {
			t.Errorf("choose %q: run 3 is on %v, expected %v beside its own class", choose, s.where(3), s.where(2))
		}
		s.submit("b", half("b", 1))
		s.turn()
		if !slices.Equal(s.where(4), s.where(1)) {
			t.Errorf("choose %q: run 4 is on %v: only beside a harmful class is room", choose, s.where(4))
		}
	}
}

// TestHarmfulCandidateStandsBack: who could only start beside a class that it harms waits while another run need not.
func TestHarmfulCandidateStandsBack(t *testing.T) {
	for seed := range uint64(20) {
		cfg := choosing("random")
		cfg.Colocation.Slowdown, cfg.Colocation.Seed = 1.5, seed
		s := newStage(t, cfg, 1)
		s.apply(rates("a", map[string]float64{"b": .5}))
		s.apply(rates("b", map[string]float64{"b": 1}))
		s.submit("a", half("a", 1))
		s.turn()
		b, c := s.submit("b", half("b", 1)), s.submit("c", half("c", 1))
		s.turn()
		if s.status(b).State != dovetail.Queued || s.status(c).State == dovetail.Queued {
			t.Fatalf("seed %d: b is %s, c is %s", seed, s.status(b).State, s.status(c).State)
		}
		s.apply(dovetail.Cancelled{Run: c})
		s.turn()
		if s.status(b).State == dovetail.Queued {
			t.Fatalf("seed %d: b waits although nobody else wants the room", seed)
		}
	}
}

// TestAvoid: either side's word counts, for an application or a job class, and whoever is there first.
func TestAvoid(t *testing.T) {
	avoid := func(names ...string) dovetail.Affinity { return dovetail.Affinity{Avoid: names} }
	for _, tc := range []struct {
		reason        string
		first, second *dovetail.Application
		class         string // of the second
		apart         bool
	}{
		{"nobody minds", half("a", 1), half("b", 1), "b", false},
		{"the newcomer avoids an application", half("a", 1), wants("b", 1, avoid("a")), "b", true},
		{"the one that is there avoids the newcomer", wants("a", 1, avoid("b")), half("b", 1), "b", true},
		{"a job class", wants("a", 1, avoid("b?x=1")), half("b", 1), "b?x=1", true},
		{"another job class", wants("a", 1, avoid("b?x=1")), half("b", 1), "b?x=2", false},
		{"an application, whatever its parameters", wants("a", 1, avoid("b")), half("b", 1), "b?x=2", true},
		{"itself", wants("a", 1, avoid("a")), wants("a", 1, avoid("a")), "a", true},
		{"somebody who does not exist", wants("a", 1, avoid("nobody")), half("b", 1), "b", false},
		{"the newcomer wants no neighbours", half("a", 1), wants("b", 1, dovetail.Affinity{Exclusive: true}), "b", true},
		{"the one that is there wants none", wants("a", 1, dovetail.Affinity{Exclusive: true}), half("b", 1), "b", true},
	} {
		for _, place := range []string{"pack", "zoe"} {
			cfg := dovetail.DefaultConfig()
			cfg.Place = place
			s := newStage(t, cfg, 1)
			s.submit("a", tc.first)
			s.turn()
			s.submit(tc.class, tc.second)
			s.turn()
			if waits := s.status(2).State == dovetail.Queued; waits != tc.apart {
				t.Errorf("%s: waits: %t", tc.reason, waits)
			}
			s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n1", Capacity: unit(4)}})
			s.turn()
			if got := s.status(2); got.State == dovetail.Queued || tc.apart && slices.Equal(s.where(1), s.where(2)) {
				t.Errorf("%s: with a second node it is %s, on %v", tc.reason, got.State, s.where(2))
			}
		}
	}
}

// TestWhoAvoidsIsNotDrawn: among those that could start is nobody who must not be beside a run that is there.
func TestWhoAvoidsIsNotDrawn(t *testing.T) {
	for _, choose := range []string{"random", "bandit", "price"} {
		for seed := range uint64(8) {
			cfg := choosing(choose)
			cfg.Colocation.Seed = seed
			s := newStage(t, cfg, 1)
			s.submit("a", half("a", 1))
			s.turn()
			avoids := s.submit("b", wants("b", 1, dovetail.Affinity{Avoid: []string{"a"}}))
			others := []dovetail.RunID{s.submit("c", half("c", 1)), s.submit("d", half("d", 1))}
			plan := s.core.Decide(s.now)
			s.turn()
			if len(plan.Draws) != 1 {
				t.Fatalf("%s, seed %d: draws are %+v", choose, seed, plan.Draws)
			}
			var options []dovetail.RunID
			for _, o := range plan.Draws[0].Options {
				options = append(options, o.Run)
			}
			if !slices.Equal(options, others) || s.status(avoids).State != dovetail.Queued {
				t.Errorf("%s, seed %d: drawn among %v, expected %v; the run that avoids is %s", choose, seed, options, others, s.status(avoids).State)
			}
		}
	}
}

// TestAvoidIsExplained: why nodes are ruled out, in words.
func TestAvoidIsExplained(t *testing.T) {
	for _, tc := range []struct {
		first, second dovetail.Affinity
		want          string
	}{
		{dovetail.Affinity{}, dovetail.Affinity{Avoid: []string{"sort"}}, "beside sort, which it avoids"},
		{dovetail.Affinity{Avoid: []string{"b"}}, dovetail.Affinity{}, "beside sort, which avoids it"},
		{dovetail.Affinity{Exclusive: true}, dovetail.Affinity{}, "held by run 1, which wants no neighbours"},
		{dovetail.Affinity{}, dovetail.Affinity{Exclusive: true}, "not empty, and it wants no neighbours"},
	} {
		s := newStage(t, dovetail.DefaultConfig(), 1)
		s.submit("sort", wants("sort", 1, tc.first))
		s.turn()
		id := s.submit("b", wants("b", 1, tc.second))
		s.turn()
		x, _ := s.core.Explain(id, s.now)
		if len(x.Needs) != 1 || x.Needs[0].Refused[tc.want] != 1 || x.Needs[0].Fits != 0 {
			t.Errorf("%+v, expected %q", x.Needs, tc.want)
		}
	}
}

// TestExclusiveGetsANode from a run whose elastic replicas are in the way, and the replicas start only when these are gone.
func TestExclusiveGetsANode(t *testing.T) {
	for _, alone := range []dovetail.Affinity{{Exclusive: true}, {Avoid: []string{"a"}}} {
		cfg := dovetail.DefaultConfig()
		cfg.Alloc = "eager"
		s := newStage(t, cfg, 2)
		app := half("a", 1)
		app.Components[0].Max = 4
		s.submit("a", app)
		s.turn()
		if got := s.where(1); len(got) != 2 {
			t.Fatalf("run 1 is on %v", got)
		}
		id := s.submit("b", wants("b", 1, alone))
		plan := s.core.Decide(s.now)
		s.apply(dovetail.Decided{Plan: plan})
		if s.status(id).State != dovetail.Starting || len(s.where(1)) != 1 || slices.Equal(s.where(1), s.where(id)) {
			t.Fatalf("%+v: run 2 is %s on %v, run 1 on %v", alone, s.status(id).State, s.where(id), s.where(1))
		}
		for _, a := range plan.Actions {
			if a, ok := a.(dovetail.RunReplicas); ok && a.Run == id {
				t.Errorf("%+v: %+v although replicas of run 1 are still there", alone, a)
			}
		}
		s.obey()
		s.turn()
		if s.status(id).CoreUp != 1 {
			t.Errorf("%+v: it does not start when they are gone", alone)
		}
	}
}

// TestPrefer: beside whom an application would rather run counts more than the order of nodes and what was learned.
func TestPrefer(t *testing.T) {
	for _, choose := range []string{"", "price"} {
		s := newStage(t, choosing(choose), 100)
		s.apply(rates("cache", map[string]float64{"web": .9}))
		s.submit("cache", half("cache", 1))
		s.turn()
		web := s.submit("web", wants("web", 1, dovetail.Affinity{Prefer: []string{"cache"}}))
		s.turn()
		if !slices.Equal(s.where(web), s.where(1)) {
			t.Errorf("choose %q: web is on %v, cache on %v", choose, s.where(web), s.where(1))
		}
	}
}
