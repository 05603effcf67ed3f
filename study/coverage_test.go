package study

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

var clusters = flag.Int("clusters", 1, "how many clusters TestForecastCoverage plays for each line of its table; docs/whatif.md shows 40")

// shadow is a store that follows a play with a core of its own, and calls see between any two instants.
type shadow struct {
	core *sched.Core
	at   time.Time
	see  func(c *sched.Core, at time.Time)
}

func (s *shadow) Append(_ context.Context, c engine.Changes) error {
	for _, r := range c.Records {
		if r.At.After(s.at) && !s.at.IsZero() {
			s.see(s.core, s.at)
		}
		s.at = r.At
		if err := s.core.Apply(r.At, r.Event); err != nil {
			return err
		}
	}
	return nil
}

func (*shadow) Load(context.Context) (*engine.Snapshot, error) { return nil, nil } //nolint:nilnil // no snapshot is not an error: engine.Store
func (*shadow) Replay(context.Context, int64) iter.Seq2[engine.Record, error] {
	return func(func(engine.Record, error) bool) {}
}
func (*shadow) Snapshot(context.Context, engine.Snapshot) error { return nil }
func (*shadow) Close() error                                    { return nil }
func (*shadow) Discards() bool                                  { return true }

// knowledge is what there is to know of runtimes before they are over, and how far that is from the truth.
type knowledge struct {
	name    string
	hint    float64 // expected runtime over the median of the truth; 0: nobody expects anything
	spread  float64 // standard deviation of ln(runtime)
	classes int     // of so many classes; 0: each run is of its own
	model   string  // that is fitted to what has ended, as a learner does; empty: none
}

// noisy makes a workload in which runtimes are known so well: applications of one master and up to 16 workers. Class names are
// those of applications.
func noisy(k knowledge, seed uint64, n int) []trace.Job {
	rng := rand.New(rand.NewPCG(seed, 99))
	typical := make([]float64, k.classes)
	for i := range typical {
		typical[i] = 600 * math.Exp(rng.NormFloat64())
	}
	jobs := make([]trace.Job, n)
	at := 0.0
	for i := range jobs {
		median, name := 600*math.Exp(rng.NormFloat64()), fmt.Sprintf("app-%d", i)
		if k.classes > 0 {
			class := rng.IntN(k.classes)
			median, name = typical[class], fmt.Sprintf("class-%d", class)
		}
		each := dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 2 << 30}
		core := 1 + rng.IntN(4)
		app := &dovetail.Application{Name: name, Kind: dovetail.Batch, Components: []dovetail.Component{
			{Name: "master", Count: 1, Resources: each},
			{Name: "worker", Count: core, Max: core + rng.IntN(13), Resources: each},
		}}
		if k.hint > 0 {
			app.Expected = dovetail.Duration(seconds(k.hint * median))
		}
		at += 70 * rng.ExpFloat64()
		jobs[i] = trace.Job{ID: int64(i + 1), Submit: seconds(at), Runtime: seconds(median * math.Exp(k.spread*rng.NormFloat64())), App: app}
	}
	return jobs
}

// covered is what came of forecasts: of so many starts, how many lay in their interval, before it and behind it.
type covered struct {
	instants, starts, within, before, behind int
	width                                    float64 // Σ of the interval over the median, as counted from now
	miss                                     float64 // Σ |median − truth| over truth
}

func (c *covered) share() float64 { return float64(c.within) / float64(max(1, c.starts)) }

// guess is one forecast of a start.
type guess struct {
	run              int64
	at               time.Time
	low, median, top *time.Time
}

// measure plays a cluster and asks at many instants when who will start.
func measure(t *testing.T, out *covered, cfg dovetail.Config, k knowledge, seed uint64) {
	t.Helper()
	jobs := noisy(k, seed, 250)
	nodes, err := sim.Nodes("4x(32cpu,128GiB)")
	if err != nil {
		t.Fatal(err)
	}
	core, err := sched.New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	var guesses []guess
	past, ended, seen := NewExperience(), make(map[int64]bool), 0
	store := &shadow{core: core}
	store.see = func(c *sched.Core, at time.Time) {
		for _, s := range c.Changed() {
			if s.Outcome == dovetail.OutcomeSucceeded && s.Ended != nil {
				j := &jobs[s.ID-1]
				ended[j.ID] = true
				past.Learn(j.App.Name, time.Duration(j.App.Expected), j.Runtime)
			}
		}
		// Not later: in truth, arrivals end with the workload.
		if seen++; seen%60 != 0 || c.Waiting() == 0 || c.Next() > 150 {
			return
		}
		if k.model != "" {
			foretell(t, c, at, k.model, jobs, ended)
		}
		state, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		f := Forecast{State: state, Now: at, Past: past, Plays: 24, Seed: uint64(seen)}
		for i := range jobs {
			if j := &jobs[i]; ended[j.ID] {
				f.Recent, f.Span = append(f.Recent, Arrival{sim.Epoch().Add(j.Submit), j.Run(1)}), at.Sub(sim.Epoch())
			}
		}
		u, err := f.Play(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out.instants++
		for i := range u.Runs {
			x := u.Expect(u.Runs[i].Start)
			guesses = append(guesses, guess{int64(u.Runs[i].Run.ID), at, x.Earliest, x.Median, x.Latest})
		}
	}
	s, err := sim.Play(t.Context(), sim.Options{Nodes: nodes, Config: cfg, Store: store}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	truth := make(map[int64]time.Time)
	if len(s.Refused) > 0 {
		t.Fatalf("%d jobs are refused; expected all to fit", len(s.Refused))
	}
	for i := range s.Jobs {
		truth[s.Jobs[i].ID] = sim.Epoch().Add(s.Jobs[i].Start)
	}
	for _, g := range guesses {
		out.add(g, truth[g.run])
	}
}

// foretell lets a core know what a model has learned of the jobs that ended, which were all at full scale as far as that matters here.
func foretell(t *testing.T, c *sched.Core, at time.Time, model string, jobs []trace.Job, ended map[int64]bool) {
	t.Helper()
	method, err := predict.Find(model)
	if err != nil {
		t.Fatal(err)
	}
	samples := make(map[string][]predict.Sample)
	for i := range jobs {
		if j := &jobs[i]; ended[j.ID] {
			x := float64(j.App.Components[j.App.Scaled()].Limit())
			samples[j.App.Name] = append(samples[j.App.Name], predict.Sample{ScaleOut: x, Runtime: j.Runtime.Seconds()})
		}
	}
	scaleOuts := []int{1, 2, 4, 8, 16}
	for class, all := range samples {
		m, err := method.Fit(all, predict.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := dovetail.Outlook{Class: class, Model: model, Runs: len(all), ScaleOuts: scaleOuts}
		o.Levels, o.Alone, _ = predict.Tabulate(m, scaleOuts, 0, nil)
		if err := c.Apply(at, dovetail.Fitted{Outlook: o}); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *covered) add(g guess, truth time.Time) {
	c.starts++
	switch {
	case g.low == nil || truth.Before(*g.low):
		c.before++
	case g.top != nil && truth.After(*g.top):
		c.behind++
	default:
		c.within++
	}
	if g.low != nil && g.top != nil && g.median.After(g.at) {
		c.width += g.top.Sub(*g.low).Seconds() / g.median.Sub(g.at).Seconds()
		c.miss += math.Abs(truth.Sub(*g.median).Seconds()) / max(1, truth.Sub(g.at).Seconds())
	}
}

// How often does a run start within the interval of which we say that 80 % of the runs do?
func TestForecastCoverage(t *testing.T) {
	config := func(policy, alloc string) dovetail.Config {
		c := dovetail.DefaultConfig()
		c.Policy, c.Alloc = policy, alloc
		return c
	}
	w := tabwriter.NewWriter(t.Output(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KNOWN OF RUNTIMES\tPOLICY\tALLOC\tINSTANTS\tSTARTS\tWITHIN\tBEFORE\tBEHIND\tWIDTH\tMISS")
	for _, test := range []struct {
		knowledge

		config    dovetail.Config
		low, high float64 // shares that are fine for so few runs
	}{
		{knowledge{"finished runs of the class", 0, 0.4, 8, ""}, config("fifo", "flexible"), 0.6, 1},
		{knowledge{"predictions of the class", 0, 0.4, 8, "bayes-cobell"}, config("fifo", "flexible"), 0.6, 1},
		{knowledge{"finished runs of the class", 0, 0.4, 8, ""}, config("fifo", "rigid"), 0.6, 1},
		{knowledge{"predictions of the class", 0, 0.4, 8, "bayes-cobell"}, config("fifo", "rigid"), 0.6, 1},
		{knowledge{"finished runs of the class, hints", 1, 0.4, 8, ""}, config("srpt", "flexible"), 0.3, 1},
		{knowledge{"hints, right in the median", 1, 0.5, 0, ""}, config("fifo", "flexible"), 0.6, 1},
		{knowledge{"hints, a third too short", 0.67, 0.3, 0, ""}, config("fifo", "flexible"), 0.6, 1},
		{knowledge{"nothing (an hour is assumed)", 0, 0.5, 0, ""}, config("fifo", "flexible"), 0, 1},
	} {
		var c covered
		for seed := range *clusters {
			measure(t, &c, test.config, test.knowledge, uint64(seed))
		}
		n := float64(max(1, c.starts))
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.0f %%\t%.0f %%\t%.0f %%\t%.2f\t%.2f\n", test.name, test.config.Policy, test.config.Alloc,
			c.instants, c.starts, 100*c.share(), 100*float64(c.before)/n, 100*float64(c.behind)/n, c.width/n, c.miss/n)
		if got := c.share(); got < test.low || got > test.high {
			t.Errorf("%s, %s, %s: %.2f of the runs start within the interval; expected %.2f to %.2f",
				test.name, test.config.Policy, test.config.Alloc, got, test.low, test.high)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}
