package report

import (
	"strings"
	"time"

	"gonum.org/v1/plot/vg/draw"
)

// The measures of a timeline as a figure, in points.
const (
	laneHigh = 44.0
	laneGap  = 6.0
	laneWide = 640.0
	laneLeft = 110.0
)

// anyRun is the colour of the legend that stands for every run.
const anyRun = "#7a828c"

// gantt draws the nodes of a timeline: a lane a node, core replicas solid and elastic ones hatched.
func gantt(t *Timeline, c Cell) Figure {
	f := Figure{
		Name: "timeline-" + strings.ReplaceAll(c.Setting(), " ", "-"), Title: "Timeline: " + c.Setting(),
		notes: "each lane is a node; the height of a bar is its share of the node",
	}
	f.legend = []swatch{
		{"core", func(s *sheet, x, y, w, h float64) { s.box(anyRun, x, y, w, h) }},
		{"elastic", func(s *sheet, x, y, w, h float64) { s.hatch(anyRun, x, y, w, h) }},
	}
	for i := range t.Runs[:min(len(t.Runs), len(palette))] {
		f.legend = append(f.legend, swatch{t.Runs[i].Status.Name, func(s *sheet, x, y, w, h float64) { s.box(palette[i].fill, x, y, w, h) }})
	}
	if len(t.Runs) > len(palette) {
		f.notes += "; colours repeat after " + number(float64(len(palette)), 0) + " runs"
	}
	from, until := t.span()
	span := max(until.Sub(from), time.Millisecond)
	x, unit := timeAxis(span, 10)
	f.wide = laneLeft + laneWide + 2*margin
	top := headHeight + float64(legend(nil, f.legend, margin, 0, f.wide-2*margin))*legendRow + 8
	bottom := top + float64(len(t.Nodes))*(laneHigh+laneGap)
	f.high = bottom + 44
	f.panels = append(f.panels, func(s *sheet) {
		p := &panel{x: x, y: axis{low: 0, high: 1}, left: margin + laneLeft, top: top, wide: laneWide, high: bottom - top}
		p.ground(s)
		rows := byNode(t.stays(), len(t.Nodes))
		for i := range t.Nodes {
			y := top + float64(i)*(laneHigh+laneGap) + laneGap/2
			s.write(writing{size: textSize, bold: true, colour: inkColour, align: draw.XRight}, p.left-8, y+laneHigh/2, t.Nodes[i].Name)
			s.write(writing{size: smallSize - 1, colour: faintColour, align: draw.XRight}, p.left-8, y+laneHigh/2+10, t.Nodes[i].Capacity.String())
			scale := laneHigh / stack(rows[i])
			for j := range rows[i] {
				st := &rows[i][j]
				x0, x1 := p.xAt(float64(st.from.Sub(from))/float64(unit)), p.xAt(float64(st.to.Sub(from))/float64(unit))
				lane(s, st, x0, max(x1-x0-0.4, 0.4), y+laneHigh-(st.at+st.share)*scale, max(st.share*scale-0.6, 0.4))
			}
		}
	})
	return f
}

// lane draws one replica's stay.
func lane(s *sheet, st *stay, x, wide, y, high float64) {
	colour := palette[st.run%len(palette)].fill
	if st.elastic {
		s.hatch(colour, x, y, wide, high)
		return
	}
	s.box(colour, x, y, wide, high)
}
