package report

import (
	"math"

	"gonum.org/v1/plot/vg/draw"

	"github.com/dovetail-sched/dovetail"
)

// HeatMap is a matrix as colours.
type HeatMap struct {
	Title   string
	Down    string // what the rows are
	Across  string // what the columns are
	Rows    []string
	Columns []string
	Values  [][]float64            // [row][column]; NaN: unknown, and left blank
	Middle  float64                // above 0: this value is white, what is above it red and what is below blue, by ratio. 0: the larger the darker
	Text    func(v float64) string // what is written into a cell; nil: nothing
}

// The measures of heat maps, in points.
const (
	cellWide     = 44.0
	cellHigh     = 24.0
	labelLetters = 44 // of a row or column that are shown
	labelGap     = 6.0
)

// The colours of heat maps: of much, of more than the middle and of less.
const (
	muchColour = "#08519c"
	overColour = "#b2182b"
	lessColour = "#2166ac"
	noneColour = "#e9ecef"
)

// HeatMaps draws matrices side by side. It is a dovetail.Invalid error if one of them is empty or is no rectangle.
func HeatMaps(name, title, notes string, maps ...HeatMap) (Figure, error) {
	f := Figure{Name: name, Title: title, notes: notes}
	left, high := margin, 0.0
	for i := range maps {
		m := &maps[i]
		if err := m.check(); err != nil {
			return Figure{}, err
		}
		at := left
		f.panels = append(f.panels, func(s *sheet) { m.draw(s, at, headHeight) })
		wide, tall := m.size()
		left += wide + 2*margin
		high = max(high, tall)
	}
	if len(maps) == 0 {
		return Figure{}, dovetail.Errorf(dovetail.Invalid, "there is no matrix to draw")
	}
	f.wide = max(left-margin, 2*margin+f.titled().width(title), 2*margin+f.noted().width(notes))
	f.high = headHeight + high + margin
	return f, nil
}

// check says what is wrong with a matrix.
func (m *HeatMap) check() error {
	bad := dovetail.Errorf(dovetail.Invalid, "%s is no matrix of %d × %d values, each at least 1", m.Title, len(m.Rows), len(m.Columns))
	if len(m.Rows) == 0 || len(m.Columns) == 0 || len(m.Values) != len(m.Rows) {
		return bad
	}
	for _, row := range m.Values {
		if len(row) != len(m.Columns) {
			return bad
		}
	}
	return nil
}

func (m *HeatMap) labels() writing { return writing{size: textSize, colour: inkColour} }
func (m *HeatMap) titled() writing { return writing{size: textSize, bold: true, colour: inkColour} }

// heads returns the space for the names of rows, at the left, and of columns, above.
func (m *HeatMap) heads() (wide, high float64) {
	wr := m.labels()
	for _, r := range m.Rows {
		wide = max(wide, wr.width(clipped(r)))
	}
	for _, c := range m.Columns {
		high = max(high, wr.width(clipped(c)))
	}
	if high <= cellWide-4 { // the names lie
		high = textSize
	}
	return wide + labelGap, high + labelGap
}

// size returns how much space the matrix takes with all that belongs to it.
func (m *HeatMap) size() (wide, high float64) {
	left, top := m.heads()
	wide = max(left+textSize+labelGap+float64(len(m.Columns))*cellWide, m.titled().width(m.Title), left+m.titled().width(m.Across))
	return wide, 2*(textSize+labelGap) + top + float64(len(m.Rows))*cellHigh
}

// draw draws the matrix with its upper left corner at x, y.
func (m *HeatMap) draw(s *sheet, x, y float64) {
	faint := writing{size: textSize, colour: faintColour}
	s.write(m.titled(), x, y+textSize, m.Title)
	headWide, headHigh := m.heads()
	left, top := x+textSize+labelGap+headWide, y+2*(textSize+labelGap)+headHigh
	wide, high := float64(len(m.Columns))*cellWide, float64(len(m.Rows))*cellHigh
	s.write(faint, left, y+2*textSize+labelGap, m.Across)
	s.upright(faint, x+textSize, top+high/2, m.Down)
	m.drawNames(s, left, top, headHigh)
	least, most := m.bounds()
	for i, row := range m.Values {
		for j, v := range row {
			fill, ink := m.colours(v, least, most)
			cx, cy := left+float64(j)*cellWide, top+float64(i)*cellHigh
			s.box(fill, cx, cy, cellWide, cellHigh)
			if m.Text != nil && !math.IsNaN(v) {
				s.write(writing{size: smallSize, colour: ink, align: draw.XCenter}, cx+cellWide/2, cy+cellHigh/2+smallSize/3, m.Text(v))
			}
		}
	}
	grid := pen{colour: groundColour, width: 1}
	for i := range len(m.Rows) + 1 {
		at := top + float64(i)*cellHigh
		s.stroke(grid, []float64{left, left + wide}, []float64{at, at})
	}
	for j := range len(m.Columns) + 1 {
		at := left + float64(j)*cellWide
		s.stroke(grid, []float64{at, at}, []float64{top, top + high})
	}
}

// drawNames writes the names of rows and columns beside the cells.
func (m *HeatMap) drawNames(s *sheet, left, top, headHigh float64) {
	wr := m.labels()
	for i, r := range m.Rows {
		name := clipped(r)
		s.write(wr, left-labelGap-wr.width(name), top+(float64(i)+0.5)*cellHigh+textSize/3, name)
	}
	for j, c := range m.Columns {
		name, middle := clipped(c), left+(float64(j)+0.5)*cellWide
		if headHigh > textSize+labelGap {
			s.upright(wr, middle+textSize/3, top-labelGap-wr.width(name)/2, name)
			continue
		}
		s.write(wr, middle-wr.width(name)/2, top-labelGap, name)
	}
}

// bounds returns the values of no colour and of full colour; with a middle the latter is a factor of it, upwards and downwards.
func (m *HeatMap) bounds() (least, most float64) {
	const near = 1.05 // smaller factors than this get no full colour
	if m.Middle > 0 {
		least, most = 1, near
	}
	for _, row := range m.Values {
		for _, v := range row {
			switch {
			case math.IsNaN(v):
			case m.Middle <= 0:
				least, most = min(least, v), max(most, v)
			case v > 0:
				most = max(most, v/m.Middle, m.Middle/v)
			}
		}
	}
	return least, most
}

// colours returns the colour of a value, and one that reads well on it.
func (m *HeatMap) colours(v, least, most float64) (fill, ink string) {
	const dark = 0.55 // from so much colour on text is white
	part, hue := 0.0, muchColour
	switch {
	case math.IsNaN(v):
		return noneColour, inkColour
	case m.Middle > 0 && v > 0:
		part, hue = math.Log(v/m.Middle)/math.Log(most), overColour
		if part < 0 {
			part, hue = -part, lessColour
		}
	case m.Middle > 0:
		part, hue = 1, lessColour
	case most > least:
		part = (v - least) / (most - least)
	}
	part = min(max(part, 0), 1)
	if part > dark {
		return tint(hue, part), groundColour
	}
	return tint(hue, part), inkColour
}

// clipped shortens a name that is too long for a picture.
func clipped(name string) string {
	letters := []rune(name)
	if len(letters) <= labelLetters {
		return name
	}
	return string(letters[:labelLetters-1]) + "…"
}
