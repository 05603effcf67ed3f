package sched

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// TestRegrow: whatever arrives and departs, between a reclaim from a run and its next elastic replica lies the configured
// time; the reclaim itself never waits.
func TestRegrow(t *testing.T) {
	const pause = 10 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		cfg := dovetail.DefaultConfig()
		cfg.Regrow = dovetail.Duration(pause)
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		now := epoch
		apply := func(e dovetail.Event) {
			if err := c.Apply(now, e); err != nil {
				t.Fatal(err)
			}
		}
		apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(12)}})
		elastic, reclaimed := map[dovetail.RunID]int{}, map[dovetail.RunID]time.Time{}
		next := dovetail.RunID(1)
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 2).Draw(t, "arrival") > 0 {
				n := rapid.IntRange(1, 3).Draw(t, "core")
				apply(dovetail.Submitted{Run: &dovetail.Run{ID: next, App: &dovetail.Application{Components: []dovetail.Component{
					{Name: "w", Count: n, Max: n + rapid.IntRange(0, 4).Draw(t, "elastic"), Resources: unit(1)},
				}}}})
				next++
			} else if serving := c.Serving(); len(serving) > 0 {
				apply(dovetail.Cancelled{Run: rapid.SampledFrom(serving).Draw(t, "departs")})
			}
			for plan := c.Decide(now); !plan.Empty(); plan = c.Decide(now) {
				apply(dovetail.Decided{Plan: plan})
				for _, a := range plan.Assign {
					switch was := elastic[a.Run]; {
					case !a.Elastic:
						continue
					case a.N < was:
						reclaimed[a.Run] = now
					case now.Sub(reclaimed[a.Run]) < pause:
						t.Fatalf("run %d got an elastic replica %s after it lost one", a.Run, now.Sub(reclaimed[a.Run]))
					}
					elastic[a.Run] = a.N
				}
				for _, id := range c.Serving() {
					r := c.runs[id]
					for _, k := range slices.Clone(r.comps[0].cells) {
						if k.live > k.told {
							apply(dovetail.ReplicasDown{Slot: c.slot(r, 0, &k), N: k.live - k.told, Exit: dovetail.Exit{Asked: true}})
						}
					}
				}
			}
		}
	})
}

// app is an application of one component.
func oneComponent(count, limit, cpu int) *dovetail.Application {
	return &dovetail.Application{Name: "a", Components: []dovetail.Component{{Name: "w", Count: count, Max: limit, Resources: unit(cpu)}}}
}

// TestOverdueIsNotOvertaken: with backfilling small runs overtake a big one, until it has waited for too long.
func TestOverdueIsNotOvertaken(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Policy, cfg.MaxWait = "fifo-backfill", dovetail.Duration(time.Minute)
	b := newBench(t, cfg, 10)
	now := epoch
	started := func(id dovetail.RunID) bool { s, _ := b.core.Status(id); return s.State != dovetail.Queued }
	step := func(at time.Duration, events ...dovetail.Event) {
		t.Helper()
		now = epoch.Add(at)
		for _, e := range events {
			if err := b.core.Apply(now, e); err != nil {
				t.Fatal(err)
			}
		}
		if plan := b.core.Decide(now); !plan.Empty() {
			if err := b.core.Apply(now, dovetail.Decided{Plan: plan}); err != nil {
				t.Fatal(err)
			}
		}
	}
	submit := func(id dovetail.RunID, app *dovetail.Application) dovetail.Event {
		return dovetail.Submitted{Run: &dovetail.Run{ID: id, App: app}}
	}
	step(0, submit(1, oneComponent(6, 6, 1)), submit(2, oneComponent(10, 10, 1)))
	step(30*time.Second, submit(3, oneComponent(1, 1, 1)))
	if !started(3) || started(2) {
		t.Fatal("run 3 should have been backfilled past run 2")
	}
	if want := epoch.Add(time.Minute); !b.core.Wake().Equal(want) {
		t.Errorf("the core wants to be woken at %s, want %s, when run 2 becomes overdue", b.core.Wake(), want)
	}
	step(61*time.Second, submit(4, oneComponent(1, 1, 1)))
	if started(4) {
		t.Fatal("run 4 overtook run 2, which is overdue")
	}
	if s, _ := b.core.Status(4); s.Reason != dovetail.WaitOverdue {
		t.Errorf("run 4 waits because of %q, want %q", s.Reason, dovetail.WaitOverdue)
	}
}

// TestReclaim: which elastic replicas go when a core fits only by reclaiming.
func TestReclaim(t *testing.T) {
	type serving struct {
		core int
		at   map[string]int // elastic replicas per node
	}
	for _, tc := range []struct {
		reason  string
		nodes   map[string]int // free cpus beside the replicas below
		serving []serving      // each replica takes one cpu; cores sit on node z
		core    int            // cpus of the newcomer's one core replica
		want    string         // elastic replicas left, run by run
	}{
		{"free capacity needs no victim", map[string]int{"a": 3}, []serving{{1, map[string]int{"a": 2}}}, 3, "1:a2"},
		{"from the tail, as few as needed", map[string]int{"a": 1}, []serving{{1, map[string]int{"a": 2}}, {1, map[string]int{"a": 3}}}, 3, "1:a2 2:a1"},
		{"the node where fewest must go; the victim regrows on a", map[string]int{"a": 1, "b": 2}, []serving{{1, map[string]int{"a": 3, "b": 3}}}, 3, "1:a4,b2"},
		{"the tail alone suffices, although fewer of the head would too; it regrows on a", map[string]int{"a": 2, "b": 0},
			[]serving{{1, map[string]int{"a": 3}}, {1, map[string]int{"b": 3}}}, 3, "1:a3 2:a2"},
		{"two runs on one node, when the tail alone does not suffice", map[string]int{"a": 0}, []serving{{1, map[string]int{"a": 2}}, {1, map[string]int{"a": 2}}}, 3, "1:a1 2:"},
		{"what was taken and not needed is given back", map[string]int{"a": 0, "b": 0},
			[]serving{{1, map[string]int{"a": 3}}, {1, map[string]int{"b": 2}}}, 3, "1: 2:b2"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			c, err := New(dovetail.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			must := func(e dovetail.Event) {
				t.Helper()
				if err := c.Apply(epoch, e); err != nil {
					t.Fatal(err)
				}
			}
			size := map[string]int{"z": 0}
			for n, free := range tc.nodes {
				size[n] = free
			}
			for _, s := range tc.serving {
				size["z"] += s.core
				for n, k := range s.at {
					size[n] += k
				}
			}
			for _, n := range []string{"a", "b", "z"} {
				must(dovetail.NodeUp{Node: dovetail.Node{Name: n, Capacity: unit(size[n])}})
			}
			plan := dovetail.Plan{Seq: 1}
			for i, s := range tc.serving {
				id, total := dovetail.RunID(i+1), s.core
				for _, k := range s.at {
					total += k
				}
				must(dovetail.Submitted{Run: &dovetail.Run{ID: id, App: oneComponent(s.core, total, 1)}})
				plan.Assign = append(plan.Assign, dovetail.Assign{Slot: dovetail.Slot{Run: id, Node: "z"}, N: s.core})
				for _, n := range []string{"a", "b"} {
					if k := s.at[n]; k > 0 {
						plan.Assign = append(plan.Assign, dovetail.Assign{Slot: dovetail.Slot{Run: id, Node: n, Elastic: true}, N: k})
					}
				}
			}
			must(dovetail.Decided{Plan: plan})
			newcomer := dovetail.RunID(len(tc.serving) + 1)
			must(dovetail.Submitted{Run: &dovetail.Run{ID: newcomer, App: oneComponent(1, 1, tc.core)}})
			cfg := dovetail.DefaultConfig()
			cfg.MaxWait = 1 // at once overdue: it may reclaim although nothing is free
			must(dovetail.Configured{Config: cfg})
			now := epoch.Add(time.Second)
			decided := c.Decide(now)
			if err := c.Apply(now, dovetail.Decided{Plan: decided}); err != nil {
				t.Fatal(err)
			}
			if s, _ := c.Status(newcomer); s.State == dovetail.Queued {
				t.Fatalf("the newcomer did not start: %+v", decided)
			}
			var left []string
			for i := range tc.serving {
				var cells []string
				for _, k := range c.runs[dovetail.RunID(i+1)].comps[0].cells {
					if k.class == elastic && k.want > 0 {
						cells = append(cells, fmt.Sprintf("%s%d", c.nodes[k.node].Name, k.want))
					}
				}
				left = append(left, fmt.Sprintf("%d:%s", i+1, strings.Join(cells, ",")))
			}
			if got := strings.Join(left, " "); got != tc.want {
				t.Errorf("left %q, want %q", got, tc.want)
			}
		})
	}
}

// TestExplain says what a person reads of a run that waits.
func TestExplain(t *testing.T) {
	b := newBench(t, dovetail.DefaultConfig(), 10)
	for id, app := range map[dovetail.RunID]*dovetail.Application{1: oneComponent(4, 8, 1)} {
		b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: id, Name: "first", App: app}})
	}
	b.decide()
	b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: 2, Name: "second", App: oneComponent(9, 9, 1)}})
	b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: 3, Name: "third", App: oneComponent(1, 1, 1)}})
	b.decide()
	x, ok := b.core.Explain(2, b.time())
	if !ok || x.Code != dovetail.NoCapacity || x.Position != 1 || x.Waiting != 2 || len(x.Needs) != 1 || x.Needs[0].Fits != 2 {
		t.Errorf("run 2: %+v", x)
	}
	if want := []string{"run 1 (first) ends"}; !slices.Equal(x.Unblock, want) {
		t.Errorf("run 2 is unblocked by %q, want %q", x.Unblock, want)
	}
	x, _ = b.core.Explain(3, b.time())
	if x.Code != dovetail.Behind || x.Behind != 2 || x.Position != 2 {
		t.Errorf("run 3: %+v", x)
	}
	if _, ok := b.core.Explain(99, b.time()); ok {
		t.Error("run 99 was explained")
	}
}

// TestExplainSeveralEnds: when no single run's end makes room, the runs are named whose ends do together, and no others.
func TestExplainSeveralEnds(t *testing.T) {
	b := newBench(t, dovetail.DefaultConfig(), 10)
	for i, n := range []int{1, 5, 4, 8} {
		b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: dovetail.RunID(i + 1), Name: "r", App: oneComponent(n, n, 1)}})
	}
	b.decide()
	x, _ := b.core.Explain(4, b.time())
	if want := []string{"run 2 (r) and run 3 (r) end"}; !slices.Equal(x.Unblock, want) {
		t.Errorf("run 4 is unblocked by %q, want %q", x.Unblock, want)
	}
}

// TestPauseStopsNoReclaim: a run that may not regrow yet would be satisfied with what is free, so its elastic replicas are
// reclaimed for a newcomer's core as if there were no pause.
func TestPauseStopsNoReclaim(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Minute} {
		cfg := dovetail.DefaultConfig()
		cfg.Regrow = dovetail.Duration(pause)
		b := newBench(t, cfg, 10)
		submit := func(id dovetail.RunID, count, limit int) {
			b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: id, App: oneComponent(count, limit, 1)}})
			b.decide()
		}
		submit(1, 2, 8)
		submit(2, 4, 4) // takes two elastic replicas of run 1
		b.apply(dovetail.Cancelled{Run: 2})
		b.decide()
		submit(3, 5, 5)
		if s, _ := b.core.Status(3); s.State == dovetail.Queued {
			t.Errorf("with a pause of %s run 3 waits: %s", pause, s.Reason)
		}
	}
}

// TestRepairReclaims: for a core replica that was lost with its node as many elastic replicas are taken as that one needs,
// whatever the rest of the core needs; from the run itself if there is no other.
func TestRepairReclaims(t *testing.T) {
	for _, own := range []bool{false, true} {
		c, err := New(dovetail.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		must := func(e dovetail.Event) {
			t.Helper()
			if err := c.Apply(epoch, e); err != nil {
				t.Fatal(err)
			}
		}
		must(dovetail.NodeUp{Node: dovetail.Node{Name: "a", Capacity: unit(6)}})
		must(dovetail.NodeUp{Node: dovetail.Node{Name: "b", Capacity: unit(1)}})
		hurt, other := oneComponent(4, 4, 1), oneComponent(1, 3, 1)
		if own {
			hurt, other = oneComponent(4, 6, 1), oneComponent(1, 1, 1)
		}
		hurt.Components[0].Restart.Retries = 1
		must(dovetail.Submitted{Run: &dovetail.Run{ID: 1, App: hurt}})
		must(dovetail.Submitted{Run: &dovetail.Run{ID: 2, App: other}})
		donor := dovetail.RunID(2)
		if own {
			donor = 1
		}
		must(dovetail.Decided{Plan: dovetail.Plan{Seq: 1, Assign: []dovetail.Assign{
			{Slot: dovetail.Slot{Run: 1, Node: "a"}, N: 3},
			{Slot: dovetail.Slot{Run: 1, Node: "b"}, N: 1},
			{Slot: dovetail.Slot{Run: 2, Node: "a"}, N: 1},
			{Slot: dovetail.Slot{Run: donor, Node: "a", Elastic: true}, N: 2},
		}}})
		must(dovetail.Decided{Plan: c.Decide(epoch)}) // the replicas are handed out
		must(dovetail.NodeDown{Node: "b"})
		must(dovetail.Decided{Plan: c.Decide(epoch)})
		if s, _ := c.Status(donor); c.runs[1].broken() || s.Elastic != 1 {
			t.Errorf("own %t: the core of run 1 is broken: %t; run %d keeps %d elastic replicas, want 1", own, c.runs[1].broken(), donor, s.Elastic)
		}
		if v := c.Validate(); len(v) > 0 {
			t.Error(v)
		}
	}
}

// TestRigidThatNeverFits: with the rigid allocator a run that does not fit the empty cluster with all its replicas stops no
// others, and its explanation asks for all of them.
func TestRigidThatNeverFits(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Alloc = "rigid"
	b := newBench(t, cfg, 10)
	for i, limit := range []int{11, 9, 8} {
		b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: dovetail.RunID(i + 1), Name: "r", App: oneComponent(1, limit, 1)}})
	}
	b.decide()
	if s, _ := b.core.Status(1); s.Reason != dovetail.NoNode {
		t.Errorf("run 1 waits because of %q, want %q", s.Reason, dovetail.NoNode)
	}
	if s, _ := b.core.Status(2); s.Elastic != 8 {
		t.Errorf("run 2 is %s with %d elastic replicas, want 8", s.State, s.Elastic)
	}
	x, _ := b.core.Explain(3, b.time())
	if x.Needs[0].N != 8 || x.Needs[0].Fits != 1 || !slices.Equal(x.Unblock, []string{"run 2 (r) ends"}) {
		t.Errorf("run 3: %+v", x)
	}
	if err := b.core.Fit(oneComponent(1, 11, 1)); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("a rigid run larger than the cluster: got %v, want Invalid", err)
	}
}

// TestExplainWhatFits: a run that fits and waits behind another needs no room, so none is offered.
func TestExplainWhatFits(t *testing.T) {
	b := newBench(t, dovetail.DefaultConfig(), 10)
	for i, n := range []int{6, 9, 1} {
		b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: dovetail.RunID(i + 1), App: oneComponent(n, n, 1)}})
	}
	b.decide()
	if x, _ := b.core.Explain(3, b.time()); x.Behind != 2 || len(x.Unblock) > 0 {
		t.Errorf("run 3: %+v", x)
	}
}

// TestSuspendFreezesLast: the core of a suspended run goes on until its elastic replicas have handed over their work and are
// gone; resumed before that, it is never frozen.
func TestSuspendFreezesLast(t *testing.T) {
	b := newBench(t, dovetail.DefaultConfig(), 10)
	b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: 1, App: oneComponent(2, 5, 1)}})
	b.decide()
	frozen := func(p *dovetail.Plan) bool {
		return slices.ContainsFunc(p.Actions, func(a dovetail.Action) bool { return a.(dovetail.RunReplicas).Frozen })
	}
	b.apply(dovetail.Suspended{Run: 1})
	plan := b.core.Decide(b.time())
	if len(plan.Actions) != 1 || frozen(&plan) {
		t.Fatalf("with elastic replicas the plan was %+v, want these to stop and nothing frozen", plan)
	}
	b.apply(dovetail.Decided{Plan: plan})
	gone := plan.Actions[0].(dovetail.RunReplicas).Slot
	b.apply(dovetail.ReplicasDown{Slot: gone, N: 2, WasUp: true, Exit: dovetail.Exit{Asked: true}})
	if plan = b.core.Decide(b.time()); !plan.Empty() {
		t.Fatalf("with one elastic replica left the plan was %+v", plan)
	}
	b.apply(dovetail.ReplicasDown{Slot: gone, N: 1, WasUp: true, Exit: dovetail.Exit{Asked: true}})
	if plan = b.core.Decide(b.time()); len(plan.Actions) != 1 || !frozen(&plan) {
		t.Fatalf("with none left the plan was %+v, want the core to be frozen", plan)
	}
}

// TestCordonStopsNoOthers: a run that only a cordoned node could hold does not block a strict line, and starts when the node is
// open again.
func TestCordonStopsNoOthers(t *testing.T) {
	b := newBench(t, dovetail.DefaultConfig(), 2)
	b.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "big", Capacity: unit(8)}})
	b.apply(dovetail.Cordoned{Node: "big", On: true})
	big := oneComponent(1, 1, 8)
	if err := b.core.Fit(big); err != nil {
		t.Errorf("a run that fits a cordoned node is refused: %v", err)
	}
	b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: 1, App: big}})
	b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: 2, App: oneComponent(1, 1, 1)}})
	b.decide()
	if s, _ := b.core.Status(1); s.Reason != dovetail.NoNode {
		t.Errorf("run 1 waits because of %q, want %q", s.Reason, dovetail.NoNode)
	}
	if s, _ := b.core.Status(2); s.State == dovetail.Queued {
		t.Errorf("run 2 waits because of %q behind a run that cannot start", s.Reason)
	}
	b.apply(dovetail.Cordoned{Node: "big"})
	b.decide()
	if s, _ := b.core.Status(1); s.State == dovetail.Queued {
		t.Errorf("run 1 waits because of %q although its node is open", s.Reason)
	}
}
