package study

import (
	"fmt"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// loop allocates without the scheduler: the same runs, the same truth, the same models, and a scale-out chosen once, as seed 001 has
// it. It is there for the literal reading of Algorithm 1, which the scheduler does not offer, and to hold the scheduler against.
type loop struct {
	truth   *truth
	pair    pairing
	policy  *targetPolicy
	k       *dovetail.Outlook // of the job beside
	first   []dovetail.Stretch
	samples []predict.Sample
}

// run returns what became of the runs of J.
func (l *loop) run() ([]TargetRun, error) {
	method, err := predict.Find(l.policy.method)
	if err != nil {
		return nil, err
	}
	if err := l.know(method); err != nil {
		return nil, err
	}
	var runs []TargetRun
	for i, m := range l.pair.meetings(l.truth) {
		x, err := l.choose(method, &m)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", i+1, err)
		}
		seconds, overlap := l.truth.race(&l.pair, &m, x)
		r := newTargetRun(l.policy, &l.pair, l.truth, i, &m)
		r.ScaleOut, r.Overlap, r.Seconds, r.NodeSeconds = float64(x), overlap, seconds, float64(x)*seconds
		runs = append(runs, r)
		l.first = append(l.first, dovetail.Stretch{ScaleOut: x, Seconds: seconds})
		s := predict.Sample{ScaleOut: float64(x), Runtime: seconds}
		if overlap > 0 {
			s.Overlaps = []dovetail.Overlap{{Class: l.pair.beside, Ratio: overlap}}
		}
		l.samples = append(l.samples, s)
	}
	return runs, nil
}

// know fits the runs that there were of K.
func (l *loop) know(method predict.Method) error {
	var samples []predict.Sample
	for _, p := range l.pair.prior(l.truth) {
		samples = append(samples, predict.Sample{ScaleOut: p.ScaleOut, Runtime: p.Runtime, Overlaps: p.Overlaps})
	}
	m, err := method.Fit(samples, predict.Options{})
	if err != nil {
		return fmt.Errorf("fit %s: %w", l.pair.beside, err)
	}
	l.k = &dovetail.Outlook{Class: l.pair.beside, ScaleOuts: []int{scaleK}}
	l.k.Levels, l.k.Alone, l.k.Beside = predict.Tabulate(m, l.k.ScaleOuts, 0, []string{l.pair.job})
	return nil
}

// choose returns the scale-out of the next run.
func (l *loop) choose(method predict.Method, m *meeting) (int, error) {
	if len(l.first) < bootstrapRuns {
		return predict.Bootstrap(l.first, lowJ, highJ, targetSeconds), nil
	}
	model, err := method.Fit(l.samples, predict.Options{})
	if err != nil {
		return 0, fmt.Errorf("fit %s: %w", l.pair.job, err)
	}
	ratio := l.ratio(m)
	x, _, _ := predict.Select(lowJ, highJ, l.policy.confidence, func(x int) float64 {
		at := predict.At{ScaleOut: float64(x)}
		if ratio > 0 {
			at.Overlaps = []dovetail.Overlap{{Class: l.pair.beside, Ratio: ratio * float64(min(x, scaleK)) / float64(x)}}
		}
		return model.Predict(at).AtMost(targetSeconds)
	})
	return x, nil
}

// ratio returns for which share of its target J expects K to be there.
func (l *loop) ratio(m *meeting) float64 {
	if l.truth.alone(l.pair.beside, scaleK)*m.noiseK <= m.delay {
		return 0 // K is over, as everybody can see
	}
	if !l.policy.literal {
		return predict.Ratio(l.k, 1, scaleK, m.delay, l.pair.job, targetSeconds)
	}
	alone := predict.Lookup(l.k, scaleK, nil).Quantile(.5)
	slowed := predict.Lookup(l.k, scaleK, []dovetail.Overlap{{Class: l.pair.job, Ratio: 1}}).Quantile(.5)
	_, total := predict.Overlapping(alone, slowed/alone-1, m.delay, targetSeconds)
	return min(max(total/targetSeconds, 0), 1)
}
