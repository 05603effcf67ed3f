package learn

import (
	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// Evidence is what Fit returns as Paired, with a model of its own.
func (l *Learner) Evidence(class string, m predict.Model, runs []dovetail.Past) *dovetail.Evidence {
	return l.evidence(class, m, runs)
}
