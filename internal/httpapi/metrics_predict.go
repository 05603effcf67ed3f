package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// calibration counts what became of targets and predictions of the runs that ended since the daemon was started. Each scrape takes in
// those that ended since the one before.
type calibration struct {
	mu    sync.Mutex
	since time.Time               // no run that ended before is counted, and all of those are that ended before this and after the start
	known map[dovetail.RunID]bool // counted, and ended at since

	targets *prometheus.CounterVec
	ratio   prometheus.Histogram
	within  *prometheus.CounterVec
}

func newCalibration(since time.Time) *calibration {
	c := &calibration{
		since: since, known: map[dovetail.RunID]bool{},
		targets: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dovetail_target_runs_total", Help: "Runs with a target that ended, by what became of it.",
		}, []string{"outcome"}),
		ratio: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dovetail_prediction_ratio", Help: "Runtime over predicted median, of runs that succeeded.",
			Buckets: []float64{0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2, 1.4, 2},
		}),
		within: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dovetail_prediction_within_total", Help: "Runs that succeeded within the interval that so many percent should lie in; _ratio_count has all of them.",
		}, []string{"band"}),
	}
	for _, outcome := range []string{"met", "missed", "failed", "abandoned"} {
		c.targets.WithLabelValues(outcome)
	}
	c.within.WithLabelValues("80")
	return c
}

// catchUp counts the runs that ended since it did so last. If it fails nothing is counted, and the next scrape tries again.
func (c *calibration) catchUp(ctx context.Context, reader engine.Reader) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ended []dovetail.RunStatus
	const page = 1000
	f := engine.HistoryFilter{Since: c.since, Limit: page, Replay: true}
	for {
		found, err := reader.History(ctx, f)
		if err != nil {
			return err
		}
		for i := range found {
			if s := &found[i].Status; found[i].Import == nil && !c.known[s.ID] {
				ended = append(ended, *s)
			}
		}
		if len(found) < page {
			break
		}
		last := &found[len(found)-1].Status
		f.Until, f.Before = *last.Ended, last.ID
	}
	for i := range ended {
		s := &ended[i]
		c.count(s)
		if s.Ended.After(c.since) {
			c.since = *s.Ended
			clear(c.known)
		}
	}
	for i := range ended {
		if ended[i].Ended.Equal(c.since) {
			c.known[ended[i].ID] = true
		}
	}
	return nil
}

// count takes in one run that has ended.
func (c *calibration) count(s *dovetail.RunStatus) {
	if s.Choice != nil && s.Choice.Closed != "" {
		c.targets.WithLabelValues(s.Choice.Closed).Inc()
	}
	p, from := s.Prediction, s.Ready
	if from == nil {
		from = s.Started
	}
	if p == nil || from == nil || s.Outcome != dovetail.OutcomeSucceeded || p.Median <= 0 {
		return
	}
	took := s.Ended.Sub(*from).Seconds()
	c.ratio.Observe(took / p.Median)
	if p.Low <= took && took <= p.High {
		c.within.WithLabelValues("80").Inc()
	}
}
