package trace

import (
	"math"
	"testing"
	"time"
)

func TestArrivals(t *testing.T) {
	const n = 50_000
	tests := []struct {
		name      string
		reason    string
		next      Arrivals
		mean, dev float64 // of the gaps in seconds
	}{
		{"constant", "every gap is the same", Constant(7480 * time.Millisecond), 7.48, 0},
		{"poisson", "exponential gaps deviate as much as their mean", Poisson(time.Minute), 60, 60},
		{"gaussian", "three deviations from zero hardly anything is cut off", Gaussian(time.Minute, 20*time.Second), 60.09, 19.85},
		{"gaussian cut off", "the mean of a normal distribution without its negative part: µ + σφ(µ/σ)/Φ(µ/σ)",
			Gaussian(time.Minute, 40*time.Second), 65.55, 35.07},
		{"bursts", "moments of two lognormal modes: mean Σ pᵢ mᵢ exp(σ²/2), square Σ pᵢ mᵢ² exp(2σ²)", Bursts(0.6, 3*time.Second, 122*time.Second, 0.5), 57.34, 80.85},
		{"diurnal", "the mean rate is that of a Poisson process", Diurnal(time.Minute, 0.8, 14*time.Hour), 60, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rng := stream(1, "arrivals")
			var at time.Duration
			var sum, square float64
			for range n {
				next := tt.next(rng, at)
				if next < at || next%time.Microsecond != 0 {
					t.Fatalf("after %v comes %v; want a later time in whole microseconds", at, next)
				}
				gap := (next - at).Seconds()
				sum += gap
				square += gap * gap
				at = next
			}
			mean := sum / n
			if math.Abs(mean-tt.mean) > 0.02*tt.mean {
				t.Errorf("mean gap %.3f s, want %.3f: %s", mean, tt.mean, tt.reason)
			}
			dev := math.Sqrt(max(0, square/n-mean*mean))
			if tt.dev >= 0 && math.Abs(dev-tt.dev) > 0.03*tt.dev+1e-3 {
				t.Errorf("deviation %.3f s, want %.3f: %s", dev, tt.dev, tt.reason)
			}
		})
	}
}

func TestDiurnalFollowsTheHour(t *testing.T) {
	const swing, peak, days = 0.8, 14, 200
	rng, next := stream(3, "arrivals"), Diurnal(time.Minute, swing, peak*time.Hour)
	var hours [24]float64
	for at := next(rng, 0); at < days*day; at = next(rng, at) {
		hours[at%day/time.Hour]++
	}
	for h, found := range hours {
		// the mean of 1 + swing·cos over the hour
		low, high := 2*math.Pi*float64(h-peak)/24, 2*math.Pi*float64(h+1-peak)/24
		want := 60 * days * (1 + swing*(math.Sin(high)-math.Sin(low))/(high-low))
		if math.Abs(found-want) > 5*math.Sqrt(want) {
			t.Errorf("hour %d: %.0f arrivals, want %.0f ± %.0f", h, found, want, 5*math.Sqrt(want))
		}
	}
}
