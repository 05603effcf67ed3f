package study

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/policy"
	"github.com/dovetail-sched/dovetail/predict"
)

// What is assumed where nothing is known, and how much is remembered.
const (
	hintSpread    = 0.4  // standard deviation of ln(runtime/expected) among runs
	hintError     = 0.3  // … that all hints share; with both, 80 % of runs take 0.53 to 1.9 times what was expected
	unknownSpread = 0.8  // … around policy.UnknownTime, among runs
	unknownError  = 1.2  // … that all runs share of which nothing is known; with both, 80 % take 10 minutes to 6.3 hours
	leastSpread   = 0.05 // that a runtime is never known more exactly than
	fewRuntimes   = 3    // of a class: from so many on, its own runtimes alone are drawn from
	fewHints      = 10   // that came true or not: from so many on, hints are as wrong as those were
	keptRuntimes  = 200  // of a class
	keptHints     = 1000
	tail          = 2 // a run beyond all experience takes t times as long as so far with probability t^−tail, or longer
)

// Experience is how long finished runs took: what runtimes to come are drawn from.
type Experience struct {
	classes map[string][]float64 // ln of runtimes at full scale, in seconds
	hints   []float64            // ln of runtime over expected runtime, of any class
}

// NewExperience returns one that knows nothing.
func NewExperience() *Experience { return &Experience{classes: make(map[string][]float64)} }

// Learn adds a run that succeeded: its runtime at full scale, and what was expected of it; 0: nothing was. The latest count if there
// are many.
func (x *Experience) Learn(class string, expected, runtime time.Duration) {
	if runtime <= 0 {
		return
	}
	ln := math.Log(runtime.Seconds())
	x.classes[class] = latest(append(x.classes[class], ln), keptRuntimes)
	if expected > 0 {
		x.hints = latest(append(x.hints, ln-math.Log(expected.Seconds())), keptHints)
	}
}

func latest(values []float64, n int) []float64 { return values[max(0, len(values)-n):] }

// source is where the runtime of a run is drawn from.
type source int

const (
	predicted    source = iota // what a model learned of its class, for its input size
	ownRuntimes                // runs of its class
	learnedHints               // what was expected of it, and how wrong such hints were
	plainHint                  // what was expected of it
	nothing                    // nobody knows
	endless                    // it does not end by itself
	numSources
)

// source returns what the runtime of a run would be drawn from.
func (x *Experience) source(r *dovetail.Run) source {
	switch {
	case r.App.Kind == dovetail.Service:
		return endless
	case len(x.classes[r.Class]) >= fewRuntimes:
		return ownRuntimes
	case r.Expected() > 0 && len(x.hints) >= fewHints:
		return learnedHints
	case r.Expected() > 0:
		return plainHint
	case len(x.classes[r.Class]) > 0:
		return ownRuntimes
	case r.App.Kind == dovetail.Interactive:
		return endless
	}
	return nothing
}

// luck draws the runtimes of one play from experience. What is unsure about a whole class is drawn once for all of its runs: when
// they take longer than we know, they all do.
type luck struct {
	past  *Experience
	seed  uint64
	play  uint64
	known func(class string, input int64) *dovetail.Outlook // as sched.Core.Outlook; nil: nothing was learned
}

// outlook returns what a model says of a run's runtimes; nil if there is none, if it was fitted to fewer runs than make one, or if it knows no
// spread: such a one would promise too much.
func (l luck) outlook(r *dovetail.Run) *dovetail.Outlook {
	if l.known == nil || r.App.Kind == dovetail.Service {
		return nil
	}
	o := l.known(r.Class, r.Input)
	if !predict.Known(o) || o.Runs < predict.Few || len(o.Levels) < 2 {
		return nil
	}
	return o
}

// source returns what the runtime of a run is drawn from.
func (l luck) source(r *dovetail.Run) source {
	if l.outlook(r) != nil {
		return predicted
	}
	return l.past.source(r)
}

// stream returns the random numbers of one purpose.
func (l luck) stream(purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(l.seed^l.play<<32, purpose))
}

// Runtime returns a runtime at full scale for a run that has done so much of it already; 0 if it does not end by itself: a service,
// or an interactive run of which nothing is known. The runtime is longer than what is done.
func (l luck) Runtime(r *dovetail.Run, done time.Duration) time.Duration {
	rng := l.stream(uint64(r.ID))
	var draw func() float64
	switch l.source(r) {
	case predicted:
		draw = l.foreseen(rng, r)
	case ownRuntimes:
		draw = l.among(rng, r.Class, l.past.classes[r.Class])
	case learnedHints:
		ratio, expected := l.among(rng, "", l.past.hints), math.Log(r.Expected().Seconds())
		draw = func() float64 { return expected + ratio() }
	case plainHint:
		draw = l.around(rng, r.Expected(), hintSpread, hintError)
	case nothing:
		draw = l.around(rng, policy.UnknownTime, unknownSpread, unknownError)
	default:
		return 0
	}
	const tries = 100
	for range tries {
		if t := seconds(math.Exp(draw())); t > done {
			return t
		}
	}
	return max(done+time.Microsecond, seconds(done.Seconds()*math.Pow(1-rng.Float64(), -1.0/tail)))
}

// seconds returns a duration of whole microseconds, at least one and at most the horizon.
func seconds(s float64) time.Duration {
	if s >= horizon.Seconds() {
		return horizon
	}
	return max(time.Microsecond, time.Duration(s*1e6)*time.Microsecond)
}

// common returns the random numbers that all runs of a class share in this play.
func (l luck) common(class string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(class)) // it never fails
	return l.stream(h.Sum64() | 1<<63)
}

// foreseen draws logarithms of runtimes from what a model says of a run with all of its replicas, beside whom runs of its class mostly were. The table does not tell what is
// unsure about the class from what differs between its runs. For n normal values of unknown mean the mean has 1/(n+1) of the predictive
// variance (Gelman et al., Bayesian Data Analysis, §3.2), so much of the normal quantile is shared by all runs of the class (a Gaussian copula); what is drawn for each
// run still has exactly the distribution of the table.
func (l luck) foreseen(rng *rand.Rand, r *dovetail.Run) func() float64 {
	o := l.outlook(r)
	var typical []dovetail.Overlap
	for i := range o.Beside {
		typical = append(typical, dovetail.Overlap{Class: o.Beside[i].Class, Ratio: o.Beside[i].Mean})
	}
	table := predict.Lookup(o, float64(r.App.Components[r.App.Scaled()].Limit()), typical)
	shared := 1 / (float64(o.Runs) + 1)
	common, own := math.Sqrt(shared)*l.common(r.Class).NormFloat64(), math.Sqrt(1-shared)
	const edge = 1e-9
	return func() float64 {
		p := 0.5 * math.Erfc(-(common+float64(own*rng.NormFloat64()))/math.Sqrt2)
		return math.Log(table.Quantile(min(max(p, edge), 1-edge)))
	}
}

// around draws logarithms of lognormal runtimes around a guess that is wrong for all runs alike by a lognormal factor.
func (l luck) around(rng *rand.Rand, guess time.Duration, spread, wrong float64) func() float64 {
	centre := math.Log(guess.Seconds()) + float64(wrong*l.common("").NormFloat64())
	return func() float64 { return centre + float64(spread*rng.NormFloat64()) }
}

// among draws from a smoothed bootstrap of values: one of them, with normal noise of Silverman's bandwidth 1.06·s·n^(−1/5) (Density
// Estimation, 1986, §3.4.2), shrunk so that the variance stays s². How far mean and s may be from the truth is drawn once a play,
// as for normal values of which nothing else is known: s²·(n−1)/χ² and s/√n (Gelman et al., Bayesian Data Analysis, §3.2). One or
// two values say nothing of their spread, which is then taken to be hintSpread.
func (l luck) among(rng *rand.Rand, class string, values []float64) func() float64 {
	shared := l.common(class)
	n, mean, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	s, width, shrink := hintSpread, 1.0, 0.0 // width in units of s
	if len(values) >= fewRuntimes && squares > 0 {
		s = math.Sqrt(squares / (n - 1))
		width = min(1, 1.06*math.Pow(n, -0.2))
		shrink = math.Sqrt((1-width*width)*n/(n-1)) / s
		chi := 0.0
		for range len(values) - 1 {
			z := shared.NormFloat64()
			chi += float64(z * z)
		}
		s *= math.Sqrt((n - 1) / max(chi, 1e-9))
	} else if len(values) >= fewRuntimes {
		s = leastSpread
	}
	s = max(leastSpread, s)
	centre := mean + float64(s/math.Sqrt(n)*shared.NormFloat64())
	return func() float64 {
		v := values[rng.IntN(len(values))] - mean
		return centre + float64(s*(float64(shrink*v)+float64(width*rng.NormFloat64())))
	}
}

// basis says what the runtimes of so many runs were drawn from.
func basis(counts [numSources]int) string {
	var parts []string
	for s, text := range [numSources]string{
		predicted:    "of %s as predicted for their class and input, with all replicas and the usual neighbours",
		ownRuntimes:  "of %s from finished runs of their class",
		learnedHints: "of %s from what was expected of them, as wrong as it was for finished runs",
		plainHint:    "of %s from what was expected of them (80 %% of them take 0.53 to 1.9 times that)",
		nothing:      "of %s, of which nothing is known, around an hour (10 minutes to 6 hours)",
	} {
		if n := counts[s]; n > 0 && text != "" {
			parts = append(parts, fmt.Sprintf(text, count(n)))
		}
	}
	text := "Runtimes: " + strings.Join(parts, "; ")
	if len(parts) == 0 {
		text = "No runtime had to be assumed"
	}
	if n := counts[endless]; n > 0 {
		text += fmt.Sprintf("; %s taken to go on for ever (services, and interactive runs of which nothing is known)", count(n))
	}
	return text
}

func count(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
