package report

import (
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"

	"github.com/dovetail-sched/dovetail"
)

// Figures returns the pictures of a sweep: boxes and curves of turnaround, queueing and slowdown with the seeds of a setting put
// together; boxes of queue lengths and allocation; queue length and allocation over time, of the first seed of each setting; and a
// timeline of each small schedule whose placements are known.
func Figures(cells []*Digest) []Figure {
	if len(cells) == 0 {
		return nil
	}
	l := newLayout(cells)
	figures := l.boxFigures()
	figures = append(figures, l.curveFigures()...)
	figures = append(figures, l.queueFigure())
	figures = append(figures, l.allocationFigures()...)
	for _, s := range l.settings {
		if s.first.timeline != nil {
			figures = append(figures, gantt(s.first.timeline, s.first.Cell))
		}
	}
	return figures
}

// layout is the order in which figures show the settings of a sweep.
type layout struct {
	policies []string // in the order in which they come first, as are variants and settings
	variants []string // allocators, with and without preemption
	settings []*setting
	kinds    []string // of runs
}

// setting is one policy with one allocator, over its seeds.
type setting struct {
	policy, variant int // indices into layout
	name            string
	first           *Digest
	all             []*Digest
}

func newLayout(cells []*Digest) *layout {
	l := &layout{}
	index := make(map[Cell]*setting)
	policies, variants := make(map[string]int), make(map[string]int)
	number := func(seen map[string]int, list *[]string, name string) int {
		i, known := seen[name]
		if !known {
			i = len(*list)
			seen[name] = i
			*list = append(*list, name)
		}
		return i
	}
	there := make(map[string]bool)
	for _, d := range cells {
		s := index[d.setting()]
		if s == nil {
			s = &setting{
				policy: number(policies, &l.policies, d.Policy), variant: number(variants, &l.variants, d.Variant()),
				name: d.Setting(), first: d,
			}
			index[d.setting()] = s
			l.settings = append(l.settings, s)
		}
		s.all = append(s.all, d)
		for i := range d.Kinds {
			there[d.Kinds[i].Name] = true
		}
	}
	for _, name := range []string{BatchElastic, BatchRigid, Interactive, Service} {
		if there[name] {
			l.kinds = append(l.kinds, name)
		}
	}
	return l
}

// kind returns the runs of one kind of a setting, all seeds together; of all runs if the name is empty.
func (s *setting) kind(name string, of func(*KindDigest) *Distribution) Distribution {
	var parts []Distribution
	for _, d := range s.all {
		if name == "" {
			parts = append(parts, *of(&d.All))
		}
		for i := range d.Kinds {
			if d.Kinds[i].Name == name {
				parts = append(parts, *of(&d.Kinds[i]))
			}
		}
	}
	return together(parts)
}

// whole returns a distribution of a setting, all seeds together.
func (s *setting) whole(of func(*Digest) *Distribution) Distribution {
	var parts []Distribution
	for _, d := range s.all {
		parts = append(parts, *of(d))
	}
	return together(parts)
}

func together(parts []Distribution) Distribution {
	if len(parts) == 1 {
		return parts[0]
	}
	return Pool(parts)
}

// without says which of the runs that ended a figure over runs leaves out, for its notes.
func (l *layout) without() string {
	for _, s := range l.settings {
		if slices.ContainsFunc(s.all, func(d *Digest) bool { return d.Failed > 0 }) {
			return "; without runs that failed"
		}
	}
	return ""
}

// seeds says how many there are, for the notes of a figure.
func (l *layout) seeds() string {
	most := 0
	for _, s := range l.settings {
		most = max(most, len(s.all))
	}
	if most > 1 {
		return "; the seeds of a setting put together"
	}
	return ""
}

// variantColour returns the colour of an allocator in every figure.
func variantColour(variant int) string { return palette[variant%len(palette)].fill }

// measured quantities of runs, as figures name them.
type quantity struct {
	name, title, unit string
	what              string // is at most so much for a share of the runs
	of                func(*KindDigest) *Distribution
}

func quantities() []quantity {
	return []quantity{
		{"turnaround", "Turnaround", "s", "were done after at most so long", func(k *KindDigest) *Distribution { return &k.Turnaround }},
		{"queueing", "Queueing", "s", "waited at most so long", func(k *KindDigest) *Distribution { return &k.Queue }},
		{"slowdown", "Slowdown", "", "were slowed at most so much", func(k *KindDigest) *Distribution { return &k.Slowdown }},
	}
}

// label names an axis of the quantity.
func (q *quantity) label() string {
	if q.unit == "" {
		return strings.ToLower(q.title)
	}
	return strings.ToLower(q.title) + ", " + q.unit
}

// kindTitle says a kind in words.
func kindTitle(name string) string {
	switch name {
	case BatchElastic:
		return "B-E: batch, elastic"
	case BatchRigid:
		return "B-R: batch, rigid"
	case Interactive:
		return "Int: interactive"
	case Service:
		return "Svc: services"
	}
	return "all runs"
}

// curves draws cumulative shares, one panel a policy and one line an allocator.
func (l *layout) curveFigures() []Figure {
	figures := make([]Figure, 0, 3)
	for _, q := range quantities() {
		f := Figure{
			Name: q.name + "-cdf", Title: q.title + ": share of runs that " + q.what,
			notes: "cumulative distribution over the runs that ended" + l.without() + l.seeds(), legend: l.lineLegend(),
		}
		pooled := make([]Distribution, len(l.settings))
		var shown []float64
		for i, s := range l.settings {
			pooled[i] = s.kind("", q.of)
			shown = append(shown, pooled[i].sketch(1)...)
			shown = append(shown, pooled[i].Quantile(permilles))
		}
		x := fit(q.label(), shown)
		panels := l.policyPanels(x, linear("share of runs, %", 100))
		f.grid(panels, columnsFor(len(panels)), l.panelWidth(), 210)
		f.panels = append(f.panels, func(sh *sheet) {
			for _, p := range panels {
				p.ground(sh)
			}
			for i, s := range l.settings {
				if pooled[i].N > 0 {
					panels[s.policy].curve(sh, linePen(l.variants, s.variant), &pooled[i])
				}
			}
		})
		figures = append(figures, f)
	}
	return figures
}

// policyPanels returns a panel a policy, all on the same axes.
func (l *layout) policyPanels(x, y axis) []*panel {
	panels := make([]*panel, len(l.policies))
	for i, name := range l.policies {
		panels[i] = &panel{title: name, x: x, y: y}
	}
	return panels
}

// panelWidth returns the width of the panels of a row: fewer are wider.
func (l *layout) panelWidth() float64 {
	switch columnsFor(len(l.policies)) {
	case 1:
		return 560
	case 2:
		return 400
	}
	return 280
}

// curve draws a cumulative distribution.
func (p *panel) curve(s *sheet, line pen, d *Distribution) {
	const every = 5 // permille: finer than can be seen, and small
	xs, ys := make([]float64, 0, permilles/every+1), make([]float64, 0, permilles/every+1)
	for i := 0; i <= permilles; i += every {
		xs = append(xs, p.xAt(d.Quantile(i)))
		ys = append(ys, p.yAt(float64(i)/permilles*100))
	}
	s.stroke(line, xs, ys)
}

// linePen returns how the lines of an allocator are drawn: those that preempt are dashed, and those that are drawn first are
// wider, so that they can be seen below others.
func linePen(variants []string, variant int) pen {
	p := pen{colour: variantColour(variant), width: 1.2 + min(0.7*float64(len(variants)-1-variant), 2)}
	if strings.HasSuffix(variants[variant], "+preempt") {
		p.dashes = []vg.Length{5, 2.5}
	}
	return p
}

func (l *layout) lineLegend() []swatch {
	entries := make([]swatch, len(l.variants))
	for i, name := range l.variants {
		entries[i] = swatch{name, func(s *sheet, x, y, w, h float64) {
			s.stroke(linePen(l.variants, i), []float64{x, x + w}, []float64{y + h/2, y + h/2})
		}}
	}
	return entries
}

// queueFigure draws the waiting line over time, one panel a policy and one line an allocator.
func (l *layout) queueFigure() Figure {
	f := Figure{
		Name: "queue-over-time", Title: "Runs that wait, over time", legend: l.lineLegend(),
		notes: "mean of each of at most " + number(seriesColumns, 0) + " stretches of time" + l.firstSeed(),
	}
	most := 0.0
	for _, s := range l.settings {
		for i := range s.first.Series {
			most = max(most, s.first.Series[i].Waiting)
		}
	}
	until, cut := l.horizon()
	f.notes += cut
	x, unit := timeAxis(until, 6)
	panels := l.policyPanels(x, linear("runs waiting", most))
	f.grid(panels, columnsFor(len(panels)), l.panelWidth(), 210)
	f.panels = append(f.panels, func(sh *sheet) {
		for _, p := range panels {
			p.ground(sh)
		}
		for _, s := range l.settings {
			p := panels[s.policy]
			xs, ys := p.series(s.first, unit, func(pt *Point) float64 { return pt.Waiting })
			sh.stroke(linePen(l.variants, s.variant), xs, ys)
		}
	})
	return f
}

func (l *layout) firstSeed() string {
	if l.seeds() == "" {
		return ""
	}
	return "; of the first seed of each setting"
}

// horizon returns how far pictures over time reach, and a note if that is not the end: where few runs take very long, the picture
// ends when 99 % have ended.
func (l *layout) horizon() (until time.Duration, cut string) {
	var nearly time.Duration
	for _, s := range l.settings {
		until, nearly = max(until, s.first.Until), max(nearly, s.first.Nearly)
	}
	if nearly > 0 && until > 2*nearly {
		return nearly, "; to the time by which 99 % of the runs have ended, of " + seconds(until)
	}
	return until, ""
}

// series returns a line through the means of stretches that are at least a point wide.
func (p *panel) series(d *Digest, unit time.Duration, of func(*Point) float64) (xs, ys []float64) {
	if len(d.Series) == 0 {
		return nil, nil
	}
	visible := float64(len(d.Series)) * min(p.x.high*float64(unit)/float64(d.Until), 1)
	together := max(int(math.Ceil(visible/p.wide)), 1)
	for i := 0; i < len(d.Series); i += together {
		end, sum := min(i+together, len(d.Series)), 0.0
		for k := i; k < end; k++ {
			sum += of(&d.Series[k])
		}
		to := d.Until
		if end < len(d.Series) {
			to = d.Series[end].At
		}
		middle := float64((d.Series[i].At+to)/2) / float64(unit)
		if middle > p.x.high {
			break
		}
		xs = append(xs, p.xAt(middle))
		ys = append(ys, p.yAt(sum/float64(end-i)))
	}
	return xs, ys
}

// allocationFigures draws, for each kind of resource that there is, what was granted over time: core, and elastic on top of it.
func (l *layout) allocationFigures() []Figure {
	until, cut := l.horizon()
	colour := palette[0].fill
	var figures []Figure
	for k := range dovetail.NumResources {
		if l.settings[0].first.Capacity[k] == 0 {
			continue
		}
		f := Figure{
			Name: k.String() + "-over-time", Title: "Allocation of " + k.String() + " over time",
			notes: "share of the capacity of all nodes, mean of each of at most " + number(seriesColumns, 0) + " stretches of time" + l.firstSeed() + cut,
			legend: []swatch{
				{"core", func(s *sheet, x, y, w, h float64) { s.box(colour, x, y, w, h) }},
				{"elastic, on top", func(s *sheet, x, y, w, h float64) { s.box(tint(colour, elasticTint), x, y, w, h) }},
			},
		}
		x, unit := timeAxis(until, 6)
		panels := make([]*panel, len(l.settings))
		for i, s := range l.settings {
			panels[i] = &panel{title: s.name, x: x, y: exact("granted, %", 100, 5)}
		}
		columns := columnsFor(len(panels))
		if n := len(l.variants); n > 1 && n <= 4 { // then a row is a policy
			columns = n
		}
		f.grid(panels, columns, max(840/float64(columns), 230), 170)
		f.panels = append(f.panels, func(sh *sheet) {
			for i, s := range l.settings {
				panels[i].ground(sh)
				panels[i].fill(sh, tint(colour, elasticTint), s.first, unit, func(pt *Point) float64 { return 100 * (pt.Core[k] + pt.Elastic[k]) })
				panels[i].fill(sh, colour, s.first, unit, func(pt *Point) float64 { return 100 * pt.Core[k] })
			}
		})
		figures = append(figures, f)
	}
	return figures
}

// elasticTint is how much of its colour the area of elastic replicas has.
const elasticTint = 0.45

// fill draws a series as an area from the bottom.
func (p *panel) fill(s *sheet, colour string, d *Digest, unit time.Duration, of func(*Point) float64) {
	xs, ys := p.series(d, unit, of)
	if len(xs) == 0 {
		return
	}
	bottom := p.top + p.high
	s.area(colour, append(xs, xs[len(xs)-1], xs[0]), append(ys, bottom, bottom))
}
