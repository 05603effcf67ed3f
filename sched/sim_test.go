package sched

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// bench is a tiny world around a core: replicas start and stop at once, and a run's work W = T·(C+E) is done at the rate of
// the replicas it holds (seed 004 §8.2). Times are exact fractions of a second, so that rounding hides nothing.
type bench struct {
	t    *testing.T
	core *Core
	now  *big.Rat
	left map[dovetail.RunID]*big.Rat // replica-seconds
	held map[dovetail.Slot]int
	ends map[dovetail.RunID]*big.Rat
	apps map[dovetail.RunID]request
}

// request is one row of an example: core and elastic units, seconds at full scale, arrival.
type request struct{ core, elastic, seconds, arrival int }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func unit(cpu int) dovetail.Resources { return dovetail.Resources{dovetail.CPU: int64(cpu) * 1000} }

func newBench(t *testing.T, cfg dovetail.Config, units int) *bench {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, core: c, now: new(big.Rat), left: map[dovetail.RunID]*big.Rat{}, held: map[dovetail.Slot]int{},
		ends: map[dovetail.RunID]*big.Rat{}, apps: map[dovetail.RunID]request{},
	}
	b.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(units)}})
	return b
}

func (b *bench) time() time.Time {
	us := new(big.Rat).Mul(b.now, big.NewRat(1e6, 1))
	n := new(big.Int).Div(us.Num(), us.Denom())
	return epoch.Add(time.Duration(n.Int64()) * time.Microsecond)
}

func (b *bench) apply(e dovetail.Event) {
	b.t.Helper()
	if err := b.core.Apply(b.time(), e); err != nil {
		b.t.Fatalf("at %s: %T: %v", b.now.FloatString(3), e, err)
	}
}

// decide lets the core decide until it has nothing more to say, and does what it says.
func (b *bench) decide() {
	b.t.Helper()
	for {
		plan := b.core.Decide(b.time())
		if plan.Empty() {
			return
		}
		b.apply(dovetail.Decided{Plan: plan})
		if again := b.core.Decide(b.time()); len(again.Assign)+len(again.Actions)+len(again.Ends)+len(again.Reasons) > 0 {
			b.t.Fatalf("deciding again gives %+v", again)
		}
		if v := b.core.Validate(); len(v) > 0 {
			b.t.Fatal(v)
		}
		for _, a := range plan.Actions {
			switch a := a.(type) {
			case dovetail.RunReplicas:
				was := b.held[a.Slot]
				b.held[a.Slot] = a.N
				if a.N > was {
					b.apply(dovetail.ReplicasUp{Slot: a.Slot, N: a.N - was})
				} else if a.N < was {
					b.apply(dovetail.ReplicasDown{Slot: a.Slot, N: was - a.N, WasUp: true, Exit: dovetail.Exit{Asked: true}})
				}
			case dovetail.StopRun:
				b.stop(a.Run)
			}
		}
	}
}

func (b *bench) stop(id dovetail.RunID) {
	for _, s := range b.slots() {
		if s.Run == id && b.held[s] > 0 {
			n := b.held[s]
			b.held[s] = 0
			b.apply(dovetail.ReplicasDown{Slot: s, N: n, WasUp: true, Exit: dovetail.Exit{Asked: true}})
		}
	}
}

func (b *bench) slots() []dovetail.Slot {
	var all []dovetail.Slot
	for s := range b.held {
		all = append(all, s)
	}
	slices.SortFunc(all, func(x, y dovetail.Slot) int {
		return slices.Compare([]int{int(x.Run), x.Component, len(fmt.Sprint(x.Elastic))}, []int{int(y.Run), y.Component, len(fmt.Sprint(y.Elastic))})
	})
	return all
}

func (b *bench) rate(id dovetail.RunID) int {
	n := 0
	for s, k := range b.held {
		if s.Run == id {
			n += k
		}
	}
	return n
}

// run submits the requests and plays until all have ended.
func (b *bench) run(requests []request) {
	b.t.Helper()
	next := 0
	for len(b.ends) < len(requests) {
		at := (*big.Rat)(nil)
		if next < len(requests) {
			at = big.NewRat(int64(requests[next].arrival), 1)
		}
		var first dovetail.RunID
		for id := dovetail.RunID(1); int(id) <= next; id++ {
			if left, rate := b.left[id], b.rate(id); left != nil && rate > 0 {
				end := new(big.Rat).Add(b.now, new(big.Rat).Quo(left, big.NewRat(int64(rate), 1)))
				if at == nil || end.Cmp(at) < 0 {
					at, first = end, id
				}
			}
		}
		if at == nil {
			b.t.Fatalf("at %s nothing runs and %d requests have not ended", b.now.FloatString(3), len(requests)-len(b.ends))
		}
		b.advance(at)
		if first != 0 {
			delete(b.left, first)
			b.ends[first] = at
			slot := dovetail.Slot{Run: first, Node: "n"}
			n := b.held[slot]
			b.held[slot] = 0
			b.apply(dovetail.ReplicasDown{Slot: slot, N: n, WasUp: true})
		}
		for first == 0 && next < len(requests) && big.NewRat(int64(requests[next].arrival), 1).Cmp(at) == 0 {
			b.submit(dovetail.RunID(next+1), requests[next])
			next++
		}
		b.decide()
	}
}

func (b *bench) advance(to *big.Rat) {
	for id, left := range b.left {
		done := new(big.Rat).Mul(new(big.Rat).Sub(to, b.now), big.NewRat(int64(b.rate(id)), 1))
		left.Sub(left, done)
	}
	b.now = to
}

func (b *bench) submit(id dovetail.RunID, q request) {
	b.t.Helper()
	app := &dovetail.Application{
		Name: fmt.Sprintf("app%d", id), Kind: dovetail.Batch, Expected: dovetail.Duration(time.Duration(q.seconds) * time.Second),
		Components: []dovetail.Component{{Name: "w", Count: q.core, Max: q.core + q.elastic, Resources: unit(1)}},
	}
	b.apps[id] = q
	b.left[id] = big.NewRat(int64(q.seconds*(q.core+q.elastic)), 1)
	b.apply(dovetail.Submitted{Run: &dovetail.Run{ID: id, Name: app.Name, App: app}})
}

// turnaround returns the mean time from arrival to end, with five decimals.
func (b *bench) turnaround() string {
	sum := new(big.Rat)
	for id, end := range b.ends {
		sum.Add(sum, new(big.Rat).Sub(end, big.NewRat(int64(b.apps[id].arrival), 1)))
	}
	return new(big.Rat).Quo(sum, big.NewRat(int64(len(b.ends)), 1)).FloatString(6)
}

func config(alloc, reclaim string) dovetail.Config {
	cfg := dovetail.DefaultConfig()
	cfg.Alloc, cfg.Reclaim = alloc, reclaim
	return cfg
}

func TestSeedExamples(t *testing.T) {
	figure2 := []request{{3, 4, 10, 0}, {3, 3, 10, 0}, {3, 5, 10, 0}, {3, 2, 10, 0}}
	// Issue: (6, 4, 20, 0), (6, 2, 25, 0), (8, 8, 12.5, 0), (19, 1, 7.5, 5); all times are doubled here.
	twenty := []request{{6, 4, 40, 0}, {6, 2, 50, 0}, {8, 8, 25, 0}, {19, 1, 15, 10}}
	for _, tc := range []struct {
		reason         string
		alloc, reclaim string
		units          int
		requests       []request
		want           string
	}{
		{"figure 2, top: one request at a time", "rigid", "any", 10, figure2, "25.000000"},
		{"figure 2, middle: what the first leaves goes to the next", "malleable", "any", 10, figure2, "20.000000"},
		{"figure 2, bottom: one unit of C is reclaimed for D", "flexible", "any", 10, figure2, "19.250000"},
		{"2 × 30.625", "rigid", "any", 20, twenty, "61.250000"},
		{"2 × 28.75", "malleable", "any", 20, twenty, "57.500000"},
		{"2 × 30.00: reclaiming early is not always good", "flexible", "any", 20, twenty, "60.000000"},
		{"2 × 28.75: a FIFO newcomer has the lowest rank, so nothing is reclaimed", "flexible", "lower", 20, twenty, "57.500000"},
	} {
		t.Run(fmt.Sprintf("%s/%s/%d", tc.alloc, tc.reclaim, tc.units), func(t *testing.T) {
			b := newBench(t, config(tc.alloc, tc.reclaim), tc.units)
			b.run(tc.requests)
			if got := b.turnaround(); got != tc.want {
				t.Errorf("mean turnaround %s, want %s (%s); ends %v", got, tc.want, tc.reason, b.ends)
			}
		})
	}
}
