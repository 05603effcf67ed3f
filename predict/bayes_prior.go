package predict

import "math"

// bayesPrior is what a Bayesian model believes before it has seen a run. The runtime y of a run at scale-out x, with input size v,
// beside neighbours that overlap with it by ov_k, is
//
//	ln y = c + ln S(x) + d(x) + ln(1 + Σ (a_k + b_k/x) ov_k) + β ln(v/v0) + e
//
// with a level c, one of the shapes S, a smooth deviation d (a Gaussian process in ln x), and noise e. All but c, d and e have a
// few possible values each, with probabilities; c, d and e are Gaussian, and so integrated exactly.
type bayesPrior struct {
	shapes []shape
	sigma  []likely    // standard deviation of e
	noise  *noisePrior // if it is a distribution: sigma is where weighing begins; nil: sigma is all there is
	amp    []likely    // amplitude A of d
	own    float64     // share of A² that each scale-out has on its own
	kink   []likely    // standard deviation of the change of slope dlny/dlnx at either end of the range of the runs; nil: none
	a, b   []likely
	beta   []likely
	wild   wildPrior
	drop   float64 // combinations with less posterior weight than this are left out
}

// wildPrior is what is believed of wild runs.
type wildPrior struct {
	noise   float64 // factor on the variance of the noise of a run that is taken for wild
	share   float64 // probability of a run to be wild; 0: residuals alone tell
	density float64 // of ln y of a wild run, which may be anything; 0: as noise says
}

// odds returns the logarithm of the odds of a run to be wild.
func (w *wildPrior) odds() float64 { return math.Log(w.share / (1 - w.share)) }

// likely is a value and the logarithm of its probability.
type likely struct{ value, logp float64 }

// shape is a curve of runtime over scale-out, at scale-out 12 about 1, and the logarithm of its probability.
type shape struct {
	weights [5]float64
	logp    float64
}

// Constants of models.md 4.3.
const (
	shapeAt       = 12.0  // scale-out at which the terms of a shape are 1
	shapeStep     = 4     // weights are quarters
	shapeSquare   = 0.1   // a quarter of weight on (12/x)² makes a shape ten times less likely
	deviationLong = 0.8   // length scale of d, in ln x
	levelVariance = 100.0 // of c
	wildNoise     = 400.0 // factor on the variance of the noise of a run that is taken for wild
	wildBeyond    = 3.5   // standard deviations from what the other runs say
	wildSigma     = 0.1   // the noise may be called no larger than this when wild runs are looked for
)

// specified returns the prior of models.md 4.3.
func specified() *bayesPrior {
	p := &bayesPrior{
		shapes: simplexShapes(),
		sigma:  probabilities([]float64{.015, .04, .1, .25}, []float64{2, 3, 1, .4}),
		amp:    probabilities([]float64{.05, .15, .4}, []float64{1, 1, .6}),
		own:    .05,
		a:      exponential([]float64{0, .1, .2, .35, .5, .75, 1, 1.5, 2.5}, .5),
		b:      exponential([]float64{0, 1, 3, 7}, 1.5),
		// Of our own: work grows with the input mostly in proportion, but may have a fixed part or grow faster.
		beta: probabilities([]float64{0, .25, .5, .6, .7, .8, .9, 1, 1.1, 1.25, 1.5, 2}, []float64{2, 2, 2, 1, 1, 2, 2, 4, 2, 2, 2, 1}),
		wild: wildPrior{noise: wildNoise},
		drop: 1e-7,
	}
	return p
}

// calibrated returns the prior that is in use. It differs from the specified one in four ways.
//
// Outside the range of the runs the slope of ln y over ln x may change: by a normal amount with a standard deviation of 0.1, 0.3 or
// 0.9. What costs only show there (too little memory, too much coordination) a curve through the runs cannot know: the specified
// prior is over-confident there. Inside nothing changes.
//
// A scale-out has a hundredth of the variance of the deviation on its own, not a twentieth: intervals inside the range are narrower by
// about a tenth, and still honest.
//
// These two were picked among twenty settings (of these, the length scale, the likelihood of (12/x)² and the noise) by the mean
// logarithmic score on public runs of recurring jobs (study.Runtimes): on Bell's to be tested on C3O's, the other way round, and without
// one job's name to be tested on that. All picked this one, but C3O's runs, which prefer a likelihood of (12/x)² of 0.2 by a sixtieth of
// what they gain.
//
// The noise has a distribution in place of four values (noisePrior, columns): its logarithm is normal, with about their median and
// spread. Of the four, many runs with a noise of 2.5 % choose 4 %, which is too wide; with 5 %, again 4 %, which is too narrow; with 40 %,
// 10 %, and a fifth of them is taken for wild.
//
// A run may be wild with a probability of 0.05; its runtime then may be anything, and tells nothing (believe, robustPosterior).
//
// These two were picked after the others, with medians from 0.025 to 0.035, spreads from 0.7 to 1 and probabilities from 0.03 to 0.2. The
// mean logarithmic score over nine blocks of tasks on Bell's and on C3O's runs was 0.875 and 0.905 with the four values, and is 0.896 and
// 0.915. What Bell's runs prefer (0.025, 1, 0.1) scores 0.904 and 0.927, what C3O's do (0.03, 0.8, 0.2) 0.902 and 0.932: either choice
// gains on the other's runs. The one made is more careful, for the sake of workloads that vary more than these.
//
// Of new runs at scale-outs within the range of n runs, which were drawn from 4 to 24, of curves of Ernest's with normal noise in ln y, so
// many per cent lie between the quantiles 0.1 and 0.9 (means over 200 curves):
//
//	noise          0.01  0.025  0.05   0.1   0.2   0.4
//	n = 6            97     84    76    70    64    57
//	n = 12           86     80    77    75    72    68
//	n = 20           82     79    78    77    75    73
//	n = 100          81     80    80    80    80    80
//	four values:
//	n = 6            99     85    74    69    67    54
//	n = 12           96     80    74    76    79    59
//	n = 20           95     79    73    79    70    54
//	n = 100          95     91    70    80    79    58
//
// Few runs say little of the noise, and the prior stands for the rest: jobs that vary more than most are then foretold too surely, those
// that vary less not surely enough.
func calibrated() *bayesPrior {
	p := specified()
	p.own = 0.01
	p.noise = &noisePrior{median: 0.035, spread: 0.9}
	p.sigma = p.noise.start(0.005, 1.6, 11)
	p.wild = wildPrior{noise: 1e10, share: 0.05, density: 0.2}
	p.drop = 1e-6
	p.kink = probabilities([]float64{.1, .3, .9}, []float64{2, 2, 1})
	return p
}

// simplexShapes returns the 70 shapes w0 + w1 12/x + w2 ln x/ln 12 + w3 x/12 + w4 (12/x)² with weights that are quarters and add
// up to 1.
func simplexShapes() []shape {
	var shapes []shape
	var likelihoods []float64
	var fill func(w [5]float64, at, left int)
	fill = func(w [5]float64, at, left int) {
		if at == len(w)-1 {
			w[at] = float64(left) / shapeStep
			shapes = append(shapes, shape{weights: w})
			likelihoods = append(likelihoods, math.Pow(shapeSquare, float64(left)))
			return
		}
		for q := range left + 1 {
			w[at] = float64(q) / shapeStep
			fill(w, at+1, left-q)
		}
	}
	fill([5]float64{}, 0, shapeStep)
	for i, l := range probabilities(make([]float64, len(likelihoods)), likelihoods) {
		shapes[i].logp = l.logp
	}
	return shapes
}

// logAt returns the logarithm of the shape at scale-out x. No shape is below a hundredth: that of ln x alone, which is 0 at a
// scale-out of 1, would promise runs that take no time.
func (s *shape) logAt(x float64) float64 {
	w, r := &s.weights, shapeAt/x
	sum := w[0] + float64(w[1]*r) + float64(w[2]*math.Log(x)/math.Log(shapeAt)) + float64(w[3]/r) + float64(w[4]*r*r)
	return math.Log(max(sum, 0.01))
}

// probabilities joins values with their probabilities, given up to a factor.
func probabilities(values, proportional []float64) []likely {
	sum := 0.0
	for _, p := range proportional {
		sum += p
	}
	of := make([]likely, len(values))
	for i, v := range values {
		of[i] = likely{v, math.Log(proportional[i] / sum)}
	}
	return of
}

// exponential weighs values by an exponential distribution with this mean.
func exponential(values []float64, mean float64) []likely {
	p := make([]float64, len(values))
	for i, v := range values {
		p[i] = math.Exp(-v / mean)
	}
	return probabilities(values, p)
}
