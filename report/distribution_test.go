package report

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		sorted   []float64
		permille int
		want     float64
	}{
		{"nothing", nil, 500, 0},
		{"one value", []float64{7}, 990, 7},
		{"the least", []float64{1, 2, 3, 4}, 0, 1},
		{"the greatest", []float64{1, 2, 3, 4}, 1000, 4},
		{"between two, as NumPy: (n-1)p = 0.75", []float64{1, 2, 3, 4}, 250, 1.75},
		{"the middle of an even number", []float64{1, 2, 3, 4}, 500, 2.5},
		{"exactly at a value", []float64{1, 2, 30}, 500, 2},
		{"uneven gaps: (n-1)p = 2.7", []float64{0, 1, 2, 12}, 900, 9},
	} {
		if got := quantile(tc.sorted, tc.permille); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
		}
	}
}

func TestPool(t *testing.T) {
	one, three := newDistribution([]float64{10}), newDistribution([]float64{1, 2, 3})
	got := Pool([]Distribution{one, {}, three})
	if got.N != 4 || got.Mean != 4 {
		t.Errorf("N %d, mean %v: want 4 and 4", got.N, got.Mean)
	}
	if got.Quantile(0) != 1 || got.Quantile(740) > 3 || got.Quantile(760) != 10 {
		t.Errorf("0: %v, 0.74: %v, 0.76: %v; want 1, at most 3, and 10, a quarter of the values",
			got.Quantile(0), got.Quantile(740), got.Quantile(760))
	}
	if diff := cmp.Diff(Distribution{}, Pool(nil)); diff != "" {
		t.Errorf("nothing pooled: %s", diff)
	}
}

// Quantiles never fall, lie between the least and the greatest value, and do not depend on the order of parts.
func TestPoolProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var parts []Distribution
		least, most := math.Inf(1), math.Inf(-1)
		for range rapid.IntRange(1, 4).Draw(rt, "parts") {
			values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 30).Draw(rt, "values")
			slices.Sort(values)
			least, most = min(least, values[0]), max(most, values[len(values)-1])
			parts = append(parts, newDistribution(values))
		}
		p := Pool(parts)
		if !slices.IsSorted(p.At) || p.At[0] != least || p.At[permilles] != most {
			rt.Fatalf("from %v to %v, sorted: %v; want %v to %v", p.At[0], p.At[permilles], slices.IsSorted(p.At), least, most)
		}
		slices.Reverse(parts)
		if diff := cmp.Diff(p.At, Pool(parts).At); diff != "" {
			rt.Fatalf("the order of parts matters:\n%s", diff)
		}
	})
}

// The table and the expansion against the density of Student's t, integrated.
func TestT975(t *testing.T) {
	for freedom := 1; freedom <= 200; freedom++ {
		if p := studentWithin(t975(freedom), float64(freedom)); math.Abs(p-0.95) > 1e-6 {
			t.Errorf("%d degrees of freedom: %v lies within ±%v, want 0.95", freedom, p, t975(freedom))
		}
	}
}

// studentWithin returns the probability of [-x, x] (Simpson's rule on the angle arctan(x/√ν), where the integrand is cos^(ν-1)).
func studentWithin(x, freedom float64) float64 {
	const n = 20000
	end := math.Atan(x / math.Sqrt(freedom))
	f := func(i int) float64 { return math.Pow(math.Cos(end*float64(i)/n), freedom-1) }
	sum := f(0) + f(n)
	for i := 1; i < n; i++ {
		sum += float64(2+2*(i%2)) * f(i)
	}
	upper, _ := math.Lgamma((freedom + 1) / 2)
	lower, _ := math.Lgamma(freedom / 2)
	return 2 * math.Exp(upper-lower) / math.Sqrt(math.Pi) * sum * end / n / 3
}

func TestInterval(t *testing.T) {
	for _, tc := range []struct {
		reason string
		values []float64
		want   Interval
	}{
		{"nothing", nil, Interval{}},
		{"one value has no interval", []float64{5}, Interval{5, 5, 5, 1}},
		{"equal values", []float64{5, 5, 5}, Interval{5, 5, 5, 3}},
		{"deviation 1 of three: 4.302653/√3", []float64{3, 1, 2}, Interval{2, 2 - 2.484138, 2 + 2.484138, 3}},
	} {
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
		if diff := cmp.Diff(tc.want, interval(tc.values), near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestDigest(t *testing.T) {
	d := small().Digest()
	var kinds []string
	for i := range d.Kinds {
		kinds = append(kinds, d.Kinds[i].Name)
	}
	if diff := cmp.Diff([]string{BatchElastic, BatchRigid, Interactive}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if d.All.Turnaround.N != 4 || d.All.Turnaround.Quantile(1000) != 23 || d.All.Slowdown.N != 3 {
		t.Errorf("all runs: %d with the longest %v, %d slowdowns; want 4, 23, 3",
			d.All.Turnaround.N, d.All.Turnaround.Quantile(1000), d.All.Slowdown.N)
	}
	// Waiting: 0 for 10 s, 1 for 20 s, 2 for 10 s.
	for permille, want := range map[int]float64{0: 0, 250: 0, 251: 1, 750: 1, 751: 2, 1000: 2} {
		if got := d.Waiting.Quantile(permille); got != want {
			t.Errorf("waiting at %d permille: %v, want %v", permille, got, want)
		}
	}
	if len(d.Series) != seriesColumns || d.Until != 50*second || d.Series[0].At != 10*second {
		t.Fatalf("%d points from %v to %v", len(d.Series), d.Series[0].At, d.Until)
	}
	if p := d.Series[0]; p.Core[dovetail.CPU] < 0.249 || p.Core[dovetail.CPU] > 0.251 || p.Serving < 0.999 || p.Serving > 1.001 {
		t.Errorf("the first point is %+v, want the first level", p)
	}
}

// However a schedule is cut, the mean over the pieces is the mean over time.
func TestSeriesKeepsTheMean(t *testing.T) {
	for _, n := range []int{1, 3, 50, 3000} {
		s := played(Cell{Seed: uint64(n)}, n, 5, 0.3)
		d, m := s.Digest(), s.Metrics()
		var waiting, cpu float64
		for i := range d.Series {
			waiting += d.Series[i].Waiting / seriesColumns
			cpu += (d.Series[i].Core[dovetail.CPU] + d.Series[i].Elastic[dovetail.CPU]) / seriesColumns
		}
		if math.Abs(waiting-m.MeanWaiting) > 1e-3*max(1, m.MeanWaiting) || math.Abs(cpu-m.CPUAllocation) > 1e-3 {
			t.Errorf("%d runs: waiting %v, cpu %v in the series; %v, %v over time", n, waiting, cpu, m.MeanWaiting, m.CPUAllocation)
		}
		if math.Abs(d.Waiting.Mean-m.MeanWaiting) > 1e-9*max(1, m.MeanWaiting) {
			t.Errorf("%d runs: the distribution has mean %v, want %v", n, d.Waiting.Mean, m.MeanWaiting)
		}
	}
}
