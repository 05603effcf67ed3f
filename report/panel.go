package report

import "gonum.org/v1/plot/vg/draw"

// panel is one pair of axes within a figure, in points.
type panel struct {
	title      string
	x, y       axis
	left, top  float64 // of the space that data is drawn in
	wide, high float64
}

// The space around the data of a panel.
const (
	panelLeft   = 54.0
	panelRight  = 12.0
	panelTop    = 24.0
	panelBottom = 34.0
	titleHeight = 30.0 // of a figure
	legendRow   = 16.0
	margin      = 16.0
	markLength  = 3.5
)

// place gives a panel the rectangle that it fills, with its marks and labels.
func (p *panel) place(left, top, wide, high float64) {
	p.left, p.top = left+panelLeft, top+panelTop
	p.wide, p.high = wide-panelLeft-panelRight, high-panelTop-panelBottom
}

func (p *panel) xAt(v float64) float64 { return p.left + p.wide*p.x.at(v) }
func (p *panel) yAt(v float64) float64 { return p.top + p.high*(1-p.y.at(v)) }

// ground draws what lies behind the data: title, grid, marks and labels.
func (p *panel) ground(s *sheet) {
	s.write(writing{size: textSize + 1, bold: true, colour: inkColour}, p.left, p.top-8, p.title)
	grid, edge := pen{colour: gridColour, width: 0.5}, pen{colour: faintColour, width: 0.8}
	small := writing{size: smallSize, colour: faintColour, align: draw.XRight}
	for _, m := range p.y.marks {
		y := p.yAt(m.value)
		if m.word == "" {
			s.stroke(edge, []float64{p.left - markLength/2, p.left}, []float64{y, y})
			continue
		}
		s.stroke(grid, []float64{p.left, p.left + p.wide}, []float64{y, y})
		s.stroke(edge, []float64{p.left - markLength, p.left}, []float64{y, y})
		s.write(small, p.left-markLength-2, y+smallSize*0.36, m.word)
	}
	small.align = draw.XCenter
	bottom := p.top + p.high
	for _, m := range p.x.marks {
		x := p.xAt(m.value)
		if m.word == "" {
			s.stroke(edge, []float64{x, x}, []float64{bottom, bottom + markLength/2})
			continue
		}
		s.stroke(grid, []float64{x, x}, []float64{p.top, bottom})
		s.stroke(edge, []float64{x, x}, []float64{bottom, bottom + markLength})
		s.write(small, x, bottom+markLength+smallSize+1, m.word)
	}
	s.stroke(edge, []float64{p.left, p.left, p.left + p.wide}, []float64{p.top, bottom, bottom})
	label := writing{size: textSize, colour: inkColour, align: draw.XCenter}
	s.write(label, p.left+p.wide/2, bottom+markLength+2*smallSize+8, p.x.label)
	s.upright(label, p.left-panelLeft+textSize+2, p.top+p.high/2, p.y.label)
}

// swatch is one entry of a legend.
type swatch struct {
	word string
	draw func(s *sheet, x, y, w, h float64) // within this rectangle
}

const (
	swatchWide = 18.0
	swatchHigh = 8.0
	swatchGap  = 16.0
)

// legend draws entries from left to right, in as many rows as they need, and returns how many; s may be nil.
func legend(s *sheet, entries []swatch, left, top, wide float64) int {
	wr := writing{size: textSize, colour: inkColour}
	x, rows := left, 1
	for _, e := range entries {
		w := swatchWide + 5 + wr.width(e.word) + swatchGap
		if x+w > left+wide+swatchGap && x > left {
			x = left
			rows++
		}
		if s != nil {
			base := top + float64(rows-1)*legendRow
			e.draw(s, x, base, swatchWide, swatchHigh)
			s.write(wr, x+swatchWide+5, base+swatchHigh, e.word)
		}
		x += w
	}
	return rows
}
