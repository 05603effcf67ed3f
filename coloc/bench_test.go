package coloc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// crowd returns a book with so many classes, and 10,000 nodes with four of them on each.
func crowd(classes int) (*Book, []ID, []Shared) {
	b := New(dovetail.Colocation{})
	ids := kinds(b, classes)
	rng := rand.New(rand.NewPCG(1, 2))
	uses := make([]dovetail.NodeUse, 10_000)
	nodes := make([]Shared, len(uses))
	for i := range nodes {
		uses[i] = dovetail.NodeUse{Node: fmt.Sprint(i), CPU: rng.Float64(), Wait: rng.Float64() / 2, Disk: rng.Float64(), Net: rng.Float64()}
		nodes[i].Use = &uses[i]
		for len(nodes[i].Residents) < 4 {
			r := Resident{ids[rng.IntN(classes)], 1}
			distinct := true
			for _, o := range nodes[i].Residents {
				distinct = distinct && o.ID != r.ID
			}
			if distinct {
				nodes[i].Residents = append(nodes[i].Residents, r)
			}
		}
	}
	return b, ids, nodes
}

// BenchmarkLearn is one period of 10,000 nodes with four residents each, of 100 classes.
func BenchmarkLearn(bench *testing.B) {
	b, _, nodes := crowd(100)
	b.Learn(at(0), nodes)
	i := 0
	for bench.Loop() {
		i++
		b.Learn(at(60*i), nodes)
	}
}

// scene returns 12 candidates of a crowd, with eight nodes each, among 100 running and waiting classes.
func scene(ids []ID) *Scene {
	rng := rand.New(rand.NewPCG(3, 4))
	var s Scene
	for _, id := range ids {
		s.Held = append(s.Held, Share{id, float64(1 + rng.IntN(400))})
		s.Work = append(s.Work, Share{id, 1e4 * rng.Float64()})
	}
	for range 12 {
		c := Candidate{ID: ids[rng.IntN(len(ids))], Weight: 1}
		for range 8 {
			c.Nodes = append(c.Nodes, []ID{ids[rng.IntN(len(ids))], ids[rng.IntN(len(ids))]})
		}
		s.Window = append(s.Window, c)
	}
	return &s
}

// pairAll gives all classes evidence of 16 others.
func pairAll(tb testing.TB, b *Book, ids []ID) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	for _, id := range ids {
		e := dovetail.Evidence{Class: b.Name(id), Runs: 20}
		for n := range ids[:min(len(ids), 16)] {
			m := 0.5 + rng.Float64()
			e.Rates = append(e.Rates, dovetail.Rate{Beside: b.Name(b.order[n*len(ids)/16]), Rate: m, Low: 0.9 * m, High: 1.1 * m, Runs: 5, Seconds: 100})
		}
		if err := b.Pair(at(0), &e); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkWeigh is one draw among 12 with 100 classes: with what the scene needs computed afresh, as for the first draw of a decision after
// something was learned, and with that at hand.
func BenchmarkWeigh(bench *testing.B) {
	b, ids, nodes := crowd(100)
	b.Learn(at(0), nodes)
	pairAll(bench, b, ids)
	for _, m := range Methods() {
		p := make([]float64, 12)
		bench.Run(m.Name+"/first", func(bench *testing.B) {
			s := scene(ids)
			for bench.Loop() {
				b.version++
				m.Weigh(b, s, p)
			}
		})
		bench.Run(m.Name+"/next", func(bench *testing.B) {
			s := scene(ids)
			for bench.Loop() {
				m.Weigh(b, s, p)
			}
		})
	}
}

// BenchmarkScore is what one node is worth to one newcomer.
func BenchmarkScore(bench *testing.B) {
	b, ids, nodes := crowd(100)
	b.Learn(at(0), nodes)
	pairAll(bench, b, ids)
	for _, m := range Methods() {
		if m.Score == nil {
			continue
		}
		bench.Run(m.Name, func(bench *testing.B) {
			s := scene(ids)
			i := 0
			for bench.Loop() {
				c := &s.Window[i%12]
				m.Score(b, s, c.ID, c.Nodes[i%8])
				i++
			}
		})
	}
}

// BenchmarkPairs is the linear program for 16 kinds.
func BenchmarkPairs(bench *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 16
	m, work := make([]float64, n*n), make([]float64, n)
	for i := range m {
		m[i] = 0.5 + rng.Float64()
	}
	for i := range work {
		work[i] = 100 * rng.Float64()
	}
	for bench.Loop() {
		pairs(m, work)
	}
}
