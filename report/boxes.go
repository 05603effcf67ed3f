package report

import (
	"gonum.org/v1/plot/vg/draw"

	"github.com/dovetail-sched/dovetail"
)

// The measures of boxes, in points.
const (
	boxPitch   = 15.0 // from box to box, at least
	boxWidest  = 24.0
	boxPart    = 0.66  // of the pitch
	groupGap   = 18.0  // between policies
	groupLeast = 62.0  // so that the name of a policy fits
	boxPanel   = 190.0 // height of a panel
	boxLeast   = 200.0 // width of its data
	rowWide    = 840.0 // below this, policies lie further apart
	boxNotes   = "box: p25 to p75 with the median; whiskers: p5 and p95; dot: mean"
)

// boxRow is one panel of boxes: a distribution for each setting.
type boxRow struct {
	title string
	of    func(*setting) Distribution
	scale float64
}

// boxFigures draws the distributions of runs by kind, as in the figures of seed 004 §10, and those of queue lengths and
// allocation (its figures 5 and 6).
func (l *layout) boxFigures() []Figure {
	var figures []Figure
	for _, q := range quantities() {
		var rows []boxRow
		if len(l.kinds) != 1 {
			rows = append(rows, boxRow{kindTitle(""), func(s *setting) Distribution { return s.kind("", q.of) }, 1})
		}
		for _, name := range l.kinds {
			rows = append(rows, boxRow{kindTitle(name), func(s *setting) Distribution { return s.kind(name, q.of) }, 1})
		}
		f := Figure{Name: q.name + "-boxes", Title: q.title + " by kind of run", notes: boxNotes + l.without() + l.seeds()}
		figures = append(figures, l.boxes(f, rows, fitting(q.label())))
	}
	queues := []boxRow{
		{"waiting", func(s *setting) Distribution { return s.whole(func(d *Digest) *Distribution { return &d.Waiting }) }, 1},
		{"in service", func(s *setting) Distribution { return s.whole(func(d *Digest) *Distribution { return &d.Serving }) }, 1},
	}
	figures = append(figures, l.boxes(Figure{
		Name: "queues-boxes", Title: "Runs that wait and runs in service", notes: "over time; " + boxNotes + l.seeds(),
	}, queues, fitting("runs")))
	var granted []boxRow
	for k := range dovetail.NumResources {
		if l.settings[0].first.Capacity[k] > 0 {
			granted = append(granted, boxRow{k.String(), func(s *setting) Distribution {
				return s.whole(func(d *Digest) *Distribution { return &d.Allocation[k] })
			}, 100})
		}
	}
	if len(granted) == 0 {
		return figures
	}
	return append(figures, l.boxes(Figure{
		Name: "allocation-boxes", Title: "Allocation", notes: "share of the capacity of all nodes, over time; " + boxNotes + l.seeds(),
	}, granted, func([]float64) axis { return exact("granted, %", 100, linearMarks) }))
}

// fitting returns how an axis with this label is fitted to values.
func fitting(label string) func([]float64) axis {
	return func(values []float64) axis { return fit(label, values) }
}

// boxes lays a figure of boxes out: a panel a row, in it from left to right the policies, and side by side their allocators.
func (l *layout) boxes(f Figure, rows []boxRow, fitted func(values []float64) axis) Figure {
	f.legend = l.boxLegend()
	group := max(float64(len(l.variants))*boxPitch+groupGap, groupLeast)
	group = max(group, (rowWide-panelLeft-panelRight)/float64(max(len(l.policies), 4)))
	wide := max(group*float64(len(l.policies)), boxLeast) + panelLeft + panelRight
	group = (wide - panelLeft - panelRight) / float64(len(l.policies))
	pitch := min((group-groupGap)/float64(len(l.variants)), boxWidest/boxPart)
	panels := make([]*panel, len(rows))
	pooled := make([][]Distribution, len(rows))
	var values []float64
	for i, row := range rows {
		for _, s := range l.settings {
			d := row.of(s)
			pooled[i] = append(pooled[i], d)
			values = append(values, d.sketch(row.scale)...)
		}
		panels[i] = &panel{title: row.title, x: axis{low: 0, high: 1}}
	}
	for _, p := range panels { // one scale, so that rows compare
		p.y = fitted(values)
	}
	f.grid(panels, max(min(columnsFor(len(panels)), int(rowWide/wide)), 1), wide, boxPanel)
	f.panels = append(f.panels, func(sh *sheet) {
		for i, p := range panels {
			p.ground(sh)
			l.policyNames(sh, p, group)
			for j, s := range l.settings {
				if pooled[i][j].N > 0 {
					middle := p.left + group*(float64(s.policy)+0.5) + pitch*(float64(s.variant)-float64(len(l.variants)-1)/2)
					p.drawBox(sh, variantColour(s.variant), middle, pitch*boxPart, rows[i].scale, &pooled[i][j])
				}
			}
		}
	})
	return f
}

// policyNames writes the name of each policy below its boxes.
func (l *layout) policyNames(s *sheet, p *panel, group float64) {
	wr := writing{size: textSize, colour: inkColour, align: draw.XCenter}
	for i, name := range l.policies {
		s.write(wr, p.left+group*(float64(i)+0.5), p.top+p.high+textSize+6, name)
		if i > 0 {
			x := p.left + group*float64(i)
			s.stroke(pen{colour: gridColour, width: 0.5}, []float64{x, x}, []float64{p.top, p.top + p.high})
		}
	}
}

// drawBox draws the five percentiles and the mean of a distribution.
func (p *panel) drawBox(s *sheet, colour string, middle, wide, scale float64, d *Distribution) {
	y := func(permille int) float64 { return p.yAt(scale * d.Quantile(permille)) }
	edge := pen{colour: colour, width: 1}
	left, right := middle-wide/2, middle+wide/2
	for _, end := range [...][2]int{{50, 250}, {750, 950}} {
		s.stroke(edge, []float64{middle, middle}, []float64{y(end[0]), y(end[1])})
	}
	for _, end := range [...]int{50, 950} {
		s.stroke(edge, []float64{left + wide/5, right - wide/5}, []float64{y(end), y(end)})
	}
	s.box(tint(colour, elasticTint), left, y(750), wide, y(250)-y(750))
	s.frame(edge, left, y(750), wide, y(250)-y(750))
	// Median and mean have a rim in the colour of the ground, so that they show on a box and beside it.
	median := y(500)
	s.stroke(pen{colour: groundColour, width: 3.4}, []float64{left, right}, []float64{median, median})
	s.stroke(pen{colour: inkColour, width: 1.8}, []float64{left, right}, []float64{median, median})
	average := p.yAt(scale * d.Mean)
	s.dot(groundColour, middle, average, 2.7)
	s.dot(inkColour, middle, average, 1.8)
}

func (l *layout) boxLegend() []swatch {
	entries := make([]swatch, len(l.variants))
	for i, name := range l.variants {
		entries[i] = swatch{name, func(s *sheet, x, y, w, h float64) {
			s.box(tint(variantColour(i), elasticTint), x, y, w, h)
			s.frame(pen{colour: variantColour(i), width: 1}, x, y, w, h)
		}}
	}
	return entries
}
