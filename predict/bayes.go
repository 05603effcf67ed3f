package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// bayesErnest is the method "bayes-ernest": the curves of Ernest with probabilities in place of a least-squares fit, a smooth
// deviation from them, and noise relative to the runtime. It answers with medians, quantiles and the probability to meet a target,
// and needs no cross-validation. Overlaps are ignored.
func bayesErnest() Method {
	return Method{
		Name: "bayes-ernest",
		Text: "Ernest's curves with probabilities: medians and quantiles from few runs; neighbours are ignored",
		Fit: func(samples []Sample, _ Options) (Model, error) {
			return fitBayes("bayes-ernest", calibrated(), samples, false)
		},
	}
}

// bayesCoBell is the method "bayes-cobell": bayes-ernest times 1 + Σ (a_k + b_k/x) ov_k, the interference of CoBell (seed 001,
// equation 3), for each neighbour class k. With one class every pair of a and b on a grid is weighed; with several, see
// drawnSettings.
func bayesCoBell() Method {
	return Method{
		Name: "bayes-cobell",
		Text: "as bayes-ernest, and slowed down by neighbours as in CoBell: a + b/x for each class, overlaps add up",
		Fit: func(samples []Sample, _ Options) (Model, error) {
			return fitBayes("bayes-cobell", calibrated(), samples, true)
		},
	}
}

// Reference returns bayes-ernest as it was first specified, before its prior was calibrated on real runs. It is no model to choose,
// but what the experiment compares with.
func Reference() Method {
	return Method{
		Name: "reference",
		Text: "bayes-ernest before calibration",
		Fit: func(samples []Sample, _ Options) (Model, error) {
			return fitBayes("reference", specified(), samples, false)
		},
	}
}

// bayesModel is a fitted Bayesian model.
type bayesModel struct {
	name    string
	samples []Sample // that it learned from
	dropped int
	classes []string // of neighbours, rising
	typical float64  // input size in bytes that runtimes are relative to; 0: input sizes do not matter
	post    belief
}

// fitBayes weighs the combinations of a prior by samples. A run whose scale-out varied did the share t/f(x) of its work in a time t
// at scale-out x, where f is the runtime at x: it is taken as a run at its average scale-out, as long as if all of its work had been
// done there. f is first what the other runs say (1/x if there are none), and then what was fitted, until that changes nothing.
func fitBayes(name string, prior *bayesPrior, samples []Sample, beside bool) (*bayesModel, error) {
	m := &bayesModel{name: name}
	for i := range samples {
		if bayesUsable(&samples[i]) {
			m.samples = append(m.samples, samples[i])
		}
	}
	m.dropped = len(samples) - len(m.samples)
	if len(m.samples) == 0 {
		return nil, errors.New("no finished run to learn from: a runtime must be positive and finite, and a scale-out at least 1")
	}
	if beside {
		m.classes = neighbourClasses(m.samples)
	}
	m.typical = typicalInput(m.samples)
	all := m.rows()
	varied := func(r bayesRow) bool { return len(m.samples[r.index].Steps) > 0 }
	if !slices.ContainsFunc(all, varied) {
		err := m.weigh(prior, all)
		return m, err
	}
	if steady := slices.DeleteFunc(m.rows(), varied); len(steady) > 0 {
		all = steady
	}
	before := m.rows()
	for range mostRounds {
		if err := m.weigh(prior, all); err != nil {
			return nil, err
		}
		all = m.rows()
		change := 0.0
		for i := range all {
			change = max(change, math.Abs(all[i].z-before[i].z))
		}
		before = all
		if change < sameRuntime {
			break
		}
	}
	err := m.weigh(prior, all)
	return m, err
}

const (
	mostRounds  = 8     // of a fit to runs whose scale-out varied
	sameRuntime = 0.005 // relative change of what they are taken for that is none
)

// weigh makes the posterior.
func (m *bayesModel) weigh(prior *bayesPrior, rows []bayesRow) error {
	data := newBayesRows(slices.Clone(rows))
	settings, err := m.settings(prior, data)
	if err != nil {
		return err
	}
	m.post, err = believe(prior, data, settings)
	return err
}

// bayesUsable reports whether a run can be learned from.
func bayesUsable(s *Sample) bool {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	for _, o := range s.Overlaps {
		if !finite(o.Ratio) {
			return false
		}
	}
	return s.Runtime > 0 && finite(s.Runtime) && s.ScaleOut >= 1 && finite(s.ScaleOut)
}

// neighbourClasses returns the classes that some run overlapped with, rising.
func neighbourClasses(samples []Sample) []string {
	var classes []string
	for i := range samples {
		for _, o := range samples[i].Overlaps {
			if o.Ratio > 0 {
				classes = append(classes, o.Class)
			}
		}
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

// typicalInput returns the (lower) median of the known input sizes, or 0 if there are fewer than two different ones.
func typicalInput(samples []Sample) float64 {
	var sizes []float64
	for i := range samples {
		if v := samples[i].Input; v > 0 && !math.IsInf(v, 1) {
			sizes = append(sizes, v)
		}
	}
	slices.Sort(sizes)
	if len(sizes) == 0 || sizes[0] == sizes[len(sizes)-1] {
		return 0
	}
	return sizes[(len(sizes)-1)/2]
}

// rows makes rows of the samples.
func (m *bayesModel) rows() []bayesRow {
	rows := make([]bayesRow, len(m.samples))
	for i := range m.samples {
		s := &m.samples[i]
		rows[i] = bayesRow{x: s.ScaleOut, size: m.relative(s.Input), over: m.over(s.Overlaps), noise: 1, index: i}
		rows[i].z = math.Log(s.Runtime) + m.whole(s, &rows[i])
	}
	return rows
}

// whole returns the logarithm of the factor on the runtime of a run whose scale-out varied, if all of its work had been done at its
// average scale-out.
func (m *bayesModel) whole(s *Sample, r *bayesRow) float64 {
	if m.post == nil || len(s.Steps) == 0 {
		return 0 // with f = 1/x, the sum below is 1 at the average
	}
	there := m.post.at(r.x, r.size, r.over).median()
	seconds, work := 0.0, 0.0
	for _, step := range s.Steps {
		if step.ScaleOut >= 1 && step.Seconds > 0 {
			seconds += step.Seconds
			work += float64(step.Seconds * there / m.post.at(step.ScaleOut, r.size, r.over).median())
		}
	}
	if seconds == 0 {
		return 0
	}
	return math.Log(work / seconds)
}

// relative returns the logarithm of an input size over the typical one.
func (m *bayesModel) relative(input float64) float64 {
	if m.typical == 0 || !(input > 0) || math.IsInf(input, 1) {
		return 0
	}
	return math.Log(input / m.typical)
}

// over returns overlaps by class of the model. One with a class that no run was beside is left out: nothing is known of it.
func (m *bayesModel) over(overlaps []dovetail.Overlap) []float64 {
	of := make([]float64, len(m.classes))
	for _, o := range overlaps {
		if k, ok := slices.BinarySearch(m.classes, o.Class); ok && o.Ratio > 0 {
			of[k] += o.Ratio
		}
	}
	return of
}

// settings returns the values of a, b and beta to weigh.
func (m *bayesModel) settings(prior *bayesPrior, data *bayesRows) ([]setting, error) {
	var beta []likely
	if m.typical > 0 {
		beta = prior.beta
	}
	if len(m.classes) <= 1 {
		return gridSettings(prior, len(m.classes), beta), nil
	}
	return drawnSettings(prior, data, len(m.classes), beta)
}

// Predict returns the distribution of the runtime. It is wider where there are fewer runs, and outside their scale-outs.
func (m *bayesModel) Predict(at At) Distribution {
	return m.post.at(max(at.ScaleOut, 1), m.relative(at.Input), m.over(at.Overlaps))
}

// Report returns what was learned: means over the posterior. The weights of the shape are those of 1, 12/x, ln x/ln 12, x/12 and
// (12/x)².
func (m *bayesModel) Report() Report {
	r := Report{Model: m.name, Runs: len(m.samples), Dropped: m.dropped}
	for i := range m.samples {
		s := &m.samples[i]
		e := m.post.at(s.ScaleOut, m.relative(s.Input), m.over(s.Overlaps)).median()/s.Runtime - 1
		r.SSE += float64(e * e)
	}
	r.Parameters = m.parameters()
	for i, p := range m.post.wildness(len(m.samples)) {
		if p > 0.5 {
			s := &m.samples[i]
			r.Notes = append(r.Notes, fmt.Sprintf("taken for wild: the run of %.4g s at scale-out %.4g", s.Runtime, s.ScaleOut))
		}
	}
	slices.Sort(r.Notes)
	if len(m.post[0].data.sites) == 1 {
		r.Notes = append(r.Notes, "all runs have one scale-out: how runtimes change with it is not known")
	}
	if k := len(m.classes); k > 0 && !slices.ContainsFunc(m.post[0].data.rows, func(r bayesRow) bool { return slices.Max(r.over) == 0 }) {
		r.Notes = append(r.Notes, "every run had a neighbour: how much it slows down is known from the prior alone")
	}
	return r
}

// parameters returns the means of the parameters over the posterior.
func (m *bayesModel) parameters() []Parameter {
	var weights [5]float64
	var sigma, amp, beta float64
	a, b := make([]float64, len(m.classes)), make([]float64, len(m.classes))
	for _, answer := range m.post {
		for _, q := range answer.parts {
			w := answer.weight * q.weight
			sigma += float64(w * answer.blocks[q.block].sigma)
			amp += float64(w * answer.blocks[q.block].amp)
			for i, of := range answer.prior.shapes[q.shape].weights {
				weights[i] += float64(w * of)
			}
			set := &answer.settings[q.setting]
			beta += float64(w * set.beta)
			for k := range m.classes {
				a[k] += float64(w * set.a[k])
				b[k] += float64(w * set.b[k])
			}
		}
	}
	var of []Parameter
	for i, name := range []string{"w 1", "w 1/x", "w ln x", "w x", "w 1/x²"} {
		of = append(of, Parameter{Name: name, Value: weights[i]})
	}
	of = append(of, Parameter{Name: "deviation", Value: amp}, Parameter{Name: "noise", Value: sigma})
	if m.typical > 0 {
		of = append(of, Parameter{Name: "input exponent", Value: beta})
	}
	for k, class := range m.classes {
		of = append(of, Parameter{Name: "a", Class: class, Value: a[k]}, Parameter{Name: "b", Class: class, Value: b[k]})
	}
	return of
}
