package coloc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// dense is a naive model of a book: each row has an absolute preference for every class that there is or was, and for those that it never met. It applies
// equations 2 and 3 to all of them as they stand.
type dense struct {
	step  float64
	half  time.Duration
	limit int
	rows  map[string]*denseRow // of the classes in the book
	away  map[string]*denseRow // of those put away last
}

type denseRow struct {
	held     int
	seen     time.Time
	tomb     bool
	evidence bool
	mean, n  float64
	rest     float64 // preference of a class that was not met
	h, count map[string]float64
}

func (m *dense) names() []string {
	var names []string
	for name := range m.rows {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// preference returns H of a class, met or not.
func (r *denseRow) preference(class string) float64 {
	if h, ok := r.h[class]; ok {
		return h
	}
	return r.rest
}

func (m *dense) pi(r *denseRow, h float64) float64 {
	z := 0.0
	for _, name := range m.names() {
		z += math.Exp(r.preference(name))
	}
	return math.Exp(h) / z
}

func (r *denseRow) known() bool { return !r.seen.IsZero() || r.evidence || r.tomb }

// enter makes room as the book says it does.
func (m *dense) enter(name string) *denseRow {
	if r := m.rows[name]; r != nil {
		return r
	}
	m.shrink(1)
	if len(m.rows) >= m.limit {
		return nil
	}
	r := &denseRow{h: map[string]float64{}, count: map[string]float64{}}
	m.rows[name] = r
	return r
}

func (m *dense) shrink(more int) {
	for len(m.rows)+more > m.limit {
		idle := slices.DeleteFunc(m.names(), func(n string) bool { return m.rows[n].held > 0 })
		if len(idle) == 0 {
			return
		}
		last := slices.MinFunc(idle, func(a, b string) int { return cmp.Or(m.rows[a].seen.Compare(m.rows[b].seen), cmp.Compare(a, b)) })
		m.away[last] = m.rows[last]
		delete(m.rows, last)
	}
}

func (m *dense) touch(r *denseRow, now time.Time) {
	if !now.After(r.seen) {
		return
	}
	if m.half > 0 && !r.seen.IsZero() {
		left := math.Exp2(-float64(now.Sub(r.seen)) / float64(m.half))
		r.n *= left
		for class := range r.h {
			r.h[class] = r.rest + (r.h[class]-r.rest)*left
			if r.count[class] *= left; r.count[class] < traces {
				delete(r.h, class)
				delete(r.count, class)
			}
		}
	}
	r.seen = now
}

// learn is one update of a row.
func (m *dense) learn(now time.Time, running, newcomer string, g float64) {
	r := m.rows[running]
	m.touch(r, now)
	if _, ok := r.h[newcomer]; !ok {
		r.h[newcomer] = r.rest
	}
	r.count[newcomer]++
	r.n++
	r.mean += (g - r.mean) / r.n
	d := m.step * (g - r.mean)
	before := map[string]float64{}
	for class, h := range r.h {
		before[class] = m.pi(r, h)
	}
	lost := d * m.pi(r, r.rest)
	for class := range r.h {
		switch {
		case class == newcomer:
			r.h[class] += d * (1 - before[class])
		case m.rows[class] != nil:
			r.h[class] -= d * before[class]
		default:
			r.h[class] -= lost // not in the book: it keeps its distance from the rest
		}
	}
	r.rest -= lost
}

var names = []string{"a", "b", "c", "d", "e", "f", "g"}

// machine drives a book and the naive model.
type machine struct {
	b     *Book
	m     *dense
	clock int
	stays map[string][]ID // what Hold returned and was not released
}

func (x *machine) now() time.Time { return at(x.clock) }

func (x *machine) hold(name string) {
	r := x.m.enter(name)
	id := x.b.Hold(name)
	if (id == Stranger) != (r == nil) {
		panic(fmt.Sprintf("Hold(%s) = %d, the model has %v", name, id, r))
	}
	if r != nil {
		r.held++
		x.stays[name] = append(x.stays[name], id)
	}
}

func (x *machine) release(name string) {
	ids := x.stays[name]
	if len(ids) == 0 {
		return
	}
	x.b.Release(ids[0])
	x.stays[name] = ids[1:]
	r := x.m.rows[name]
	if r.held--; r.held == 0 && !r.known() {
		delete(x.m.rows, name)
	}
	x.m.shrink(0)
}

func (x *machine) learn(a, c string, u dovetail.NodeUse) {
	if a == c || x.b.Find(a) == Stranger || x.b.Find(c) == Stranger {
		return
	}
	x.b.Learn(x.now(), []Shared{{Use: &u, Residents: []Resident{{x.b.Find(a), 1}, {x.b.Find(c), 2}}}})
	if Check(&u) != "" || isIdle(&u) {
		return
	}
	x.m.learn(x.now(), a, c, Goodness(&u))
	x.m.learn(x.now(), c, a, Goodness(&u))
}

func (x *machine) pair(t *rapid.T, class, beside string, rate float64) {
	e := dovetail.Evidence{Class: class, Runs: 3, Rates: []dovetail.Rate{{Beside: beside, Rate: rate, Low: rate / 2, High: rate * 2, Runs: 3, Seconds: 9}}}
	if err := x.b.Pair(x.now(), &e); err != nil {
		t.Fatal(err)
	}
	if r := x.m.enter(class); r != nil {
		x.m.touch(r, x.now())
		r.evidence = true
		if got := x.b.Rate(x.b.Find(class), x.b.Find(beside)); x.b.Find(beside) != Stranger && got != e.Rates[0] {
			t.Fatalf("rate %v, want %v", got, e.Rates[0])
		}
	}
}

func (x *machine) forget(class string) {
	x.b.Forget(x.now(), class)
	drop := func(r *denseRow) {
		r.seen, r.tomb, r.evidence, r.mean, r.n, r.rest = x.now(), true, false, 0, 0, 0
		clear(r.h)
		clear(r.count)
	}
	if class == "" {
		for _, r := range x.m.rows {
			drop(r)
		}
		return
	}
	for _, r := range x.m.rows {
		delete(r.h, class)
		delete(r.count, class)
	}
	if r := x.m.enter(class); r != nil {
		drop(r)
	}
}

// putAway drains what was put away and fails if that is not what the model put away.
func (x *machine) putAway(t *rapid.T) map[string]dovetail.KnownClass {
	last := map[string]dovetail.KnownClass{}
	for _, k := range x.b.PutAway() {
		last[k.Class] = k
	}
	if len(last) != len(x.m.away) {
		t.Fatalf("put away: %v, want %v", last, x.m.away)
	}
	for name, r := range x.m.away {
		if k := last[name]; k.Class != name || len(k.Preferences) != len(r.h) || !k.Seen.Equal(r.seen) || (k.Evidence != nil) != r.evidence {
			t.Fatalf("put away: %+v, want %+v", k, r)
		}
	}
	clear(x.m.away)
	return last
}

// recall brings back one of the classes that were put away.
func (x *machine) recall(t *rapid.T) {
	rows := maps.Clone(x.m.away)
	last := x.putAway(t)
	for _, name := range names {
		k, ok := last[name]
		if !ok || x.b.Find(name) != Stranger {
			continue
		}
		if err := x.b.Recall(time.Time{}, []dovetail.KnownClass{k}); err != nil {
			t.Fatal(err)
		}
		x.m.rows[name] = rows[name]
		x.m.shrink(0)
		if got, ok := x.b.Class(name); ok != (x.m.rows[name] != nil) || ok && marshal(t, got) != marshal(t, k) {
			t.Fatalf("recalled %+v, got %+v", k, got)
		}
		return
	}
}

// restore replaces the book by one that is told what the old one knew, and holds the same, in another order.
func (x *machine) restore(t *rapid.T) {
	old := x.b
	text, err := json.Marshal(old.Known())
	if err != nil {
		t.Fatal(err)
	}
	var known []dovetail.KnownClass
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	roomy := old.cfg
	roomy.Classes = len(names)
	x.b = New(roomy) // more may be held than there is room for since it was configured
	hold := func() {
		for _, name := range slices.Backward(names) {
			for i := range x.stays[name] {
				x.stays[name][i] = x.b.Hold(name)
			}
		}
	}
	first := rapid.Bool().Draw(t, "hold first")
	if first {
		hold()
	}
	if err := x.b.Recall(time.Time{}, known); err != nil {
		t.Fatal(err)
	}
	if !first {
		hold()
	}
	x.b.Configure(old.cfg)
	same(t, old, x.b)
}

// same fails if two books answer differently in any bit.
func same(t *rapid.T, a, b *Book) {
	if len(b.PutAway()) > 0 {
		t.Fatal("something had to make room")
	}
	at, bt := marshal(t, a.Known()), marshal(t, b.Known())
	if at != bt {
		t.Fatalf("known\n%s\n%s", at, bt)
	}
	scenes := [2]Scene{}
	for i, book := range []*Book{a, b} {
		s := &scenes[i]
		s.Now = time.Unix(1_700_100_000, 0)
		for j, name := range append([]string{"unheard of"}, names...) {
			s.Held = append(s.Held, Share{book.Find(name), float64(j + 1)})
			s.Work = append(s.Work, Share{book.Find(name), float64(10 + j*j%7)})
			other := names[j%len(names)]
			s.Window = append(s.Window, Candidate{ID: book.Find(name), Weight: float64(1 + j%3), Nodes: [][]ID{{book.Find(other)}, {}, {book.Find("c"), book.Find(other)}}})
		}
	}
	for _, m := range Methods() {
		p, q := make([]float64, len(names)+1), make([]float64, len(names)+1)
		m.Weigh(a, &scenes[0], p)
		m.Weigh(b, &scenes[1], q)
		if !slices.Equal(p, q) {
			t.Fatalf("%s: %v and %v", m.Name, p, q)
		}
		sum := 0.0
		for _, x := range p {
			sum += x
			if !(x >= 0) {
				t.Fatalf("%s: %v", m.Name, p)
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("%s: probabilities sum to %g", m.Name, sum)
		}
		for i := range scenes[0].Window {
			if m.Score == nil {
				continue
			}
			c, d := &scenes[0].Window[i], &scenes[1].Window[i]
			for n := range c.Nodes {
				s := m.Score(a, &scenes[0], c.ID, c.Nodes[n])
				if o := m.Score(b, &scenes[1], d.ID, d.Nodes[n]); s != o || !(s >= 0 && s <= 1) {
					t.Fatalf("%s: scores %g and %g", m.Name, s, o)
				}
			}
		}
	}
}

func marshal(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// agree fails if the book and the naive model differ.
func (x *machine) agree(t *rapid.T) {
	var in []string
	for _, id := range x.b.order {
		in = append(in, x.b.classes[id].name)
	}
	if !slices.Equal(in, x.m.names()) {
		t.Fatalf("in the book: %v, want %v", in, x.m.names())
	}
	for i, running := range in {
		c := &x.b.classes[x.b.Find(running)]
		if r := x.m.rows[running]; c.rank != i || c.held != r.held || c.known() != r.known() || !c.row.seen.Equal(r.seen) {
			t.Fatalf("%s: %+v, want %+v", running, c, r)
		}
		r := x.m.rows[running]
		if math.Abs(c.row.goodness-r.mean) > 1e-9 || math.Abs(c.row.updates-r.n) > 1e-9*(1+r.n) {
			t.Fatalf("%s: mean %g of %g, want %g of %g", running, c.row.goodness, c.row.updates, r.mean, r.n)
		}
		sum := 0.0
		for _, newcomer := range in {
			got := x.b.Likes(x.b.Find(newcomer), x.b.Find(running))
			sum += got
			if want := x.m.pi(r, r.preference(newcomer)); math.Abs(got-want) > 1e-9 {
				t.Fatalf("π(%s|%s) = %.15g, want %.15g", newcomer, running, got, want)
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("π(·|%s) sums to %g", running, sum)
		}
	}
}

// TestBook drives a book and a naive dense model of it through the same events.
func TestBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := dovetail.Colocation{
			Step:     rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(t, "step"),
			HalfLife: dovetail.Duration(rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "half-life")),
			Classes:  rapid.IntRange(3, 8).Draw(t, "classes"),
		}
		x := &machine{b: New(cfg), m: &dense{half: time.Duration(cfg.HalfLife), limit: cfg.Classes, rows: map[string]*denseRow{}, away: map[string]*denseRow{}}, stays: map[string][]ID{}}
		x.m.step = x.b.step()
		name := rapid.SampledFrom(names)
		t.Repeat(map[string]func(*rapid.T){
			"hold":    func(t *rapid.T) { x.hold(name.Draw(t, "class")) },
			"release": func(t *rapid.T) { x.release(name.Draw(t, "class")) },
			"wait":    func(t *rapid.T) { x.clock += rapid.IntRange(-30, 3600).Draw(t, "seconds") },
			"learn": func(t *rapid.T) {
				share := rapid.Float64Range(0, 1.1)
				x.learn(name.Draw(t, "a"), name.Draw(t, "b"), dovetail.NodeUse{
					CPU: share.Draw(t, "cpu"), Wait: share.Draw(t, "wait"), Disk: 2 * share.Draw(t, "disk"), Net: share.Draw(t, "net"),
				})
			},
			"pair": func(t *rapid.T) {
				x.pair(t, name.Draw(t, "class"), name.Draw(t, "beside"), rapid.Float64Range(0.1, 3).Draw(t, "rate"))
			},
			"forget": func(t *rapid.T) { x.forget(rapid.SampledFrom(append(names, "")).Draw(t, "class")) },
			"configure": func(t *rapid.T) {
				cfg.Classes = rapid.IntRange(3, 8).Draw(t, "classes")
				x.b.Configure(cfg)
				x.m.limit = cfg.Classes
				x.m.shrink(0)
			},
			"recall": func(t *rapid.T) { x.recall(t) },
			"restore": func(t *rapid.T) {
				x.putAway(t)
				x.restore(t)
			},
			"": func(t *rapid.T) { x.agree(t) },
		})
	})
}
