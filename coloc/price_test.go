package coloc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// optimal fails unless duals and time prove each other: the duals are feasible, and worth the time that some feasible x takes, which is at least the optimum.
func optimal(t *rapid.T, m, work, dual []float64, time float64) {
	n := len(work)
	worth, most := 0.0, 0.0
	for a := range n {
		if !(dual[a] >= 0) {
			t.Fatalf("price %d is %g", a, dual[a])
		}
		worth += dual[a] * max(work[a], 0)
		most = max(most, work[a])
		for b := a; b < n; b++ {
			if yield := dual[a]*m[a*n+b] + dual[b]*m[b*n+a]; yield > 1+1e-8 {
				t.Fatalf("a pair of %d and %d is worth %.12g per time: more than it costs", a, b, yield)
			}
		}
	}
	if math.Abs(worth-time) > 1e-7*max(time, 1e-12) {
		t.Fatalf("time %.12g, work is worth %.12g", time, worth)
	}
}

func TestPairsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, mostKinds).Draw(t, "kinds")
		rate := rapid.OneOf(rapid.Float64Range(0.5, 1.5), rapid.Float64Range(slowest, 3), rapid.SampledFrom([]float64{1, 1, 0.5, slowest, fastest}))
		work := rapid.OneOf(rapid.Float64Range(0, 1e6), rapid.SampledFrom([]float64{0, 1, 1, 1e-9, 1e9}))
		m, w := make([]float64, n*n), make([]float64, n)
		for i := range m {
			m[i] = rate.Draw(t, "rate")
		}
		for i := range w {
			w[i] = work.Draw(t, "work")
		}
		dual, time := pairs(m, w)
		optimal(t, m, w, dual, time)
	})
}

// Small programs are solved by hand.
func TestPairs(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		m, work []float64
		time    float64
		dual    []float64 // nil: not unique
	}{
		{"one kind: two at a time", []float64{0.8}, []float64{16}, 10, []float64{0.625}},
		{"nobody minds anybody: all prices are alike", []float64{1, 1, 1, 1}, []float64{6, 4}, 5, []float64{0.5, 0.5}},
		{"equals hinder each other, and there is as much of both", []float64{0.5, 1, 1, 0.5}, []float64{10, 10}, 10, nil},
		{"… and more of one: that one has to be paired with itself in the end", []float64{0.5, 1, 1, 0.5}, []float64{15, 10}, 15, []float64{1, 0}},
		{"no work of one", []float64{1, 1, 1, 1}, []float64{6, 0}, 3, nil},
		{"no work at all", []float64{1, 1, 1, 1}, []float64{0, 0}, 0, nil},
	} {
		dual, time := pairs(tc.m, tc.work)
		if math.Abs(time-tc.time) > 1e-9 {
			t.Errorf("%s: %g, want %g", tc.reason, time, tc.time)
		}
		for i := range tc.dual {
			if math.Abs(dual[i]-tc.dual[i]) > 1e-9 {
				t.Errorf("%s: prices %v, want %v", tc.reason, dual, tc.dual)
			}
		}
	}
}

// hand is a book with two classes: disk runs hinder each other, cpu runs hinder each other less, and beside each other they go at full pace.
func hand(t testing.TB) (b *Book, disk, cpu ID) {
	t.Helper()
	b = New(dovetail.Colocation{})
	disk, cpu = b.Hold("disk"), b.Hold("cpu")
	rate := func(beside string, m float64) dovetail.Rate {
		return dovetail.Rate{Beside: beside, Rate: m, Low: m, High: m, Runs: 9, Seconds: 9}
	}
	for _, e := range []dovetail.Evidence{
		{Class: "cpu", Runs: 9, Rates: []dovetail.Rate{rate("", 1.1), rate("cpu", 0.8), rate("disk", 1)}},
		{Class: "disk", Runs: 9, Rates: []dovetail.Rate{rate("", 1.5), rate("cpu", 0.9), rate("disk", 0.5)}},
	} {
		if err := b.Pair(at(0), &e); err != nil {
			t.Fatal(err)
		}
	}
	return b, disk, cpu
}

// TestPrice checks prices, worths and the pick of models.md 5.4 on an example that can be worked out by hand: with 100 of both, 90/0.9 = 100 of time are spent on
// mixed pairs, λ_disk 0.9 + λ_cpu 1 = 1.
func TestPrice(t *testing.T) {
	b, disk, cpu := hand(t)
	s := Scene{
		Work: []Share{{disk, 100}, {cpu, 50}},
		Window: []Candidate{
			{ID: disk, Weight: 1, Nodes: [][]ID{{disk}, {disk}}},
			{ID: cpu, Weight: 1, Nodes: [][]ID{{disk}, {disk}}},
		},
	}
	// 50 mixed, and the 55 of disk that remain beside themselves at 2 × 0.5: 105 in all; λ_disk = 1, λ_cpu = 1 − 0.9.
	l := b.priced(&s)
	if got := l.of(b, disk); math.Abs(got-1) > 1e-12 {
		t.Errorf("price of disk: %g", got)
	}
	if got := l.of(b, cpu); math.Abs(got-0.1) > 1e-12 {
		t.Errorf("price of cpu: %g", got)
	}
	for _, tc := range []struct {
		reason    string
		newcomer  ID
		residents []ID
		worth     float64
		score     float64 // 0.5 + 0.5 d / (|d| + λ)
	}{
		{"disk beside disk: 0.5 for it, and half of the other is lost", disk, []ID{disk}, 0, 0.5 - 0.5*1.5/(1.5+1)},
		{"cpu beside disk: 0.1, and a tenth of a disk is lost", cpu, []ID{disk}, 0, 0.5 - 0.5*0.11/(0.11+0.1)},
		{"disk beside cpu", disk, []ID{cpu}, 0.9, 0.5 - 0.5*0.6/(0.6+1)},
		{"disk alone", disk, nil, 1.5, 0.5},
		{"disk beside two cpu", disk, []ID{cpu, cpu}, 0.81, 0.5 - 0.5*0.69/(0.69+1)},
		{"cpu beside disk and cpu: 0.08, and 0.1 · 0.2 of cpu and a tenth of 0.9 of disk are lost", cpu, []ID{disk, cpu}, 0.08 - 0.02 - 0.09, 0.5 - 0.5*0.14/(0.14+0.1)},
	} {
		if got := b.worth(l, tc.newcomer, tc.residents); math.Abs(got-tc.worth) > 1e-12 {
			t.Errorf("%s: worth %g, want %g", tc.reason, got, tc.worth)
		}
		if got := scorePrice(b, &s, tc.newcomer, tc.residents); math.Abs(got-tc.score) > 1e-12 {
			t.Errorf("%s: score %g, want %g", tc.reason, got, tc.score)
		}
	}
	p := make([]float64, 2)
	weighPrice(b, &s, p)
	if p[0]+p[1] != 1 {
		t.Errorf("%v", p)
	}
	s.Window[0].Nodes = [][]ID{{cpu}, {disk}} // 0.45 on average
	weighPrice(b, &s, p)
	if p[0] != 1 {
		t.Errorf("disk on one of each against cpu beside disk: %v", p)
	}
	s.Window = []Candidate{{ID: disk, Nodes: [][]ID{{disk}}}, {ID: cpu, Nodes: [][]ID{{disk}}}} // both are worth nothing: 55 and 50 of time
	if weighPrice(b, &s, p); p[0] != 1 {
		t.Errorf("of equals the one that the optimum holds longest: %v", p)
	}
	s.Work[0].Amount = 91 // 46 beside themselves
	if weighPrice(b, &s, p); p[1] != 1 {
		t.Errorf("of equals the one that the optimum holds longest: %v", p)
	}
	s.Window = []Candidate{{ID: cpu, Nodes: [][]ID{{disk}}}, {ID: cpu, Nodes: [][]ID{{disk}}}}
	weighPrice(b, &s, p)
	if p[0] != 1 {
		t.Errorf("of equals the first in line: %v", p)
	}
}

// Classes beyond the 16 with the most work, and those without work, have the price at which no pair is worth more than it costs.
func TestPriceAtTheMargin(t *testing.T) {
	b := New(dovetail.Colocation{})
	ids := kinds(b, 40)
	pairAll(t, b, ids)
	rng := rand.New(rand.NewPCG(6, 6))
	s := Scene{Work: []Share{{Stranger, 5000}}}
	for i, id := range ids[:30] {
		s.Work = append(s.Work, Share{id, float64(100*i) + rng.Float64()})
	}
	l := b.priced(&s)
	if len(l.kinds) != mostKinds || !slices.ContainsFunc(l.kinds, func(k Share) bool { return k.ID == Stranger }) {
		t.Fatalf("in the program: %v", l.kinds)
	}
	for _, id := range ids {
		price, tight := l.of(b, id), false
		for _, k := range append(slices.Clone(l.kinds), Share{ID: id}) {
			yield := price*b.pace(id, k.ID) + l.of(b, k.ID)*b.pace(k.ID, id)
			if yield > 1+1e-9 {
				t.Errorf("%s beside %s is worth %g", b.Name(id), b.Name(k.ID), yield)
			}
			tight = tight || yield > 1-1e-9
		}
		if !tight {
			t.Errorf("the price of %s, %g, could be higher", b.Name(id), price)
		}
	}
}

func TestMethods(t *testing.T) {
	b, disk, cpu := hand(t)
	good, bad := dovetail.NodeUse{CPU: 0.9, Disk: 0.8}, dovetail.NodeUse{CPU: 0.3, Wait: 0.7, Disk: 0.9}
	net := b.Hold("net")
	for i := range 100 {
		b.Learn(at(60*i), []Shared{{&good, []Resident{{disk, 1}, {cpu, 1}}}, {&bad, []Resident{{disk, 1}, {net, 1}}}})
	}
	window := []Candidate{{ID: net, Weight: 1}, {ID: cpu, Weight: 1}, {ID: cpu, Weight: 2}, {ID: Stranger, Weight: 1}}
	held := []Share{{disk, 8}}
	pi := []float64{b.Likes(net, disk), b.Likes(cpu, disk), 2 * b.Likes(cpu, disk), b.Likes(Stranger, disk)}
	normalise(pi)
	for _, tc := range []struct {
		reason, method string
		held           []Share
		want           []float64
	}{
		{"nobody runs: by weight", "bandit", nil, []float64{0.2, 0.2, 0.4, 0.2}},
		{"by what is liked", "bandit", held, pi},
		{"a stranger runs: by weight", "bandit", []Share{{Stranger, 3}}, []float64{0.2, 0.2, 0.4, 0.2}},
		{"the most probable", "greedy", held, []float64{0, 0, 1, 0}},
		{"nobody runs: the heaviest", "greedy", nil, []float64{0, 0, 1, 0}},
		{"by weight whoever runs", "random", held, []float64{0.2, 0.2, 0.4, 0.2}},
	} {
		m, err := Find(tc.method)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]float64, 4)
		m.Weigh(b, &Scene{Held: tc.held, Window: window}, p)
		for i := range p {
			if math.Abs(p[i]-tc.want[i]) > 1e-12 {
				t.Errorf("%s: %s: %v, want %v", tc.method, tc.reason, p, tc.want)
				break
			}
		}
	}
	s := &Scene{Held: held, Window: window}
	if like, dislike := scoreBandit(b, s, cpu, []ID{disk}), scoreBandit(b, s, net, []ID{disk}); !(like > 0.5 && dislike < 0.5) {
		t.Errorf("scores %g and %g", like, dislike)
	}
	for _, m := range Methods() {
		if m.Score == nil {
			continue
		}
		for reason, residents := range map[string][]ID{"empty": nil, "a stranger": {Stranger}, "runs of which nothing is known": {b.Hold("fresh"), b.Hold("new")}} {
			if got := m.Score(b, s, net, residents); got != 0.5 {
				t.Errorf("%s: %s: %g", m.Name, reason, got)
			}
		}
	}
	if _, err := Find("best"); err == nil || err.Error() != `unknown way to choose neighbours "best"; expected one of bandit, greedy, price, random` {
		t.Errorf("%v", err)
	}
}

// A scene that is used again and changed gives what a fresh one gives.
func TestSceneIsFresh(t *testing.T) {
	b := New(dovetail.Colocation{})
	ids := kinds(b, 20)
	pairAll(t, b, ids)
	kept := scene(ids)
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 50 {
		switch rng.IntN(4) {
		case 0:
			kept.Held[rng.IntN(len(kept.Held))].Amount++
		case 1:
			kept.Work[rng.IntN(len(kept.Work))].Amount *= 2
		case 2:
			a := rng.IntN(19)
			b.Learn(at(i), []Shared{{&busy, []Resident{{ids[a], 1}, {ids[a+1], 1}}}})
		case 3:
			e := dovetail.Evidence{Class: "k3", Rates: []dovetail.Rate{{Beside: "k4", Rate: 1 + rng.Float64(), Low: 0.5, High: 2}}}
			if err := b.Pair(at(i), &e); err != nil {
				t.Fatal(err)
			}
		}
		fresh := &Scene{Held: kept.Held, Work: kept.Work, Window: kept.Window}
		for _, m := range Methods() {
			p, q := make([]float64, len(kept.Window)), make([]float64, len(kept.Window))
			m.Weigh(b, kept, p)
			m.Weigh(b, fresh, q)
			if !slices.Equal(p, q) {
				t.Fatalf("%s: %v, afresh %v", m.Name, p, q)
			}
		}
	}
}
