package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/report"
)

// filePrediction is what a model says that was fitted to a file.
type filePrediction struct {
	dovetail.Curve
	Weights    string              `json:"weights"` // relative or none
	Picked     string              `json:"picked,omitempty"`
	LeftOut    int                 `json:"leftOut"` // runs that did not succeed, or that the model cannot use
	SSE        float64             `json:"sse"`
	Parameters []predict.Parameter `json:"parameters"`
}

// predictFile predicts from the runs of a file.
func (e *environment) predictFile(ctx context.Context, o *predictOptions) error {
	method, err := predict.Find(o.Model)
	if err != nil {
		return usageError{dovetail.Errorf(dovetail.Invalid, "%s", err.Error())}
	}
	all, err := e.readRuns(ctx, o.Data)
	if err != nil {
		return err
	}
	class, err := theClass(all, o.Class)
	if err != nil {
		return err
	}
	runs := slices.DeleteFunc(all, func(p dovetail.Past) bool { return p.Class != class })
	samples := latest(runs)
	if len(samples) == 0 {
		return dovetail.Errorf(dovetail.Invalid, "%s has no run%s that succeeded: there is nothing to learn from", o.Data, ofClass(class))
	}
	met := met(samples)
	overlaps, err := o.overlaps(met)
	if err != nil {
		return err
	}
	model, err := method.Fit(samples, predict.Options{Unweighted: o.Unweighted})
	if err != nil {
		return dovetail.Errorf(dovetail.Invalid, "%s cannot be fitted to %s: %v", method.Name, o.Data, err)
	}
	at := func(overlaps []dovetail.Overlap) func(int) predict.Distribution {
		return func(x int) predict.Distribution {
			return model.Predict(predict.At{ScaleOut: float64(x), Input: float64(o.InputSize), Overlaps: overlaps})
		}
	}
	p := o.filePrediction(class, method.Name, model.Report(), samples)
	p.LeftOut, p.Overlaps = len(runs)-p.Runs, overlaps
	if len(samples) == mostLearned {
		p.Notes = append(p.Notes, fmt.Sprintf("no more than the latest %d runs are learned from", mostLearned))
	}
	p.Points, p.Chosen = predict.Curve(o.scale(samples).all(), at(overlaps), p.Target, p.Confidence)
	if o.Plot != "" {
		c := report.Curve{Title: "Runtime" + ofClass(class), Curve: p.Curve, Runs: drawn(samples)}
		if o.Surface {
			beside, err := besideOf(&p.Curve, met)
			if err != nil {
				return err
			}
			c.Surface = surface(&p.Curve, beside, at)
		}
		if err := e.drawCurve(o.Plot, &c); err != nil {
			return err
		}
	}
	return e.show(&p, func(w io.Writer) error { return e.writeFilePrediction(w, &p) })
}

// mostLearned bounds the runs of a file that are learned from: older ones say little, and cross-validation of many takes long.
const mostLearned = 2000

// latest returns the runs that are learned from: of those that can be, the ones that ended last.
func latest(runs []dovetail.Past) []predict.Sample {
	usable := slices.Clone(runs)
	usable = slices.DeleteFunc(usable, func(p dovetail.Past) bool { return !learn.Learnable(&p) })
	slices.SortStableFunc(usable, func(a, b dovetail.Past) int { return a.Ended.Compare(b.Ended) })
	return learn.Samples(usable[max(0, len(usable)-mostLearned):])
}

// filePrediction returns what there is to say of a model apart from its predictions.
func (o *predictOptions) filePrediction(class, model string, told predict.Report, samples []predict.Sample) filePrediction {
	p := filePrediction{
		Curve: dovetail.Curve{
			Class: class, InputSize: o.InputSize, Model: model, Runs: told.Runs, Notes: append(slices.Clone(told.Notes), o.beyond(samples)...),
		},
		Weights: "relative", Picked: told.Picked, SSE: told.SSE, Parameters: told.Parameters,
	}
	if o.Unweighted {
		p.Weights = "none"
	}
	if o.Target > 0 {
		p.Target, p.Confidence = o.Target.Seconds(), o.Confidence
	}
	return p
}

// scale returns the scale-outs that are asked about: those of the runs if nobody says.
func (o *predictOptions) scale(samples []predict.Sample) scaleRange {
	if o.Scale == (scaleRange{}) {
		return rangeOf(samples)
	}
	return o.Scale
}

// drawn returns runs as points of a picture.
func drawn(samples []predict.Sample) []report.CurveRun {
	runs := make([]report.CurveRun, len(samples))
	for i := range samples {
		s := &samples[i]
		runs[i] = report.CurveRun{ScaleOut: s.ScaleOut, Seconds: s.Runtime}
		for _, o := range s.Overlaps {
			runs[i].Overlap += o.Ratio
		}
	}
	return runs
}

// readRuns reads the finished runs of a file, or of standard input.
func (e *environment) readRuns(ctx context.Context, file string) (all []dovetail.Past, err error) {
	in, err := e.openHistory(file)
	if err != nil {
		return nil, err
	}
	err = in.each(ctx, learn.Defaults{Ended: in.written}, func(p *dovetail.Past) error { all = append(all, *p); return nil })
	return all, err
}

// theClass returns the job class to predict: the one asked for, or the only one there is.
func theClass(all []dovetail.Past, wanted string) (string, error) {
	var classes []string
	for i := range all {
		classes = append(classes, all[i].Class)
	}
	slices.Sort(classes)
	classes = slices.Compact(classes)
	switch {
	case wanted == "" && len(classes) == 1:
		return classes[0], nil
	case wanted != "" && slices.Contains(classes, wanted):
		return wanted, nil
	case wanted != "" && len(classes) == 1 && classes[0] == "":
		return "", dovetail.Errorf(dovetail.Invalid, "the file does not say which job its runs are of: leave --class out")
	case wanted != "":
		return "", dovetail.Errorf(dovetail.NotFound, "no run is of the class %q; there are %s", wanted, someOf(classes))
	}
	return "", dovetail.Errorf(dovetail.Invalid, "the runs are of %d job classes, and a model is of one; choose with --class: %s", len(classes), someOf(classes))
}

// someOf lists names, the first few of many.
func someOf(names []string) string {
	const most = 8
	list := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		list = append(list, strconv.Quote(n))
	}
	text := strings.Join(list, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func ofClass(class string) string {
	if class == "" {
		return ""
	}
	return " of " + printable(class)
}

// met returns the classes that ran beside these runs, in order.
func met(samples []predict.Sample) []string {
	var classes []string
	for i := range samples {
		for _, o := range samples[i].Overlaps {
			classes = append(classes, o.Class)
		}
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

// overlaps returns the neighbours to assume: some of those that runs met.
func (o *predictOptions) overlaps(met []string) ([]dovetail.Overlap, error) {
	switch {
	case o.Overlap > 0 && len(met) > 1:
		return nil, dovetail.Errorf(dovetail.Invalid, "the runs met %d classes of neighbours; say with --beside which one is there: %s", len(met), someOf(met))
	case o.Overlap > 0 && len(met) == 0:
		return nil, dovetail.Errorf(dovetail.Invalid, "no run of the file had a neighbour: what one does to them is not known; leave --overlap out, or add runs with the column overlap")
	case o.Overlap > 0:
		return []dovetail.Overlap{{Class: met[0], Ratio: o.Overlap}}, nil
	}
	all := slices.Clone(o.Beside)
	slices.SortFunc(all, func(a, b dovetail.Overlap) int { return strings.Compare(a.Class, b.Class) })
	for _, n := range all {
		if !slices.Contains(met, n.Class) {
			return nil, dovetail.Errorf(dovetail.NotFound, "no run of the file ran beside %q; they met %s", n.Class, orNone(met))
		}
	}
	return all, nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	return someOf(names)
}

// rangeOf returns the scale-outs that runs had.
func rangeOf(samples []predict.Sample) scaleRange {
	low, high := math.Inf(1), 1.0
	for i := range samples {
		low, high = min(low, samples[i].ScaleOut), max(high, samples[i].ScaleOut)
	}
	r := scaleRange{max(int(math.Round(low)), 1), max(int(math.Round(high)), 1)}
	r.High = min(r.High, r.Low+mostScaleOuts-1)
	return r
}

// beyond says what is asked for that the runs do not tell: scale-outs outside theirs, an input size if none of them has one.
func (o *predictOptions) beyond(samples []predict.Sample) []string {
	var notes []string
	had := rangeOf(samples)
	if o.Scale != (scaleRange{}) && (o.Scale.Low < had.Low || o.Scale.High > had.High) {
		notes = append(notes, fmt.Sprintf("the runs had scale-outs from %d to %d: what is said beyond is an extrapolation", had.Low, had.High))
	}
	if o.InputSize > 0 && !slices.ContainsFunc(samples, func(s predict.Sample) bool { return s.Input > 0 }) {
		notes = append(notes, "no run that was learned from says how much it read: the input size changes nothing")
	}
	return notes
}

// surfaceSteps is how many steps of overlap a surface has.
const surfaceSteps = 20

// besideOf returns the neighbour of a surface: the one that a curve is about, or the only one that runs met.
func besideOf(c *dovetail.Curve, met []string) (string, error) {
	switch {
	case len(c.Overlaps) == 1:
		return c.Overlaps[0].Class, nil
	case len(c.Overlaps) == 0 && len(met) == 1:
		return met[0], nil
	}
	return "", dovetail.Errorf(dovetail.Invalid, "a surface is over the overlap with one neighbour; say with --beside which: the runs met %s", orNone(met))
}

// surface computes medians over scale-out and overlap with a neighbour.
func surface(c *dovetail.Curve, beside string, at func([]dovetail.Overlap) func(int) predict.Distribution) *report.Surface {
	s := &report.Surface{Beside: beside}
	for i := range surfaceSteps + 1 {
		ratio := float64(i) / surfaceSteps
		predicted := at([]dovetail.Overlap{{Class: beside, Ratio: ratio}})
		row := make([]float64, len(c.Points))
		for k := range c.Points {
			row[k] = predicted(c.Points[k].ScaleOut).Quantile(.5)
		}
		s.Overlaps, s.Seconds = append(s.Overlaps, ratio), append(s.Seconds, row)
	}
	return s
}

func (e *environment) writeFilePrediction(w io.Writer, p *filePrediction) error {
	var parameters []string
	for _, v := range p.Parameters {
		name := v.Name
		if v.Class != "" {
			name += "(" + printable(v.Class) + ")"
		}
		parameters = append(parameters, name+"="+strconv.FormatFloat(v.Value, 'g', 6, 64))
	}
	from := plural(p.Runs, "run", "runs")
	if p.LeftOut > 0 {
		from += fmt.Sprintf(", %d left out", p.LeftOut)
	}
	model := p.Model
	if p.Weights == "none" {
		model += ", without weights"
	}
	err := list(w, e.paint, withNotes(&p.Curve,
		[2]string{"Model", model},
		[2]string{"Picked", p.Picked},
		[2]string{"Learned from", from},
		[2]string{"Class", printable(p.Class)},
		[2]string{"Beside", besideText(p.Overlaps)},
		[2]string{"Parameters", strings.Join(parameters, " ")},
		[2]string{"SSE", strconv.FormatFloat(p.SSE, 'g', 6, 64)},
	)...)
	if err != nil {
		return err
	}
	return e.writeCurve(w, &p.Curve)
}
