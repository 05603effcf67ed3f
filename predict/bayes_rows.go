package predict

import (
	"cmp"
	"math"
	"slices"
)

// bayesRows is the runs that a Bayesian model learns from, by scale-out. Runs at one scale-out share all but their noise, their
// overlaps and their input: what the level, the shape and the deviation see of them is their mean, so that matrices have a row for
// each distinct scale-out (a site) rather than for each run. That is exact.
type bayesRows struct {
	rows  []bayesRow // rising in site
	sites []float64  // distinct scale-outs, rising
	// of each site: the sum of 1/noise over its rows
	weight []float64
}

// bayesRow is one run.
type bayesRow struct {
	site  int
	x     float64   // scale-out
	z     float64   // ln of the runtime in seconds
	size  float64   // ln of the input size over its typical value; 0 if unknown
	over  []float64 // overlap by class
	noise float64   // factor on the variance of its noise: 1, or wildNoise
	index int       // among the samples
}

// maxSites bounds the matrices. Where runs have more distinct scale-outs (averages over time), those closest to each other are
// taken as one.
const maxSites = 64

// newBayesRows sorts rows by scale-out, and what is equal by runtime and overlaps, so that their order does not matter.
func newBayesRows(rows []bayesRow) *bayesRows {
	slices.SortStableFunc(rows, func(p, q bayesRow) int {
		return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(p.z, q.z), cmp.Compare(p.size, q.size), slices.Compare(p.over, q.over))
	})
	of := &bayesRows{rows: rows}
	near := nearness(rows)
	for i := range rows {
		if i == 0 || rows[i].x > of.sites[len(of.sites)-1]*near {
			of.sites = append(of.sites, rows[i].x)
		}
		rows[i].site = len(of.sites) - 1
	}
	of.weigh()
	return of
}

// nearness returns the least ratio of scale-outs, as one of few steps, that leaves at most maxSites sites: 1 if they are few anyway.
func nearness(rows []bayesRow) float64 {
	for step := 0.0; ; step = max(2*step, 0.001) {
		near, sites, last := math.Exp(step), 0, 0.0
		for i := range rows {
			if i == 0 || rows[i].x > last*near {
				sites++
				last = rows[i].x
			}
		}
		if sites <= maxSites {
			return near
		}
	}
}

// weigh computes the weights of the sites from the noise of the rows.
func (of *bayesRows) weigh() {
	of.weight = make([]float64, len(of.sites))
	for i := range of.rows {
		of.weight[of.rows[i].site] += 1 / of.rows[i].noise
	}
}

// siteMeans returns the means of a value of the rows by site, weighted by 1/noise; and the sum of squared differences from
// them, weighted alike.
func (of *bayesRows) siteMeans(value func(r *bayesRow) float64) (means []float64, within float64) {
	means = make([]float64, len(of.sites))
	for i := range of.rows {
		r := &of.rows[i]
		means[r.site] += value(r) / r.noise
	}
	for g := range means {
		means[g] /= of.weight[g]
	}
	for i := range of.rows {
		r := &of.rows[i]
		e := value(r) - means[r.site]
		within += float64(e*e) / r.noise
	}
	return means, within
}

// mean returns the mean of a value over the rows.
func (of *bayesRows) mean(value func(r *bayesRow) float64) float64 {
	sum := 0.0
	for i := range of.rows {
		sum += value(&of.rows[i])
	}
	return sum / float64(len(of.rows))
}

// setting is one value for each parameter that runtimes are multiplied by: a and b by class, and beta.
type setting struct {
	a, b []float64
	beta float64
	logp float64 // of the prior
}

// shift returns the logarithm of the factor on the runtime at scale-out x, with overlaps by class and ln of the relative input size.
func (s *setting) shift(x, size float64, over []float64) float64 {
	slow := 1.0
	for k, o := range over {
		slow += float64((s.a[k] + s.b[k]/x) * o)
	}
	return math.Log(slow) + float64(s.beta*size)
}
