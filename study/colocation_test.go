package study

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
	"github.com/dovetail-sched/dovetail/sim"
)

// TestColocationGolden compares a small part of the evaluation with what was found good: tables 2 and 3, and one seed of queue A under every policy.
// Whoever changes neighbours, contention or the core on purpose: go test ./study -run TestColocationGolden -update.
func TestColocationGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("plays a queue under ten policies")
	}
	var b strings.Builder
	pairs, err := pairRows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range pairs {
		r := &pairs[i]
		fmt.Fprintf(&b, "table %d, %d nodes, %s beside %s: paper %.1f %%, model %.2f %%\n", r.Table, r.Nodes, r.Job, r.Beside, r.Paper, r.Model)
	}
	w := published(0.5)
	s := setting{world: w, queue: queueA, kinds: queueOf(w, queueA), window: 5, seed: 1, arms: arms()}
	found, err := s.run(t.Context(), func() Memory { return mem.New() })
	if err != nil {
		t.Fatal(err)
	}
	for i := range found.runs {
		r := &found.runs[i]
		fmt.Fprintf(&b, "\n%s: %.2f min, mean turnaround %.2f min, %.2f %% over FIFO\n", r.Policy, r.Minutes, r.Turnaround, r.Gain)
	}
	compareGolden(t, "colocation", b.String(), "neighbours or the core changed on purpose")
}

// TestColocationTables compares the model with what models.md 5.2 says that it gives, which was computed from figures that are rounded there.
func TestColocationTables(t *testing.T) {
	rows, err := pairRows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{-7.9, -8.9, -1.8, -1.8, -5.1, -9.8, -4.5, -9.8, -9.9, -10.2, -9.4, -10.0, -12.1, -33.2, -12.1, -33.9, -13.4, -40.4, -15.7}
	for i := range rows {
		if r := &rows[i]; math.Abs(r.Model-want[i]) > 0.5 {
			t.Errorf("%s beside %s on %d nodes: %.2f %%; want %.1f", r.Job, r.Beside, r.Nodes, r.Model, want[i])
		}
	}
	if rms, _, _ := residuals(rows); math.Abs(rms-4) > 0.2 {
		t.Errorf("the root of the mean square of the residuals is %.2f points; want 4.0", rms)
	}
}

// TestSeedPlacement demands what seed 000, section 6.1, says of placement: two jobs to a node, each job on eight, the first ones on empty nodes, and the
// third on nodes that differ from seed to seed.
func TestSeedPlacement(t *testing.T) {
	w := published(0)
	patterns := make(map[string]bool)
	for seed := range uint64(6) {
		p := colocationPlay{world: w, queue: queueOf(w, queueA), nodes: colocationNodes, seed: seed}
		o := sim.Options{Nodes: contendedNodes(p.nodes), Config: dovetail.DefaultConfig(), Contention: w.contention(), Placements: true, Until: time.Second}
		o.Config.Alloc = "rigid"
		out, err := sim.Play(t.Context(), o, w.jobs(p.queue, seed))
		if err != nil {
			t.Fatal(err)
		}
		on := make(map[dovetail.RunID]map[string]bool)
		for _, x := range out.Placements {
			if on[x.Run] == nil {
				on[x.Run] = make(map[string]bool)
			}
			on[x.Run][x.Node] = true
		}
		if len(on) != 4 {
			t.Fatalf("seed %d: %d jobs run; want 4", seed, len(on))
		}
		third := ""
		for id, nodes := range on {
			if len(nodes) != nodesPerJob {
				t.Errorf("seed %d: job %d is on %d nodes; want 8", seed, id, len(nodes))
			}
		}
		for _, n := range contendedNodes(p.nodes) {
			if on[1][n.Name] == on[2][n.Name] || on[3][n.Name] == on[4][n.Name] {
				t.Errorf("seed %d: %s has two jobs of a round", seed, n.Name)
			}
			if on[1][n.Name] == on[3][n.Name] {
				third += "x"
			} else {
				third += "o"
			}
		}
		patterns[third] = true
	}
	if len(patterns) < 5 {
		t.Errorf("the third job shares nodes with the first in %d ways in 6 seeds", len(patterns))
	}
}

// TestTrueRates holds the rates that the oracle is told against plays: a job beside endless ones of another kind.
func TestTrueRates(t *testing.T) {
	w := thrashing()
	for _, tc := range []struct {
		reason string
		a, b   int
		want   float64
	}{
		{"two that read share half a disk", 0, 0, 0.5},
		{"one that reads beside one that computes: both at their limits", 0, 1, 1.58 / 1},
		{"and the other way round: 1.09, less than what is left", 1, 0, 1.09},
		{"two that compute share the processors", 1, 1, 1},
	} {
		if got := w.rate(tc.a, tc.b); math.Abs(got-tc.want) > 0.08 {
			t.Errorf("%s: %g; want about %g", tc.reason, got, tc.want)
		}
	}
	w = published(0)
	for a := range w.kinds {
		for b := range w.kinds {
			if r := w.rate(a, b); r > w.alone(a)+1e-9 {
				t.Errorf("%s is faster beside %s than alone: %g", w.kinds[a].name, w.kinds[b].name, r)
			}
		}
	}
}

// TestQueueBound demands that no policy beats the linear program by more than what runs gain on nodes of their own at the end of a queue.
func TestQueueBound(t *testing.T) {
	w := opposites()
	s := setting{world: w, queue: queueMixed, window: 5, seed: 3, arms: some(armFIFO, armRandom, armOracle)}
	found, err := s.run(t.Context(), func() Memory { return mem.New() })
	if err != nil {
		t.Fatal(err)
	}
	bound := found.runs[len(found.runs)-1]
	if bound.Policy != lpBound {
		t.Fatalf("the last row is of %s", bound.Policy)
	}
	for _, r := range found.runs[:len(found.runs)-1] {
		if r.Minutes < 0.97*bound.Minutes {
			t.Errorf("%s takes %.1f min, and the bound is %.1f", r.Policy, r.Minutes, bound.Minutes)
		}
	}
}

func TestColocationRefuses(t *testing.T) {
	for _, c := range []Colocation{{Seeds: 0}, {Seeds: 1, Only: []string{"table"}}} {
		if _, err := c.Run(t.Context()); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%+v: error %v; want an invalid argument", c, err)
		}
	}
}

// TestColocationInterrupted demands that what is done is returned when the context ends, and that nothing is judged by what is not.
func TestColocationInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := Colocation{
		Seeds: 2, Only: []string{ColocationQueues}, Workers: 1, Store: func() Memory { return mem.New() },
		Progress: func(Progress) { cancel() }, // after the first seed of the first queue
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
