package coloc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// TestLate checks the rule for the end of the line on a node with two places, by hand: one run is there, and two cpu runs of 40 s and of
// 100 s wait. Two of these go at 0.8 beside each other, one alone at 1.1, and one beside a disk run at 1.
func TestLate(t *testing.T) {
	b, disk, cpu := hand(t)
	inf := math.Inf(1)
	type wait struct {
		id      ID
		seconds float64
		more    []int // nodes beside 7
	}
	two := []wait{{id: cpu, seconds: 40}, {id: cpu, seconds: 100}}
	for _, tc := range []struct {
		reason  string
		serving []Serving
		line    []wait
		ends    []float64 // nil: nobody can tell
		late    []bool
	}{
		{
			"the short one first: it ends at 50, the other at 75, and the long one has 80 s left by itself", []Serving{{cpu, 60, []int{7}}}, two,
			[]float64{75 + 80/1.1, 125}, []bool{true, false},
		},
		{
			"as long as the long one: both orders end alike", []Serving{{cpu, 100, []int{7}}}, two,
			[]float64{125 + 40/1.1, 125 + 40/1.1}, []bool{false, false},
		},
		{
			"1 s makes a difference of less than 1 %", []Serving{{cpu, 99, []int{7}}}, two,
			[]float64{123.75 + 41/1.1, 125 + 39/1.1}, []bool{false, false},
		},
		{
			"beside a run that does not end", []Serving{{disk, inf, []int{7}}}, two,
			[]float64{140, 140}, []bool{false, false},
		},
		{
			"the long one does not fit into what the short one leaves", []Serving{{disk, inf, []int{7}}}, []wait{{id: cpu, seconds: 40}, {cpu, 100, []int{8}}},
			[]float64{inf, 100/1.05 + 40/1.1}, nil, // on the empty node
		},
		{"nobody in service", nil, two, nil, nil},
		{"a length that is not known", []Serving{{cpu, 60, []int{7}}}, []wait{{id: cpu, seconds: 40}, {id: cpu}}, nil, nil},
		{"a length in service that is not known", []Serving{{cpu, 0, []int{7}}}, two, nil, nil},
		{"a run that does not end waits", []Serving{{cpu, 60, []int{7}}}, []wait{{id: cpu, seconds: 40}, {id: cpu, seconds: inf}}, nil, nil},
		{"nobody knows where a run in service is", []Serving{{cpu, 60, nil}}, two, nil, nil},
		{"too many in service", slices.Repeat([]Serving{{cpu, 60, []int{7}}}, MostServing+1), two, nil, nil},
		{"too much to play", []Serving{{cpu, 60, slices.Repeat([]int{7}, mostSteps)}}, two, nil, nil},
	} {
		s := &Scene{Work: []Share{{cpu, 200}, {disk, 100}}, Serving: tc.serving}
		for _, w := range tc.line {
			c := Candidate{ID: w.id, Weight: 1, At: append([]int{7}, w.more...), Seconds: w.seconds, Nodes: [][]ID{{cpu}}}
			if len(tc.serving) > 0 {
				c.Nodes[0][0] = tc.serving[0].ID
			}
			s.Window = append(s.Window, c)
		}
		l := b.priced(s)
		g, ok := b.cast(s, l)
		if ok != (tc.ends != nil) {
			t.Errorf("%s: played: %v", tc.reason, ok)
			continue
		}
		for i := range tc.ends {
			if end := g.end(i); end != tc.ends[i] && !(math.Abs(end-tc.ends[i]) < 1e-9) {
				t.Errorf("%s: with run %d first all is done after %g s, want %g", tc.reason, i, end, tc.ends[i])
			}
		}
		if late := b.late(s, l); !slices.Equal(late, tc.late) {
			t.Errorf("%s: %v, want %v", tc.reason, late, tc.late)
		}
		p := make([]float64, len(s.Window))
		weighPrice(b, s, p)
		if pick := slices.Index(p, 1); pick != max(0, slices.Index(tc.late, false)) {
			t.Errorf("%s: run %d is picked", tc.reason, pick)
		}
	}
}

// closing is a scene at the end of a line: three runs on some of 16 nodes with two places, and others that wait, to start on eight that
// have a place left.
func closing(ids []ID, waiting int, rng *rand.Rand) *Scene {
	some := func() ID { return ids[rng.IntN(len(ids))] }
	var s Scene
	for _, id := range ids {
		s.Work = append(s.Work, Share{id, 1e4 * (1 + rng.Float64())})
	}
	beside := make([][]ID, 16)
	for range 3 {
		r := Serving{ID: some(), Left: 100 + 900*rng.Float64()}
		for _, n := range rng.Perm(len(beside)) {
			if len(beside[n]) < 2 && len(r.Nodes) < 8 {
				r.Nodes = append(r.Nodes, n)
				beside[n] = append(beside[n], r.ID)
			}
		}
		s.Serving = append(s.Serving, r)
	}
	to := slices.DeleteFunc(rng.Perm(len(beside)), func(n int) bool { return len(beside[n]) == 2 })[:8]
	for range waiting {
		c := Candidate{ID: some(), Weight: 1, At: to, Seconds: 200 + 800*rng.Float64()}
		for _, n := range to {
			c.Nodes = append(c.Nodes, beside[n])
		}
		s.Window = append(s.Window, c)
	}
	return &s
}

// TestLateProperty: somebody is not late, and one of those is picked; numbers of classes do not matter; and as long as runs wait beyond the
// window, which is when nobody is told of as in service, lengths and numbers of nodes change nothing.
func TestLateProperty(t *testing.T) {
	named := func(order []int) (*Book, []ID) {
		b, ids := New(dovetail.Colocation{}), make([]ID, 20)
		for _, i := range order {
			ids[i] = b.Hold("k" + string(rune('a'+i)))
		}
		return b, ids
	}
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		order := make([]int, 20)
		for i := range order {
			order[i] = i
		}
		b, ids := named(order)
		other, others := named(rapid.Permutation(order).Draw(t, "order"))
		for _, x := range []*Book{b, other} {
			rates := rand.New(rand.NewPCG(5, 6))
			for _, i := range order {
				e := dovetail.Evidence{Class: b.Name(ids[i]), Runs: 20}
				for _, k := range order {
					m := 0.5 + rates.Float64()
					e.Rates = append(e.Rates, dovetail.Rate{Beside: b.Name(ids[k]), Rate: m, Low: 0.9 * m, High: 1.1 * m, Runs: 5, Seconds: 100})
				}
				if err := x.Pair(at(0), &e); err != nil {
					t.Fatal(err)
				}
			}
		}
		n, seed := rapid.IntRange(1, 12).Draw(t, "waiting"), rapid.Uint64().Draw(t, "seed")
		s, same := closing(ids[:6], n, rand.New(rand.NewPCG(seed, 1))), closing(others[:6], n, rand.New(rand.NewPCG(seed, 1)))
		late := b.late(s, b.priced(s))
		if len(late) != n || !slices.Contains(late, false) {
			t.Fatalf("late: %v", late)
		}
		p, q := make([]float64, n), make([]float64, n)
		weighPrice(b, s, p)
		weighPrice(other, same, q)
		if !slices.Equal(p, q) {
			t.Fatalf("%v, with other numbers %v", p, q)
		}
		if late[slices.Index(p, 1)] {
			t.Fatalf("picked %v, of which are late %v", p, late)
		}
		s.Serving = nil
		weighPrice(b, s, q)
		if !slices.Equal(p, q) {
			changed++
		}
		for i := range s.Window {
			s.Window[i].At, s.Window[i].Seconds = nil, 0
		}
		weighPrice(b, s, p)
		if !slices.Equal(p, q) {
			t.Fatalf("before the end of the line: %v, without lengths %v", q, p)
		}
	})
	if changed == 0 {
		t.Error("the end of the line changed no pick: nothing was tested")
	}
}

// BenchmarkLate is the end of a line with 12 different runs that wait.
func BenchmarkLate(bench *testing.B) {
	b := New(dovetail.Colocation{})
	ids := kinds(b, 20)
	pairAll(bench, b, ids)
	s := closing(ids[:12], 12, rand.New(rand.NewPCG(1, 9)))
	l := b.priced(s)
	if b.late(s, l) == nil {
		bench.Fatal("nothing is played")
	}
	for bench.Loop() {
		b.late(s, l)
	}
}
