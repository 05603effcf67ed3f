package trace

import (
	"math"
	"math/rand/v2"
	"time"
)

// Arrivals is an arrival process: it returns the time of the next arrival after the one at this time, both since the
// beginning of the trace and in whole microseconds. All of its randomness comes from the generator it is handed.
type Arrivals func(rng *rand.Rand, after time.Duration) time.Duration

// day is the period of Diurnal.
const day = 24 * time.Hour

// Constant arrives once every gap.
func Constant(gap time.Duration) Arrivals {
	return func(_ *rand.Rand, after time.Duration) time.Duration { return after + gap.Round(time.Microsecond) }
}

// Poisson has independent exponential gaps of this mean.
func Poisson(mean time.Duration) Arrivals {
	return func(rng *rand.Rand, after time.Duration) time.Duration {
		return after + micros(rng.ExpFloat64()*mean.Seconds())
	}
}

// Gaussian has independent gaps of the normal distribution with this mean and standard deviation, where negative gaps are
// drawn again. So the mean gap is longer than mean, the more so the larger deviation is against it.
func Gaussian(mean, deviation time.Duration) Arrivals {
	return func(rng *rand.Rand, after time.Duration) time.Duration {
		return after + micros(positiveNormal(rng, mean.Seconds(), deviation.Seconds()))
	}
}

// Bursts has gaps of two modes, both lognormal with this standard deviation of the logarithm: with probability burst the
// median is short, otherwise it is long.
func Bursts(burst float64, short, long time.Duration, sigma float64) Arrivals {
	return func(rng *rand.Rand, after time.Duration) time.Duration {
		median := long
		if rng.Float64() < burst {
			median = short
		}
		return after + millis(median.Seconds()*math.Exp(float64(sigma*rng.NormFloat64())))
	}
}

// Diurnal is a Poisson process whose rate follows the hour: 1/mean on average, (1 + swing) times that at peak (since the
// beginning of the trace, and every day), (1 − swing) times that twelve hours later. The swing is in [0,1]. Arrivals are
// thinned out of a process of the peak rate (Lewis and Shedler, 1979).
func Diurnal(mean time.Duration, swing float64, peak time.Duration) Arrivals {
	return func(rng *rand.Rand, after time.Duration) time.Duration {
		for at := after; ; {
			at += micros(rng.ExpFloat64() * mean.Seconds() / (1 + swing))
			angle := 2 * math.Pi * (at - peak).Seconds() / day.Seconds()
			if float64(rng.Float64()*(1+swing)) <= 1+float64(swing*math.Cos(angle)) {
				return at
			}
		}
	}
}
