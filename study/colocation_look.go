package study

import (
	"cmp"
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/sim"
)

// UseRow is how all nodes were used while a queue was played, until the last job began: mean and deviation over periods, mean over seeds.
type UseRow struct {
	Queue     string       `json:"queue"`
	Policy    string       `json:"policy"`
	CPU       float64      `json:"cpu"`
	Wait      float64      `json:"wait"`
	Disk      float64      `json:"disk"`
	Net       float64      `json:"net"`
	CPUSpread float64      `json:"cpuDeviation"`
	Spread    []float64    `json:"cpuDeviations"` // by seed
	First     []clusterUse `json:"firstSeed"`     // over time
}

// PreferenceRow is with which probability jobs of one kind, scheduled already, want a queued one of another kind (seed 000, figure 8), mean over seeds.
type PreferenceRow struct {
	Scheduled string    `json:"scheduled"`
	Queued    string    `json:"queued"`
	Mean      float64   `json:"probability"`
	Seeds     []float64 `json:"probabilities"`
}

// RateRow is a rate beside what one earlier pass says of it.
type RateRow struct {
	Class   string  `json:"class"`
	Beside  string  `json:"beside"`
	True    float64 `json:"true"`
	Learned float64 `json:"learned"` // relative to the usual pace, times that; mean over seeds
	Off     float64 `json:"off"`     // root of the mean square of the relative error, over seeds
}

// look keeps what is shown of queues A and B without stragglers and with the smaller window: use, preferences and rates.
func (e *ColocationEvaluation) look(all []setting, found []*compared) error {
	var books []*coloc.Book
	var taught []*colocationOutcome
	var world *contended
	for i, f := range found {
		s := &all[i]
		if s.part != ColocationQueues || s.world.straggler != 0 || s.window != windows()[0] {
			continue
		}
		for _, policy := range []string{armFIFO, armRA, armPrice} {
			e.used(s.queue, policy, f.outcomes[policy])
		}
		if s.queue == queueA {
			world = s.world
			b := coloc.New(dovetail.Colocation{})
			if err := b.Recall(sim.Epoch(), f.outcomes[armRA].known); err != nil {
				return err
			}
			books, taught = append(books, b), append(taught, f.taught)
		}
	}
	if world != nil {
		e.Preferences = preferences(world, books)
		e.Rates = learnedRates(world, taught)
	}
	return nil
}

// used adds one play to the row of a queue and a policy.
func (e *ColocationEvaluation) used(queue, policy string, out *colocationOutcome) {
	i := slices.IndexFunc(e.Uses, func(u UseRow) bool { return u.Queue == queue && u.Policy == policy })
	if i < 0 {
		i = len(e.Uses)
		e.Uses = append(e.Uses, UseRow{Queue: queue, Policy: policy, First: out.uses})
	}
	u := &e.Uses[i]
	n := float64(len(u.Spread))
	busy := slices.DeleteFunc(slices.Clone(out.uses), func(c clusterUse) bool { return c.At > out.begun })
	var m clusterUse
	for _, c := range busy {
		k := 1 / float64(len(busy))
		m.CPU, m.Wait, m.Disk, m.Net = m.CPU+k*c.CPU, m.Wait+k*c.Wait, m.Disk+k*c.Disk, m.Net+k*c.Net
	}
	spread := 0.0
	for _, c := range busy {
		spread += (c.CPU - m.CPU) * (c.CPU - m.CPU) / float64(len(busy))
	}
	u.Spread = append(u.Spread, math.Sqrt(spread))
	mix := func(old, now float64) float64 { return (old*n + now) / (n + 1) }
	u.CPU, u.Wait, u.Disk, u.Net = mix(u.CPU, m.CPU), mix(u.Wait, m.Wait), mix(u.Disk, m.Disk), mix(u.Net, m.Net)
	u.CPUSpread = mix(u.CPUSpread, math.Sqrt(spread))
}

// preferences returns figure 8.
func preferences(w *contended, books []*coloc.Book) []PreferenceRow {
	var rows []PreferenceRow
	for _, scheduled := range w.kinds {
		for _, queued := range w.kinds {
			r := PreferenceRow{Scheduled: scheduled.name, Queued: queued.name}
			for _, b := range books {
				p := b.Likes(b.Find(queued.name), b.Find(scheduled.name))
				r.Seeds = append(r.Seeds, p)
				r.Mean += p / float64(len(books))
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// learnedRates compares what earlier passes say with the true rates. Evidence is relative to the usual pace of a class, which is the one at which the
// differences to the true rates cancel out.
func learnedRates(w *contended, taught []*colocationOutcome) []RateRow {
	m := w.rates()
	var rows []RateRow
	for a, kind := range w.kinds {
		for b, beside := range w.kinds {
			r := RateRow{Class: kind.name, Beside: beside.name, True: m[a][b]}
			n := 0.0
			for _, t := range taught {
				k := slices.IndexFunc(t.known, func(k dovetail.KnownClass) bool { return k.Class == kind.name })
				if k < 0 || t.known[k].Evidence == nil {
					continue
				}
				rates := t.known[k].Evidence.Rates
				pace, met := 0.0, 0.0
				for c, other := range w.kinds {
					if rate, ok := besides(rates, other.name); ok {
						pace += math.Log(m[a][c] / rate)
						met++
					}
				}
				if rate, ok := besides(rates, beside.name); ok {
					learned := rate * math.Exp(pace/met)
					r.Learned += learned
					off := learned/r.True - 1
					r.Off += float64(off * off)
					n++
				}
			}
			r.Learned, r.Off = r.Learned/max(n, 1), math.Sqrt(r.Off/max(n, 1))
			rows = append(rows, r)
		}
	}
	return rows
}

// besides finds a rate.
func besides(rates []dovetail.Rate, class string) (float64, bool) {
	i, ok := slices.BinarySearchFunc(rates, class, func(r dovetail.Rate, class string) int { return cmp.Compare(r.Beside, class) })
	if !ok {
		return 0, false
	}
	return rates[i].Rate, true
}
