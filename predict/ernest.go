package predict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail/fit"
)

// ernest is the parametric model of scale-out alone (Venkataraman et al., NSDI 2016; Bell's parametric model).
func ernest() Method {
	return Method{
		Name: "ernest",
		Text: "parametric in the scale-out, by non-negative least squares; blind to neighbours",
		Fit: func(from []Sample, o Options) (Model, error) {
			return fitSized(from, func(d *samples) (*classic, error) { return newClassic("ernest", d, false, o) })
		},
	}
}

// classic is a fitted model without a spread: the parametric form and, if it has one, a local regression that replaces f(x) between
// the scale-outs that were tried.
type classic struct {
	learned
	local  *fit.Ties // runtimes without neighbours, at the reference size; nil: the form alone
	width  float64   // bandwidth
	least  float64   // no runtime is predicted that is shorter
	report Report
}

// leastShare is the part of the shortest runtime seen that predictions do not fall below: a form without a constant is 0 at a
// scale-out of 1 if ln x is all that it has.
const leastShare = 0.01

// newClassic fits the parametric form. Beside: it is to learn of neighbours.
//
// The slowdown by a class with which all runs had the same overlap cannot be told from f. With relative weights it is taken for 0:
// what was seen is then what is predicted, beside it and alone. Without, it is fitted as in the papers, and may take all of f.
func newClassic(name string, d *samples, beside bool, o Options) (*classic, error) {
	var always []string
	if beside {
		d = d.without()
		always = slices.DeleteFunc(slices.Clone(d.classes), func(class string) bool { return !d.constant(slices.Index(d.classes, class)) })
		if !o.Unweighted {
			d.dropClasses(d.constant)
		}
	}
	l, err := d.learn(beside, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	m := &classic{learned: *l, least: math.Inf(1)}
	for _, p := range l.kept.points {
		m.least = min(m.least, float64(leastShare*p.y))
	}
	m.report = Report{Model: name, Runs: len(l.kept.points), Dropped: d.dropped + len(l.wild), SSE: l.form.sse}
	m.report.Parameters = l.parameters()
	m.report.Notes = l.notes(d)
	for _, class := range always {
		m.report.Notes = append(m.report.Notes, fmt.Sprintf("all runs have the same overlap with %s: its slowdown cannot be told from the runtime itself", class))
	}
	return m, nil
}

// Predict returns the runtime as a distribution without a spread. A class that no run was seen beside counts as harmless, and so do
// overlaps that are not numbers.
func (m *classic) Predict(at At) Distribution {
	x := max(1, at.ScaleOut)
	over, ok := ratios(m.kept.classes, at.Overlaps)
	if !ok {
		over = make([]float64, len(m.kept.classes))
	}
	alone := m.form.alone(x)
	if m.local != nil && m.local.X[0] <= x && x <= m.local.X[len(m.local.X)-1] {
		if y := m.local.Local(x, m.width); y > 0 {
			alone = y
		}
	}
	p := point{input: at.Input}
	return Exactly(max(m.least, float64(alone*m.form.factor(x, over))*m.form.grown(m.kept.size(&p))))
}

// Report says what was learned.
func (m *classic) Report() Report {
	r := m.report
	r.Parameters, r.Notes = slices.Clone(r.Parameters), slices.Clone(r.Notes)
	return r
}

func (l *learned) parameters() []Parameter {
	var out []Parameter
	for j, t := range l.form.theta {
		out = append(out, Parameter{Name: fmt.Sprintf("theta%d", j), Value: t})
	}
	for c := range len(l.form.slow) / 2 {
		class := l.kept.classes[c]
		out = append(out, Parameter{"a", class, l.form.slow[2*c]}, Parameter{"b", class, l.form.slow[2*c+1]})
	}
	if l.form.beta > 0 {
		out = append(out, Parameter{Name: "beta", Value: l.form.beta}, Parameter{Name: "reference", Value: l.kept.ref})
	}
	return out
}

// notes says what was left out, and what the runs do not determine. d is all of the runs.
func (l *learned) notes(d *samples) []string {
	var notes []string
	for _, p := range l.wild {
		notes = append(notes, fmt.Sprintf("taken for a wild run and left out: %.4g s at scale-out %.4g", p.y, p.x))
	}
	switch n := l.kept.distinct(); n {
	case 1:
		notes = append(notes, "all runs have one scale-out: what another would change is not known")
	case 2, 3:
		notes = append(notes, fmt.Sprintf("the runs have %d different scale-outs: other parameters fit as well", n))
	}
	if n := len(l.form.slow) / 2; n > 0 && l.kept.distinct() == 1 {
		notes = append(notes, "one scale-out only: a and b of "+strings.Join(l.kept.classes[:n], ", ")+" cannot be told apart")
	}
	switch {
	case l.form.beta > 0:
		notes = append(notes, fmt.Sprintf("the runtime grows as the input size to the power of %.2f", l.form.beta))
	case d.sizesDiffer() && d.tellsGrowth():
		notes = append(notes, "the runtime does not grow with the input size")
	case d.sizesDiffer():
		notes = append(notes, "input sizes follow the scale-outs: their effects cannot be told apart")
	}
	return notes
}

// bySize is models of runs with inputs of one size each, for when growth with the size cannot be learned.
type bySize struct {
	all Model
	by  []ofSize // rising
}

type ofSize struct {
	input float64
	model Model
}

// fitSized fits a model to all runs. If their input sizes differ, but their effect cannot be told from that of the scale-outs, it
// fits one to the runs within 10 % of each size as well, and a prediction for a size uses those if there are any. It takes a model
// of the nearest size.
func fitSized(from []Sample, fitAll func(d *samples) (*classic, error)) (Model, error) {
	d, err := gather(from)
	if err != nil {
		return nil, err
	}
	all, err := fitAll(&d)
	if err != nil {
		return nil, err
	}
	if !d.sizesDiffer() || d.tellsGrowth() {
		return all, nil
	}
	m := &bySize{all: all}
	for _, input := range slices.Compact(knownSizes(d.points)) {
		some := d.only(func(i int) bool { return similar(d.points[i].input, input) })
		some.ref, some.dropped = input, d.dropped+len(d.points)-len(some.points)
		some.dropIdle()
		one, err := fitAll(some)
		if err != nil {
			return nil, err
		}
		m.by = append(m.by, ofSize{input, one})
	}
	return m, nil
}

// similar reports whether an input size is within 10 % of another.
func similar(a, b float64) bool {
	return a > 0 && b > 0 && max(a, b) <= float64(sameSize*min(a, b))
}

// Predict asks the model of the nearest size within 10 %, or that of all runs.
func (m *bySize) Predict(at At) Distribution {
	best, nearest := m.all, math.Inf(1)
	for _, s := range m.by {
		if d := math.Abs(math.Log(at.Input / s.input)); similar(at.Input, s.input) && d < nearest {
			best, nearest = s.model, d
		}
	}
	return best.Predict(at)
}

// Report is that of the model of all runs.
func (m *bySize) Report() Report { return m.all.Report() }
