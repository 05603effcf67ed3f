package sim_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/alloc"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/place"
	"github.com/dovetail-sched/dovetail/policy"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// TestAnyPlay plays any workload on any cluster with any faults under any configuration, and demands what must hold of all of them:
// the core refuses nothing, its invariants hold after every turn, no job is lost, what has ended holds nothing, runs take the
// time that their work takes, and the same play again is the same.
func TestAnyPlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		jobs := drawJobs(t, 3)
		drawTargets(t, jobs)
		learned := drawOutlooks(t)
		o.Store, o.After = sim.NewDigest(), tell(learned)
		out, err := sim.Play(t.Context(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(out.Jobs) + len(out.Refused); o.Until == 0 && n != len(jobs) {
			t.Errorf("%d jobs of %d are told of", n, len(jobs))
		}
		all := o.Until == 0
		for i := range out.Jobs {
			checkJob(t, &o, &out.Jobs[i])
			all = all && out.Jobs[i].Ended()
		}
		last := &out.Levels[len(out.Levels)-1]
		if zero := (report.Level{At: last.At}); all && *last != zero {
			t.Errorf("all runs have ended, yet at the end there is %+v", *last)
		}
		checkWork(t, &o, out, jobs)
		o.Store, o.Validate, o.After = sim.NewDigest(), false, tell(learned)
		again, err := sim.Play(t.Context(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if again.Hash != out.Hash {
			t.Errorf("the same play again has the journal %s instead of %s", again.Hash, out.Hash)
		}
	})
}

// drawTargets gives some applications a target, which may be out of reach.
func drawTargets(t *rapid.T, jobs []trace.Job) {
	for i := range jobs {
		if a := jobs[i].App; a.Target == nil && rapid.Bool().Draw(t, "target") {
			a.Target = &dovetail.Target{
				Runtime:    dovetail.Duration(rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, 5 * time.Minute}).Draw(t, "target runtime")),
				Confidence: rapid.SampledFrom([]float64{0, .5, .99}).Draw(t, "confidence"),
			}
		}
	}
}

// drawOutlooks draws what is said, one after the other, of the only class that there is: right or wrong, the core has to live with it.
func drawOutlooks(t *rapid.T) []dovetail.Outlook {
	var all []dovetail.Outlook
	for range rapid.IntRange(0, 4).Draw(t, "outlooks") {
		o := dovetail.Outlook{Class: "app", Model: "drawn", Runs: rapid.SampledFrom([]int{1, 6, 30}).Draw(t, "runs"), Levels: []float64{.1, .5, .9}}
		work := rapid.Float64Range(1, 1000).Draw(t, "work")
		table := func(slow float64) (rows [][]float64) {
			for x := 1; x <= 8; x++ {
				y := slow * (1 + work/float64(x))
				rows = append(rows, []float64{.9 * y, y, 1.2 * y})
			}
			return rows
		}
		o.ScaleOuts, o.Alone = []int{1, 2, 3, 4, 5, 6, 7, 8}, table(1)
		o.Beside = []dovetail.Beside{{Class: "app", Runs: 1, Seconds: table(1 + rapid.Float64Range(0, 2).Draw(t, "alpha"))}}
		all = append(all, o)
	}
	return all
}

// tell says outlooks, one after every second turn.
func tell(all []dovetail.Outlook) func(context.Context, *engine.Changes) ([]dovetail.Event, error) {
	turns := 0
	return func(context.Context, *engine.Changes) ([]dovetail.Event, error) {
		turns++
		if turns%2 == 1 || turns/2 > len(all) {
			return nil, nil
		}
		return []dovetail.Event{dovetail.Fitted{Outlook: all[turns/2-1]}}, nil
	}
}

// checkJob checks what must hold of every job: without faults it succeeds.
func checkJob(t *rapid.T, o *sim.Options, j *report.Job) {
	fails := o.Faults.ReplicaMTBF > 0 || o.Faults.NodeMTBF > 0
	switch {
	case !j.Ended():
		if o.Until == 0 {
			t.Errorf("job %d never ended: %+v", j.ID, *j)
		}
		return
	case j.Start < j.Submit && j.Start >= 0 || j.Finish < j.Start:
		t.Errorf("job %d: times are not in order: %+v", j.ID, *j)
	case j.Outcome == dovetail.OutcomeTimedOut:
	case j.Outcome != dovetail.OutcomeSucceeded && !fails:
		t.Errorf("job %d did not succeed on a cluster without failures: %+v", j.ID, *j)
	}
	if took := j.Finish - j.Start; j.Outcome == dovetail.OutcomeSucceeded && took < j.Runtime {
		t.Errorf("job %d took %s, less than its runtime with all replicas, %s", j.ID, took, j.Runtime)
	}
}

// checkWork adds up what runs did by the replicas that they were given, where those work from then on: without delays of starts,
// failures and slow nodes. It has to be their work.
func checkWork(t *rapid.T, o *sim.Options, out *report.Schedule, jobs []trace.Job) {
	if f := o.Faults; f.StartDelay > 0 || f.StartJitter > 0 || f.ReplicaMTBF > 0 || f.NodeMTBF > 0 || f.SlowNodes > 0 || f.Redo > 0 {
		return
	}
	type state struct {
		held    map[dovetail.Slot]int
		core, n int
		at      time.Time
		done    float64
		turns   int
	}
	states := make([]state, len(out.Jobs))
	byID := make(map[int64]*trace.Job)
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	model := o.Model
	if model == nil {
		model = sim.Linear{}
	}
	step := func(i int, at time.Time) {
		s := &states[i]
		if s.n > 0 && s.core == out.Jobs[i].Core {
			s.done += float64(model.Rate(byID[out.Jobs[i].ID], int64(s.n)*sim.Whole)) * float64(at.Sub(s.at).Microseconds())
		}
		s.at = at
		s.turns++
	}
	for _, p := range out.Placements {
		i := int(p.Run) - 1
		s := &states[i]
		if s.held == nil {
			s.held = make(map[dovetail.Slot]int)
		}
		step(i, p.At)
		if !p.Elastic {
			s.core += p.N - s.held[p.Slot]
		}
		s.n += p.N - s.held[p.Slot]
		s.held[p.Slot] = p.N
	}
	for i := range out.Jobs {
		j := &out.Jobs[i]
		if !j.Ended() || j.Outcome != dovetail.OutcomeSucceeded || o.Faults.StopDelay > 0 {
			continue
		}
		step(i, sim.Epoch().Add(j.Finish))
		full := float64(model.Rate(byID[j.ID], int64(j.Core+j.Elastic)*sim.Whole))
		if work := full * float64(j.Runtime.Microseconds()); math.Abs(states[i].done-work) > full {
			t.Errorf("job %d did work of %g, and was to do %g: %+v", j.ID, states[i].done, work, *j)
		}
	}
}

func drawOptions(t *rapid.T) sim.Options {
	some := func(what string, options ...time.Duration) time.Duration {
		return rapid.SampledFrom(options).Draw(t, what)
	}
	o := sim.Options{Config: dovetail.DefaultConfig(), Validate: true, Placements: true, Seed: rapid.Uint64Range(0, 99).Draw(t, "seed")}
	c := &o.Config
	c.Policy = rapid.SampledFrom(policy.Orders()).Draw(t, "policy").Name
	c.Alloc = rapid.SampledFrom(alloc.All[int]()).Draw(t, "alloc").Name
	c.Place = rapid.SampledFrom(place.Orders()).Draw(t, "place").Name
	c.Reclaim = rapid.SampledFrom([]string{"any", "lower"}).Draw(t, "reclaim")
	c.Preempt, c.InteractiveFirst = rapid.Bool().Draw(t, "preempt"), rapid.Bool().Draw(t, "interactive first")
	c.MaxWait = dovetail.Duration(some("max wait", 0, time.Minute))
	c.Regrow = dovetail.Duration(some("regrow", 0, 7*time.Second))
	c.Replan = dovetail.Duration(some("replan", 0, time.Second, 10*time.Second))
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		o.Nodes = append(o.Nodes, dovetail.Node{
			Name: fmt.Sprintf("n%d", i), Labels: map[string]string{"zone": fmt.Sprint(i % 2)},
			Capacity: dovetail.Resources{dovetail.CPU: int64(rapid.IntRange(1, 6).Draw(t, "cpu")) * 1000, dovetail.Memory: 8 << 30},
		})
	}
	if rapid.Bool().Draw(t, "curve") {
		o.Model = sim.Curve{Serial: 0.1, Coordination: 0.01}
	}
	o.Faults = sim.Faults{
		StartDelay: some("start delay", 0, 0, 700*time.Millisecond, 20*time.Second), StartJitter: some("start jitter", 0, 0, time.Second),
		StopDelay:   some("stop delay", 0, 0, time.Second, 30*time.Second),
		ReplicaMTBF: some("replica mtbf", 0, 0, time.Minute, time.Hour),
		NodeMTBF:    some("node mtbf", 0, 0, 5*time.Minute), NodeMTTR: some("node mttr", 0, time.Microsecond, time.Minute),
		Redo:      rapid.SampledFrom([]float64{0, 0, 0.3, 1}).Draw(t, "redo"),
		SlowNodes: rapid.SampledFrom([]float64{0, 0, 0.5, 1}).Draw(t, "slow nodes"),
	}
	if o.Faults.NodeMTBF > 0 {
		o.Until = 2 * time.Hour
	}
	return o
}

func drawJobs(t *rapid.T, components int) []trace.Job {
	var jobs []trace.Job
	var at time.Duration
	var apps []*dovetail.Application
	for i := range rapid.IntRange(1, 14).Draw(t, "jobs") {
		at += rapid.SampledFrom([]time.Duration{0, 0, time.Microsecond, time.Second, 9 * time.Second, 30 * time.Second}).Draw(t, "gap")
		if len(apps) == 0 || rapid.Bool().Draw(t, "new application") {
			apps = append(apps, drawApplication(t, components))
		}
		jobs = append(jobs, trace.Job{
			ID: int64(100 - i), Submit: at, User: "ann", App: rapid.SampledFrom(slices.Clone(apps)).Draw(t, "application"),
			Runtime: rapid.SampledFrom([]time.Duration{time.Microsecond, time.Second, 10 * time.Second, 33333333 * time.Microsecond, 5 * time.Minute}).Draw(t, "runtime"),
		})
	}
	return jobs
}

func drawApplication(t *rapid.T, components int) *dovetail.Application {
	app := &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: "app", Priority: rapid.IntRange(0, 1).Draw(t, "priority"),
		Kind:       rapid.SampledFrom([]dovetail.Kind{dovetail.Batch, dovetail.Batch, dovetail.Interactive, dovetail.Service}).Draw(t, "kind"),
		Expected:   dovetail.Duration(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "expected")),
		MaxRuntime: dovetail.Duration(rapid.SampledFrom([]time.Duration{0, 0, 0, 20 * time.Second}).Draw(t, "max runtime")),
	}
	for i := range rapid.IntRange(1, components).Draw(t, "components") {
		c := dovetail.Component{
			Name: fmt.Sprintf("c%d", i), Count: rapid.IntRange(min(i, 1), 3).Draw(t, "core"),
			Resources: dovetail.Resources{dovetail.CPU: int64(rapid.IntRange(0, 3).Draw(t, "cpu of one")) * 500, dovetail.Memory: 1 << 30},
			Restart:   dovetail.Restart{Retries: rapid.IntRange(0, 3).Draw(t, "retries")},
		}
		if i == 0 {
			c.Count = max(c.Count, 1)
		} else {
			c.Count = rapid.IntRange(0, 2).Draw(t, "core of another")
		}
		c.Max = max(1, c.Count+rapid.IntRange(0, 5).Draw(t, "elastic"))
		if i > 0 && rapid.Bool().Draw(t, "after") {
			c.After = []string{fmt.Sprintf("c%d", rapid.IntRange(0, i-1).Draw(t, "after which"))}
		}
		if rapid.Bool().Draw(t, "ready") {
			c.Ready = &dovetail.Ready{File: "there"}
		}
		if rapid.IntRange(0, 5).Draw(t, "zone") == 0 {
			c.Nodes = map[string]string{"zone": "0"}
		}
		if i == 0 && rapid.Bool().Draw(t, "ends") {
			c.Ends = "run"
		}
		app.Components = append(app.Components, c)
	}
	return app
}
