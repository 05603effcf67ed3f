package httpapi

import (
	"context"
	"maps"
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
	since time.Time               // all that ended since the start and before this is counted, and nothing else …
	known map[dovetail.RunID]bool // … but these, which ended then
	sweep *sweep                  // that was not finished; nil if there is none

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

// sweep is a walk through the runs that ended since the last one, newest end first.
type sweep struct {
	next   engine.HistoryFilter
	newest time.Time               // end that was met
	known  map[dovetail.RunID]bool // counted, and ended then
}

// catchUp counts the runs that ended since it did so last. If it fails, the next scrape goes on where it was: however many there are, they
// are counted some time. Runs that end meanwhile end no earlier than those that it has met.
func (c *calibration) catchUp(ctx context.Context, reader engine.Reader) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	const page = 1000
	if c.sweep == nil {
		c.sweep = &sweep{
			next: engine.HistoryFilter{Since: c.since, Limit: page, Replay: true}, newest: c.since, known: maps.Clone(c.known),
		}
	}
	w := c.sweep
	for {
		found, err := reader.History(ctx, w.next)
		if err != nil {
			return err
		}
		for i := range found {
			if s := &found[i].Status; !c.known[s.ID] {
				c.count(s)
				w.met(s)
			}
		}
		if len(found) < page {
			break
		}
		last := &found[len(found)-1].Status
		w.next.Until, w.next.Before = *last.Ended, last.ID
	}
	c.since, c.known, c.sweep = w.newest, w.known, nil
	return nil
}

// met takes notice of a run that was counted.
func (w *sweep) met(s *dovetail.RunStatus) {
	if s.Ended.After(w.newest) {
		w.newest, w.known = *s.Ended, make(map[dovetail.RunID]bool)
	}
	if s.Ended.Equal(w.newest) {
		w.known[s.ID] = true
	}
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
