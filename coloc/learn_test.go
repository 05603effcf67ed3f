package coloc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

func TestGoodness(t *testing.T) {
	e := math.E
	for _, tc := range []struct {
		reason string
		u      dovetail.NodeUse
		want   float64
	}{
		{"nothing is used", dovetail.NodeUse{}, e},
		{"all processors", dovetail.NodeUse{CPU: 1}, e * e},
		{"a little more than all counts as all", dovetail.NodeUse{CPU: 1.05}, e * e},
		{"disk and network saturate", dovetail.NodeUse{Disk: 10, Net: 10}, e * e * e},
		{"waiting takes their worth away", dovetail.NodeUse{Disk: 10, Wait: 1}, math.Exp(1 + math.Exp(-5))},
		{"waiting beyond all counts as all", dovetail.NodeUse{Disk: 10, Wait: 1.04}, math.Exp(1 + math.Exp(-5))},
		{"waiting takes nothing from the processors", dovetail.NodeUse{CPU: 1, Wait: 1}, e * e},
		{"half of a disk", dovetail.NodeUse{Disk: 0.5}, math.Exp(1 + math.Tanh(0.5))},
	} {
		if got := Goodness(&tc.u); math.Abs(got-tc.want) > 1e-7*tc.want {
			t.Errorf("%s: %g, want %g", tc.reason, got, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		reason string
		u      dovetail.NodeUse
		wrong  bool
	}{
		{"a usual node", dovetail.NodeUse{CPU: 0.5, Wait: 0.1, Disk: 1.2, Net: 0.3}, false},
		{"a little beyond all", dovetail.NodeUse{CPU: 1.05, Wait: 1.05}, false},
		{"400 % CPU", dovetail.NodeUse{CPU: 4}, true},
		{"CPU in per cent", dovetail.NodeUse{CPU: 37}, true},
		{"waiting in per cent", dovetail.NodeUse{Wait: 2}, true},
		{"disk in per cent", dovetail.NodeUse{Disk: 37}, true},
		{"network in bytes", dovetail.NodeUse{Net: 1e9}, true},
		{"negative CPU", dovetail.NodeUse{CPU: -0.01}, true},
		{"negative disk", dovetail.NodeUse{Disk: -1}, true},
		{"no number", dovetail.NodeUse{Wait: math.NaN()}, true},
		{"infinite", dovetail.NodeUse{Net: math.Inf(1)}, true},
		{"infinite and negative", dovetail.NodeUse{Net: math.Inf(-1)}, true},
	} {
		if why := Check(&tc.u); (why != "") != tc.wrong {
			t.Errorf("%s: %q", tc.reason, why)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64()
		u := dovetail.NodeUse{CPU: f.Draw(t, "cpu"), Wait: f.Draw(t, "wait"), Disk: f.Draw(t, "disk"), Net: f.Draw(t, "net")}
		if g := Goodness(&u); Check(&u) == "" && !(g >= 1 && g < bestGoodness) {
			t.Fatalf("%+v passes and gives G = %g", u, g)
		}
	})
}

// busy is a node of which something can be learned.
var busy = dovetail.NodeUse{CPU: 0.5, Wait: 0.1, Disk: 0.3, Net: 0.2}

func TestLearnOnlyOfSharedNodes(t *testing.T) {
	for _, tc := range []struct {
		reason    string
		use       dovetail.NodeUse
		residents func(ids []ID) []Resident
		updates   [3]float64 // of the rows
	}{
		{"two classes: one update for each", busy, func(ids []ID) []Resident { return []Resident{{ids[0], 1}, {ids[1], 1}} }, [3]float64{1, 1, 0}},
		{"three classes: one update for each", busy, func(ids []ID) []Resident { return []Resident{{ids[0], 1}, {ids[1], 1}, {ids[2], 1}} }, [3]float64{1, 1, 1}},
		{"runs of one class", busy, func(ids []ID) []Resident { return []Resident{{ids[0], 3}} }, [3]float64{}},
		{"a class without runs", busy, func(ids []ID) []Resident { return []Resident{{ids[0], 1}, {ids[1], 0}} }, [3]float64{}},
		{"nobody", busy, func([]ID) []Resident { return nil }, [3]float64{}},
		{"an idle node", dovetail.NodeUse{CPU: 0.05, Wait: 0.05, Net: 1}, func(ids []ID) []Resident { return []Resident{{ids[0], 1}, {ids[1], 1}} }, [3]float64{}},
		{"a node that only waits", dovetail.NodeUse{CPU: 0.01, Wait: 0.9, Disk: 1}, func(ids []ID) []Resident { return []Resident{{ids[0], 1}, {ids[1], 1}} }, [3]float64{1, 1, 0}},
		{"garbage", dovetail.NodeUse{CPU: 4}, func(ids []ID) []Resident { return []Resident{{ids[0], 1}, {ids[1], 1}} }, [3]float64{}},
		{"a stranger teaches nothing", busy, func(ids []ID) []Resident { return []Resident{{ids[0], 1}, {Stranger, 1}} }, [3]float64{}},
		{"a stranger takes its part of the update", busy, func(ids []ID) []Resident { return []Resident{{ids[0], 1}, {Stranger, 1}, {ids[1], 1}} }, [3]float64{0.5, 0.5, 0}},
	} {
		b := New(dovetail.Colocation{})
		ids := kinds(b, 3)
		b.Learn(at(0), []Shared{{Use: &tc.use, Residents: tc.residents(ids)}})
		for i, id := range ids {
			if got := b.classes[id].row.updates; got != tc.updates[i] {
				t.Errorf("%s: row %d has %g updates, want %g", tc.reason, i, got, tc.updates[i])
			}
		}
	}
}

// Others share the update of a row by the number of their runs.
func TestLearnWeights(t *testing.T) {
	b := New(dovetail.Colocation{})
	ids := kinds(b, 3)
	b.Learn(at(0), []Shared{{Use: &busy, Residents: []Resident{{ids[0], 5}, {ids[1], 1}, {ids[2], 3}}}})
	for i, want := range [][2]float64{{0.25, 0.75}, {5.0 / 8, 3.0 / 8}, {5.0 / 6, 1.0 / 6}} {
		r := &b.classes[ids[i]].row
		if len(r.prefs) != 2 || r.prefs[0].updates != want[0] || r.prefs[1].updates != want[1] || math.Abs(r.updates-1) > 1e-15 {
			t.Errorf("row %d: %+v, want updates %v", i, r.prefs, want)
		}
	}
}

// Nodes of one period count as if they came one after the other, up to the second order of γ.
func TestLearnTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	distance := func(step float64) float64 {
		together, apart := New(dovetail.Colocation{Step: step}), New(dovetail.Colocation{Step: step})
		ids, others := kinds(together, 4), kinds(apart, 4)
		var nodes []Shared
		for range 16 {
			u := dovetail.NodeUse{CPU: rng.Float64(), Wait: 0.1, Disk: rng.Float64(), Net: rng.Float64()}
			a, c := rng.IntN(4), rng.IntN(3)
			if c >= a {
				c++
			}
			nodes = append(nodes, Shared{&u, []Resident{{ids[a], 1}, {ids[c], 1}}})
			apart.Learn(at(0), []Shared{{&u, []Resident{{others[a], 1}, {others[c], 1}}}})
		}
		together.Learn(at(0), nodes)
		most := 0.0
		for i := range ids {
			for j := range ids {
				most = max(most, math.Abs(together.Likes(ids[j], ids[i])-apart.Likes(others[j], others[i])))
			}
		}
		return most
	}
	if d := distance(0.01); d > 2e-3 || d == 0 {
		t.Errorf("γ = 0.01: π differs by %g", d)
	}
	if d := distance(0.0001); d > 2e-7 {
		t.Errorf("γ = 0.0001: π differs by %g", d)
	}
}

// What is good is liked, whatever the others are like.
func TestLearnsWhatIsGood(t *testing.T) {
	b := New(dovetail.Colocation{})
	ids := kinds(b, 3)
	good, bad := dovetail.NodeUse{CPU: 0.9, Disk: 0.8}, dovetail.NodeUse{CPU: 0.3, Wait: 0.7, Disk: 0.9}
	for i := range 200 {
		b.Learn(at(60*i), []Shared{{&good, []Resident{{ids[0], 1}, {ids[1], 1}}}, {&bad, []Resident{{ids[0], 1}, {ids[2], 1}}}})
	}
	if g, n := b.Likes(ids[1], ids[0]), b.Likes(ids[2], ids[0]); g < 0.9 || n > 0.05 {
		t.Errorf("π(good) = %g, π(bad) = %g", g, n)
	}
	k, ok := b.Class("k0")
	if !ok || math.Abs(k.Preferences[0].Goodness-Goodness(&good)) > 1e-9 || k.Preferences[0].Updates != 200 || k.Updates != 400 || !k.Seen.Equal(at(60*199)) {
		t.Errorf("known: %+v", k)
	}
}

// TestMillionUpdates goes on for 10⁶ updates with the largest step and the largest differences of G: nothing overflows, and no π is 0.
func TestMillionUpdates(t *testing.T) {
	b := New(dovetail.Colocation{Step: 1})
	ids := kinds(b, 5)
	best, worst := dovetail.NodeUse{CPU: 1.05, Disk: 10, Net: 10}, dovetail.NodeUse{CPU: 0.06, Wait: 1}
	rng := rand.New(rand.NewPCG(2, 2))
	var nodes []Shared
	for range 1000 {
		n := Shared{&best, []Resident{{ids[rng.IntN(2)], 1}, {ids[2+rng.IntN(3)], 1}}}
		if rng.IntN(2) == 0 {
			n.Use = &worst
		}
		nodes = append(nodes, n)
	}
	for i := range 500 { // each node is two updates
		b.Learn(at(i), nodes)
	}
	updates := 0.0
	for _, running := range ids {
		updates += b.classes[running].row.updates
		sum := 0.0
		for _, newcomer := range ids {
			p := b.Likes(newcomer, running)
			if !(p > 0) {
				t.Errorf("π = %g", p)
			}
			sum += p
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("π sums to %g", sum)
		}
		if g := b.classes[running].row.goodness; !(g > 1 && g < bestGoodness) {
			t.Errorf("mean of G: %g", g)
		}
	}
	if math.Abs(updates-1e6) > 1e-3 {
		t.Errorf("%g updates", updates)
	}
	if err := New(dovetail.Colocation{}).Recall(at(1000), b.Known()); err != nil {
		t.Errorf("what was learned cannot be recalled: %v", err)
	}
}

func TestFading(t *testing.T) {
	b := New(dovetail.Colocation{HalfLife: dovetail.Duration(time.Hour)})
	ids := kinds(b, 3)
	learn := func(now time.Time, cpu float64, other ID) {
		u := dovetail.NodeUse{CPU: cpu}
		b.Learn(now, []Shared{{&u, []Resident{{ids[0], 1}, {other, 1}}}})
	}
	for i := range 64 {
		learn(at(i), 0.2+0.7*float64(i%2), ids[1+i%2])
	}
	r := &b.classes[ids[0]].row
	before := *r
	h, liked := r.prefs[0].h, b.relative(ids[1], ids[0], at(63))
	if got := b.relative(ids[1], ids[0], at(63+3600)); math.Abs(got-1) >= math.Abs(liked-1) || math.Abs(got-1) < 1e-3 {
		t.Errorf("π relative to uniform: %g, %g an hour later", liked, got)
	}
	if before.updates != r.updates || r.prefs[0].h != h {
		t.Error("looking at it changed it")
	}
	b.touch(at(63+3600), r)
	if got := r.prefs[0].h; math.Abs(got-h/2) > 1e-12 {
		t.Errorf("after an hour H is %g, was %g", got, h)
	}
	if got := r.updates; math.Abs(got-before.updates/2) > 1e-9 {
		t.Errorf("after an hour %g updates, were %g", got, before.updates)
	}
	b.touch(at(0), r) // the clock jumps back: nothing fades, nothing grows
	if !r.seen.Equal(at(63 + 3600)) {
		t.Errorf("seen %v", r.seen)
	}
	b.touch(at(40*3600), r)
	if len(r.prefs) != 0 {
		t.Errorf("after 39 half-lives: %+v", r.prefs)
	}
	for _, id := range ids {
		if got := b.Likes(id, ids[0]); math.Abs(got-1.0/3) > 1e-15 {
			t.Errorf("all is forgotten and π is %g", got)
		}
	}
}

// A row remembers twice as many newcomers as there is room for: of those that are not in the book it forgets what it learned of least.
func TestRowIsBounded(t *testing.T) {
	b := New(dovetail.Colocation{Classes: 3})
	host := b.Hold("host")
	for i := range 40 {
		id := b.Hold(fmt.Sprintf("day%02d", i))
		for range 1 + i%2 {
			b.Learn(at(i), []Shared{{&busy, []Resident{{host, 1}, {id, 1}}}})
		}
		b.Release(id)
	}
	k, _ := b.Class("host")
	if len(k.Preferences) > 6 {
		t.Errorf("%d preferences", len(k.Preferences))
	}
	if len(b.order) != 3 || len(b.PutAway()) != 38 {
		t.Errorf("%d classes in the book", len(b.order))
	}
	for i, p := range k.Preferences {
		if p.Class != "day39" && p.Class != "day38" && p.Updates < 2 {
			t.Errorf("preferences[%d] = %+v: there were others with more updates", i, p)
		}
	}
}

// Adding a constant to a row changes nothing: only differences to the classes that were not met are kept.
func TestNewcomersAreNeutral(t *testing.T) {
	b := New(dovetail.Colocation{})
	ids := kinds(b, 3)
	for i := range 100 {
		b.Learn(at(i), []Shared{{&busy, []Resident{{ids[0], 1}, {ids[1], 1}}}, {&dovetail.NodeUse{CPU: 0.2, Wait: 0.8}, []Resident{{ids[0], 1}, {ids[2], 1}}}})
	}
	ratio := b.Likes(ids[1], ids[0]) / b.Likes(ids[2], ids[0])
	joined := b.Hold("joined")
	fresh := b.Likes(joined, ids[0])
	if good, bad := b.Likes(ids[1], ids[0]), b.Likes(ids[2], ids[0]); !(good > fresh && fresh > bad) {
		t.Errorf("π: good %g, new %g, bad %g", good, fresh, bad)
	}
	if got := b.Likes(ids[1], ids[0]) / b.Likes(ids[2], ids[0]); math.Abs(got-ratio) > 1e-12*ratio {
		t.Errorf("the odds of two classes went from %g to %g because a third one joined", ratio, got)
	}
	if fresh != b.Likes(Stranger, ids[0]) {
		t.Error("a new class is not liked like a stranger")
	}
}
