package cli

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/study"
	"github.com/dovetail-sched/dovetail/trace"
)

func TestSimulateOptions(t *testing.T) {
	usual := func(change func(*simulateOptions)) *simulateOptions {
		o := &simulateOptions{
			Workload: "zoe", Seed: 1, Seeds: 1, Policies: []string{"fifo"}, Allocs: []string{"flexible"}, Preempt: "false",
			Scheduling: map[string]string{}, Command: "simulate --workload=zoe",
		}
		change(o)
		return o
	}
	for _, tc := range []struct {
		reason string
		args   string
		want   *simulateOptions
	}{
		{"only a workload", "--workload zoe", usual(func(*simulateOptions) {})},
		{"a trace, and how to read it", "--trace a.gz --format swf --skip-bad --jobs 7", usual(func(o *simulateOptions) {
			o.Workload, o.Jobs, o.Command = "", 7, "simulate --format=swf --jobs=7 --skip-bad=true --trace=a.gz"
			o.Trace = traceInput{File: "a.gz", Options: trace.Options{Format: "swf", SkipBad: true}}
		})},
		{"cells", "--workload zoe --policy fifo,srpt-3d --policy edf --alloc rigid --preempt --seed 5 --seeds 3", usual(func(o *simulateOptions) {
			o.Policies, o.Allocs, o.Preempt, o.Seed, o.Seeds = []string{"fifo", "srpt-3d", "edf"}, []string{"rigid"}, "true", 5, 3
			o.Command = "simulate --alloc=rigid --policy=fifo,srpt-3d,edf --preempt=true --seed=5 --seeds=3 --workload=zoe"
		})},
		{"how to schedule", "--workload zoe --regrow 10s --reclaim lower", usual(func(o *simulateOptions) {
			o.Scheduling = map[string]string{"regrow": "10s", "reclaim": "lower"}
			o.Command = "simulate --reclaim=lower --regrow=10s --workload=zoe"
		})},
		{"faults and speed", "--workload zoe --node-mtbf 1h --slow-nodes 0.1 --slow-speed 0.25 --speedup serial=0.1,coordination=0.01", usual(func(o *simulateOptions) {
			o.Faults = sim.Faults{NodeMTBF: time.Hour, SlowNodes: 0.1, SlowSpeed: 25}
			o.Model = sim.Curve{Serial: 0.1, Coordination: 0.01}
			o.Command = "simulate --node-mtbf=1h0m0s --slow-nodes=0.1 --slow-speed=0.25 --speedup=serial=0.1,coordination=0.01 --workload=zoe"
		})},
		{"delays, lost work and a measured speed", "--workload zoe --start-jitter 2s --stop-delay 1s --redo 0.5 --speedup 1:1,8:6.5", usual(func(o *simulateOptions) {
			o.Faults = sim.Faults{StartJitter: 2 * time.Second, StopDelay: time.Second, Redo: 0.5}
			o.Model = sim.Points{{Replicas: 1, Speedup: 1}, {Replicas: 8, Speedup: 6.5}}
			o.Command = "simulate --redo=0.5 --speedup=1:1,8:6.5 --start-jitter=2s --stop-delay=1s --workload=zoe"
		})},
		{"the peer", "--workload zoe --compat zoe --policy srpt-2d1", usual(func(o *simulateOptions) {
			o.Zoe, o.Policies, o.Command = true, []string{"srpt-2d1"}, "simulate --compat=zoe --policy=srpt-2d1 --workload=zoe"
		})},
		{"a shell must not read the cluster", "--workload zoe --cluster 2x(1cpu,1GiB)", usual(func(o *simulateOptions) {
			o.Cluster, o.Command = "2x(1cpu,1GiB)", "simulate --cluster='2x(1cpu,1GiB)' --workload=zoe"
		})},
		{"a policy twice", "--workload zoe --policy fifo,sjf,fifo", nil},
		{"no policy", "--workload zoe --policy=", nil},
		{"neither", "--workload zoe --preempt=perhaps", nil},
		{"too few jobs", "--workload zoe --jobs -1", nil},
		{"too many seeds", "--workload zoe --seeds 1001", nil},
		{"no workers", "--workload zoe --workers -1", nil},
		{"not a length of time", "--workload zoe --max-wait soon", nil},
		{"not a placement", "--workload zoe --place best", nil},
		{"another peer", "--workload zoe --compat mesos", nil},
		{"faster than fast", "--workload zoe --slow-speed 2", nil},
		{"not a number", "--workload zoe --slow-speed NaN", nil},
		{"more slow nodes than there are", "--workload zoe --slow-nodes 2", nil},
		{"a share that is not a number", "--workload zoe --slow-nodes NaN", nil},
		{"a curve without a value", "--workload zoe --speedup serial", nil},
		{"an unknown curve", "--workload zoe --speedup amdahl=0.1", nil},
		{"more serial than all of it", "--workload zoe --speedup serial=1.5", nil},
		{"points that go back", "--workload zoe --speedup 8:6,1:1", nil},
		{"more replicas are slower", "--workload zoe --speedup 1:1,8:0.5", nil},
		{"no replicas", "--workload zoe --speedup 0:1", nil},
		{"a speed that is none", "--workload zoe --speedup 1:NaN", nil},
		{"seeds that change nothing", "--trace a.gz --seeds 3 --start-delay 1s", nil},
		{"the peer loses no work", "--workload zoe --compat zoe --redo 0.5", nil},
		{"the peer has no settings", "--workload zoe --compat zoe --place pack", nil},
		{"the peer draws nobody", "--workload zoe --compat zoe --choose random", nil},
		{"an argument", "zoe", nil},
	} {
		got, err := parsed(t, newSimulate, strings.Fields(tc.args)...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != (tc.want == nil) {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

// TestSimulateInterrupted shows that who interrupts before anything is done is told so, and that no file is left behind.
func TestSimulateInterrupted(t *testing.T) {
	e, out, errOut := testEnvironment(nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalled{syscall.SIGINT})
	file := filepath.Join(t.TempDir(), "runs.csv")
	o := simulateOptions{
		Workload: "zoe-testbed", Seeds: 1, Policies: []string{"fifo"}, Allocs: []string{"rigid"}, Preempt: "false", PerRun: file,
	}
	err := e.simulate(ctx, &o)
	if code := e.finish(ctx, err); code != exitInterrupted {
		t.Errorf("exit code %d of %v; want %d", code, err, exitInterrupted)
	}
	if diff := cmp.Diff("Interrupted: no cell is done.\n", errOut.String()); diff != "" || out.Len() > 0 {
		t.Errorf("printed %q, and (-want +got):\n%s", out, diff)
	}
	if left, _ := filepath.Glob(file + "*"); len(left) > 0 {
		t.Errorf("%v are left behind", left)
	}
}

func TestBarText(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		progress study.Progress
		took     time.Duration
		want     string
	}{
		{"nothing is known yet", study.Progress{Total: 4}, time.Minute, "░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0 %  0 of 4 cells"},
		{"a third took ten seconds", study.Progress{Done: 1, Total: 3, Share: 1.0 / 3}, 10 * time.Second,
			"██████████░░░░░░░░░░░░░░░░░░░░  33 %  1 of 3 cells, 20.0s left"},
		{"too early to tell", study.Progress{Total: 2, Share: 0.5}, time.Millisecond, "███████████████░░░░░░░░░░░░░░░  50 %  0 of 2 cells"},
		{"done", study.Progress{Done: 1, Total: 1, Share: 1}, time.Hour, "██████████████████████████████ 100 %  1 of 1 cell"},
	} {
		if diff := cmp.Diff(tc.want, barText(tc.progress, tc.took)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// TestBar shows that the bar is drawn on a terminal, not too often, and is gone at the end; and that a pipe sees nothing.
func TestBar(t *testing.T) {
	for _, screen := range []bool{true, false} {
		e, _, errOut := testEnvironment(nil)
		e.errScreen = screen
		b := e.newBar()
		b.show(study.Progress{Total: 2})
		b.show(study.Progress{Total: 2, Share: 0.1})
		b.leave()
		want := ""
		if screen {
			const wipe = "\x1b[K"
			want = "\r" + barText(study.Progress{Total: 2}, 0) + wipe + "\r" + wipe
		}
		if diff := cmp.Diff(want, errOut.String()); diff != "" {
			t.Errorf("screen %v (-want +got):\n%s", screen, diff)
		}
	}
}
