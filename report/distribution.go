package report

import (
	"cmp"
	"slices"
)

// Distribution is a compact form of any number of values: its permilles, from which boxes and curves are drawn later.
type Distribution struct {
	N    int       // values it stands for
	Mean float64   // of these
	At   []float64 // the quantiles 0, 0.001, …, 1: 1,001 values that never fall; nil if N is 0
}

const permilles = 1000

// Quantile returns the value at a permille from 0 to 1000; 0 if there are no values.
func (d *Distribution) Quantile(permille int) float64 {
	if d.N == 0 {
		return 0
	}
	return d.At[permille]
}

// sketch returns what an axis is fitted to: the mean and every twentieth from p5 to p95, times a scale.
func (d *Distribution) sketch(scale float64) []float64 {
	if d.N == 0 {
		return nil
	}
	values := []float64{scale * d.Mean}
	for p := 50; p <= 950; p += 50 {
		values = append(values, scale*d.At[p])
	}
	return values
}

// newDistribution condenses sorted values.
func newDistribution(sorted []float64) Distribution {
	if len(sorted) == 0 {
		return Distribution{}
	}
	d := Distribution{N: len(sorted), Mean: mean(sorted), At: make([]float64, permilles+1)}
	for i := range d.At {
		d.At[i] = quantile(sorted, i)
	}
	return d
}

// Pool puts distributions together as if all of their values were one sample, each counted by how many it stands for.
func Pool(parts []Distribution) Distribution {
	var all []weighted
	pool := Distribution{}
	sum := 0.0
	for i := range parts {
		p := &parts[i]
		pool.N += p.N
		sum += float64(p.Mean * float64(p.N))
		for _, v := range p.At {
			all = append(all, weighted{v, float64(p.N)})
		}
	}
	switch pool.N {
	case 0:
		return Distribution{}
	default:
		pool.Mean = sum / float64(pool.N)
	}
	pool.At = spread(all)
	return pool
}

// weighted is a value and how much it counts.
type weighted struct{ value, weight float64 }

// spread returns the permilles of weighted values: each is the least value that at least so much of the weight lies at or below.
func spread(all []weighted) []float64 {
	slices.SortFunc(all, func(a, b weighted) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return cmp.Compare(a.weight, b.weight)
	})
	total := 0.0
	for i := range all {
		total += all[i].weight
	}
	at := make([]float64, permilles+1)
	i, below := 0, all[0].weight
	for p := range at {
		for i+1 < len(all) && float64(below*permilles) < float64(float64(p)*total) {
			i++
			below += all[i].weight
		}
		at[p] = all[i].value
	}
	return at
}

// mean returns the mean of values that are added in the order in which they come; 0 for none.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return ratio(sum, float64(len(values)))
}

// quantile returns a permille of sorted values, interpolating linearly between the two nearest (type 7 of Hyndman and Fan,
// Sample quantiles in statistical packages, 1996; NumPy's default); 0 for none.
func quantile(sorted []float64, permille int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	place := (len(sorted) - 1) * permille
	low, rest := place/permilles, place%permilles
	if rest == 0 {
		return sorted[low]
	}
	return sorted[low] + float64((sorted[low+1]-sorted[low])*float64(rest)/permilles)
}
