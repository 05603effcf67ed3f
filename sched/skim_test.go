package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
)

// TestSkim feeds the same to a core and to one that never passes a run over without asking the allocator and remembers nothing that
// did not fit, with a line of many runs that do not fit: they decide the same, and the first one does pass runs over and does begin
// behind those that it has looked at.
func TestSkim(t *testing.T) {
	skipped, resumed := 0, 0
	for tries := 0; tries < 10 && (skipped == 0 || resumed == 0); tries++ { // a walk begins behind others in one play of fifteen
		rapid.Check(t, func(t *rapid.T) { walkTwice(t, &skipped, &resumed) })
	}
	if skipped == 0 {
		t.Error("no run was ever passed over")
	}
	if resumed == 0 {
		t.Error("no walk began behind those that were looked at")
	}
}

// walkTwice plays one history with both cores. It counts those in which runs were skipped, and walks that began behind others.
func walkTwice(t *rapid.T, skipped, resumed *int) {
	cfg := dovetail.DefaultConfig()
	cfg.Policy = "fifo-backfill"
	cfg.Alloc = rapid.SampledFrom([]string{"rigid", "malleable", "flexible"}).Draw(t, "alloc")
	cfg.Replan = dovetail.Duration(3 * time.Second)
	cfg.Regrow = dovetail.Duration(rapid.SampledFrom([]time.Duration{0, 5 * time.Second}).Draw(t, "regrow"))
	targets := rapid.Bool().Draw(t, "targets") // ceilings, which move, in place of limits
	depth := rapid.SampledFrom([]int{3, 10, backfillDepth}).Draw(t, "depth")
	if rapid.IntRange(0, 3).Draw(t, "draws") == 0 { // then the walk begins behind a window
		cfg.Colocation.Choose = rapid.SampledFrom([]string{"random", "price"}).Draw(t, "choose")
		cfg.Colocation.Window, depth = rapid.IntRange(1, 4).Draw(t, "window"), backfillDepth
	}
	var cores [2]*Core
	for i := range cores {
		if i == 1 {
			cfg.MaxWait = dovetail.Duration(1000 * time.Hour) // nobody waits so long, but such a core does not skim
		}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.depth = depth
		cores[i] = c
	}
	now, next := epoch, dovetail.RunID(1)
	apply := func(e dovetail.Event) {
		for _, c := range cores {
			if err := c.Apply(now, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		apply(dovetail.NodeUp{Node: dovetail.Node{Name: name, Capacity: genUnits(t, 20, 40)}})
	}
	for range rapid.IntRange(5, 40).Draw(t, "steps") {
		now = now.Add(time.Second)
		for range rapid.IntRange(0, 6).Draw(t, "arrivals") {
			n := rapid.IntRange(1, 8).Draw(t, "core")
			app := &dovetail.Application{Name: "a", Kind: dovetail.Batch, Components: []dovetail.Component{{
				Name: "c", Count: n, Max: n + rapid.IntRange(0, 4).Draw(t, "elastic"), Resources: genUnits(t, 1, 4), Ends: "run",
			}}}
			if rapid.Bool().Draw(t, "two") { // the first may be placed, and taken back because the second does not fit
				app.Components = append(app.Components, dovetail.Component{Name: "d", Count: n, Resources: genUnits(t, 1, 4)})
			}
			if rapid.IntRange(0, 12).Draw(t, "exclusive") == 0 {
				app.Colocation = &dovetail.Affinity{Exclusive: true}
			}
			if targets && rapid.IntRange(0, 2).Draw(t, "target") == 0 {
				app.Priority = rapid.IntRange(0, 1).Draw(t, "priority")
				app.Target = &dovetail.Target{Runtime: dovetail.Duration(time.Duration(rapid.IntRange(1, 100).Draw(t, "runtime")) * time.Second)}
			}
			apply(dovetail.Submitted{Run: &dovetail.Run{ID: next, Name: "a", Class: genClass(t), App: app}})
			next++
		}
		if targets && rapid.IntRange(0, 3).Draw(t, "outlook") == 0 {
			apply(dovetail.Fitted{Outlook: genOutlook(t)})
		}
		if serving := cores[0].Serving(); len(serving) > 0 && rapid.Bool().Draw(t, "departure") {
			apply(dovetail.Cancelled{Run: rapid.SampledFrom(serving).Draw(t, "run")})
		}
		if serving := cores[0].Serving(); len(serving) > 0 {
			id := rapid.SampledFrom(serving).Draw(t, "run in service")
			switch r := cores[0].runs[id]; {
			case r.state == dovetail.Stopping:
			case r.suspended:
				apply(dovetail.Resumed{Run: id})
			case rapid.IntRange(0, 5).Draw(t, "suspended") == 0:
				apply(dovetail.Suspended{Run: id})
			}
		}
		if waiting := cores[0].queued(); len(waiting) > 0 {
			id := rapid.SampledFrom(waiting).Draw(t, "waiting run")
			switch rapid.IntRange(0, 12).Draw(t, "what becomes of it") {
			case 0:
				apply(dovetail.Cancelled{Run: id})
			case 1, 2:
				apply(dovetail.Held{Run: id})
			case 3, 4:
				apply(dovetail.Released{Run: id})
			case 5:
				apply(dovetail.Reprioritised{Run: id, Priority: rapid.IntRange(0, 1).Draw(t, "priority")})
			case 6, 7:
				apply(dovetail.Held{Run: id})
				apply(dovetail.Released{Run: id})
			}
		}
		if rapid.IntRange(0, 8).Draw(t, "cordon") == 0 {
			name := rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(t, "node")
			apply(dovetail.Cordoned{Node: name, On: rapid.Bool().Draw(t, "on"), Drain: rapid.Bool().Draw(t, "drain")})
		}
		for _, r := range cores[1].runs {
			r.app.shut = 0
			clear(r.app.full)
			for _, class := range r.app.class {
				*class = place.Class{Each: class.Each}
			}
		}
		if v := &cores[0].line.vain; v.looked > 0 && v.grown == cores[0].space.Grown() {
			*resumed++
		}
		plan, plain := cores[0].Decide(now), cores[1].Decide(now)
		if again := cores[0].Decide(now); !cmp.Equal(plan, again) {
			t.Fatalf("what is remembered of the first decision changes the second:\n%s", cmp.Diff(plan, again))
		}
		if !cmp.Equal(plan, plain) {
			t.Fatalf("passing runs over changes the decision:\n%s", cmp.Diff(plain, plan))
		}
		if waiting := cores[0].queued(); len(waiting) > 0 && rapid.Bool().Draw(t, "somebody asks why") {
			cores[0].Explain(rapid.SampledFrom(waiting).Draw(t, "of run"), now)
		}
		if rapid.IntRange(0, 9).Draw(t, "what happens before the plan is applied") == 0 {
			apply(dovetail.NodeUp{Node: dovetail.Node{Name: fmt.Sprintf("n%d", 4+next), Capacity: genUnits(t, 1, 4)}})
		}
		if !plan.Empty() {
			apply(dovetail.Decided{Plan: plan})
		}
		if rapid.IntRange(0, 3).Draw(t, "the back-end reports") > 0 {
			for _, change := range surplus(cores[0]) {
				apply(change)
			}
		}
		if cap(cores[0].scratch.skipped) > 0 {
			*skipped++
		}
	}
}

// queued returns the runs that wait, by ID.
func (c *Core) queued() []dovetail.RunID {
	var ids []dovetail.RunID
	for id, r := range c.runs {
		if r.state == dovetail.Queued {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func genUnits(t *rapid.T, low, high int) dovetail.Resources {
	return dovetail.Resources{int64(rapid.IntRange(low, high).Draw(t, "cpu")) * 100, int64(rapid.IntRange(low, high).Draw(t, "memory"))}
}

// surplus is what a back-end reports that starts and stops at once what it was told to.
func surplus(c *Core) []dovetail.Event {
	var events []dovetail.Event
	for _, r := range c.serving {
		for ci := range r.comps {
			for i := range r.comps[ci].cells {
				if k := &r.comps[ci].cells[i]; k.live > k.told {
					n := k.live - k.told
					events = append(events, dovetail.ReplicasDown{Slot: c.slot(r, ci, k), N: n, WasUp: k.up >= n, Exit: dovetail.Exit{Asked: true}})
				} else if k.told > k.up {
					events = append(events, dovetail.ReplicasUp{Slot: c.slot(r, ci, k), N: k.told - k.up})
				}
			}
		}
	}
	return events
}

// hand drives a core by hand; a second passes with each decision.
type hand struct {
	t    *testing.T
	c    *Core
	now  time.Time
	last dovetail.RunID
}

func newHand(t *testing.T, change func(*dovetail.Config)) *hand {
	cfg := dovetail.DefaultConfig()
	cfg.Policy, cfg.Alloc = "fifo-backfill", "malleable"
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &hand{t: t, c: c, now: epoch}
}

func (h *hand) apply(e dovetail.Event) {
	h.t.Helper()
	if err := h.c.Apply(h.now, e); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hand) node(name string, cpu, memory int64) {
	h.t.Helper()
	h.apply(dovetail.NodeUp{Node: dovetail.Node{Name: name, Capacity: dovetail.Resources{cpu, memory}}})
}

// coreOf is a component of n core replicas.
func coreOf(name string, n int, cpu, memory int64) dovetail.Component {
	return dovetail.Component{Name: name, Count: n, Max: n, Resources: dovetail.Resources{cpu, memory}, Ends: "run"}
}

func appOf(components ...dovetail.Component) *dovetail.Application {
	return &dovetail.Application{Name: "a", Kind: dovetail.Batch, Components: components}
}

func (h *hand) submit(app *dovetail.Application) {
	h.t.Helper()
	h.last++
	h.apply(dovetail.Submitted{Run: &dovetail.Run{ID: h.last, Name: "a", App: app}})
}

// decide applies the next plan, after what happens in between, and wants these runs to be started by it.
func (h *hand) decide(between func(), want ...dovetail.RunID) {
	h.t.Helper()
	plan := h.c.Decide(h.now)
	if between != nil {
		between()
	}
	if !plan.Empty() {
		h.apply(dovetail.Decided{Plan: plan})
	}
	h.now = h.now.Add(time.Second)
	var started []dovetail.RunID
	for _, a := range plan.Assign {
		started = append(started, a.Run)
	}
	if started = slices.Compact(started); !slices.Equal(started, want) {
		h.t.Errorf("started %v; want %v", started, want)
	}
}

// TestLessRoomMayBeBetter: a run whose components are placed one after the other, and do not all fit, may fit once somebody behind it has
// taken some room: the first component then goes elsewhere. A walk that begins behind it would not see that.
func TestLessRoomMayBeBetter(t *testing.T) {
	h := newHand(t, nil)
	h.node("n1", 1, 2)
	h.node("n2", 3, 5)
	h.node("n3", 10, 10)
	h.submit(appOf(coreOf("all", 1, 10, 10)))
	h.submit(appOf(coreOf("first", 1, 1, 1), coreOf("second", 1, 3, 1))) // the first goes to the node with more memory, which the second needs whole
	h.decide(nil, 1)
	h.submit(appOf(coreOf("only", 1, 0, 1))) // goes there too, and then the other node holds fewer replicas
	h.decide(nil, 2, 3)
}

// TestLessRoomBehindAWindow: so it is with one that is not drawn, while another of its application was drawn and failed.
func TestLessRoomBehindAWindow(t *testing.T) {
	h := newHand(t, func(cfg *dovetail.Config) {
		cfg.Colocation = dovetail.Colocation{Choose: "random", Window: 1, Passes: 1000}
	})
	for i := range 4 {
		h.node(fmt.Sprintf("s%d", i), 1, 2)
	}
	h.node("l0", 3, 5)
	h.node("l1", 3, 5)
	h.node("n3", 10, 10)
	all, tiny := appOf(coreOf("all", 1, 10, 10)), appOf(coreOf("only", 1, 0, 1))
	two := appOf(coreOf("first", 2, 1, 1), coreOf("second", 1, 3, 1))
	h.submit(all)
	h.submit(two)
	h.submit(all)
	h.submit(two)
	h.decide(nil, 1)
	h.submit(tiny)
	h.submit(tiny)
	h.decide(nil, 2, 4, 5, 6)
}

// TestHeldAndReleasedIsCountedOnce: the void entry of a run that was held and released has the key of its valid one. Walks that begin behind
// it count it once, so that those behind are looked at.
func TestHeldAndReleasedIsCountedOnce(t *testing.T) {
	h := newHand(t, nil)
	h.c.depth = 5
	h.node("n1", 10, 10)
	for _, cpu := range []int64{8, 10, 9} {
		h.submit(appOf(coreOf("x", 1, cpu, 1)))
	}
	h.decide(nil, 1)
	h.apply(dovetail.Held{Run: 3})
	h.apply(dovetail.Released{Run: 3})
	for range 5 {
		h.apply(dovetail.Tick{})
		h.decide(nil)
	}
	h.submit(appOf(coreOf("x", 1, 1, 1)))
	h.decide(nil, 4)
}

// TestAskingWhyChangesNothing: what does not fit while the room that a plan frees is still taken fits when the plan was applied.
func TestAskingWhyChangesNothing(t *testing.T) {
	h := newHand(t, nil)
	h.c.depth = 1
	h.node("n1", 8, 10)
	h.node("n2", 8, 10)
	h.submit(appOf(coreOf("x", 1, 4, 1)))
	h.submit(appOf(coreOf("x", 1, 4, 1)))
	h.submit(appOf(coreOf("x", 2, 6, 1)))
	h.submit(appOf(coreOf("x", 1, 5, 1))) // fits when run 2 is gone
	h.decide(nil, 1, 2)
	h.apply(dovetail.Cancelled{Run: 2})
	h.decide(func() { h.c.Explain(4, h.now) })
	h.apply(dovetail.Cancelled{Run: 3})
	h.decide(nil, 4)
}
