package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
)

// BenchmarkSubmit measures submissions through the client, TCP and the API. With the fake engine it shows what HTTP takes
// from the 2,000 runs/s that the daemon must accept; "new" reads another description each time, where "same" repeats
// one, as recurring applications do. With the real engine every submission is also journalled in memory and decided.
func BenchmarkSubmit(b *testing.B) {
	same := func(int64) string { return wordcount }
	fresh := func(n int64) string { return fmt.Sprintf("# %d\n%s", n, wordcount) }
	b.Run("engine=fake/text=same", func(b *testing.B) { benchmarkSubmit(b, undecided(b), same) })
	b.Run("engine=fake/text=new", func(b *testing.B) { benchmarkSubmit(b, undecided(b), fresh) })
	b.Run("engine=real/text=same", func(b *testing.B) { benchmarkSubmit(b, realEngine(b), same) })
}

func benchmarkSubmit(b *testing.B, h http.Handler, text func(int64) string) {
	server := httptest.NewServer(h)
	defer server.Close()
	c, err := client.New(server.URL, "")
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req := client.SubmitRequest{Spec: []byte(text(n.Add(1))), Params: map[string]string{"input": "big"}}
			if s, err := c.Submit(b.Context(), req); err != nil || !s.Created {
				b.Errorf("submit: %+v %v", s, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// undecided returns the API on a fake engine that decides nothing.
func undecided(b *testing.B) http.Handler {
	f := newFake(b)
	f.undecided = true
	return handler(b, f)
}

// realEngine returns the API on an engine with a memory store and a cluster of four nodes on which nothing ever ends.
func realEngine(b *testing.B) http.Handler {
	store := mem.New()
	e, err := engine.Open(b.Context(), engine.Options{Store: store, Backend: inert{}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("engine: %v", err)
		}
	})
	h, err := httpapi.New(httpapi.Options{Engine: e, Reader: store})
	if err != nil {
		b.Fatal(err)
	}
	for deadline := time.Now().Add(patience); !e.Health().Ready; {
		if time.Now().After(deadline) {
			b.Fatal("the engine does not become ready: ", e.Health().Problem)
		}
		<-time.After(time.Millisecond)
	}
	return h
}

// inert is a back-end that takes every action and never reports an end.
type inert struct{}

func (inert) Do(time.Time, dovetail.Action) {}

func (inert) Observe(context.Context) ([]dovetail.Event, error) {
	var nodes []dovetail.Event
	for i := range 4 {
		nodes = append(nodes, dovetail.NodeUp{Node: dovetail.Node{
			Name: fmt.Sprintf("n%d", i), Capacity: dovetail.Resources{dovetail.CPU: 4000, dovetail.Memory: 16 << 30},
		}})
	}
	return nodes, nil
}

func (inert) Run(ctx context.Context, _ chan<- dovetail.Event) error {
	<-ctx.Done()
	return ctx.Err()
}
