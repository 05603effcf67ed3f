package learn

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/predict"
)

// How evidence of neighbours is made.
const (
	wildest       = 20.0 // times as long, or as short, as usual: beyond that something else than neighbours has happened
	rateDigits    = 4
	secondsDigits = 3
	muchMore      = 2 // times as many runs: evidence from elsewhere that rests on so many stays
)

// rest stands for all neighbours that are not told apart. No job class has this name.
const rest = "\x00"

// hearsay is what a learner remembers of evidence that the core has of a class.
type hearsay struct {
	runs int
	sum  uint64 // of the evidence without Until; 0: some of it was forgotten
}

// concerns reports whether a learner wants to hear of an event: it is about the knowledge of neighbours.
func concerns(e dovetail.Event) bool {
	switch e.(type) {
	case dovetail.Paired, dovetail.Recalled, dovetail.Forgotten:
		return true
	}
	return false
}

// hear takes notice of an event on record: which evidence the core has, and since when runs tell nothing because all before was forgotten.
func (l *Learner) hear(at time.Time, e dovetail.Event) {
	switch e := e.(type) {
	case dovetail.Paired:
		l.told[e.Evidence.Class] = heardOf(&e.Evidence)
	case dovetail.Recalled:
		if e.All {
			l.hear(at, dovetail.Forgotten{})
		}
		l.prime(e.Classes)
	case dovetail.Forgotten:
		l.forgotten[e.Class] = later(l.forgotten[e.Class], at)
		if e.Class == "" {
			clear(l.told)
			return
		}
		delete(l.told, e.Class)
		for name, h := range l.told {
			l.told[name] = hearsay{runs: h.runs}
		}
	}
}

// prime takes notice of what the core knows.
func (l *Learner) prime(classes []dovetail.KnownClass) {
	for i := range classes {
		if k := &classes[i]; k.Evidence != nil {
			l.told[k.Class] = heardOf(k.Evidence)
		} else {
			delete(l.told, k.Class)
		}
	}
}

func heardOf(e *dovetail.Evidence) hearsay {
	h := fnv.New64a()
	if err := json.NewEncoder(h).Encode(e.Rates); err != nil {
		return hearsay{runs: e.Runs} // figures that cannot be written are none: it is told again
	}
	return hearsay{e.Runs, h.Sum64()}
}

// news reports whether the core does not have this evidence yet, nor any from elsewhere that rests on at least twice as many runs.
func (l *Learner) news(e *dovetail.Evidence) bool {
	h, known := l.told[e.Class]
	return !known || e.Runs*muchMore > h.runs && h != heardOf(e)
}

// since returns from when on runs tell something of two classes beside each other.
func (l *Learner) since(a, b string) time.Time {
	return later(l.forgotten[""], later(l.forgotten[a], l.forgotten[b]))
}

// lesson is what a finished run tells of its neighbours: in its time at its usual pace it would have taken Work seconds.
type lesson struct {
	run   *dovetail.Past
	ratio float64 // of its runtime to that of one alone, of its scale-out and input size, as the model says
}

// evidence compares the neighbours of the finished runs of a class; nil if none of them had any. A run tells something if it is Learnable, its
// scale-out did not vary, and the class was not forgotten after it.
//
// What a run had to do (work) is its usual runtime: what the model says of one alone of its scale-out and input size, times the usual hindrance,
// which is the geometric mean over the runs of how much longer than that they took. So rates are relative to the usual pace whatever the
// scale-outs and sizes, and one run alone says that it was usual. A run that took 20 times as long as the median, or a 20th, tells nothing: its
// clock jumped, or something hung.
//
// Of its time, each neighbour class has the share that Overlap says, and nobody the rest. If the shares add up to more than 1 there were several
// at once: then nobody has nothing, and they have their parts of 1. At most 16 classes are told apart, those beside most runs; the others, and
// those that were forgotten since, are one that is not spoken of.
//
// The rates are those of coloc.Compare, towards what the model says of each neighbour (prior). Their intervals take the usual pace as known: they
// are for rates beside each other, as coloc.Slowdown compares them. Simulated with a noise of 3 and 15 %, 3 to 30 runs and up to four neighbours,
// the intervals of such slowdowns hold 99 and 90 to 97 % of the truths; those of rates, against the true usual pace, 91 to 100 and 78 to 88 %.
func (l *Learner) evidence(name string, model predict.Model, runs []dovetail.Past) *dovetail.Evidence {
	lessons := l.lessons(name, model, runs)
	if len(lessons) == 0 {
		return nil
	}
	neighbours := l.met(name, lessons)
	if len(neighbours) == 0 {
		return nil
	}
	usual := 0.0
	for i := range lessons {
		usual += math.Log(lessons[i].ratio) / float64(len(lessons))
	}
	usual = math.Exp(usual)
	e := &dovetail.Evidence{Class: name, Runs: len(lessons)}
	samples := make([]coloc.Sample, len(lessons))
	for i := range lessons {
		samples[i] = l.sample(&lessons[i], usual, neighbours)
		e.Until = later(e.Until, lessons[i].run.Ended)
	}
	for _, r := range coloc.Compare(samples, prior(model, lessons, usual, neighbours)) {
		if r.Beside == rest {
			continue
		}
		r.Rate, r.Low, r.High, r.Seconds = short(r.Rate, rateDigits), short(r.Low, rateDigits), short(r.High, rateDigits), short(r.Seconds, secondsDigits)
		e.Rates = append(e.Rates, r)
	}
	if len(e.Rates) == 0 {
		return nil // they cannot be compared: what is known stays
	}
	return e
}

// prior returns what a model that knows what neighbours do says of the rates: usual alone, and as much less beside a class as runs take longer
// there, at the scale-out and input size of the run in the middle. The model (CoBell's α) has seen the same runs, and the ridge makes it count as
// much as 0.3 runs. Of 3 to 12 simulated runs slowdowns are then off by a quarter less on average than with a prior of 1, by half at best, and
// nowhere by more; of 40 noisy ones by a tenth more.
func prior(model predict.Model, lessons []lesson, usual float64, neighbours []string) func(string) float64 {
	p := lessons[len(lessons)/2].run
	at := predict.At{ScaleOut: p.ScaleOut, Input: float64(p.InputSize)}
	alone := model.Predict(at).Quantile(.5)
	rates := map[string]float64{"": usual, rest: 1}
	for _, class := range neighbours {
		at.Overlaps = []dovetail.Overlap{{Class: class, Ratio: 1}}
		rates[class] = usual * alone / model.Predict(at).Quantile(.5)
	}
	return func(beside string) float64 { return rates[beside] }
}

// sample returns how long the run was beside each class.
func (l *Learner) sample(n *lesson, usual float64, neighbours []string) coloc.Sample {
	p := n.run
	all := 0.0
	for _, o := range p.Overlaps {
		all += o.Ratio
	}
	part := p.Runtime / max(all, 1) // of an overlap of 1
	s := coloc.Sample{Work: p.Runtime / n.ratio * usual, Beside: []coloc.Exposure{{Seconds: p.Runtime * max(0, 1-all)}}}
	others := 0.0
	for _, o := range p.Overlaps {
		if _, apart := slices.BinarySearch(neighbours, o.Class); apart && p.Ended.After(l.since(p.Class, o.Class)) {
			s.Beside = append(s.Beside, coloc.Exposure{Beside: o.Class, Seconds: o.Ratio * part})
		} else {
			others += o.Ratio * part
		}
	}
	s.Beside = append(s.Beside, coloc.Exposure{Beside: rest, Seconds: others})
	return s
}

// lessons returns what the runs of a class tell, in their order.
func (l *Learner) lessons(name string, model predict.Model, runs []dovetail.Past) []lesson {
	type point struct {
		scaleOut float64
		input    int64
	}
	alone := make(map[point]float64)
	var all []lesson
	for i := range runs {
		p := &runs[i]
		if !Learnable(p) || p.Varied() || !p.Ended.After(l.since(name, "")) || !sane(p.Overlaps) {
			continue
		}
		at := point{p.ScaleOut, p.InputSize}
		if _, ok := alone[at]; !ok {
			alone[at] = model.Predict(predict.At{ScaleOut: p.ScaleOut, Input: float64(p.InputSize)}).Quantile(.5)
		}
		if r := p.Runtime / alone[at]; r > 0 && !math.IsInf(r, 1) {
			all = append(all, lesson{p, r})
		}
	}
	if len(all) == 0 {
		return nil
	}
	ratios := make([]float64, len(all))
	for i := range all {
		ratios[i] = all[i].ratio
	}
	slices.Sort(ratios)
	median := ratios[len(ratios)/2]
	return slices.DeleteFunc(all, func(n lesson) bool { return n.ratio > wildest*median || n.ratio < median/wildest })
}

// sane reports whether overlaps are numbers, from 0 on.
func sane(overlaps []dovetail.Overlap) bool {
	for _, o := range overlaps {
		if !(o.Ratio >= 0 && o.Ratio <= mostReplicas) {
			return false
		}
	}
	return true
}

// met returns the classes beside most of the runs, in order.
func (l *Learner) met(name string, lessons []lesson) []string {
	runs := make(map[string]int)
	var all []string
	for i := range lessons {
		p := lessons[i].run
		for _, o := range p.Overlaps {
			if o.Ratio <= 0 || o.Class == "" || !p.Ended.After(l.since(name, o.Class)) {
				continue
			}
			if runs[o.Class] == 0 {
				all = append(all, o.Class)
			}
			runs[o.Class]++
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(runs[b], runs[a]), cmp.Compare(a, b)) })
	all = all[:min(len(all), mostBeside)]
	slices.Sort(all)
	return all
}
