package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail/report"
)

// TargetRun is a run of the job that is to meet the target.
type TargetRun struct {
	Policy      string  `json:"policy"`
	Job         string  `json:"job"`
	Beside      string  `json:"beside"`
	Repetition  int     `json:"repetition"`
	Number      int     `json:"number"`      // from 1; the first six explore
	ScaleOut    float64 `json:"scaleOut"`    // averaged over time
	Overlap     float64 `json:"overlap"`     // with the other job, averaged over time and nodes
	Seconds     float64 `json:"seconds"`     // it took
	NodeSeconds float64 `json:"nodeSeconds"` // replicas × time
	Feasible    bool    `json:"feasible"`    // with the largest scale-out it would have met the target
	Fault       bool    `json:"fault,omitempty"`
	Faults      bool    `json:"faults,omitempty"` // in a world where some runs are faulty
}

// excess returns by how much the run took longer than its target: 0.05 is 5 %.
func (r *TargetRun) excess() float64 { return r.Seconds/targetSeconds - 1 }

// newTargetRun returns what is known of a run before it runs.
func newTargetRun(p *targetPolicy, pair *pairing, t *truth, i int, m *meeting) TargetRun {
	fastest, _ := t.race(pair, m, highJ)
	return TargetRun{
		Policy: p.name, Job: pair.job, Beside: pair.beside, Repetition: pair.repetition, Number: i + 1,
		Feasible: fastest <= targetSeconds, Fault: m.fault, Faults: pair.faults,
	}
}

// targetPolicy is a way to choose the scale-out.
type targetPolicy struct {
	name       string
	method     string // of predict.Models
	confidence float64
	loop       bool // outside the scheduler
	literal    bool // r*/C in place of d*/C
	replan     bool // reconsidered while the run goes on, as Dovetail does by default
}

// The policies that claims are about.
const (
	namedBell   = "Bell"
	namedCoBell = "CoBell"
	namedBayes5 = "BayesCoBell p=0.5"
	namedBayes8 = "BayesCoBell p=0.8"
	namedBayes9 = "BayesCoBell p=0.9"
)

func targetPolicies() []targetPolicy {
	return []targetPolicy{
		{name: namedBell, method: "bell", confidence: 0.5},
		{name: namedCoBell, method: "cobell", confidence: 0.5},
		{name: namedBayes5, method: "bayes-cobell", confidence: 0.5},
		{name: namedBayes8, method: "bayes-cobell", confidence: 0.8},
		{name: namedBayes9, method: "bayes-cobell", confidence: 0.9},
		{name: namedBayes8 + ", reconsidered", method: "bayes-cobell", confidence: 0.8, replan: true},
		{name: namedBayes9 + ", reconsidered", method: "bayes-cobell", confidence: 0.9, replan: true},
		{name: namedCoBell + ", loop", method: "cobell", confidence: 0.5, loop: true},
		{name: namedCoBell + " literal, loop", method: "cobell", confidence: 0.5, loop: true, literal: true},
		{name: namedBayes8 + ", loop", method: "bayes-cobell", confidence: 0.8, loop: true},
	}
}

// TargetRow is how a policy did: over runs after the bootstrap that are not faulty and whose target was feasible, unless it says otherwise.
type TargetRow struct {
	Policy      string          `json:"policy"`
	Faults      bool            `json:"faults,omitempty"` // in the world where some runs of the job take 1.8 times as long
	Runs        int             `json:"runs"`
	Violated    float64         `json:"violatedPercent"`    // took longer than the target
	Far         float64         `json:"farPercent"`         // by more than 7.2 %
	MaxExcess   float64         `json:"maxExcessPercent"`   // the worst
	NodeSeconds float64         `json:"nodeSeconds"`        // mean
	Off         float64         `json:"offPercent"`         // mean |runtime/target − 1|
	All         float64         `json:"allViolatedPercent"` // of feasible runs after the bootstrap, those that are faulty included
	Interval    report.Interval `json:"violatedByPair"`     // Violated over repetitions
}

// farExcess is by how much no run exceeded its target in the seed.
const farExcess = 0.072

// targetRows sums up runs by policy and world, in the order of the runs.
func targetRows(runs []TargetRun) []TargetRow {
	var rows []TargetRow
	for len(runs) > 0 {
		first := runs[0]
		same := slices.IndexFunc(runs, func(r TargetRun) bool { return r.Policy != first.Policy || r.Faults != first.Faults })
		if same < 0 {
			same = len(runs)
		}
		rows = append(rows, targetRow(runs[:same]))
		runs = runs[same:]
	}
	return rows
}

func targetRow(runs []TargetRun) TargetRow {
	row := TargetRow{Policy: runs[0].Policy, Faults: runs[0].Faults, MaxExcess: math.Inf(-1)}
	all, allViolated := 0, 0
	byRepetition := make(map[int][2]float64)
	for i := range runs {
		r := &runs[i]
		if r.Number <= bootstrapRuns || !r.Feasible && !r.Fault {
			continue
		}
		over := r.excess() > 0
		all++
		if over {
			allViolated++
		}
		if r.Fault {
			continue
		}
		row.Runs++
		count := byRepetition[r.Repetition]
		count[1]++
		if over {
			row.Violated++
			count[0]++
		}
		byRepetition[r.Repetition] = count
		if r.excess() > farExcess {
			row.Far++
		}
		row.MaxExcess = max(row.MaxExcess, 100*r.excess())
		row.NodeSeconds += r.NodeSeconds
		row.Off += 100 * math.Abs(r.excess())
	}
	if row.Runs == 0 {
		row.MaxExcess = 0
		return row
	}
	n := float64(row.Runs)
	row.Violated, row.Far, row.NodeSeconds, row.Off = 100*row.Violated/n, 100*row.Far/n, row.NodeSeconds/n, row.Off/n
	row.All = 100 * float64(allViolated) / float64(all)
	var shares []float64
	for _, count := range byRepetition {
		shares = append(shares, 100*count[0]/count[1])
	}
	row.Interval = report.Estimate(shares)
	return row
}

// targetPlay is one sequence of runs under one policy.
type targetPlay struct {
	policy targetPolicy
	pair   pairing
}

// plays returns all of them: policy by policy, without faults and with them. What a loop would do is known without.
func (c *Cobell) plays() []targetPlay {
	var all []targetPlay
	for _, p := range targetPolicies() {
		for _, faults := range []bool{false, true} {
			if faults && (p.loop || p.replan) {
				continue
			}
			for _, pair := range pairings(c.Repetitions, faults) {
				all = append(all, targetPlay{p, pair})
			}
		}
	}
	return all
}

// target runs the second experiment. When the context ends it returns the runs of the plays that were done.
func (c *Cobell) target(ctx context.Context) ([]TargetRun, error) {
	plays := c.plays()
	done := &cobellProgress{tell: c.Progress, total: len(plays)}
	runs := make([][]TargetRun, len(plays))
	t := cobellTruth()
	err := each(ctx, c.Workers, len(plays), func(ctx context.Context, i int) error {
		p := &plays[i]
		var err error
		if p.policy.loop {
			runs[i], err = (&loop{truth: t, pair: p.pair, policy: &p.policy}).run()
		} else {
			runs[i], err = p.play(ctx, t, c.Store())
		}
		if err != nil {
			return fmt.Errorf("%s, %s: %w", p.policy.name, p.pair.String(), err)
		}
		done.step()
		return nil
	})
	return slices.Concat(runs...), err
}
