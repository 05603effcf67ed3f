package study

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sched"
)

// BenchmarkExpect asks a new question each time, by the number of runs that wait for 100 nodes. It reports how many plays there was
// time for, and how long copying the state held up the engine.
func BenchmarkExpect(b *testing.B) {
	for _, waiting := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			s := bigStandIn(b, waiting)
			o := NewOracle(s, s)
			o.now = func() time.Time { return s.now }
			plays, held := 0, time.Duration(0)
			for b.Loop() {
				o.last = nil
				begun := time.Now()
				if _, err := s.core.Snapshot(); err != nil {
					b.Fatal(err)
				}
				held += time.Since(begun)
				x, err := o.Expect(b.Context(), s.core.Next()-1)
				if err != nil {
					b.Fatal(err)
				}
				if x != nil { // else there was no time for a single play
					plays += x.Plays
				}
			}
			b.ReportMetric(float64(plays)/float64(b.N), "plays/op")
			b.ReportMetric(float64(held.Milliseconds())/float64(b.N), "held-ms/op")
		})
	}
}

// bigStandIn returns an engine with 100 nodes that about 400 runs fill, for which so many others wait.
func bigStandIn(b *testing.B, waiting int) *standIn {
	b.Helper()
	core, err := sched.New(dovetail.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	s := &standIn{core: core, now: dayOne}
	events := make([]dovetail.Event, 0, waiting)
	for i := range 100 {
		n := dovetail.Node{Name: fmt.Sprintf("n%03d", i), Capacity: dovetail.Resources{dovetail.CPU: 32000, dovetail.Memory: 128 << 30}}
		events = append(events, dovetail.NodeUp{Node: n})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for id := range waiting + 400 {
		app := &dovetail.Application{Name: "app", Kind: dovetail.Batch, Expected: dovetail.Duration(time.Minute + time.Duration(rng.Int64N(int64(time.Hour)))), Components: []dovetail.Component{
			{Name: "worker", Count: 8, Max: 8 + rng.IntN(16), Resources: dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 2 << 30}},
		}}
		events = append(events, dovetail.Submitted{Run: &dovetail.Run{ID: dovetail.RunID(id + 1), Class: "app", App: app}})
	}
	s.apply(b, events...)
	return s
}
