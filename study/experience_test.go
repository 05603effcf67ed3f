package study

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// runOf returns a run of a class, of which so much is expected.
func runOf(class string, kind dovetail.Kind, expected time.Duration) *dovetail.Run {
	return &dovetail.Run{ID: 1, Class: class, App: &dovetail.Application{
		Name: class, Kind: kind, Expected: dovetail.Duration(expected),
		Components: []dovetail.Component{{Name: "main", Count: 1, Resources: dovetail.Resources{dovetail.CPU: 1000}}},
	}}
}

// draws returns the runtimes of a run over plays, shortest first.
func draws(x *Experience, r *dovetail.Run, done time.Duration, plays int) []time.Duration {
	all := make([]time.Duration, plays)
	for k := range all {
		all[k] = luck{past: x, seed: 1, play: uint64(k)}.Runtime(r, done)
	}
	slices.Sort(all)
	return all
}

func TestRuntimesAreDrawnFromWhatIsKnown(t *testing.T) {
	x := NewExperience()
	for i := range 50 {
		x.Learn("known", 0, time.Duration(90+i%20)*time.Second)
		x.Learn("double", time.Minute, time.Duration(115+i%10)*time.Second)
		x.Learn("two", 0, time.Duration(0)) // nothing: it did not run
	}
	x.Learn("once", 0, time.Hour)
	for _, test := range []struct {
		reason    string
		run       *dovetail.Run
		source    source
		low, high time.Duration // of the median
		wide      float64       // the 90th percentile over the 10th, about
	}{
		{"its class decides, whatever is expected", runOf("known", dovetail.Batch, time.Hour), ownRuntimes, 95 * time.Second, 104 * time.Second, 1.2},
		{"an interactive run of a class that is known ends", runOf("known", dovetail.Interactive, 0), ownRuntimes, 95 * time.Second, 104 * time.Second, 1.2},
		{"expectations are corrected by those of others", runOf("new", dovetail.Batch, time.Hour), learnedHints, 115 * time.Minute, 125 * time.Minute, 1.1},
		{"one finished run says something", runOf("once", dovetail.Batch, 0), ownRuntimes, 45 * time.Minute, 75 * time.Minute, 4.3},
		{"nobody knows", runOf("new", dovetail.Batch, 0), nothing, 40 * time.Minute, 90 * time.Minute, 40},
		{"a service does not end", runOf("known", dovetail.Service, time.Hour), endless, 0, 0, 0},
		{"an interactive run does not end by itself", runOf("new", dovetail.Interactive, 0), endless, 0, 0, 0},
	} {
		if got := x.source(test.run); got != test.source {
			t.Errorf("%s: drawn from source %d, not %d", test.reason, got, test.source)
		}
		all := draws(x, test.run, 0, 1001)
		if m := all[500]; m < test.low || m > test.high {
			t.Errorf("%s: the median is %s; expected %s to %s", test.reason, m, test.low, test.high)
		}
		if test.wide == 0 {
			continue
		}
		if w := float64(all[900]) / float64(all[100]); math.Abs(math.Log(w)-math.Log(test.wide)) > 0.3 {
			t.Errorf("%s: the 90th percentile is %.2f times the 10th; expected about %.2f", test.reason, w, test.wide)
		}
	}
	if got, want := NewExperience().source(runOf("new", dovetail.Batch, time.Hour)), plainHint; got != want {
		t.Errorf("without experience a hint is all there is, yet source %d was taken", got)
	}
}

// However long a run has been running, what is drawn is longer, and a run that is beyond all experience is not about to end at once.
func TestRuntimesAreLongerThanWhatIsDone(t *testing.T) {
	x := NewExperience()
	for range 50 {
		x.Learn("known", 0, time.Minute)
	}
	for _, done := range []time.Duration{0, time.Second, time.Minute, time.Hour, 100 * time.Hour} {
		all := draws(x, runOf("known", dovetail.Batch, 0), done, 200)
		if all[0] <= done {
			t.Errorf("after %s a runtime of %s was drawn", done, all[0])
		}
		if done > time.Hour && all[100] < done+done/5 {
			t.Errorf("after %s, far beyond all experience, the median is %s; expected at least a fifth more", done, all[100])
		}
	}
}

// The same seed draws the same; what a class has in common moves its runs together.
func TestLuckIsSharedWithinAClass(t *testing.T) {
	x := NewExperience()
	x.Learn("once", 0, time.Hour)
	a, b, c := runOf("once", dovetail.Batch, 0), runOf("once", dovetail.Batch, 0), runOf("new", dovetail.Batch, 0)
	b.ID, c.ID = 2, 3
	var same, other float64
	for k := range uint64(2000) {
		l := luck{past: x, seed: 7, play: k}
		ta := math.Log(l.Runtime(a, 0).Hours())
		if again := math.Log(l.Runtime(a, 0).Hours()); again != ta {
			t.Fatalf("play %d draws %v and then %v", k, ta, again)
		}
		same += ta * math.Log(l.Runtime(b, 0).Hours())
		other += ta * math.Log(l.Runtime(c, 0).Hours())
	}
	if same /= 2000; same < 0.1 {
		t.Errorf("runs of a class of which one run is known have covariance %.3f; expected about 0.16", same)
	}
	if other /= 2000; math.Abs(other) > 0.1 {
		t.Errorf("runs of different classes have covariance %.3f; expected none", other)
	}
}

func TestBasisSaysWhatWasAssumed(t *testing.T) {
	for want, counts := range map[string][numSources]int{
		"Runtimes: of 2 runs from finished runs of their class; of 1 run, of which nothing is known": {ownRuntimes: 2, nothing: 1},
		"No runtime had to be assumed; 1 run taken to go on for ever":                                {endless: 1},
		"80 % of them": {plainHint: 3},
	} {
		if got := basis(counts); !strings.Contains(got, want) {
			t.Errorf("%v: %q does not say %q", counts, got, want)
		}
	}
}

// A table of a model that learned from six runs goes before all else, for the input size of the run; one that knows too little or no spread does not.
func TestRuntimesAreDrawnFromWhatIsPredicted(t *testing.T) {
	x := NewExperience()
	for range 10 {
		x.Learn("known", 0, time.Hour)
	}
	table := func(runs int, levels ...float64) func(string, int64) *dovetail.Outlook {
		return func(class string, input int64) *dovetail.Outlook {
			if class != "known" {
				return nil
			}
			o := &dovetail.Outlook{Class: class, Runs: runs, Levels: levels, ScaleOuts: []int{1, 8}}
			for _, full := range []float64{400, 100} {
				var row []float64
				for _, p := range levels { // lognormal, with a standard deviation of .1
					row = append(row, full*float64(1+input)*math.Exp(.1*math.Sqrt2*math.Erfinv(2*p-1)))
				}
				o.Alone = append(o.Alone, row)
			}
			if input == 2 { // such runs are beside others half of the time, which then take twice as long
				o.Beside = []dovetail.Beside{{Class: "scan", Runs: runs, Mean: .5}}
				for _, row := range o.Alone {
					slow := slices.Clone(row)
					for i := range slow {
						slow[i] *= 2
					}
					o.Beside[0].Seconds = append(o.Beside[0].Seconds, slow)
				}
			}
			return o
		}
	}
	run := func(kind dovetail.Kind, class string, input int64) *dovetail.Run {
		return &dovetail.Run{ID: 1, Class: class, Input: input, App: &dovetail.Application{Name: class, Kind: kind, Components: []dovetail.Component{
			{Name: "driver", Count: 1}, {Name: "worker", Count: 1, Max: 8},
		}}}
	}
	for _, test := range []struct {
		reason string
		run    *dovetail.Run
		known  func(string, int64) *dovetail.Outlook
		source source
		median float64 // seconds
	}{
		{"at full scale", run(dovetail.Batch, "known", 0), table(9, .1, .5, .9), predicted, 100},
		{"with its input", run(dovetail.Batch, "known", 1), table(9, .1, .5, .9), predicted, 200},
		{"beside the usual neighbours", run(dovetail.Batch, "known", 2), table(9, .1, .5, .9), predicted, 450},
		{"an interactive run of a class that is known ends", run(dovetail.Interactive, "known", 0), table(9, .1, .5, .9), predicted, 100},
		{"too few runs", run(dovetail.Batch, "known", 0), table(5, .1, .5, .9), ownRuntimes, 3600},
		{"no spread", run(dovetail.Batch, "known", 0), table(9, .5), ownRuntimes, 3600},
		{"another class", run(dovetail.Batch, "new", 0), table(9, .1, .5, .9), nothing, 3600},
		{"a service does not end", run(dovetail.Service, "known", 0), table(9, .1, .5, .9), endless, 0},
	} {
		var all []float64
		for k := range uint64(1001) {
			l := luck{past: x, seed: 1, play: k, known: test.known}
			if got := l.source(test.run); got != test.source {
				t.Fatalf("%s: drawn from source %d, not %d", test.reason, got, test.source)
			}
			all = append(all, l.Runtime(test.run, 0).Seconds())
		}
		slices.Sort(all)
		if m := all[500]; math.Abs(m-test.median) > .15*test.median {
			t.Errorf("%s: the median is %.0f s; expected about %.0f s", test.reason, m, test.median)
		}
		if w := all[900] / all[100]; test.source == predicted && math.Abs(w-math.Exp(.2*1.2816)) > .05 {
			t.Errorf("%s: the 90th percentile is %.3f times the 10th; expected 1.29", test.reason, w)
		}
	}
	l := luck{past: x, seed: 1, known: table(9, .1, .5, .9)}
	if got := l.Runtime(run(dovetail.Batch, "known", 0), time.Hour); got <= time.Hour {
		t.Errorf("a run that has had an hour, far beyond what is predicted, takes %s", got)
	}
}

// Of n+1 parts of the variance that a model of n runs leaves, one is common to all runs of the class.
func TestPredictedRuntimesAreSharedWithinAClass(t *testing.T) {
	known := func(string, int64) *dovetail.Outlook {
		return &dovetail.Outlook{Runs: 6, Levels: []float64{.1, .9}, ScaleOuts: []int{1}, Alone: [][]float64{{math.Exp(-1.2816), math.Exp(1.2816)}}}
	}
	a, b := runOf("known", dovetail.Batch, 0), runOf("known", dovetail.Batch, 0)
	b.ID = 2
	const plays = 4000
	sum, square := 0.0, 0.0
	for k := range uint64(plays) {
		l := luck{past: NewExperience(), seed: 7, play: k, known: known}
		ta, tb := math.Log(l.Runtime(a, 0).Seconds()), math.Log(l.Runtime(b, 0).Seconds())
		sum += ta * tb / plays
		square += ta * ta / plays
	}
	if math.Abs(square-1) > .1 || math.Abs(sum-1./7) > .06 {
		t.Errorf("variance %.3f, covariance %.3f; expected 1 and 1/7", square, sum)
	}
}
