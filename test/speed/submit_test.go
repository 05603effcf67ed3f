// Package speed answers: how fast is the whole of it, put together as in the daemon?
package speed

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

const description = `
apiVersion: dovetail/v1
name: wordcount
params:
  input: {type: string, default: small}
components:
  - name: master
    command: [wordcount, master, "${params.input}"]
    resources: {cpu: 500m, memory: 256Mi}
    ends: run
  - name: worker
    after: [master]
    command: [wordcount, worker]
    count: 1
    max: 8
    resources: {cpu: 500m, memory: 512Mi}
`

// idle is a back-end with four nodes, on which nothing ever comes up: runs beyond the first few wait.
type idle struct{}

func (idle) Do(time.Time, dovetail.Action)                     {}
func (idle) Observe(context.Context) ([]dovetail.Event, error) { return nil, nil }
func (idle) Run(ctx context.Context, in chan<- dovetail.Event) error {
	for i := range 4 {
		n := dovetail.Node{Name: fmt.Sprint("node-", i), Capacity: dovetail.Resources{dovetail.CPU: 4000, dovetail.Memory: 16 << 30}}
		select {
		case in <- dovetail.NodeUp{Node: n}:
		case <-ctx.Done():
		}
	}
	<-ctx.Done()
	return nil
}

// BenchmarkSubmit measures submissions from the client through TCP, the HTTP API, the journal in SQLite (synced to disk) and a
// decision, until each client has its answer, with several clients at once: those that arrive together share a turn.
func BenchmarkSubmit(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients-per-core=%d", clients), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			log := slog.New(slog.DiscardHandler)
			store, err := sqlite.Open(ctx, b.TempDir(), log)
			if err != nil {
				b.Fatal(err)
			}
			e, err := engine.Open(ctx, engine.Options{Store: store, Backend: idle{}, Log: log})
			if err != nil {
				b.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- e.Run(ctx) }()
			h, err := httpapi.New(httpapi.Options{Engine: e, Reader: store})
			if err != nil {
				b.Fatal(err)
			}
			server := httptest.NewServer(h)
			b.Cleanup(func() {
				server.Close()
				cancel()
				if err := <-done; err != nil {
					b.Error(err)
				}
				if err := store.Close(); err != nil {
					b.Error(err)
				}
			})
			submit(b, server.URL, clients)
		})
	}
}

func submit(b *testing.B, url string, clients int) {
	c, err := client.New(url, "")
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	b.SetParallelism(clients)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req := client.SubmitRequest{Spec: []byte(description), Key: fmt.Sprint("key-", n.Add(1))}
			if s, err := c.Submit(b.Context(), req); err != nil || !s.Created {
				b.Errorf("submit: %+v %v", s, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}
