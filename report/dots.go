package report

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"
)

// Dots is a picture of points in panels that share their axes, those of one series in one colour.
type Dots struct {
	Name, Title, Notes string
	X, Y               string   // what the axes are
	Series             []string // names, in the order of their colours
	Panels             []DotsPanel
	Line               float64 // a value of y that is drawn across, such as a target; 0: none
	Joined             bool    // the points of a series are joined by lines, and not drawn
}

// DotsPanel is one panel: points by series.
type DotsPanel struct {
	Title  string
	Series [][]DotsPoint
}

// DotsPoint is one point.
type DotsPoint struct{ X, Y float64 }

// The measures of panels of dots, in points.
const (
	dotsWide = 330.0
	dotsHigh = 190.0
)

// Figure draws the points.
func (d *Dots) Figure() Figure {
	f := Figure{Name: d.Name, Title: d.Title, notes: d.Notes}
	for i, name := range d.Series {
		f.legend = append(f.legend, swatch{name, func(s *sheet, x, y, w, h float64) { s.point(variantColour(i), x+w/2, y+h/2) }})
	}
	if d.Line > 0 {
		f.legend = append(f.legend, lineSwatch())
	}
	var xs, ys []float64
	for _, p := range d.Panels {
		for _, s := range p.Series {
			for _, q := range s {
				xs, ys = append(xs, q.X), append(ys, q.Y)
			}
		}
	}
	if d.Line > 0 {
		ys = append(ys, d.Line)
	}
	var panels []*panel
	for i := range d.Panels {
		panels = append(panels, &panel{title: d.Panels[i].Title, x: around(d.X, xs), y: around(d.Y, ys)})
	}
	f.grid(panels, 2, dotsWide, dotsHigh)
	f.panels = append(f.panels, func(s *sheet) {
		for i, p := range panels {
			p.ground(s)
			p.across(s, d.Line)
			for k, series := range d.Panels[i].Series {
				if d.Joined {
					p.join(s, k, series)
					continue
				}
				for _, q := range series {
					s.point(variantColour(k), p.xAt(q.X), p.yAt(q.Y))
				}
			}
		}
	})
	return f
}

// join draws a line through points.
func (p *panel) join(s *sheet, series int, points []DotsPoint) {
	xs, ys := make([]float64, len(points)), make([]float64, len(points))
	for i, q := range points {
		xs[i], ys[i] = p.xAt(q.X), p.yAt(q.Y)
	}
	s.stroke(pen{colour: variantColour(series), width: 1.2}, xs, ys)
}

// across draws a target across the panel, if there is one.
func (p *panel) across(s *sheet, line float64) {
	if line > 0 {
		s.stroke(targetPen(), []float64{p.left, p.left + p.wide}, []float64{p.yAt(line), p.yAt(line)})
	}
}

func lineSwatch() swatch {
	return swatch{"target", func(s *sheet, x, y, w, h float64) {
		s.stroke(targetPen(), []float64{x, x + w}, []float64{y + h/2, y + h/2})
	}}
}

// around returns an axis that shows values and need not begin at 0.
func around(label string, values []float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if len(values) == 0 {
		low, high = 0, defaultUpper
	}
	room := max((high-low)/20, 1e-9)
	a := axis{label: label, low: low - room, high: high + room}
	step := niceStep((a.high - a.low) / linearMarks)
	for v := math.Ceil(a.low/step) * step; v <= a.high; v += step {
		a.marks = append(a.marks, mark{v, trim(v, step)})
	}
	return a
}

// Boxes is a picture of distributions side by side.
type Boxes struct {
	Name, Title, Notes string
	Label              string // what the values are
	Boxes              []Box
	Line               float64 // a value that is drawn across, such as a target; 0: none
}

// Box is the values of one distribution. A comma in the name begins a new line below the box.
type Box struct {
	Name   string
	Values []float64
}

// The measures of pictures of boxes, in points.
const (
	boxesPitch = 104.0
	boxesHigh  = 300.0
	nameLine   = 11.0
)

// Figure draws a box for each distribution, and dots for what lies beyond its whiskers.
func (b *Boxes) Figure() Figure {
	f := Figure{Name: b.Name, Title: b.Title, notes: boxNotes + b.Notes}
	if b.Line > 0 {
		f.legend = append(f.legend, lineSwatch())
	}
	var all []float64
	for i := range b.Boxes {
		all = append(all, b.Boxes[i].Values...)
	}
	if b.Line > 0 {
		all = append(all, b.Line)
	}
	p := &panel{x: axis{low: 0, high: 1}, y: around(b.Label, all)}
	f.grid([]*panel{p}, 1, boxesPitch*float64(len(b.Boxes))+panelLeft+panelRight, boxesHigh)
	f.panels = append(f.panels, func(s *sheet) {
		p.ground(s)
		p.across(s, b.Line)
		name := writing{size: textSize, colour: inkColour, align: draw.XCenter}
		for i := range b.Boxes {
			middle := p.left + p.wide*(float64(i)+0.5)/float64(len(b.Boxes))
			for line, words := range strings.Split(b.Boxes[i].Name, ", ") {
				s.write(name, middle, p.top+p.high+textSize+6+nameLine*float64(line), words)
			}
			d := newDistribution(slices.Sorted(slices.Values(b.Boxes[i].Values)))
			if d.N == 0 {
				continue
			}
			for _, v := range b.Boxes[i].Values {
				if v < d.Quantile(50) || v > d.Quantile(950) {
					s.dot(variantColour(0), middle, p.yAt(v), 1.4)
				}
			}
			p.drawBox(s, variantColour(0), middle, boxWidest, 1, &d)
		}
	})
	return f
}
