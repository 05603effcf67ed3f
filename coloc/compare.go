package coloc

import (
	"math"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/fit"
)

const (
	ridge      = 0.3  // weight of the prior, in runs (models.md 5.4)
	priorError = 0.25 // standard deviation by which the prior of a pair is off: rates of pairs differ that much (paper of seed 000, tables 2 and 3)
	priorNoise = 0.1  // standard deviation of a run's pace that is expected before any is seen
	priorRuns  = 4    // how many runs that expectation weighs
	slowest    = 0.01 // a rate is not below this: whoever is that slow stands still for all that matters
	absurd     = 20   // a run so many times faster or slower than usual tells of something else than neighbours
)

// unknownHalf is half the 90 % interval of a rate of which nothing is known.
const unknownHalf = normal95 * priorError

// Exposure is time that a run spent beside a class: node by node, averaged over its nodes.
type Exposure struct {
	Beside  string // job class; "" means alone
	Seconds float64
}

// Sample is a finished run of a class as evidence. Its exposures add up to the time that it took.
type Sample struct {
	Work   float64 // seconds that it would have taken at the usual pace of its class
	Beside []Exposure
}

// Compare returns the rates of a class beside each of those that its runs met, by name. A run says Σ_b share_b m_b = work / time, where
// share_b is the share of its time that it spent beside b: models.md 5.4, "Σ_b exposure_b m_b = work", divided by its time, so that
// all runs weigh the same and the noise of the time is on one side. The m_b solve these rows by non-negative least squares, with a ridge of 0.3
// towards the prior of each (nil: 1): it weighs as much as 0.3 runs that spent all their time beside b, so that it
// fades as 1/runs. No m_b is below 0.01.
//
// The interval is the central 90 % of the error of that estimate, which has two parts. The noise of runs: Student's t, with a variance that is that of the
// residuals and of 4 runs with a standard deviation of 10 %, so that few runs prove little. And the errors of the priors, 0.25 each or by as much as one differs from 1 if that is
// more, so that no prior proves anything by itself (ridge regression is biased towards them), with the weight that they have in m_b: what hardly a run has shown stays unknown however well other runs agree, and so does what came together in all runs,
// which cannot be told apart.
//
// Runs that say nothing are left out: work or an exposure that is negative or not finite, no time, a pace 20 times off the usual one.
func Compare(samples []Sample, prior func(beside string) float64) []dovetail.Rate {
	usable := make([]Sample, 0, len(samples))
	for _, s := range samples {
		if _, ok := s.pace(); ok {
			usable = append(usable, s)
		}
	}
	names := met(usable)
	if len(names) == 0 {
		return nil
	}
	rates := make([]dovetail.Rate, len(names))
	p := make([]float64, len(names))
	for j, name := range names {
		rates[j].Beside, p[j] = name, 1
		if prior == nil {
			continue
		}
		if m := prior(name); m >= slowest && m <= fastest {
			p[j] = m
		}
	}
	x, y := rows(usable, names, rates)
	if err := solve(x, y, p, rates); err != nil {
		return nil
	}
	return rates
}

// pace returns work over time, and whether the sample says anything.
func (s *Sample) pace() (float64, bool) {
	if !(s.Work > 0) || math.IsInf(s.Work, 1) {
		return 0, false
	}
	time := s.time()
	pace := s.Work / time
	return pace, time > 0 && pace >= 1.0/absurd && pace <= absurd
}

// time returns how long the run took, and 0 if an exposure is not one.
func (s *Sample) time() float64 {
	time := 0.0
	for _, e := range s.Beside {
		if !(e.Seconds >= 0) {
			return 0
		}
		time += e.Seconds
	}
	return time
}

// met returns the classes beside which the runs spent time, sorted.
func met(samples []Sample) []string {
	var names []string
	for i := range samples {
		for _, e := range samples[i].Beside {
			if e.Seconds > 0 {
				names = append(names, e.Beside)
			}
		}
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}

// rows returns a column of shares for each class and the paces, and counts runs and seconds.
func rows(samples []Sample, names []string, rates []dovetail.Rate) (columns [][]float64, y []float64) {
	columns = make([][]float64, len(names))
	for j := range columns {
		columns[j] = make([]float64, len(samples))
	}
	y = make([]float64, len(samples))
	for i := range samples {
		s := &samples[i]
		time := s.time()
		y[i], _ = s.pace()
		for _, e := range s.Beside {
			j, ok := slices.BinarySearch(names, e.Beside)
			if !ok || e.Seconds == 0 {
				continue
			}
			if columns[j][i] == 0 {
				rates[j].Runs++
			}
			columns[j][i] += e.Seconds / time
			rates[j].Seconds += e.Seconds
		}
	}
	return columns, y
}

// solve writes rates and their intervals. Columns that are finite and of one length, as rows makes them, give no error.
func solve(columns [][]float64, y, prior []float64, rates []dovetail.Rate) error {
	k, n := len(columns), len(y)
	augmented := make([][]float64, k)
	of := slices.Clone(y)
	for j := range columns {
		augmented[j] = slices.Concat(columns[j], make([]float64, k))
		augmented[j][n+j] = math.Sqrt(ridge)
		of = append(of, math.Sqrt(ridge)*prior[j])
	}
	solution, err := fit.NNLS(augmented, of, nil)
	if err != nil {
		return err
	}
	precision := make([][]float64, k)
	for i := range precision {
		precision[i] = make([]float64, i+1)
		for j := range precision[i] {
			for l := range of {
				precision[i][j] += float64(augmented[i][l] * augmented[j][l])
			}
		}
	}
	factor, err := fit.NewCholesky(precision)
	if err != nil {
		return err
	}
	freedom := priorRuns + n
	scale := (priorRuns*priorNoise*priorNoise + solution.SSE) / float64(freedom)
	t := student95(freedom)
	row := make([]float64, k)
	for j := range rates {
		clear(row)
		row[j] = 1
		factor.Solve(row) // of the inverse: how the errors of all priors reach m_j, each times the ridge
		weights, errors := 0.0, 0.0
		for i, v := range row {
			e := v * max(priorError, math.Abs(prior[i]-1))
			weights += float64(v * v)
			errors += float64(e * e)
		}
		m := min(max(solution.X[j], slowest), fastest)
		sampling := max(0, row[j]-float64(ridge*weights)) // (Λ⁻¹XᵀXΛ⁻¹)_jj with Λ = XᵀX + ridge
		half := math.Hypot(t*math.Sqrt(scale*sampling), normal95*ridge*math.Sqrt(errors))
		rates[j].Rate, rates[j].Low, rates[j].High = m, max(m-half, slowest), min(m+half, fastest)
	}
	return nil
}

// normal95 is the 95 % quantile of the normal distribution.
const normal95 = 1.6448536269514722

// student95 returns the 95 % quantile of Student's t with so many degrees of freedom, at least 4: to 1e-4, by the expansion of Cornish and Fisher
// (Abramowitz and Stegun, 26.7.5).
func student95(freedom int) float64 {
	const z = normal95
	const z3, z5, z7, z9 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z, z * z * z * z * z * z * z * z * z
	v := float64(freedom)
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z7+19*z5+17*z3-15*z)/(384*v*v*v) +
		(79*z9+776*z7+1482*z5-1920*z3-945*z)/(92160*v*v*v*v)
}
