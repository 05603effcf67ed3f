package sim_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/alloc"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// sharedTrace is 1,000 applications of 45,726 components from the paper's own simulator.
const sharedTrace = "../../shared/data/traces/zoe_apps_1000_q.txt"

// cpuTime returns what the process has used so far, garbage collection included.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// repeat plays jobs again and again and reports the CPU time of one play, and the longest waiting line.
func repeat(b *testing.B, cluster, policy, allocator string, jobs []trace.Job) {
	nodes, err := sim.Nodes(cluster)
	if err != nil {
		b.Fatal(err)
	}
	cfg := dovetail.DefaultConfig()
	cfg.Policy, cfg.Alloc = policy, allocator
	b.ReportAllocs()
	before := cpuTime(b)
	var out *report.Schedule
	for b.Loop() {
		if out, err = sim.Play(b.Context(), sim.Options{Nodes: nodes, Config: cfg}, jobs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpuTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
	var line int32
	for i := range out.Levels {
		line = max(line, out.Levels[i].Waiting)
	}
	b.ReportMetric(float64(line), "waiting")
}

// BenchmarkPlay plays the shared trace on one machine and on 25.
func BenchmarkPlay(b *testing.B) {
	if _, err := os.Stat(sharedTrace); err != nil {
		b.Skipf("the shared trace is not there: %v", err)
	}
	w, err := trace.Load(b.Context(), sharedTrace, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, cluster := range []string{"1x(1000cpu,1400GiB)", "25x(40cpu,56GiB)"} {
		for _, a := range alloc.All[int]() {
			for _, policy := range []string{"fifo", "fifo-backfill", "sjf", "srpt-3d", "hrrn", "edf"} {
				b.Run(fmt.Sprintf("%s/%s/%s", cluster, a.Name, policy), func(b *testing.B) { repeat(b, cluster, policy, a.Name, w.Jobs) })
			}
		}
	}
}

// BenchmarkGrowth plays Zoe's batch workload with more applications, and on more nodes.
func BenchmarkGrowth(b *testing.B) {
	for _, policy := range []string{"fifo", "fifo-backfill", "srpt-3d", "hrrn"} {
		for _, jobs := range []int{5_000, 10_000, 20_000, 40_000} {
			for _, nodes := range []int{50, 100, 200} {
				b.Run(fmt.Sprintf("%s/jobs=%d/nodes=%d", policy, jobs, nodes), func(b *testing.B) {
					w, err := trace.Generate("zoe-batch", 1, jobs)
					if err != nil {
						b.Fatal(err)
					}
					repeat(b, fmt.Sprintf("%dx(32cpu,128GiB)", nodes), policy, "flexible", w.Jobs)
				})
			}
		}
	}
}
