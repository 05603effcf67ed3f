package sched

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/alloc"
	"github.com/dovetail-sched/dovetail/coloc"
)

// half is an application of one component of n replicas, each of which takes half of a node of a stage.
func half(name string, n int) *dovetail.Application {
	return &dovetail.Application{Name: name, Kind: dovetail.Batch, Components: []dovetail.Component{{Name: "w", Count: n, Resources: unit(2)}}}
}

// wants is half with wishes about its neighbours.
func wants(name string, n int, x dovetail.Affinity) *dovetail.Application {
	a := half(name, n)
	a.Colocation = &x
	return a
}

func choosing(method string) dovetail.Config {
	cfg := dovetail.DefaultConfig()
	cfg.Colocation.Choose = method
	return cfg
}

// where returns the nodes that a run is granted something on.
func (s *stage) where(id dovetail.RunID) []string {
	var names []string
	if r := s.core.runs[id]; r != nil && r.comps != nil {
		for _, k := range r.comps[0].cells {
			if k.want > 0 {
				names = append(names, s.core.nodes[k.node].Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *stage) status(id dovetail.RunID) dovetail.RunStatus {
	s.t.Helper()
	st, ok := s.core.Status(id)
	if !ok {
		s.t.Fatalf("there is no run %d", id)
	}
	return st
}

// rates is the evidence that runs of a class go so fast beside others, by 20 runs.
func rates(class string, beside map[string]float64) dovetail.Event {
	e := dovetail.Evidence{Class: class, Runs: 20, Until: epoch}
	for _, b := range slices.Sorted(maps.Keys(beside)) {
		r := beside[b]
		e.Rates = append(e.Rates, dovetail.Rate{Beside: b, Rate: r, Low: .98 * r, High: 1.02 * r, Runs: 20, Seconds: 1000})
	}
	return dovetail.Paired{Evidence: e}
}

// TestColocationIsChecked: every setting has bounds, and what is wrong is named.
func TestColocationIsChecked(t *testing.T) {
	for _, tc := range []struct {
		set  func(x *dovetail.Colocation)
		want string
	}{
		{func(*dovetail.Colocation) {}, ""},
		{func(x *dovetail.Colocation) {
			*x = dovetail.Colocation{Choose: "price", Window: 100, Passes: 1, Step: 1, Period: dovetail.Duration(time.Second), Slowdown: 1.5, HalfLife: 1, Classes: 1}
		}, ""},
		{func(x *dovetail.Colocation) { x.Choose = "bandits" }, `choose: unknown way to choose neighbours "bandits"; expected one of bandit`},
		{func(x *dovetail.Colocation) { x.Window = 101 }, "window: is 101; expected 1 to 100"},
		{func(x *dovetail.Colocation) { x.Window = -1 }, "window: is -1"},
		{func(x *dovetail.Colocation) { x.Passes = -1 }, "passes: is -1"},
		{func(x *dovetail.Colocation) { x.Step = 1.01 }, "step: is 1.01; expected a number in (0,1]"},
		{func(x *dovetail.Colocation) { x.Step = math.NaN() }, "step: is NaN"},
		{func(x *dovetail.Colocation) { x.Period = dovetail.Duration(time.Millisecond) }, "period: is 1ms; expected 100ms or more"},
		{func(x *dovetail.Colocation) { x.Slowdown = 1 }, "slowdown: is 1; expected more than 1"},
		{func(x *dovetail.Colocation) { x.Slowdown = math.NaN() }, "slowdown: is NaN"},
		{func(x *dovetail.Colocation) { x.Slowdown = math.Inf(1) }, "slowdown: is +Inf"},
		{func(x *dovetail.Colocation) { x.HalfLife = -1 }, "halfLife"},
		{func(x *dovetail.Colocation) { x.Classes = -1 }, "classes: is -1"},
	} {
		cfg := dovetail.DefaultConfig()
		tc.set(&cfg.Colocation)
		_, err := New(cfg)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), "colocation."+tc.want)) {
			t.Errorf("%+v: %v, expected %q", cfg.Colocation, err, tc.want)
		}
	}
}

// TestUsedTeaches says which measurements teach something: only those of a period during which the same classes were at work on the node.
func TestUsedTeaches(t *testing.T) {
	minute := dovetail.Duration(time.Minute)
	use := func(node string) dovetail.NodeUse { return dovetail.NodeUse{Node: node, CPU: .5, Wait: .1, Disk: .2} }
	percent := use("n0")
	percent.CPU = 55
	for _, tc := range []struct {
		reason string
		before func(s *stage) // at second 0, when runs 1 and 2 of different classes are up on n0
		at     float64
		period dovetail.Duration
		nodes  []dovetail.NodeUse
		learns bool
	}{
		{"both were there all of the time", nil, 60, minute, []dovetail.NodeUse{use("n0")}, true},
		{"both are longer there than the period", nil, 100, minute, []dovetail.NodeUse{use("n0")}, true},
		{"they came within the period", nil, 59, minute, []dovetail.NodeUse{use("n0")}, false},
		{"no time at all", nil, 60, 0, []dovetail.NodeUse{use("n0")}, false},
		{"a clock that went backwards", nil, 60, -minute, []dovetail.NodeUse{use("n0")}, false},
		{"a period of centuries", nil, 60, math.MaxInt64, []dovetail.NodeUse{use("n0")}, false},
		{"percent in place of shares", nil, 60, minute, []dovetail.NodeUse{percent}, false},
		{"a node that nobody knows", nil, 60, minute, []dovetail.NodeUse{use("n7")}, false},
		{"a node with one class", nil, 60, minute, []dovetail.NodeUse{use("n1")}, false},
		{"nobody knows the first, and the second teaches", nil, 60, minute, []dovetail.NodeUse{use("m"), use("n0")}, true},
		{"one of them is frozen", func(s *stage) { s.apply(dovetail.Suspended{Run: 2}); s.turn() }, 100, minute, []dovetail.NodeUse{use("n0")}, false},
		{"another run of one of the classes makes no other set of classes", func(s *stage) {
			s.now = epoch.Add(30 * time.Second)
			s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n0", Capacity: unit(6)}})
			s.apply(dovetail.Cordoned{Node: "n1", On: true})
			s.submit("b", half("b", 1))
			s.turn()
		}, 60, minute, []dovetail.NodeUse{use("n0")}, true},
		{"one of them starts and is not up yet", func(s *stage) {
			s.apply(dovetail.ReplicasDown{Slot: dovetail.Slot{Run: 2, Node: "n0"}, N: 1, WasUp: true, Exit: dovetail.Exit{Asked: true}})
			plan := s.core.Decide(s.now)
			s.apply(dovetail.Decided{Plan: plan}) // it is handed out again, and nobody says that it came up
		}, 100, minute, []dovetail.NodeUse{use("n0")}, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := newStage(t, dovetail.DefaultConfig(), 1)
			s.submit("a", half("a", 1))
			s.submit("b", half("b", 1))
			s.turn()
			s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n1", Capacity: unit(4)}})
			if got := s.core.Shared(); !slices.Equal(got, []string{"n0"}) {
				t.Fatalf("shared are %v", got)
			}
			if tc.before != nil {
				tc.before(s)
			}
			s.now = epoch.Add(time.Duration(tc.at * float64(time.Second)))
			s.apply(dovetail.Used{Period: tc.period, Nodes: tc.nodes})
			if got := s.core.Knows("a") && s.core.Knows("b"); got != tc.learns {
				t.Errorf("learns: %t, expected %t; known are %+v", got, tc.learns, s.core.Neighbours())
			}
		})
	}
}

// TestUsedTwiceInOneEvent: of a node that is there twice only the first reading counts.
func TestUsedTwiceInOneEvent(t *testing.T) {
	updates := func(nodes ...dovetail.NodeUse) float64 {
		s := newStage(t, dovetail.DefaultConfig(), 1)
		s.submit("a", half("a", 1))
		s.submit("b", half("b", 1))
		s.turn()
		s.now = s.now.Add(time.Minute)
		s.apply(dovetail.Used{Period: dovetail.Duration(time.Minute), Nodes: nodes})
		k, _ := s.core.Book().Class("a")
		return k.Updates
	}
	u := dovetail.NodeUse{Node: "n0", CPU: .5}
	if once, twice := updates(u), updates(u, u); once != 1 || twice != 1 {
		t.Errorf("updates: %g for one reading, %g for the same twice", once, twice)
	}
}

// TestUseThatIsNoNumberIsRefused: a journal could not hold it.
func TestUseThatIsNoNumberIsRefused(t *testing.T) {
	c, err := New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		e := dovetail.Used{Period: dovetail.Duration(time.Minute), Nodes: []dovetail.NodeUse{{Node: "n0", Net: x}}}
		if err := c.Apply(epoch, e); dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), "use of node n0: net is") {
			t.Errorf("%g: %v", x, err)
		}
	}
}

// TestKnowledgeIsReplacedAndForgotten follows one class through all events that change what is known.
func TestKnowledgeIsReplacedAndForgotten(t *testing.T) {
	s := newStage(t, dovetail.DefaultConfig(), 1)
	s.apply(rates("a", map[string]float64{"b": .5}))
	if !s.core.Knows("a") {
		t.Fatal("evidence is not known")
	}
	bad := dovetail.Paired{Evidence: dovetail.Evidence{Class: "a", Runs: 1, Rates: []dovetail.Rate{{Beside: "b", Rate: -1}}}}
	if err := s.core.Apply(s.now, bad); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("a negative rate: %v", err)
	}
	known := s.core.Neighbours()
	s.apply(dovetail.Forgotten{Class: "a"})
	if k, _ := s.core.Book().Class("a"); k.Evidence != nil {
		t.Errorf("still known after it was forgotten: %+v", k)
	}
	s.apply(dovetail.Recalled{Classes: known})
	if k, _ := s.core.Book().Class("a"); k.Evidence == nil || k.Evidence.Rates[0].Rate != .5 {
		t.Errorf("recalled: %+v", k)
	}
	s.apply(rates("b", map[string]float64{"a": .5}))
	bad2 := dovetail.Recalled{All: true, Classes: []dovetail.KnownClass{{Class: "a", Preferences: []dovetail.Preference{{Class: "b", H: math.NaN()}}}}}
	if err := s.core.Apply(s.now, bad2); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("a preference that is no number: %v", err)
	}
	if k, _ := s.core.Book().Class("b"); k.Evidence == nil {
		t.Error("what could not replace all that is known has replaced something")
	}
	s.apply(dovetail.Recalled{Classes: known, All: true})
	a, _ := s.core.Book().Class("a")
	b, _ := s.core.Book().Class("b")
	if a.Evidence == nil || b.Evidence != nil || !b.Forgotten.Equal(s.now) {
		t.Errorf("recalled in place of all: a %+v, b %+v", a, b)
	}
}

// TestChancesAreKept: who is drawn how often follows the probabilities that the draws name, and the same seed draws the same.
func TestChancesAreKept(t *testing.T) {
	cfg := choosing("random")
	draw := func(seed uint64) *dovetail.Draw {
		cfg.Colocation.Seed = seed
		s := newStage(t, cfg, 1)
		for range 4 {
			s.submit("a", half("a", 2))
		}
		s.turn()
		for id := range dovetail.RunID(4) {
			if st := s.status(id + 1); st.Draw != nil {
				return st.Draw
			}
		}
		t.Fatal("nobody was drawn")
		return nil
	}
	const plays = 2000
	var count [4]int
	for seed := range uint64(plays) {
		d := draw(seed)
		if len(d.Options) != 4 || math.Abs(d.Probability()-.25) > 1e-12 || len(d.Passed) != int(d.Run)-1 {
			t.Fatalf("%+v", d)
		}
		count[d.Run-1]++
	}
	chi := 0.0
	for _, n := range count {
		chi += (float64(n) - plays/4) * (float64(n) - plays/4) / (plays / 4)
	}
	if chi > 16.3 { // 99.9 % of the distribution with three degrees of freedom
		t.Errorf("of four equals were drawn %v", count)
	}
	if a, b := draw(7), draw(7); a.Run != b.Run {
		t.Errorf("the same seed drew runs %d and %d", a.Run, b.Run)
	}
}

// TestWeightsGrowWithPasses: who was passed over twice is three times as likely as a newcomer.
func TestWeightsGrowWithPasses(t *testing.T) {
	s := newStage(t, choosing("random"), 1)
	for range 3 {
		s.submit("a", half("a", 2))
	}
	s.core.runs[2].passes = 2
	d := &s.core.scratch
	*d = draft{c: s.core, round: 1, now: s.now}
	for id := range dovetail.RunID(3) {
		d.window.runs = append(d.window.runs, contender{r: s.core.runs[id+1]})
	}
	d.contend()
	d.cast()
	if got := fmt.Sprintf("%.2f", d.window.chances); got != "[0.20 0.60 0.20]" {
		t.Errorf("chances %s", got)
	}
}

// TestWindowIsStrictBetweenPriorities: only runs of the first one's priority are drawn among, and nobody behind the window.
func TestWindowIsStrictBetweenPriorities(t *testing.T) {
	for seed := range uint64(50) {
		cfg := choosing("random")
		cfg.Colocation.Seed, cfg.Colocation.Window = seed, 2
		s := newStage(t, cfg, 1)
		for i, priority := range []int{0, 0, 1, 1, 1} {
			app := half("a", 2)
			app.Priority = priority
			s.submit(fmt.Sprint("class", i), app)
		}
		s.turn()
		for id := range dovetail.RunID(5) {
			if st := s.status(id + 1); st.State != dovetail.Queued && id+1 != 3 && id+1 != 4 {
				t.Fatalf("seed %d: run %d started; the window is runs 3 and 4", seed, id+1)
			}
		}
	}
}

// TestNobodyIsPassedOverTooOften: whatever arrives and departs, no run is passed over by draws more often than the bound, and the count
// that people see is that of the draws.
func TestNobodyIsPassedOverTooOften(t *testing.T) {
	methods := []string{}
	for _, m := range coloc.Methods() {
		methods = append(methods, m.Name)
	}
	allocs := []string{}
	for _, a := range alloc.All[*run]() {
		allocs = append(allocs, a.Name)
	}
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := choosing(rapid.SampledFrom(methods).Draw(t, "method"))
		cfg.Policy = rapid.SampledFrom([]string{"fifo", "fifo-backfill", "fifo-easy", "sjf", "hrrn"}).Draw(t, "policy")
		cfg.Alloc = rapid.SampledFrom(allocs).Draw(t, "alloc")
		cfg.Colocation.Window = rapid.IntRange(1, 6).Draw(t, "window")
		cfg.Colocation.Passes = rapid.IntRange(1, 4).Draw(t, "passes")
		cfg.Colocation.Seed = uint64(rapid.IntRange(0, 1000).Draw(t, "seed"))
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
		apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n1", Capacity: unit(6)}})
		apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n2", Capacity: unit(6)}})
		passed := map[dovetail.RunID]int{}
		next := dovetail.RunID(1)
		for range rapid.IntRange(10, 80).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "s")) * time.Second)
			if rapid.IntRange(0, 2).Draw(t, "arrival") > 0 {
				n := rapid.IntRange(1, 6).Draw(t, "core")
				app := oneComponent(n, n+rapid.IntRange(0, 2).Draw(t, "elastic"), 1)
				app.Expected = dovetail.Duration(time.Duration(rapid.IntRange(1, 200).Draw(t, "expected")) * time.Second)
				apply(dovetail.Submitted{Run: &dovetail.Run{ID: next, Class: genClass(t), App: app}})
				next++
			} else if serving := c.Serving(); len(serving) > 0 {
				apply(dovetail.Cancelled{Run: rapid.SampledFrom(serving).Draw(t, "departs")})
			}
			for plan := c.Decide(now); !plan.Empty(); plan = c.Decide(now) {
				for _, d := range plan.Draws {
					sum := 0.0
					for _, o := range d.Options {
						sum += o.Probability
					}
					if math.Abs(sum-1) > 1e-9 || !(d.Probability() > 0) {
						t.Fatalf("draw %+v: probabilities sum to %g", d, sum)
					}
					for _, id := range d.Passed {
						if passed[id]++; passed[id] > cfg.Colocation.Passes {
							t.Fatalf("run %d was passed over %d times, last by %+v; the bound is %d", id, passed[id], d, cfg.Colocation.Passes)
						}
						most = max(most, passed[id])
					}
				}
				apply(dovetail.Decided{Plan: plan})
				for _, id := range c.Serving() {
					r := c.runs[id]
					for _, k := range slices.Clone(r.comps[0].cells) {
						if k.live > k.told {
							apply(dovetail.ReplicasDown{Slot: c.slot(r, 0, &k), N: k.live - k.told, Exit: dovetail.Exit{Asked: true}})
						}
					}
				}
			}
			for id, n := range passed {
				if st, ok := c.Status(id); ok && st.State == dovetail.Queued && st.Passes != n {
					t.Fatalf("run %d was passed over %d times, and its status says %d", id, n, st.Passes)
				}
			}
			if v := c.Validate(); len(v) > 0 {
				t.Fatal(v)
			}
		}
	})
	if most < 2 {
		t.Errorf("nobody was passed over more than %d times: nothing was tested", most)
	}
}

// TestDueGoesFirst: a big run that small ones passed over often enough stops all others until it fits.
func TestDueGoesFirst(t *testing.T) {
	for _, policy := range []string{"fifo", "fifo-backfill"} {
		cfg := choosing("random")
		cfg.Policy, cfg.Colocation.Window, cfg.Colocation.Passes = policy, 2, 2
		s := newStage(t, cfg, 1)
		s.submit("a", half("a", 1))
		s.turn()
		big := s.submit("a", half("a", 2))
		small := []dovetail.RunID{s.submit("a", half("a", 1)), s.submit("a", half("a", 1)), s.submit("a", half("a", 1))}
		for i, id := range []dovetail.RunID{1, small[0]} {
			s.turn()
			if st := s.status(small[i]); st.State == dovetail.Queued || st.Draw == nil || !slices.Equal(st.Draw.Passed, []dovetail.RunID{big}) {
				t.Fatalf("%s: small run %d should have passed the big one: %+v", policy, small[i], st)
			}
			s.apply(dovetail.Cancelled{Run: id})
			s.now = s.now.Add(time.Second)
		}
		s.turn()
		if st := s.status(big); st.State != dovetail.Queued || st.Passes != 2 {
			t.Fatalf("%s: the big run: %+v", policy, st)
		}
		if st := s.status(small[2]); st.State != dovetail.Queued {
			t.Errorf("%s: a small run passed one that is due", policy)
		}
		x, _ := s.core.Explain(small[2], s.now)
		if x.Behind != big || !strings.Contains(x.Text, fmt.Sprintf("Run %d was passed over 2 times and goes first", big)) {
			t.Errorf("%s: why the small run waits: behind %d: %s", policy, x.Behind, x.Text)
		}
		x, _ = s.core.Explain(big, s.now)
		if !strings.Contains(x.Text, fmt.Sprintf("It was passed over 2 times (after 2 it goes first), last by run %d", small[1])) || !strings.Contains(x.Text, "it could not have started then") {
			t.Errorf("%s: why the big run waits: %s", policy, x.Text)
		}
		ends := fmt.Sprintf("It fits when run %d (a) ends", small[1])
		if !strings.Contains(x.Text, "It goes first now, and those behind it wait until it has started. "+ends) {
			t.Errorf("%s: what keeps the big run, and so all others, waiting: %s", policy, x.Text)
		}
		s.apply(dovetail.Cancelled{Run: small[1]})
		s.turn()
		if st := s.status(big); st.State == dovetail.Queued || st.Draw != nil && st.Draw.Method != methodDue {
			t.Errorf("%s: the big run when everything is free: %+v", policy, st)
		}
	}
}

// TestDrawsAreClosedOnce: with the outcome of the run, and never before.
func TestDrawsAreClosedOnce(t *testing.T) {
	for _, tc := range []struct {
		end  func(s *stage, id dovetail.RunID)
		want string
	}{
		{func(s *stage, id dovetail.RunID) { s.end(id) }, "succeeded"},
		{func(s *stage, id dovetail.RunID) { s.apply(dovetail.Cancelled{Run: id}) }, "abandoned"},
		{func(s *stage, _ dovetail.RunID) { s.apply(dovetail.NodeDown{Node: "n0"}) }, "failed"},
	} {
		s := newStage(t, choosing("random"), 1)
		s.submit("a", half("a", 2))
		s.submit("b", half("b", 2))
		s.turn()
		id := s.core.Serving()[0]
		if st := s.status(id); st.Draw == nil || st.Draw.Closed != "" {
			t.Fatalf("draw of a run in service: %+v", st.Draw)
		}
		s.core.Forget()
		tc.end(s, id)
		s.turn()
		closed := 0
		for _, st := range s.core.Changed() {
			if st.ID == id && st.State == dovetail.Ended {
				closed++
				if st.Draw.Closed != tc.want {
					t.Errorf("draw closed as %q, expected %q", st.Draw.Closed, tc.want)
				}
			}
		}
		if closed != 1 {
			t.Errorf("the run ended %d times", closed)
		}
	}
}

// TestMisdrawnPlansAreRefused: a draw that contradicts the state is refused with all of its plan.
func TestMisdrawnPlansAreRefused(t *testing.T) {
	for reason, spoil := range map[string]func(d *dovetail.Draw){
		"a run that does not start":          func(d *dovetail.Draw) { d.Run = 3 - d.Run },
		"a run that nobody knows":            func(d *dovetail.Draw) { d.Run = 9 },
		"without a probability":              func(d *dovetail.Draw) { d.Options = nil },
		"over a run that nobody knows":       func(d *dovetail.Draw) { d.Passed = append(d.Passed, 9) },
		"over itself":                        func(d *dovetail.Draw) { d.Passed = append(d.Passed, d.Run) },
		"closed before the run has ended":    func(d *dovetail.Draw) { d.Closed = "succeeded" },
		"with a probability that is too big": func(d *dovetail.Draw) { d.Options = []dovetail.Option{{Run: d.Run, Probability: 2}} },
	} {
		s := newStage(t, choosing("random"), 1)
		s.submit("a", half("a", 2))
		s.submit("b", half("b", 2))
		plan := s.core.Decide(s.now)
		if len(plan.Draws) != 1 {
			t.Fatalf("%d draws", len(plan.Draws))
		}
		spoil(&plan.Draws[0])
		if err := s.core.Apply(s.now, dovetail.Decided{Plan: plan}); dovetail.CodeOf(err) != dovetail.Conflict {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestGoesWhereItIsLiked: the price of work sends a newcomer to the node whose run gets on with it, and says so.
func TestGoesWhereItIsLiked(t *testing.T) {
	s := newStage(t, choosing("price"), 2)
	s.apply(rates("disk", map[string]float64{"cpu": 1, "disk": .5}))
	s.apply(rates("cpu", map[string]float64{"cpu": .5, "disk": 1}))
	s.submit("cpu", half("cpu", 1))
	s.turn()
	s.submit("disk", half("disk", 1))
	s.turn()
	s.submit("cpu", half("cpu", 1))
	s.submit("disk", half("disk", 1))
	s.turn()
	for id, other := range map[dovetail.RunID]dovetail.RunID{3: 2, 4: 1} {
		if s.status(1).State == dovetail.Queued || s.status(2).State == dovetail.Queued {
			t.Fatal("the first two should have started")
		}
		if got, want := s.where(id), s.where(other); !slices.Equal(s.where(1), s.where(2)) && !slices.Equal(got, want) {
			t.Errorf("run %d of %s is on %v, expected %v beside run %d", id, s.status(id).Class, got, want, other)
		}
	}
}

// TestDrawsAreExplained: a run in service tells how it came to start, and beside whom.
func TestDrawsAreExplained(t *testing.T) {
	s := newStage(t, choosing("bandit"), 1)
	s.submit("a", half("a", 1))
	s.turn()
	s.submit("b", half("b", 1))
	s.submit("c", half("c", 1))
	s.turn()
	id := s.core.Serving()[1]
	x, _ := s.core.Explain(id, s.now)
	for _, want := range []string{"method bandit drew it with a probability of 50 % among 2 that could start", "beside a"} {
		if !strings.Contains(x.Text, want) {
			t.Errorf("%q does not say %q", x.Text, want)
		}
	}
	if d := s.status(id).Draw; !slices.Equal(d.Beside, []string{"a"}) || d.Score != .5 {
		t.Errorf("%+v", d)
	}
}
