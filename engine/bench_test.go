package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// nowhere is a store that keeps nothing, as the simulator's.
type nowhere struct{ *ledger }

func (nowhere) Append(context.Context, engine.Changes) error { return nil }
func (nowhere) Discards() bool                               { return true }

// BenchmarkTurn submits runs to a cluster that is full, so many a turn. It reports runs, not turns, a second.
func BenchmarkTurn(b *testing.B) {
	for _, discard := range []bool{true, false} {
		for _, size := range []int{1, 100, 2000} {
			b.Run(fmt.Sprintf("discard=%t/batch=%d", discard, size), func(b *testing.B) {
				core, err := sched.New(dovetail.DefaultConfig())
				if err != nil {
					b.Fatal(err)
				}
				var store engine.Store = nowhere{newLedger()}
				if !discard {
					store = struct{ engine.Store }{store}
				}
				turner := engine.NewTurner(core, engine.NewRoster(), store)
				app := wordcount(4, time.Minute)
				id := dovetail.RunID(1)
				if _, err := turner.Turn(b.Context(), noon, dovetail.NodeUp{Node: machine("n1", 1000)}, submitted(id, app)); err != nil {
					b.Fatal(err)
				}
				events := make([]dovetail.Event, size)
				for b.Loop() {
					for i := range events {
						id++
						events[i] = submitted(id, app)
					}
					if _, err := turner.Turn(b.Context(), noon, events...); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(id)/b.Elapsed().Seconds(), "runs/s")
			})
		}
	}
}

// BenchmarkSubmit submits runs that wait through a running engine on a store in memory, from many callers.
func BenchmarkSubmit(b *testing.B) {
	w := newWorld(1, machine("n1", 1000))
	e, err := engine.Open(b.Context(), engine.Options{Store: newLedger().Store, Runner: w, SnapshotEvery: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	b.SetParallelism(64)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, _, err := e.Submit(ctx, engine.Submission{App: wordcount(4, time.Hour)}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	s := e.Stats()
	b.ReportMetric(float64(s.Records)/float64(max(1, s.Turns)), "records/turn")
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
