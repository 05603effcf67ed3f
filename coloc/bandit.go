package coloc

import (
	"math"
	"slices"
	"time"
)

// wants is how much each class is wanted next to the runs in service: Σ nodes held × π(class | running). It is computed once for a scene,
// and of the classes that are asked for.
type wants struct {
	ready   bool
	version int // of the book
	now     time.Time
	held    []Share   // that it was computed of
	running []running // those of them that are in the book, by name
	byID    []float64 // for each class of the book; NaN: not asked for yet
	other   float64   // for a class that none of the running ones has met: a Stranger
}

// running is a class in service.
type running struct {
	id   ID
	left float64 // of what its row has learned
	rest float64 // nodes held × π of each class that it has not met
}

// wanted returns what is wanted in a scene.
func (b *Book) wanted(s *Scene) *wants {
	w := &s.wants
	if w.ready && w.version == b.version && (b.cfg.HalfLife <= 0 || w.now.Equal(s.Now)) && slices.Equal(w.held, s.Held) {
		return w
	}
	*w = wants{
		ready: true, version: b.version, now: s.Now, held: append(w.held[:0], s.Held...),
		running: w.running[:0], byID: slices.Grow(w.byID[:0], len(b.classes))[:len(b.classes)],
	}
	for i := range w.byID {
		w.byID[i] = math.NaN()
	}
	classes := float64(max(len(b.order), 1))
	for _, h := range b.merged(s.Held) {
		if h.ID == Stranger {
			w.other += h.Amount / classes
			continue
		}
		r := &b.classes[h.ID].row
		left := b.leftOf(r, s.Now)
		rest := h.Amount / r.partitionAt(left, len(b.order))
		w.other += rest
		w.running = append(w.running, running{h.ID, left, rest})
	}
	return w
}

// of returns how much a class is wanted.
func (w *wants) of(b *Book, id ID) float64 {
	if !b.has(id) {
		return w.other
	}
	if math.IsNaN(w.byID[id]) {
		w.byID[id] = 0
		for _, x := range w.running {
			r := &b.classes[x.id].row
			if i := r.index(id); i >= 0 {
				w.byID[id] += float64(x.rest * (r.prefs[i].at(x.left) - 1)) // beyond what it adds to a class that is not met
			}
		}
	}
	return w.other + w.byID[id]
}

// leftOf returns what is left at a time of what a row has learned; the zero time is that at which it learned it.
func (b *Book) leftOf(r *row, now time.Time) float64 {
	if now.IsZero() {
		return 1
	}
	return b.left(r.seen, now)
}

// at returns exp(H) of a newcomer when so much is left of its row.
func (p *pref) at(left float64) float64 {
	if left == 1 {
		return p.e
	}
	return math.Exp(p.h * left)
}

// partitionAt returns what partition does when so much is left of the row.
func (r *row) partitionAt(left float64, classes int) float64 {
	if left == 1 {
		return r.partition(classes)
	}
	sum := 0.0
	for i := range r.prefs {
		if p := &r.prefs[i]; p.id != Stranger {
			sum += p.at(left)
		}
	}
	return sum + float64(classes-r.met)
}

// weighBandit gives each run of the window a probability proportional to its weight times Σ_running nodes held × π(its class | running)
// (seed 000 §4.3 with w_a, and the prototype's nodes); with nothing running, to its weight.
func weighBandit(b *Book, s *Scene, p []float64) {
	mass(b, s, p)
	normalise(p)
}

// weighGreedy picks the run to which weighBandit gives the highest probability; of equals the first in line.
func weighGreedy(b *Book, s *Scene, p []float64) {
	mass(b, s, p)
	surely(p, slices.Index(p, slices.Max(p)))
}

// weighRandom gives each run a probability proportional to its weight.
func weighRandom(_ *Book, s *Scene, p []float64) {
	for i := range s.Window {
		p[i] = s.Window[i].Weight
	}
	normalise(p)
}

// mass writes what weighBandit normalises.
func mass(b *Book, s *Scene, p []float64) {
	w := b.wanted(s)
	for i := range s.Window {
		p[i] = s.Window[i].Weight
		if len(s.Held) > 0 {
			p[i] *= w.of(b, s.Window[i].ID)
		}
	}
}

// normalise makes masses sum to 1. Masses that do not sum to something positive say nothing: all are alike then.
func normalise(p []float64) {
	sum := 0.0
	for _, m := range p {
		sum += m
	}
	for i := range p {
		if sum > 0 && !math.IsInf(sum, 1) {
			p[i] /= sum
		} else {
			p[i] = 1 / float64(len(p))
		}
	}
}

// scoreBandit is the mean over the runs on a node of q / (1 + q), where q is π(newcomer | run) relative to 1/classes: 0.5 if it is neither
// wanted nor unwanted.
func scoreBandit(b *Book, s *Scene, newcomer ID, residents []ID) float64 {
	if len(residents) == 0 {
		return 0.5
	}
	sum := 0.0
	for _, id := range residents {
		q := b.relative(newcomer, id, s.Now)
		sum += q / (1 + q)
	}
	return sum / float64(len(residents))
}

// relative returns π(newcomer | running) × classes.
func (b *Book) relative(newcomer, running ID, now time.Time) float64 {
	if !b.has(running) {
		return 1
	}
	r := &b.classes[running].row
	left := b.leftOf(r, now)
	e := 1.0
	if i := r.index(newcomer); i >= 0 {
		e = r.prefs[i].at(left)
	}
	classes := len(b.order)
	return e * float64(classes) / r.partitionAt(left, classes)
}
