package sched

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// hundredApps is 100 applications, of no two of which the runs are of one class.
func hundredApps() []*dovetail.Application {
	var apps []*dovetail.Application
	for i := range 2 {
		for _, a := range crowdApps() {
			a.Name = fmt.Sprintf("%s-%d", a.Name, i)
			apps = append(apps, a)
		}
	}
	return apps
}

// acquaint lets a core know every pair of the applications: preferences and rates.
func (w *crowd) acquaint(tb testing.TB) {
	var all []dovetail.KnownClass
	for i, a := range w.apps {
		k := dovetail.KnownClass{Class: a.Name, Seen: w.now, Goodness: 3, Updates: 1000}
		e := &dovetail.Evidence{Class: a.Name, Runs: 20, Until: w.now}
		for j, b := range w.apps {
			x := float64((i*31+j*17)%41)/20 - 1
			if i != j {
				k.Preferences = append(k.Preferences, dovetail.Preference{Class: b.Name, H: x, Updates: 10, Goodness: 3 + x})
			}
			e.Rates = append(e.Rates, dovetail.Rate{Beside: b.Name, Rate: 1 + x/5, Low: .9 + x/5, High: 1.1 + x/5, Runs: 3, Seconds: 300})
		}
		slices.SortFunc(k.Preferences, func(x, y dovetail.Preference) int { return cmp.Compare(x.Class, y.Class) })
		slices.SortFunc(e.Rates, func(x, y dovetail.Rate) int { return cmp.Compare(x.Beside, y.Beside) })
		k.Evidence = e
		all = append(all, k)
	}
	slices.SortFunc(all, func(x, y dovetail.KnownClass) int { return cmp.Compare(x.Class, y.Class) })
	w.apply(tb, dovetail.Recalled{Classes: all})
}

// BenchmarkChoose measures one decision after a departure with 10,000 nodes, 100 classes and 10,000 waiting, by the policy alone and with a
// way to choose neighbours, in turns: the ratio is that of the medians.
func BenchmarkChoose(b *testing.B) {
	for _, policy := range []string{"fifo", "fifo-backfill"} {
		for _, choose := range []string{"random", "bandit", "price"} {
			b.Run(policy+"/"+choose, func(b *testing.B) {
				var crowds [2]*crowd
				for i := range crowds {
					cfg := dovetail.DefaultConfig()
					cfg.Policy = policy
					if i == 1 {
						cfg.Colocation.Choose = choose
					}
					crowds[i] = newCrowdOf(b, cfg, 10_000, 10_000, hundredApps())
					crowds[i].acquaint(b)
				}
				var took [2][]time.Duration
				for b.Loop() {
					for i, w := range crowds {
						w.depart(b)
						took[i] = append(took[i], w.turn(b))
						w.submit(b)
						took[i][len(took[i])-1] += w.turn(b)
					}
				}
				var median, mean [2]float64
				for i := range took {
					for _, t := range took[i] {
						mean[i] += float64(t.Nanoseconds()) / 1e3 / float64(len(took[i]))
					}
					slices.Sort(took[i])
					median[i] = float64(took[i][len(took[i])/2].Nanoseconds()) / 1e3
				}
				b.ReportMetric(median[0], "off-p50-µs")
				b.ReportMetric(median[1], "on-p50-µs")
				b.ReportMetric(median[1]/median[0], "ratio-p50")
				b.ReportMetric(mean[1]/mean[0], "ratio-mean")
			})
		}
	}
}
