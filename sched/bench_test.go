package sched

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// crowd is a cluster with as many runs in service as nodes, every node full, and ten times as many waiting.
type crowd struct {
	core *Core
	now  time.Time
	next dovetail.RunID
	apps []*dovetail.Application
	old  []dovetail.RunID // in service, oldest first
}

func crowdApps() []*dovetail.Application {
	var apps []*dovetail.Application
	for i := range 50 {
		apps = append(apps, &dovetail.Application{
			Name: fmt.Sprint("class", i), Kind: dovetail.Batch, Expected: dovetail.Duration(time.Duration(i+1) * time.Minute),
			Components: []dovetail.Component{
				{Name: "master", Count: 1, Resources: dovetail.Resources{500, 1 << 30}, Ends: "run"},
				{Name: "worker", Count: 1 + i%3, Max: 4 + i%7, Resources: dovetail.Resources{1000, 2 << 30}},
			},
		})
	}
	return apps
}

func newCrowd(tb testing.TB, cfg dovetail.Config, nodes, waiting int) *crowd {
	return newCrowdOf(tb, cfg, nodes, waiting, crowdApps())
}

func newCrowdOf(tb testing.TB, cfg dovetail.Config, nodes, waiting int, apps []*dovetail.Application) *crowd {
	c, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	w := &crowd{core: c, now: epoch, next: 1, apps: apps}
	for i := range nodes {
		w.apply(tb, dovetail.NodeUp{Node: dovetail.Node{Name: fmt.Sprintf("n%05d", i), Capacity: dovetail.Resources{8000, 32 << 30}}})
	}
	for len(c.serving) < nodes && c.Waiting() < 200 {
		for range 200 {
			w.submit(tb)
		}
		w.turn(tb)
	}
	for c.Waiting() < waiting {
		w.submit(tb)
	}
	w.turn(tb)
	return w
}

func (w *crowd) apply(tb testing.TB, e dovetail.Event) {
	if err := w.core.Apply(w.now, e); err != nil {
		tb.Fatal(err)
	}
}

func (w *crowd) submit(tb testing.TB) {
	app := w.apps[int(w.next)%len(w.apps)]
	w.apply(tb, dovetail.Submitted{Run: &dovetail.Run{ID: w.next, Name: app.Name, Class: app.Name, App: app}})
	w.next++
}

// turn decides, applies the plan, and answers for a back-end that obeys at once.
func (w *crowd) turn(tb testing.TB) time.Duration {
	w.now = w.now.Add(time.Millisecond)
	start := time.Now()
	plan := w.core.Decide(w.now)
	took := time.Since(start)
	if plan.Empty() {
		return took
	}
	type fall struct {
		s dovetail.Slot
		n int
	}
	var falls []fall
	was := make(map[dovetail.Slot]int)
	for _, a := range plan.Actions {
		if a, ok := a.(dovetail.RunReplicas); ok {
			was[a.Slot] = w.core.Occupied(a.Slot)
		}
	}
	w.apply(tb, dovetail.Decided{Plan: plan})
	for _, a := range plan.Actions {
		a, ok := a.(dovetail.RunReplicas)
		if !ok {
			continue
		}
		if !a.Elastic && a.Component == 0 {
			w.old = append(w.old, a.Run)
		}
		if n := a.N - was[a.Slot]; n > 0 {
			w.apply(tb, dovetail.ReplicasUp{Slot: a.Slot, N: n})
		} else if n < 0 {
			falls = append(falls, fall{a.Slot, -n})
		}
	}
	for _, f := range falls {
		w.apply(tb, dovetail.ReplicasDown{Slot: f.s, N: f.n, WasUp: true, Exit: dovetail.Exit{Asked: true}})
	}
	w.core.Changed()
	return took
}

// depart lets the oldest run in service end.
func (w *crowd) depart(tb testing.TB) {
	id := w.old[0]
	w.old = w.old[1:]
	r := w.core.runs[id]
	for ci := range r.comps {
		for _, k := range slices.Clone(r.comps[ci].cells) {
			if k.live > 0 {
				w.apply(tb, dovetail.ReplicasDown{Slot: w.core.slot(r, ci, &k), N: k.live, WasUp: true})
			}
		}
	}
}

var scales = []int{100, 1_000, 10_000}

// BenchmarkDecide measures one decision after one arrival, and one after one departure, with n nodes, about n runs in service
// and 10·n waiting: mean, median and 99th percentile.
func BenchmarkDecide(b *testing.B) {
	for _, policy := range []string{"fifo", "srpt-3d", "hrrn", "fifo-backfill"} {
		for _, n := range scales {
			cfg := dovetail.DefaultConfig()
			cfg.Policy = policy
			for _, what := range []string{"arrival", "departure"} {
				b.Run(fmt.Sprintf("%s/%s/nodes=%d", policy, what, n), func(b *testing.B) {
					w := newCrowd(b, cfg, n, 10*n)
					var took []time.Duration
					b.ResetTimer()
					for b.Loop() {
						if what == "arrival" {
							w.submit(b)
						} else {
							w.depart(b)
						}
						took = append(took, w.turn(b))
						if what == "departure" {
							b.StopTimer()
							w.submit(b)
							w.turn(b)
							b.StartTimer()
						}
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
					b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
					b.ReportMetric(float64(len(w.core.serving)), "serving")
				})
			}
		}
	}
}

// BenchmarkAdmit measures how many runs a second enter and leave service, with 10,000 nodes, for several sizes of batch: each
// iteration submits one batch, decides, and lets as many runs depart.
func BenchmarkAdmit(b *testing.B) {
	for _, batch := range []int{1, 100, 2_000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			w := newCrowd(b, dovetail.DefaultConfig(), 10_000, 10_000)
			b.ResetTimer()
			for b.Loop() {
				for range batch {
					w.depart(b)
				}
				for range batch {
					w.submit(b)
				}
				w.turn(b)
			}
			b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// BenchmarkWaitingMemory reports what one waiting run costs.
func BenchmarkWaitingMemory(b *testing.B) {
	const n = 100_000
	var before, after runtime.MemStats
	for b.Loop() {
		w := newCrowd(b, dovetail.DefaultConfig(), 1, 0)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range n {
			w.submit(b)
		}
		w.turn(b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(w)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/run")
}

// crowdOutlook is what 20 runs of a class say: a table by scale-out, and by one neighbour class.
func crowdOutlook(class, beside string) dovetail.Outlook {
	o := dovetail.Outlook{Class: class, Model: "test", Runs: 20, Levels: predict.Levels()}
	b := dovetail.Beside{Class: beside, Runs: 10}
	for x := 1; x <= 24; x++ {
		o.ScaleOuts = append(o.ScaleOuts, x)
		var row, slow []float64
		for l := range o.Levels {
			y := (20 + 300/float64(x)) * (1 + .01*float64(l))
			row, slow = append(row, y), append(slow, 1.5*y)
		}
		o.Alone, b.Seconds = append(o.Alone, row), append(b.Seconds, slow)
	}
	o.Beside = []dovetail.Beside{b}
	return o
}

// BenchmarkPredicted measures one decision after one departure and one arrival with 1,000 nodes and 10,000 waiting: when nothing is known, when every
// class has an outlook, and when every run has a target besides; and what an outlook of a class costs when it is replaced.
func BenchmarkPredicted(b *testing.B) {
	crowd := func(b *testing.B, policy string, outlooks, targets bool) *crowd {
		cfg := dovetail.DefaultConfig()
		cfg.Policy = policy
		cfg.Alloc = "eager"
		w := newCrowd(b, cfg, 1_000, 0)
		for i, a := range w.apps {
			if outlooks {
				w.apply(b, dovetail.Fitted{Outlook: crowdOutlook(a.Name, w.apps[(i+1)%len(w.apps)].Name)})
			}
			if targets {
				fresh := *a
				fresh.Target = &dovetail.Target{Runtime: dovetail.Duration(100 * time.Second)}
				w.apps[i] = &fresh
			}
		}
		for w.core.Waiting() < 10_000 {
			w.submit(b)
		}
		w.turn(b)
		return w
	}
	for _, policy := range []string{"fifo", "sjf"} {
		for _, tc := range []struct {
			name              string
			outlooks, targets bool
		}{{"nothing", false, false}, {"outlooks", true, false}, {"targets", true, true}} {
			b.Run(policy+"/"+tc.name, func(b *testing.B) {
				w := crowd(b, policy, tc.outlooks, tc.targets)
				var took time.Duration
				for b.Loop() {
					w.depart(b)
					w.submit(b)
					took += w.turn(b)
				}
				b.ReportMetric(float64(took.Microseconds())/float64(b.N), "decide-µs")
			})
		}
		b.Run(policy+"/fitted", func(b *testing.B) {
			w := crowd(b, policy, true, false)
			for _, a := range w.apps {
				a.Expected = 0
			}
			n := 0
			for b.Loop() {
				n++
				o := crowdOutlook(w.apps[n%len(w.apps)].Name, w.apps[(n+1)%len(w.apps)].Name)
				for i := range o.Alone {
					for l := range o.Alone[i] {
						o.Alone[i][l] /= float64(n%7 + 1)
					}
				}
				w.apply(b, dovetail.Fitted{Outlook: o})
				w.turn(b)
			}
		})
	}
}
