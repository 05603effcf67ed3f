package fit

import "math"

// householder turns the columns into an upper triangle by reflections, in place: what is above the diagonal is R of A = QR, what is
// below is left over and means nothing. The vectors that follow, if any, are multiplied by Qᵀ. A column that depends on those
// before it has a diagonal entry of about 0.
func householder(columns [][]float64, others ...[]float64) {
	for j, c := range columns {
		if j >= len(c) {
			return
		}
		v := c[j:]
		length := norm(v)
		if length == 0 {
			continue
		}
		if v[0] > 0 {
			length = -length
		}
		v[0] -= length
		scale := -length * v[0] // half of v·v
		for _, o := range columns[j+1:] {
			reflect(v, o[j:], scale)
		}
		for _, o := range others {
			reflect(v, o[j:], scale)
		}
		v[0] = length
	}
}

// reflect replaces x by x − v (v·x)/scale.
func reflect(v, x []float64, scale float64) {
	if scale == 0 {
		return
	}
	s := dot(v, x) / scale
	for i := range v {
		x[i] -= float64(s * v[i])
	}
}

// back solves Rx = y for the triangle that householder left in the columns. An unknown whose diagonal entry is at most tolerance is
// given 0, and so is left out.
func back(r [][]float64, y, x []float64, tolerance float64) {
	for j := len(r) - 1; j >= 0; j-- {
		x[j] = 0
		if j >= len(r[j]) || math.Abs(r[j][j]) <= tolerance {
			continue
		}
		s := y[j]
		for i := j + 1; i < len(r); i++ {
			s -= float64(r[i][j] * x[i])
		}
		x[j] = s / r[j][j]
	}
}

// Compress returns as few observations as there are columns, and one more, that have the same sum of squared errors as those given,
// whatever the coefficients are: the triangle of a QR decomposition of [A y]. The weights, nil for 1, are in it. If there are
// fewer observations than that, they are returned, weighted.
func Compress(columns [][]float64, y, weights []float64) (small [][]float64, of []float64, err error) {
	if err := check(columns, y, weights); err != nil {
		return nil, nil, err
	}
	all := weighted(append(append(make([][]float64, 0, len(columns)+1), columns...), y), weights)
	if len(y) > len(all) {
		householder(all)
		for j, c := range all {
			clear(c[j+1:])
			all[j] = c[:len(all):len(all)]
		}
	}
	return all[:len(columns)], all[len(columns)], nil
}

// weighted returns copies of the columns, each entry times the root of its weight.
func weighted(columns [][]float64, weights []float64) [][]float64 {
	if len(columns) == 0 {
		return nil
	}
	n := len(columns[0])
	buffer := make([]float64, len(columns)*n)
	out := make([][]float64, len(columns))
	for j, c := range columns {
		out[j] = buffer[j*n : (j+1)*n : (j+1)*n]
		copy(out[j], c)
	}
	for i, w := range weights {
		root := math.Sqrt(w)
		for _, c := range out {
			c[i] *= root
		}
	}
	return out
}
