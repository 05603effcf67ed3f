package sim

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRates holds the speed that models give against their definitions.
func TestRates(t *testing.T) {
	points := Points{{1, 1}, {8, 6.5}, {64, 30}}
	for _, tc := range []struct {
		reason     string
		model      Model
		hundredths int64
		want       float64 // times the speed of one replica
	}{
		{"linear", Linear{}, 700, 7},
		{"Amdahl's law: 1/(0.1 + 0.9/10)", Curve{Serial: 0.1}, 1000, 1 / 0.19},
		{"with a cost of coordination: 10/(1 + 0.1·9 + 0.001·90)", Curve{Serial: 0.1, Coordination: 0.001}, 1000, 10 / 1.99},
		{"past the peak at √(0.9/0.01) it stays", Curve{Serial: 0.1, Coordination: 0.01}, 100_000, 9.486833 / (1 + 0.1*8.486833 + 0.01*9.486833*8.486833)},
		{"half a replica", Curve{Serial: 0.1}, 50, 0.5},
		{"a point", points, 800, 6.5},
		{"between two points", points, 3600, 18.25},
		{"before the first", points, 50, 0.5},
		{"beyond the last", points, 100_000, 30},
	} {
		got := float64(tc.model.Rate(nil, tc.hundredths)) / float64(tc.model.Rate(nil, Whole))
		if math.Abs(got-tc.want) > 0.002 {
			t.Errorf("%s: %d hundredths are %.4f times as fast as one replica; expected %.4f", tc.reason, tc.hundredths, got, tc.want)
		}
	}
}

// TestRatesNeverFall: what Model demands of every model.
func TestRatesNeverFall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		m := rapid.SampledFrom([]Model{
			Linear{}, Curve{share.Draw(t, "serial"), share.Draw(t, "coordination")}, Points{{3, share.Draw(t, "speed") + 1e-6}, {9, 2}},
		}).Draw(t, "model")
		few := rapid.Int64Range(Whole, 1000*Whole).Draw(t, "few")
		many := rapid.Int64Range(few, 1000*Whole).Draw(t, "many")
		if a, b := m.Rate(nil, few), m.Rate(nil, many); a < 1 || b < a {
			t.Errorf("%#v: %d hundredths have the rate %d, %d have %d", m, few, a, many, b)
		}
	})
}

// TestWork: work that cannot be counted, and no work at all, are refused.
func TestWork(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		runtime time.Duration
		elastic int
		want    int64 // 0: refused
	}{
		{"a microsecond on two replicas", time.Microsecond, 1, 2 * Whole},
		{"less than a microsecond", time.Nanosecond, 1, 0},
		{"a century on 100,000 replicas", 100 * 365 * 24 * time.Hour, 99_999, 0},
	} {
		got, err := work(Linear{}, job(tc.elastic, tc.runtime))
		if got != tc.want || (err == nil) != (tc.want > 0) {
			t.Errorf("%s: %d, %v; expected %d", tc.reason, got, err, tc.want)
		}
	}
}
