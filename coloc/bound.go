package coloc

import "fmt"

// PairTime returns the least node time in which all the work of some classes can be done if every node always holds a run of two of them, and
// the price of a unit of work of each class: the linear program of models.md 5.4. rates[a][b] is how fast a run of class a progresses beside one of class b, above 0;
// work is in node time at a rate of 1.
func PairTime(rates [][]float64, work []float64) (time float64, prices []float64, err error) {
	n := len(work)
	m := make([]float64, 0, n*n)
	if len(rates) != n {
		return 0, nil, fmt.Errorf("%d rows of rates for %d classes", len(rates), n)
	}
	for a, row := range rates {
		if len(row) != n || !(work[a] >= 0) {
			return 0, nil, fmt.Errorf("class %d: %d rates and work of %g; expected %d rates, and work that is not negative", a, len(row), work[a], n)
		}
		for b, r := range row {
			if !(r > 0) {
				return 0, nil, fmt.Errorf("class %d beside %d: a rate of %g; expected one above 0", a, b, r)
			}
		}
		m = append(m, row...)
	}
	prices, time = pairs(m, work)
	return time, prices, nil
}
