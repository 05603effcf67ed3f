package zoe

import (
	"testing"

	"github.com/dovetail-sched/dovetail/trace"
)

// BenchmarkZoe simulates a trace of Google 2011 shapes (1,000 applications, 45,726 components) on one machine.
func BenchmarkZoe(b *testing.B) {
	jobs := readJobs(b, "zoe_apps_1000_q.txt")
	everyPolicy(b, Options{Capacity: testbed()}, jobs)
}

// BenchmarkGenerated simulates 10,000 applications of the generated workload, of which many wait at a time.
func BenchmarkGenerated(b *testing.B) {
	w, err := trace.Generate("zoe", 1, 10_000)
	if err != nil {
		b.Fatal(err)
	}
	o := Options{Capacity: testbed()}
	for k := range o.Capacity {
		o.Capacity[k] *= 3
	}
	everyPolicy(b, o, w.Jobs)
}

func everyPolicy(b *testing.B, o Options, jobs []trace.Job) {
	for _, alloc := range Allocs() {
		for _, policy := range Policies() {
			b.Run(alloc+"/"+policy, func(b *testing.B) {
				o.Policy, o.Alloc = policy, alloc
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Run(b.Context(), o, jobs); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
