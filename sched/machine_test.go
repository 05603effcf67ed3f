package sched

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/alloc"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/place"
	"github.com/dovetail-sched/dovetail/policy"
)

// world is a core, a second core that is fed the same, and a back-end that does what it is told, sooner or later, or not.
type world struct {
	core, twin *Core
	now        time.Time
	told       map[dovetail.Slot]int
	live       map[dovetail.Slot]*replicas
	ended      map[dovetail.RunID]dovetail.Outcome
	submitted  dovetail.RunID
	stopping   map[dovetail.RunID]bool
	nodes      map[string]bool // up
}

// replicas counts the states of those in one slot.
type replicas struct{ starting, up, ready int }

func (r *replicas) total() int { return r.starting + r.up + r.ready }

// genConfig draws from every policy, allocator and placement order that there is.
func genConfig(t *rapid.T) dovetail.Config {
	policies, allocs, places := []string{"fifo", "fifo-backfill"}, []string{"flexible", "flexible", "flexible"}, []string{}
	for _, o := range policy.Orders() {
		policies = append(policies, o.Name)
	}
	for _, a := range alloc.All[*run]() {
		allocs = append(allocs, a.Name)
	}
	for _, o := range place.Orders() {
		places = append(places, o.Name)
	}
	return dovetail.Config{
		Policy:  rapid.SampledFrom(policies).Draw(t, "policy"),
		Alloc:   rapid.SampledFrom(allocs).Draw(t, "alloc"),
		Reclaim: rapid.SampledFrom([]string{"any", "lower"}).Draw(t, "reclaim"), Preempt: rapid.Bool().Draw(t, "preempt"),
		InteractiveFirst: rapid.Bool().Draw(t, "interactive"),
		MaxWait:          dovetail.Duration(rapid.SampledFrom([]time.Duration{0, 30 * time.Second}).Draw(t, "maxWait")),
		Regrow:           dovetail.Duration(rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "regrow")),
		Replan:           dovetail.Duration(rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second}).Draw(t, "replan")),
		Place:            rapid.SampledFrom(places).Draw(t, "place"),
		Colocation:       genColocation(t),
	}
}

// genColocation draws from every method to choose neighbours that there is, and from none.
func genColocation(t *rapid.T) dovetail.Colocation {
	chooses := []string{"", ""}
	for _, m := range coloc.Methods() {
		chooses = append(chooses, m.Name)
	}
	return dovetail.Colocation{
		Choose:   rapid.SampledFrom(chooses).Draw(t, "choose"),
		Window:   rapid.IntRange(0, 6).Draw(t, "window"),
		Passes:   rapid.IntRange(0, 3).Draw(t, "passes"),
		Step:     rapid.SampledFrom([]float64{0, .5}).Draw(t, "step"),
		Slowdown: rapid.SampledFrom([]float64{0, 0, 1.2}).Draw(t, "slowdown"),
		HalfLife: dovetail.Duration(rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "halfLife")),
		Classes:  rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "classes"),
		Seed:     uint64(rapid.IntRange(0, 3).Draw(t, "seed")),
	}
}

// genAffinity draws what an application says of its neighbours: mostly nothing.
func genAffinity(t *rapid.T) *dovetail.Affinity {
	if rapid.IntRange(0, 3).Draw(t, "affinity") > 0 {
		return nil
	}
	x := &dovetail.Affinity{Exclusive: rapid.IntRange(0, 3).Draw(t, "exclusive") == 0}
	for range rapid.IntRange(0, 1).Draw(t, "avoid") {
		x.Avoid = append(x.Avoid, genClass(t))
	}
	for range rapid.IntRange(0, 1).Draw(t, "prefer") {
		x.Prefer = append(x.Prefer, genClass(t))
	}
	return x
}

// genUse draws what was measured of the nodes: possible values, and others.
func genUse(t *rapid.T) dovetail.Used {
	e := dovetail.Used{Period: dovetail.Duration(rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, time.Hour}).Draw(t, "period"))}
	for _, name := range []string{"n1", "n2", "n3", "n7", "n9"} {
		e.Nodes = append(e.Nodes, dovetail.NodeUse{
			Node: name, CPU: rapid.SampledFrom([]float64{0, .3, .3, .3, .3, 1, 1, 1, 4, math.NaN()}).Draw(t, "cpu"), Wait: rapid.SampledFrom([]float64{0, .2, 1, -1}).Draw(t, "wait"),
			Disk: rapid.SampledFrom([]float64{0, .5}).Draw(t, "disk"), Net: rapid.SampledFrom([]float64{0, 1}).Draw(t, "net"),
		})
	}
	return e
}

// genEvidence draws what finished runs say of a class.
func genEvidence(t *rapid.T) dovetail.Evidence {
	e := dovetail.Evidence{Class: genClass(t), Runs: rapid.IntRange(1, 9).Draw(t, "runs"), Until: epoch}
	for _, beside := range []string{"", "a", "b", "c"} {
		if rapid.Bool().Draw(t, "beside") {
			rate := rapid.SampledFrom([]float64{.3, .8, 1, 1.2}).Draw(t, "rate")
			e.Rates = append(e.Rates, dovetail.Rate{Beside: beside, Rate: rate, Low: .8 * rate, High: 1.2 * rate, Runs: e.Runs, Seconds: 100})
		}
	}
	return e
}

func genApp(t *rapid.T) *dovetail.Application {
	a := &dovetail.Application{
		Name: "a", Kind: rapid.SampledFrom([]dovetail.Kind{dovetail.Batch, dovetail.Batch, dovetail.Interactive}).Draw(t, "kind"),
		Priority:   rapid.IntRange(0, 2).Draw(t, "priority"),
		Expected:   dovetail.Duration(time.Duration(rapid.IntRange(0, 100).Draw(t, "expected")) * time.Second),
		MaxRuntime: dovetail.Duration(rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(t, "maxRuntime")),
	}
	if rapid.Bool().Draw(t, "target") {
		a.Target = &dovetail.Target{
			Runtime:    dovetail.Duration(time.Duration(rapid.IntRange(1, 200).Draw(t, "runtime")) * time.Second),
			Confidence: rapid.SampledFrom([]float64{0, .5, .9, .99}).Draw(t, "confidence"),
		}
	}
	a.Colocation = genAffinity(t)
	if rapid.IntRange(0, 9).Draw(t, "finishBy") == 0 {
		by := epoch.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "by")) * time.Second)
		a.FinishBy = &by
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "components") {
		c := dovetail.Component{
			Name:      fmt.Sprint("c", i),
			Count:     rapid.IntRange(0, 3).Draw(t, "count"),
			Resources: dovetail.Resources{int64(rapid.IntRange(0, 4).Draw(t, "cpu")) * 500, int64(rapid.IntRange(0, 4).Draw(t, "mem"))},
			Restart:   dovetail.Restart{Retries: rapid.IntRange(0, 2).Draw(t, "retries")},
		}
		c.Max = c.Count + rapid.IntRange(0, 5).Draw(t, "elastic")
		if i == 0 {
			c.Count, c.Max = max(1, c.Count), max(1, c.Max)
			c.Ends = rapid.SampledFrom([]string{"", "run"}).Draw(t, "ends")
		} else if rapid.Bool().Draw(t, "after") {
			c.After = []string{"c0"}
		}
		if rapid.Bool().Draw(t, "ready") {
			c.Ready = &dovetail.Ready{File: "x"}
		}
		if rapid.IntRange(0, 4).Draw(t, "label") == 0 {
			c.Nodes = map[string]string{"disk": "ssd"}
		}
		a.Components = append(a.Components, c)
	}
	return a
}

// genClass draws a job class; few, so that outlooks meet runs.
func genClass(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "class") }

func genInput(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{0, 0, 100, 105, 1000}).Draw(t, "input")
}

// genOutlook draws what is known of a class: nothing, too little for a model, or a table.
func genOutlook(t *rapid.T) dovetail.Outlook {
	o := dovetail.Outlook{Class: genClass(t), InputSize: genInput(t), Model: "test", Runs: rapid.SampledFrom([]int{0, 1, 2, 5, 6, 20, 20}).Draw(t, "runs")}
	for range min(o.Runs, 5) {
		s := dovetail.Stretch{ScaleOut: rapid.IntRange(1, 8).Draw(t, "x"), Seconds: rapid.Float64Range(1, 100).Draw(t, "seconds")}
		o.First = append(o.First, s)
	}
	if o.Runs == 0 || o.Runs < 6 && rapid.Bool().Draw(t, "table") {
		return o
	}
	o.Levels = rapid.SampledFrom([][]float64{{.5}, {.1, .5, .9}}).Draw(t, "levels")
	o.ScaleOuts = rapid.SampledFrom([][]int{{1, 2, 3, 4, 5, 6, 7, 8}, {2, 5}, {3}}).Draw(t, "scaleOuts")
	work, alpha := rapid.Float64Range(1, 300).Draw(t, "work"), rapid.Float64Range(0, 2).Draw(t, "alpha")
	table := func(slow float64) [][]float64 {
		var rows [][]float64
		for _, x := range o.ScaleOuts {
			var row []float64
			for l := range o.Levels {
				row = append(row, slow*(work/float64(x)+1)*(1+.2*float64(l)))
			}
			rows = append(rows, row)
		}
		return rows
	}
	o.Alone = table(1)
	if rapid.Bool().Draw(t, "beside") {
		o.Beside = []dovetail.Beside{{Class: genClass(t), Runs: 3, Seconds: table(1 + alpha)}}
	}
	return o
}

func (w *world) apply(t *rapid.T, e dovetail.Event) error {
	before, _ := w.core.Snapshot()
	err := w.core.Apply(w.now, e)
	if err != nil {
		if after, _ := w.core.Snapshot(); !slices.Equal(before, after) {
			t.Fatalf("%T was refused (%v) and yet changed the state:\n%s", e, err, cmp.Diff(string(before), string(after)))
		}
	}
	if twin := w.twin.Apply(w.now, e); (twin == nil) != (err == nil) {
		t.Fatalf("%T: %v, and the twin says %v", e, err, twin)
	}
	return err
}

func (w *world) must(t *rapid.T, e dovetail.Event) {
	if err := w.apply(t, e); err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
}

// turn decides, checks that deciding is pure, final and the same everywhere, and hands the plan to the back-end.
func (w *world) turn(t *rapid.T) {
	before, _ := w.core.Snapshot()
	plan := w.core.Decide(w.now)
	if again := w.core.Decide(w.now); !cmp.Equal(plan, again) {
		t.Fatalf("deciding twice differs:\n%s", cmp.Diff(plan, again))
	}
	if after, _ := w.core.Snapshot(); !slices.Equal(before, after) {
		t.Fatalf("deciding changed the state:\n%s", cmp.Diff(string(before), string(after)))
	}
	if v := w.core.Validate(); len(v) > 0 {
		t.Fatalf("after deciding: %v", v)
	}
	if len(w.core.gone) == 0 && rapid.IntRange(0, 3).Draw(t, "restore") == 0 {
		restored, err := Restore(before)
		if err != nil {
			t.Fatal(err)
		}
		if after, _ := restored.Snapshot(); !slices.Equal(before, after) {
			t.Fatalf("restoring changed the state:\n%s", cmp.Diff(string(before), string(after)))
		}
		w.core = restored
	}
	mine, _ := json.Marshal(w.core.Decide(w.now))
	theirs, _ := json.Marshal(w.twin.Decide(w.now))
	if !slices.Equal(mine, theirs) {
		t.Fatalf("two cores differ:\n%s\n%s", mine, theirs)
	}
	if !plan.Empty() {
		w.must(t, dovetail.Decided{Plan: plan})
		if again := w.core.Decide(w.now); !again.Empty() {
			t.Fatalf("after %+v\nthe next decision at once is not empty: %+v", plan, again)
		}
	}
	for _, a := range plan.Actions {
		w.do(a)
	}
	w.check(t)
}

func (w *world) do(a dovetail.Action) {
	switch a := a.(type) {
	case dovetail.RunReplicas:
		r := w.live[a.Slot]
		if r == nil {
			r = &replicas{}
			w.live[a.Slot] = r
		}
		if more := a.N - w.told[a.Slot]; more > 0 {
			r.starting += more
		}
		w.told[a.Slot] = a.N
	case dovetail.StopRun:
		w.stopping[a.Run] = true
		for s := range w.told {
			if s.Run == a.Run {
				w.told[s] = 0
			}
		}
	}
}

// check holds the core against the back-end and its own invariants.
func (w *world) check(t *rapid.T) {
	if v := w.core.Validate(); len(v) > 0 {
		t.Fatal(v)
	}
	for s, r := range w.live {
		if n := w.core.Occupied(s); n != r.total() {
			t.Fatalf("%+v: the core thinks %d, there are %+v", s, n, *r)
		}
	}
	for _, st := range w.core.Changed() {
		if st.State == dovetail.Ended {
			if was := w.ended[st.ID]; was != "" {
				t.Fatalf("run %d ended twice: %s and %s", st.ID, was, st.Outcome)
			}
			if st.Outcome == "" {
				t.Fatalf("run %d ended without an outcome", st.ID)
			}
			if st.Choice != nil && st.Choice.Closed == "" {
				t.Fatalf("run %d ended and its choice is open", st.ID)
			}
			if st.Draw != nil && st.Draw.Closed == "" {
				t.Fatalf("run %d ended and its draw is open", st.ID)
			}
			w.ended[st.ID] = st.Outcome
		}
	}
	for id := dovetail.RunID(1); id <= w.submitted; id++ {
		if _, known := w.core.Status(id); known == (w.ended[id] != "") {
			t.Fatalf("run %d: known %t, outcome %q", id, known, w.ended[id])
		}
	}
	if wake := w.core.Wake(); !wake.IsZero() && !wake.After(w.core.now) {
		t.Fatalf("wants to be woken at %s, which is not after %s", wake, w.now)
	}
}

// pick draws a slot where f holds, and returns false if there is none.
func (w *world) pick(t *rapid.T, f func(s dovetail.Slot, r *replicas) bool) (dovetail.Slot, *replicas, bool) {
	var all []dovetail.Slot
	for s, r := range w.live {
		if f(s, r) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return dovetail.Slot{}, nil, false
	}
	slices.SortFunc(all, func(a, b dovetail.Slot) int { return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b))) })
	s := rapid.SampledFrom(all).Draw(t, "slot")
	return s, w.live[s], true
}

func (w *world) down(t *rapid.T, s dovetail.Slot, r *replicas, exit dovetail.Exit) {
	e := dovetail.ReplicasDown{Slot: s, N: 1, Exit: exit}
	switch {
	case r.ready > 0:
		r.ready--
		e.WasUp, e.WasReady = true, true
	case r.up > 0:
		r.up--
		e.WasUp = true
	default:
		r.starting--
	}
	w.told[s] = min(w.told[s], r.total())
	w.must(t, e)
}

func (w *world) someRun(t *rapid.T) dovetail.RunID {
	return dovetail.RunID(rapid.IntRange(1, int(w.submitted)+1).Draw(t, "run"))
}

// step does one random thing.
func (w *world) step(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 1000, 7000, 40000}).Draw(t, "ms")) * time.Millisecond)
	switch rapid.IntRange(0, 25).Draw(t, "step") {
	case 0, 1, 2, 3:
		w.submitted++
		app := genApp(t)
		w.must(t, dovetail.Submitted{Run: &dovetail.Run{
			ID: w.submitted, Name: app.Name, Class: genClass(t), App: app, Input: genInput(t), Hold: rapid.IntRange(0, 9).Draw(t, "hold") == 0,
		}})
	case 4:
		_ = w.apply(t, dovetail.Cancelled{Run: w.someRun(t)})
	case 5:
		_ = w.apply(t, dovetail.Held{Run: w.someRun(t)})
		_ = w.apply(t, dovetail.Released{Run: w.someRun(t)})
	case 6:
		_ = w.apply(t, dovetail.Suspended{Run: w.someRun(t)})
	case 7:
		_ = w.apply(t, dovetail.Resumed{Run: w.someRun(t)})
	case 8:
		_ = w.apply(t, dovetail.Reprioritised{Run: w.someRun(t), Priority: rapid.IntRange(-2, 2).Draw(t, "priority")})
	case 9:
		w.stepNode(t)
	case 10:
		w.must(t, dovetail.Configured{Config: genConfig(t)})
	case 11:
		w.must(t, dovetail.Tick{})
	case 12, 13, 14:
		if s, r, ok := w.pick(t, func(_ dovetail.Slot, r *replicas) bool { return r.starting > 0 }); ok {
			r.starting--
			r.up++
			w.must(t, dovetail.ReplicasUp{Slot: s, N: 1})
		}
	case 15:
		if s, r, ok := w.pick(t, func(_ dovetail.Slot, r *replicas) bool { return r.up > 0 }); ok {
			r.up--
			r.ready++
			w.must(t, dovetail.ReplicasReady{Slot: s, N: 1})
		}
	case 16, 17: // one that was asked to stop stops
		if s, r, ok := w.pick(t, func(s dovetail.Slot, r *replicas) bool { return r.total() > w.told[s] }); ok {
			w.down(t, s, r, dovetail.Exit{Code: 143, Signal: "SIGTERM", Asked: true})
		}
	case 18: // one ends well
		if s, r, ok := w.pick(t, func(_ dovetail.Slot, r *replicas) bool { return r.up+r.ready > 0 }); ok {
			w.down(t, s, r, dovetail.Exit{})
		}
	case 19: // one dies
		if s, r, ok := w.pick(t, func(_ dovetail.Slot, r *replicas) bool { return r.total() > 0 }); ok {
			w.down(t, s, r, dovetail.Exit{Code: 1})
		}
	case 20, 21:
		w.must(t, dovetail.Fitted{Outlook: genOutlook(t)})
	case 22, 23:
		_ = w.apply(t, genUse(t))
	case 24:
		w.must(t, dovetail.Paired{Evidence: genEvidence(t)})
	case 25:
		w.stepKnowledge(t)
	}
	if rapid.IntRange(0, 3).Draw(t, "batch") > 0 {
		w.turn(t)
	}
}

// stepKnowledge forgets something, or brings back what is known, or what cannot be.
func (w *world) stepKnowledge(t *rapid.T) {
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		w.must(t, dovetail.Forgotten{Class: rapid.SampledFrom([]string{"", "a", "b", "none"}).Draw(t, "class")})
	case 1:
		_ = w.apply(t, dovetail.Recalled{Classes: []dovetail.KnownClass{{Class: "d", Goodness: math.NaN()}}})
	default:
		w.must(t, dovetail.Recalled{Classes: w.core.Neighbours()})
	}
}

func (w *world) stepNode(t *rapid.T) {
	name := rapid.SampledFrom([]string{"n1", "n2", "n3", "n4"}).Draw(t, "node")
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0:
		if w.nodes[name] {
			w.nodes[name] = false
			for s, r := range w.live {
				if s.Node == name {
					*r = replicas{}
					w.told[s] = 0
				}
			}
			w.must(t, dovetail.NodeDown{Node: name})
		}
	case 1:
		_ = w.apply(t, dovetail.Cordoned{Node: name, On: rapid.Bool().Draw(t, "on"), Drain: rapid.Bool().Draw(t, "drain")})
	default:
		w.nodes[name] = true
		n := dovetail.Node{Name: name, Capacity: dovetail.Resources{
			int64(rapid.IntRange(0, 12).Draw(t, "cpu")) * 500, int64(rapid.IntRange(0, 12).Draw(t, "mem")),
		}}
		if rapid.Bool().Draw(t, "ssd") {
			n.Labels = map[string]string{"disk": "ssd"}
		}
		w.must(t, dovetail.NodeUp{Node: n})
	}
}

// TestMachine drives a core through random events, with invariants checked after each, and in the end lets everything finish:
// no run may be lost.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := genConfig(t)
		w := &world{
			now: epoch, told: map[dovetail.Slot]int{}, live: map[dovetail.Slot]*replicas{},
			ended: map[dovetail.RunID]dovetail.Outcome{}, stopping: map[dovetail.RunID]bool{}, nodes: map[string]bool{},
		}
		var err error
		if w.core, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		if w.twin, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		w.must(t, dovetail.NodeUp{Node: dovetail.Node{Name: "n1", Capacity: dovetail.Resources{6000, 6}}})
		w.must(t, dovetail.NodeUp{Node: dovetail.Node{Name: "n2", Capacity: dovetail.Resources{4000, 8}, Labels: map[string]string{"disk": "ssd"}}})
		for range rapid.IntRange(10, 80).Draw(t, "steps") {
			w.step(t)
		}
		w.drain(t)
	})
}

// drain gives every run what it needs to end, and fails if one does not.
func (w *world) drain(t *rapid.T) {
	big := dovetail.Resources{1_000_000, 1_000_000}
	w.must(t, dovetail.NodeUp{Node: dovetail.Node{Name: "n9", Capacity: big, Labels: map[string]string{"disk": "ssd"}}})
	for id := dovetail.RunID(1); id <= w.submitted; id++ {
		_ = w.apply(t, dovetail.Released{Run: id})
		_ = w.apply(t, dovetail.Resumed{Run: id})
	}
	for range 10_000 {
		w.now = w.now.Add(time.Second)
		w.turn(t)
		if len(w.ended) == int(w.submitted) {
			return
		}
		if s, r, ok := w.first(func(s dovetail.Slot, r *replicas) bool { return r.total() > w.told[s] }); ok {
			w.down(t, s, r, dovetail.Exit{Code: 143, Asked: true})
		} else if s, r, ok := w.first(func(_ dovetail.Slot, r *replicas) bool { return r.starting > 0 }); ok {
			r.starting--
			r.up++
			w.must(t, dovetail.ReplicasUp{Slot: s, N: 1})
		} else if s, r, ok := w.first(func(_ dovetail.Slot, r *replicas) bool { return r.up > 0 }); ok && !w.allReady(s.Run) {
			r.up--
			r.ready++
			w.must(t, dovetail.ReplicasReady{Slot: s, N: 1})
		} else if s, r, ok := w.first(func(_ dovetail.Slot, r *replicas) bool { return r.total() > 0 }); ok {
			w.down(t, s, r, dovetail.Exit{})
		}
	}
	snap, _ := w.core.Snapshot()
	t.Fatalf("%d of %d runs ended; the rest hangs: %s", len(w.ended), w.submitted, snap)
}

func (w *world) allReady(id dovetail.RunID) bool {
	s, _ := w.core.Status(id)
	return s.State != dovetail.Starting
}

func (w *world) first(f func(s dovetail.Slot, r *replicas) bool) (dovetail.Slot, *replicas, bool) {
	best, found := dovetail.Slot{}, false
	for s, r := range w.live {
		if f(s, r) && (!found || fmt.Sprint(s) < fmt.Sprint(best)) {
			best, found = s, true
		}
	}
	return best, w.live[best], found
}
