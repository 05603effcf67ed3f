package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
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
		{"replicas that die are replaced", "--workload zoe --replica-mtbf 1h --retries 5", usual(func(o *simulateOptions) {
			o.Faults, o.Retries = sim.Faults{ReplicaMTBF: time.Hour}, 5
			o.Command = "simulate --replica-mtbf=1h0m0s --retries=5 --workload=zoe"
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
		{"fewer retries than none", "--workload zoe --retries -1", nil},
		{"more retries than an application may have", "--workload zoe --retries 1001", nil},
		{"nothing fails in the peer", "--workload zoe --compat zoe --retries 1", nil},
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

// TestSimulateBeside shows that files which appear while a sweep runs cost nothing of it: they stay, what was computed is beside them,
// the other files and the table are there, and the exit code tells.
func TestSimulateBeside(t *testing.T) {
	e, out, errOut := testEnvironment(nil)
	e.started = true
	dir := t.TempDir()
	runs, into := filepath.Join(dir, "runs.csv"), filepath.Join(dir, "report")
	asked := 0
	e.now = func() time.Time {
		if asked++; asked == 2 { // the first time is before the sweep, further ones are while it runs
			for _, file := range []string{runs, filepath.Join(into, perRunFile), filepath.Join(into, pageFile)} {
				if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
					t.Error(err)
				}
			}
		}
		return time.Time{}
	}
	o := simulateOptions{
		Workload: "zoe-testbed", Jobs: 5, Seeds: 1, Policies: []string{"fifo"}, Allocs: []string{"rigid"}, Preempt: "false", PerRun: runs, Out: into,
	}
	err := e.simulate(t.Context(), &o)
	if code := e.finish(t.Context(), err); code != exitFailed || dovetail.CodeOf(err) != dovetail.Conflict {
		t.Errorf("exit code %d of %v; want %d and a conflict", code, err, exitFailed)
	}
	if !strings.Contains(out.String(), "fifo") {
		t.Errorf("no table is printed: %q", out)
	}
	for file, begins := range map[string]string{
		runs: "mine", filepath.Join(dir, "runs-2.csv"): "policy,alloc", filepath.Join(into, perRunFile): "mine",
		filepath.Join(into, "per-run-2.csv"): "policy,alloc", filepath.Join(into, pageFile): "mine",
		filepath.Join(into, "report-2.html"): "<!", filepath.Join(into, csvFile): "policy,alloc",
	} {
		if data, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(data), begins) {
			t.Errorf("%s begins with %.20q, %v; want %q", file, data, err, begins)
		}
		if strings.Contains(file, "-2") && !strings.Contains(errOut.String(), "written there is in "+file) {
			t.Errorf("nobody is told of %s: %s", file, errOut)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*.partial")); len(left) > 0 {
		t.Errorf("%v are left behind", left)
	}
}

// TestIdle shows that a cluster is not called too large on which only runs waited that failed then.
func TestIdle(t *testing.T) {
	s := simulation{results: make([]study.Result, 2)}
	if !s.idle() {
		t.Error("nothing waited in two cells, and that is not said")
	}
	s.results[1].Metrics.MaxWaiting = 1
	if s.idle() {
		t.Error("a run waited, and it is said that none did")
	}
}

// TestRetry shows that retries reach every component that says nothing of them, that applications are still shared, and that nobody
// else's are changed.
func TestRetry(t *testing.T) {
	component := func(retries int) dovetail.Component {
		return dovetail.Component{Restart: dovetail.Restart{Retries: retries}}
	}
	shared := &dovetail.Application{Components: []dovetail.Component{component(0), component(2)}}
	jobs := []trace.Job{{App: shared}, {App: shared}, {App: &dovetail.Application{Components: []dovetail.Component{component(0)}}}}
	(&simulateOptions{}).retry(jobs)
	if jobs[0].App != shared {
		t.Error("nobody asked for retries, and the application is another one")
	}
	(&simulateOptions{Retries: 7}).retry(jobs)
	if jobs[0].App == shared || jobs[0].App != jobs[1].App {
		t.Error("two jobs of one application do not share one copy of it")
	}
	var got []int
	for _, c := range slices.Concat(jobs[0].App.Components, jobs[2].App.Components, shared.Components) {
		got = append(got, c.Restart.Retries)
	}
	if diff := cmp.Diff([]int{7, 2, 7, 0, 2}, got); diff != "" {
		t.Errorf("retries of the copies, and of the first original (-want +got):\n%s", diff)
	}
}

// TestSimulateRetries shows what retries do: runs fail without them, and with them do their work, which takes longer; and part of what
// core replicas did is lost and done again if that was asked for.
func TestSimulateRetries(t *testing.T) {
	play := func(retries int, faults sim.Faults) report.Metrics {
		e, _, _ := testEnvironment(nil)
		o := simulateOptions{
			Workload: "zoe-testbed", Jobs: 40, Seed: 1, Seeds: 1, Policies: []string{"fifo"}, Allocs: []string{"rigid"}, Preempt: "false",
			Retries: retries, Faults: faults,
		}
		s, err := newSimulation(t.Context(), &o)
		if err == nil {
			err = e.play(t.Context(), s, &o)
		}
		if err != nil {
			t.Fatal(err)
		}
		if said := failures(s.results); (len(said) > 0) != (s.results[0].Metrics.Failed > 0) {
			t.Errorf("%d runs failed; the notices are %q", s.results[0].Metrics.Failed, said)
		}
		return s.results[0].Metrics
	}
	faults := sim.Faults{ReplicaMTBF: 2 * time.Hour}
	whole, failing, retried := play(0, sim.Faults{}), play(0, faults), play(1000, faults)
	faults.Redo = 1
	redone := play(1000, faults)
	if failing.Failed == 0 || retried.Failed > 0 || redone.Failed > 0 {
		t.Errorf("%d fail without retries, %d and %d with them; want some, none and none", failing.Failed, retried.Failed, redone.Failed)
	}
	if retried.Redone > 0 || redone.Redone == 0 {
		t.Errorf("%v s are done again, and %v s with --redo; want none and some", retried.Redone, redone.Redone)
	}
	// Replicas are replaced at once, so it is what is done again that takes longer: of a rigid run all replicas are core.
	if !(whole.MeanSlowdown <= retried.MeanSlowdown && retried.MeanSlowdown < redone.MeanSlowdown) {
		t.Errorf("mean slowdowns %v without faults, %v with retries, %v with lost work; want them to rise", whole.MeanSlowdown, retried.MeanSlowdown, redone.MeanSlowdown)
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
