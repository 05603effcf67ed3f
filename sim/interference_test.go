package sim_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// byClass is an interference by the class of the run that is held up, a + b/x.
type byClass map[string][2]float64

func (m byClass) Slowdown(j, _ *trace.Job, replicas int) float64 {
	ab := m[j.App.Name]
	return ab[0] + ab[1]/float64(replicas)
}

// wide is a job of one component with replicas of so many cores, one to a node of four.
func wide(id int64, submit time.Duration, class string, cpu int64, replicas int, runtime time.Duration) trace.Job {
	return trace.Job{ID: id, Submit: submit, Runtime: runtime, App: &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: class, Kind: dovetail.Batch,
		Components: []dovetail.Component{{Name: "worker", Count: replicas, Resources: dovetail.Resources{dovetail.CPU: cpu, dovetail.Memory: 1 << 30}}},
	}}
}

// TestInterference plays cases that are worked out by hand, on nodes of five cores: of a replica with 3 and one with 2, one each fits.
func TestInterference(t *testing.T) {
	second := time.Second
	for _, tc := range []struct {
		reason string
		nodes  int
		slow   byClass
		jobs   []trace.Job
		want   []time.Duration // finishes
	}{
		{
			"b's 100 s take 100 × 1.5 while a is there, up to 60 s: 40 s of it done, 60 s left", 2,
			byClass{"b": {0.5, 0}},
			[]trace.Job{wide(1, 0, "a", 3000, 2, 60*second), wide(2, 0, "b", 2000, 2, 100*second)},
			[]time.Duration{60 * second, 120 * second},
		},
		{
			"b/x counts the replicas of the run that is held up: 1 + 1/2 + 1/2", 2,
			byClass{"b": {0.5, 1}},
			[]trace.Job{wide(1, 0, "a", 3000, 2, 60*second), wide(2, 0, "b", 2000, 2, 100*second)},
			[]time.Duration{60 * second, 130 * second},
		},
		{
			"a is on one of b's two nodes: half the slowdown, so 50 s of b are done at 60 s of 1 + 0.4/2", 2,
			byClass{"b": {0.4, 0}},
			[]trace.Job{wide(1, 0, "a", 3000, 1, 60*second), wide(2, 0, "b", 2000, 2, 100*second)},
			[]time.Duration{60 * second, 110 * second},
		},
		{
			"both ways: a needs 90 s, and b has done 45 s by then", 1,
			byClass{"a": {0.5, 0}, "b": {1, 0}},
			[]trace.Job{wide(1, 0, "a", 3000, 1, 60*second), wide(2, 0, "b", 2000, 1, 100*second)},
			[]time.Duration{90 * second, 145 * second},
		},
		{
			"two neighbours add up: 1 + 2 × 0.5, then nobody", 1,
			byClass{"b": {0.5, 0}},
			[]trace.Job{wide(1, 0, "a", 1500, 1, 40*second), wide(2, 0, "a", 1500, 1, 40*second), wide(3, 0, "b", 2000, 1, 100*second)},
			[]time.Duration{40 * second, 40 * second, 120 * second},
		},
		{
			"a comes late: 30 s alone, then 70 s × 2", 1,
			byClass{"b": {1, 0}},
			[]trace.Job{wide(1, 0, "b", 2000, 1, 100*second), wide(2, 30*second, "a", 3000, 1, 500*second)},
			[]time.Duration{170 * second, 530 * second},
		},
		{
			"elsewhere: nothing", 2,
			byClass{"a": {1, 0}, "b": {1, 0}},
			[]trace.Job{wide(1, 0, "a", 3000, 1, 60*second), wide(2, 0, "b", 3000, 1, 100*second)},
			[]time.Duration{60 * second, 100 * second},
		},
	} {
		o := sim.Options{Config: dovetail.DefaultConfig(), Interference: tc.slow, Validate: true}
		for i := range tc.nodes {
			o.Nodes = append(o.Nodes, dovetail.Node{
				Name: fmt.Sprintf("n%d", i), Capacity: dovetail.Resources{dovetail.CPU: 5000, dovetail.Memory: 16 << 30},
			})
		}
		out, err := sim.Play(t.Context(), o, tc.jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range tc.want {
			if got := out.Jobs[i].Finish; (got - want).Abs() > 100*time.Microsecond {
				t.Errorf("%s: job %d ends at %s; want %s", tc.reason, i+1, got, want)
			}
		}
	}
}

// TestAnyInterference plays anything with interference: the work that each run did, added up by the replicas and neighbours that it had
// from decision to decision, is its work; and the same play again is the same. With an interference of nothing, nothing changes.
func TestAnyInterference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		if rapid.IntRange(0, 4).Draw(t, "faults") > 0 {
			o.Faults, o.Until = sim.Faults{}, 0
		}
		o.Interference = byClass{"app": {rapid.Float64Range(0, 3).Draw(t, "a"), rapid.Float64Range(0, 3).Draw(t, "b")}}
		jobs := drawJobs(t, 3)
		o.Store = sim.NewDigest()
		out, err := sim.Play(t.Context(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range out.Jobs {
			checkJob(t, &o, &out.Jobs[i])
		}
		checkHindered(t, &o, out, jobs)
		o.Store = sim.NewDigest()
		again, err := sim.Play(t.Context(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if again.Hash != out.Hash {
			t.Errorf("the same play again has the journal %s instead of %s", again.Hash, out.Hash)
		}
		o.Store, o.Interference = sim.NewDigest(), byClass{}
		free, err := sim.Play(t.Context(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		o.Store, o.Interference = sim.NewDigest(), nil
		without, err := sim.Play(t.Context(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if free.Hash != without.Hash {
			t.Errorf("with a slowdown of nothing the journal is %s, without interference %s", free.Hash, without.Hash)
		}
	})
}

// checkHindered adds up, in floating point and run by run, what each did between decisions. Only where replicas work from the moment
// that they are granted, and until they are taken.
func checkHindered(t *rapid.T, o *sim.Options, out *report.Schedule, jobs []trace.Job) {
	if f := o.Faults; f.StartDelay > 0 || f.StartJitter > 0 || f.StopDelay > 0 || f.ReplicaMTBF > 0 || f.NodeMTBF > 0 || f.SlowNodes > 0 || f.Redo > 0 {
		return
	}
	h := hindrance{o: o, model: o.Model, at: sim.Epoch()}
	if h.model == nil {
		h.model = sim.Linear{}
	}
	byID := make(map[int64]*trace.Job)
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	for i := range out.Jobs {
		p := progress{job: byID[out.Jobs[i].ID], held: make(map[dovetail.Slot]int), end: sim.Epoch().Add(1 << 62)}
		if out.Jobs[i].Ended() {
			p.end = sim.Epoch().Add(out.Jobs[i].Finish)
		}
		h.runs = append(h.runs, p)
	}
	h.play(out.Placements)
	for i := range h.runs {
		p := &h.runs[i]
		if !out.Jobs[i].Ended() || out.Jobs[i].Outcome != dovetail.OutcomeSucceeded {
			continue
		}
		full := float64(h.model.Rate(p.job, int64(p.job.Full())*sim.Whole))
		// Rates are rounded to whole units, and times to microseconds.
		if work := full * float64(p.job.Runtime.Microseconds()); math.Abs(p.done-work) > 2*full+1e-6*work {
			t.Errorf("job %d did work of %g, and was to do %g", p.job.ID, p.done, work)
		}
	}
}

// hindrance is what runs do between changes, by the definition of Interference.
type hindrance struct {
	o     *sim.Options
	model sim.Model
	at    time.Time
	runs  []progress
}

type progress struct {
	job  *trace.Job
	held map[dovetail.Slot]int
	end  time.Time
	done float64
}

// play goes from change to change: of placements, and where a run ends, which changes the speed of others.
func (h *hindrance) play(placements []dovetail.Placement) {
	for {
		next, more := sim.Epoch().Add(1<<62), false
		if len(placements) > 0 {
			next, more = placements[0].At, true
		}
		for i := range h.runs {
			if e := h.runs[i].end; e.After(h.at) && e.Before(next) {
				next, more = e, true
			}
		}
		if !more {
			return
		}
		for i := range h.runs {
			h.runs[i].done += h.speed(i) * float64(next.Sub(h.at).Microseconds())
		}
		h.at = next
		for ; len(placements) > 0 && !placements[0].At.After(h.at); placements = placements[1:] {
			p := placements[0]
			if h.runs[p.Run-1].held[p.Slot] = p.N; p.N == 0 {
				delete(h.runs[p.Run-1].held, p.Slot)
			}
		}
	}
}

func (h *hindrance) speed(i int) float64 {
	n, nodes := h.tally(i)
	if n == 0 {
		return 0
	}
	slowed := 1.0
	for k := range h.runs {
		if m, others := h.tally(k); k != i && m > 0 {
			both := 0
			for node := range nodes {
				if others[node] {
					both++
				}
			}
			slowed += h.o.Interference.Slowdown(h.runs[i].job, h.runs[k].job, n) * float64(both) / float64(len(nodes))
		}
	}
	return float64(h.model.Rate(h.runs[i].job, int64(n)*sim.Whole)) / slowed
}

// tally returns how many replicas a run has at work, and on which nodes; nothing if it has ended, or a part of its core is missing.
func (h *hindrance) tally(i int) (int, map[string]bool) {
	r := &h.runs[i]
	n, cores, nodes := 0, 0, make(map[string]bool)
	for s, m := range r.held {
		n += m
		nodes[s.Node] = true
		if !s.Elastic {
			cores += m
		}
	}
	if cores < r.job.Core() || !h.at.Before(r.end) {
		return 0, nil
	}
	return n, nodes
}

// TestAfter demands that what follows from a turn is taken at the same instant, before anything else happens, and that the whole is
// repeatable; and that an error ends the play.
func TestAfter(t *testing.T) {
	jobs := workload(3, 20)
	o := sim.Options{Config: dovetail.DefaultConfig(), Validate: true, Nodes: []dovetail.Node{{
		Name: "n", Capacity: dovetail.Resources{dovetail.CPU: 16000, dovetail.Memory: 64 << 30},
	}}}
	var seen, raised int
	var now time.Time
	o.After = func(_ context.Context, c *engine.Changes) ([]dovetail.Event, error) {
		if c.Records[0].At.Before(now) {
			t.Errorf("a turn at %s is told of after one at %s", c.Records[0].At, now)
		}
		now = c.Records[0].At
		var events []dovetail.Event
		for _, r := range c.Records {
			switch e := r.Event.(type) {
			case dovetail.Submitted:
				events = append(events, dovetail.Reprioritised{Run: e.Run.ID, Priority: int(e.Run.ID)})
			case dovetail.Reprioritised:
				seen++
			}
		}
		raised += len(events)
		return events, nil
	}
	out, err := sim.Play(t.Context(), o, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(out.Jobs); seen != want || raised != want || want == 0 {
		t.Errorf("%d runs, %d raised, of which %d were told of", want, raised, seen)
	}
	o.After = func(context.Context, *engine.Changes) ([]dovetail.Event, error) {
		return nil, context.DeadlineExceeded
	}
	if _, err := sim.Play(t.Context(), o, jobs); err == nil {
		t.Error("an error of what comes after a turn does not end the play")
	}
}
