package report

import (
	"math"
	"slices"
)

// student holds the 0.975 quantile of Student's t with 1 to 30 degrees of freedom (two-sided 95 %).
var student = [...]float64{
	12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
	2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
	2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272,
}

// t975 returns the 0.975 quantile of Student's t. Beyond the table it is the expansion around the normal quantile (Abramowitz
// and Stegun, 26.7.5), there right to six decimals.
func t975(freedom int) float64 {
	if freedom <= len(student) {
		return student[freedom-1]
	}
	const z = 1.959963984540054
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	n := float64(freedom)
	return z + (z3+z)/(4*n) + (5*z5+16*z3+3*z)/(96*n*n) + (3*z7+19*z5+17*z3-15*z)/(384*n*n*n)
}

// Estimate returns the mean of values, one a seed, and its 95 % confidence interval. It does not change them.
func Estimate(values []float64) Interval { return interval(values) }

// interval returns the mean of values and its 95 % confidence interval. The order of values does not matter.
func interval(values []float64) Interval {
	values = slices.Sorted(slices.Values(values))
	i := Interval{Mean: mean(values), N: len(values)}
	i.Low, i.High = i.Mean, i.Mean
	if i.N < 2 {
		return i
	}
	squares := 0.0
	for _, v := range values {
		squares += float64((v - i.Mean) * (v - i.Mean))
	}
	half := t975(i.N-1) * math.Sqrt(squares/float64(i.N-1)/float64(i.N))
	i.Low, i.High = i.Mean-half, i.Mean+half
	return i
}
