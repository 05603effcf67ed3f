package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// TestCobellGolden compares a small part of the evaluation with what was found good: models on five data sets, and one pair of jobs under each kind of
// policy. Whoever changes models or the core on purpose: go test ./study -run TestCobellGolden -update.
func TestCobellGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("fits some hundred models")
	}
	var b strings.Builder
	c := Cobell{Seeds: 5, Repetitions: 1}
	found, err := c.models(t.Context(), &cobellProgress{total: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		fmt.Fprintf(&b, "%s %s: RMSE %.2f s, MAE %.2f s, MAPE %.2f %%\n", m.Generator, m.Method, m.RMSE.Mean, m.MAE.Mean, m.MAPE.Mean)
	}
	pair := pairing{job: "sgd", beside: "wordcount", repetition: 1}
	for _, p := range targetPolicies() {
		var runs []TargetRun
		switch p.name {
		case namedBell, namedCoBell, namedBayes8:
			runs, err = (&targetPlay{p, pair}).play(t.Context(), cobellTruth(), mem.New())
		case namedCoBell + " literal, loop":
			runs, err = (&loop{truth: cobellTruth(), pair: pair, policy: &p}).run()
		default:
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n%s\n", p.name)
		for i := range runs {
			r := &runs[i]
			fmt.Fprintf(&b, "%d: %.2f replicas, overlap %.2f, %.0f s\n", r.Number, r.ScaleOut, r.Overlap, r.Seconds)
		}
	}
	compareGolden(t, "cobell", b.String(), "models or the core changed on purpose")
}

// TestCobellInterrupted demands that the runs there are come back when the context ends, and that nothing is judged by a part of them.
func TestCobellInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := Cobell{
		Seeds: 1, Repetitions: 1, Only: []string{CobellTarget}, Workers: 1, Store: func() Memory { return mem.New() },
		Progress: func(Progress) { cancel() }, // after one play of the first policy
	}
	e, err := c.Run(ctx)
	if err == nil || e == nil || len(e.Runs) == 0 {
		t.Fatalf("%v, %v; want an evaluation with some runs, and an error", e, err)
	}
	for _, c := range e.Claims {
		if c.Verdict != NotJudged {
			t.Errorf("claim %s: %s", c.ID, c.Verdict)
		}
	}
}

// TestTruthRace holds what the loop takes for the truth against the simulator: J at a fixed scale-out, coming while K runs or after it.
func TestTruthRace(t *testing.T) {
	truth := cobellTruth()
	nodes, err := sim.Nodes(fmt.Sprintf("%dx(8cpu,16GiB)", targetNodes))
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range []pairing{{job: "sgd", beside: "wordcount"}, {job: "cc", beside: "kmeans"}, {job: "cc", beside: "sgd"}} {
		for _, x := range []int{lowJ, 11, scaleK, highJ} {
			for _, part := range []float64{0, 0.3, 0.9, 1.1} {
				m := meeting{delay: part * truth.alone(pair.beside, scaleK), noiseJ: 1.02, noiseK: 0.97}
				j, k := pair.applications(0.8)
				j.Target, j.Components[0].Count, j.Components[0].Max = nil, x, x
				o := sim.Options{Nodes: nodes, Config: dovetail.DefaultConfig(), Model: truth, Interference: truth}
				o.Config.Place = "pack"
				out, err := sim.Play(t.Context(), o, []trace.Job{
					{ID: 1, App: k, Runtime: lasting(truth.alone(pair.beside, scaleK) * m.noiseK)},
					{ID: 2, App: j, Submit: lasting(m.delay), Runtime: lasting(truth.alone(pair.job, float64(x)) * m.noiseJ)},
				})
				if err != nil {
					t.Fatal(err)
				}
				want, _ := truth.race(&pair, &m, x)
				if got := (out.Jobs[1].Finish - out.Jobs[1].Start).Seconds(); math.Abs(got-want) > 1e-3 {
					t.Errorf("%s at %d, coming at %.1f of the other's runtime: %.4f s in the simulator, %.4f s by hand", pair.String(), x, part, got, want)
				}
			}
		}
	}
}

// TestTruth demands that the target is what the experiment needs: within reach at the largest scale-out beside anybody, out of reach at the smallest
// alone; and that more replicas never take longer.
func TestTruth(t *testing.T) {
	truth := cobellTruth()
	for _, pair := range pairings(1, false) {
		m := meeting{noiseJ: 1, noiseK: 1}
		if s, _ := truth.race(&pair, &m, highJ); s > targetSeconds {
			t.Errorf("%s takes %.0f s with all it can have", pair.String(), s)
		}
		if s := truth.alone(pair.job, lowJ); s < targetSeconds {
			t.Errorf("%s takes %.0f s with the least it can have", pair.String(), s)
		}
		for x := lowJ; x < highJ; x++ {
			if truth.alone(pair.job, float64(x+1)) >= truth.alone(pair.job, float64(x)) {
				t.Errorf("%s takes no less with %d replicas than with %d", pair.job, x+1, x)
			}
		}
	}
}

// TestStudentT4 compares drawn numbers with the distribution: P(|t| ≤ 0.741) = 0.5 and P(|t| ≤ 2.776) = 0.95 with 4 degrees of freedom.
func TestStudentT4(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 40_000
	half, most := 0, 0
	for range n {
		v := math.Abs(studentT4(r))
		if v <= 0.741 {
			half++
		}
		if v <= 2.776 {
			most++
		}
	}
	if s := float64(half) / n; math.Abs(s-0.5) > 0.01 {
		t.Errorf("%.3f lie within 0.741; want 0.5", s)
	}
	if s := float64(most) / n; math.Abs(s-0.95) > 0.005 {
		t.Errorf("%.3f lie within 2.776; want 0.95", s)
	}
}

// TestTargetRow sums up runs by hand.
func TestTargetRow(t *testing.T) {
	run := func(number int, seconds float64, feasible, fault bool) TargetRun {
		return TargetRun{Policy: "p", Repetition: 1, Number: number, Seconds: seconds, NodeSeconds: 10 * seconds, Feasible: feasible, Fault: fault}
	}
	rows := targetRows([]TargetRun{
		run(6, 700, true, false), // explores
		run(7, 315, true, false), // 10 % less
		run(8, 364, true, false), // 4 % more
		run(9, 385, true, false), // 10 % more
		run(10, 350, true, false),
		run(11, 700, false, false), // could not
		run(12, 630, false, true),  // faulty
		{Policy: "q", Repetition: 1, Number: 7, Seconds: 300, NodeSeconds: 1, Feasible: true},
	})
	if len(rows) != 2 || rows[1].Policy != "q" || rows[1].Runs != 1 {
		t.Fatalf("rows %+v; want one for each policy", rows)
	}
	got := rows[0]
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"runs", float64(got.Runs), 4},
		{"violated", got.Violated, 50},
		{"far", got.Far, 25},
		{"most", got.MaxExcess, 10},
		{"node-seconds", got.NodeSeconds, 3535},
		{"off", got.Off, 6},
		{"all violated", got.All, 60},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v; want %v", c.what, c.got, c.want)
		}
	}
}

// TestCobellWhole runs a little of everything that needs no file, and looks at what is shown of it.
func TestCobellWhole(t *testing.T) {
	c := Cobell{Seeds: 2, Repetitions: 1, Only: []string{CobellModels}}
	e, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := targetPolicies()[slices.IndexFunc(targetPolicies(), func(p targetPolicy) bool { return p.name == namedCoBell })]
	for _, pair := range pairings(1, false)[:2] {
		runs, err := (&loop{truth: cobellTruth(), pair: pair, policy: &p}).run()
		if err != nil {
			t.Fatal(err)
		}
		e.Runs = append(e.Runs, runs...)
	}
	e.Policies, e.Claims = targetRows(e.Runs), nil
	e.Claims = judged(e, cobellClaims())
	verdicts := make(map[string]Verdict)
	for _, claim := range e.Claims {
		verdicts[claim.ID] = claim.Verdict
	}
	if verdicts["2-table"] == NotJudged || verdicts["3-target"] == NotJudged || verdicts["3-confidence"] != NotJudged {
		t.Errorf("verdicts %v; want all of the first experiment, what is about CoBell of the second, and no more", verdicts)
	}
	var text, markdown strings.Builder
	if err := errors.Join(e.WriteText(&text), e.WriteMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"Bell nonparametric", "How runs met a target of 350 s", namedCoBell, "3-target"} {
		if !strings.Contains(text.String(), words) || !strings.Contains(markdown.String(), words) {
			t.Errorf("%q is not shown", words)
		}
	}
	figures, err := e.Figures()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		var svg strings.Builder
		if err := f.WriteSVG(&svg); err != nil || len(svg.String()) < 1000 {
			t.Errorf("figure %s: %d bytes, error %v", f.Name, len(svg.String()), err)
		}
	}
	if len(figures) != 3 {
		t.Errorf("%d figures; want 3", len(figures))
	}
}

func TestCobellRefuses(t *testing.T) {
	for _, tc := range []struct {
		reason string
		c      Cobell
	}{
		{"no seeds", Cobell{Repetitions: 1}},
		{"no repetitions", Cobell{Seeds: 1}},
		{"no such part", Cobell{Seeds: 1, Repetitions: 1, Only: []string{"figures"}}},
		{"real runs without a file", Cobell{Seeds: 1, Repetitions: 1, Only: []string{CobellData}}},
	} {
		_, err := tc.c.Run(t.Context())
		var e *dovetail.Error
		if !errors.As(err, &e) || e.Code != dovetail.Invalid {
			t.Errorf("%s: error %v; want an invalid request", tc.reason, err)
		}
	}
}

// TestMeetings demands that luck does not depend on the policy, and that faults are added to the same luck.
func TestMeetings(t *testing.T) {
	truth := cobellTruth()
	plain, faulty := pairing{"sgd", "cc", 2, false}, pairing{"sgd", "cc", 2, true}
	a, b := plain.meetings(truth), faulty.meetings(truth)
	faults := 0
	for i := range a {
		if b[i].fault {
			faults++
			b[i].noiseJ, b[i].fault = b[i].noiseJ/faultFactor, false
		}
		if a[i].delay != b[i].delay || a[i].noiseK != b[i].noiseK || math.Abs(a[i].noiseJ-b[i].noiseJ) > 1e-12 || a[i].fault {
			t.Errorf("run %d: %+v without faults, %+v with", i+1, a[i], b[i])
		}
	}
	other := pairing{"sgd", "cc", 3, false}
	if slices.Equal(a, other.meetings(truth)) {
		t.Error("two repetitions have the same luck")
	}
	if past := plain.prior(truth); len(past) != priorRuns || !past[0].Ended.Before(sim.Epoch()) || past[1].Ended.Sub(past[0].Ended) < time.Minute {
		t.Errorf("the runs of K that there were before do not lie before: %+v", past[:2])
	}
}
