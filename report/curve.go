package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/dovetail-sched/dovetail"
)

// Curve is the picture of a prediction: what is expected by scale-out, and the runs that it was learned from.
type Curve struct {
	Title   string
	Curve   dovetail.Curve
	Runs    []CurveRun
	Surface *Surface // nil: the curve alone
}

// CurveRun is a finished run as a point of the picture.
type CurveRun struct {
	ScaleOut float64
	Seconds  float64
	Overlap  float64 // with the neighbours that the picture is about
}

// Surface is the medians over scale-out and overlap, as in figure 2a of seed 001.
type Surface struct {
	Beside   string      // whose overlap it is
	Overlaps []float64   // rising; at least 2
	Seconds  [][]float64 // [overlap][point of the curve]
}

// The measures of curves, in points.
const (
	curveWide  = 460.0
	curveHigh  = 300.0
	curveOuter = 0.14 // how much of its colour the 95 % band has
	curveInner = 0.32 // and the 80 % band
	besideFrom = 0.05 // runs with less overlap count as alone
)

// The colours of curves.
const (
	curveColour  = "#4477aa"
	targetColour = "#ee6677"
	aloneColour  = "#1b1f24"
	besideColour = "#ee7733"
)

// Figure draws the curve: the median, its 80 % and 95 % bands where the model knows them, the runs, the target and what is chosen for it.
// With a surface there is a second panel: colours of the medians over scale-out and overlap, and the runs in the colours of what they took.
func (c *Curve) Figure() (Figure, error) {
	points := c.Curve.Points
	if len(points) == 0 {
		return Figure{}, dovetail.Errorf(dovetail.Invalid, "there is no scale-out to draw")
	}
	if s := c.Surface; s != nil && (len(s.Overlaps) < 2 || len(s.Seconds) != len(s.Overlaps)) {
		return Figure{}, dovetail.Errorf(dovetail.Invalid, "a surface needs two overlaps at least, and medians for each")
	}
	f := Figure{Name: "runtime", Title: c.Title, notes: c.notes(), legend: c.legend()}
	curve := &panel{title: "Runtime by scale-out", x: c.across(), y: linear("runtime, s", c.highest())}
	panels := []*panel{curve}
	if c.Surface != nil {
		panels = append(panels, &panel{
			title: "Median by scale-out and overlap with " + c.Surface.Beside, x: c.across(), y: exact("overlap", c.highestOverlap(), linearMarks),
		})
	}
	f.grid(panels, len(panels), curveWide, curveHigh)
	f.panels = append(f.panels, func(s *sheet) {
		curve.ground(s)
		c.draw(s, curve)
		if c.Surface != nil {
			c.drawSurface(s, panels[1])
		}
	})
	return f, nil
}

// notes says in a line what the picture is made of.
func (c *Curve) notes() string {
	text := fmt.Sprintf("%s, learned from %d runs", c.Curve.Model, c.Curve.Runs)
	for _, o := range c.Curve.Overlaps {
		text += fmt.Sprintf("; beside %s for %s %% of the time", o.Class, number(100*o.Ratio, 0))
	}
	if p := c.Curve.Chosen; p != nil {
		text += fmt.Sprintf("; %d replicas meet %s s with %s %%", p.ScaleOut, number(c.Curve.Target, 0), number(100*p.Probability, 1))
		if p.Infeasible {
			text += ", less than wanted"
		}
	}
	return text
}

// across returns the axis of scale-outs, which need not begin at 0.
func (c *Curve) across() axis {
	low, high := c.Curve.Points[0].ScaleOut, c.Curve.Points[len(c.Curve.Points)-1].ScaleOut
	least, most := float64(low), float64(high)
	for _, r := range c.Runs {
		least, most = min(least, r.ScaleOut), max(most, r.ScaleOut)
	}
	step := 1.0
	if most > least {
		step = max(niceStep((most-least)/8), 1)
	}
	room := max((most-least)/25, 0.5)
	a := axis{label: "scale-out, replicas", low: least - room, high: most + room}
	for v := math.Ceil(a.low/step) * step; v <= a.high; v += step {
		a.marks = append(a.marks, mark{v, trim(v, step)})
	}
	return a
}

// highest returns the longest runtime of the picture. A band that reaches far above all else is cut off.
func (c *Curve) highest() float64 {
	most, band := c.Curve.Target, 0.0
	for _, r := range c.Runs {
		most = max(most, r.Seconds)
	}
	for i := range c.Curve.Points {
		most, band = max(most, c.Curve.Points[i].Median), max(band, c.Curve.Points[i].High95)
	}
	return max(most, min(band, 1.5*most))
}

func (c *Curve) highestOverlap() float64 {
	most := c.Surface.Overlaps[len(c.Surface.Overlaps)-1]
	for _, r := range c.Runs {
		most = max(most, r.Overlap)
	}
	return most
}

// draw draws bands, median, target and runs.
func (c *Curve) draw(s *sheet, p *panel) {
	points := c.Curve.Points
	band := func(part float64, of func(*dovetail.CurvePoint) (low, high float64)) {
		n := len(points)
		xs, ys := make([]float64, 2*n), make([]float64, 2*n)
		for i := range points {
			low, high := of(&points[i])
			x := p.xAt(float64(points[i].ScaleOut))
			xs[i], ys[i] = x, p.yAt(high)
			xs[2*n-1-i], ys[2*n-1-i] = x, p.yAt(low)
		}
		s.area(tint(curveColour, part), xs, ys)
	}
	if points[0].Spread() && len(points) > 1 {
		band(curveOuter, func(q *dovetail.CurvePoint) (float64, float64) { return q.Low95, q.High95 })
		band(curveInner, func(q *dovetail.CurvePoint) (float64, float64) { return q.Low80, q.High80 })
	}
	if t := c.Curve.Target; t > 0 {
		s.stroke(targetPen(), []float64{p.left, p.left + p.wide}, []float64{p.yAt(t), p.yAt(t)})
	}
	xs, ys := make([]float64, len(points)), make([]float64, len(points))
	for i := range points {
		xs[i], ys[i] = p.xAt(float64(points[i].ScaleOut)), p.yAt(points[i].Median)
		if q := c.Curve.Chosen; q != nil && q.ScaleOut == points[i].ScaleOut {
			s.stroke(pen{colour: targetColour, width: 1}, []float64{xs[i], xs[i]}, []float64{p.top + p.high, ys[i]})
		}
	}
	s.stroke(pen{colour: curveColour, width: 1.8}, xs, ys)
	if len(points) == 1 {
		s.dot(curveColour, xs[0], ys[0], 3.5)
	}
	for _, r := range c.Runs {
		s.point(runColour(r), p.xAt(r.ScaleOut), p.yAt(r.Seconds))
	}
}

func targetPen() pen { return pen{colour: targetColour, width: 1.4, dashes: []vg.Length{5, 3}} }

func runColour(r CurveRun) string {
	if r.Overlap >= besideFrom {
		return besideColour
	}
	return aloneColour
}

// point draws a run: a dot with a rim in the colour of the ground, so that it shows on a band and on another dot.
func (s *sheet) point(colour string, x, y float64) {
	s.dot(groundColour, x, y, 3.2)
	s.dot(colour, x, y, 2.4)
}

// drawSurface fills the panel with the colours of the medians, a rectangle a point, and draws the runs in their own.
func (c *Curve) drawSurface(s *sheet, p *panel) {
	least, most := math.Inf(1), 0.0
	for _, row := range c.Surface.Seconds {
		for _, v := range row {
			least, most = min(least, v), max(most, v)
		}
	}
	for _, r := range c.Runs {
		least, most = min(least, r.Seconds), max(most, r.Seconds)
	}
	colour := func(v float64) string { return heat(v, least, most) }
	p.ground(s)
	xs := make([]float64, len(c.Curve.Points))
	for i := range xs {
		xs[i] = float64(c.Curve.Points[i].ScaleOut)
	}
	for j, row := range c.Surface.Seconds {
		bottom, top := edges(c.Surface.Overlaps, j)
		for i, v := range row {
			left, right := edges(xs, i)
			x, y := p.xAt(left), p.yAt(top)
			s.box(colour(v), x, y, p.xAt(right)-x+0.4, p.yAt(bottom)-y+0.4) // a little more: no seams
		}
	}
	for _, r := range c.Runs {
		x, y := p.xAt(r.ScaleOut), p.yAt(r.Overlap)
		s.dot(groundColour, x, y, 4.2)
		s.dot(inkColour, x, y, 3.6)
		s.dot(colour(r.Seconds), x, y, 3.0)
	}
	const steps = 64
	wide, high := 84.0, 6.0
	left, y := p.left+p.wide-wide, p.top-14
	for i := range steps {
		part := float64(i) / (steps - 1)
		s.box(heat(part, 0, 1), left+float64(i)*wide/steps, y, wide/steps+0.4, high)
	}
	small := writing{size: smallSize, colour: faintColour}
	from, to := number(least, 0), number(most, 0)+" s"
	s.write(small, left-small.width(from)-4, y+high, from)
	s.write(small, left+wide-small.width(to), y-3, to)
}

// edges returns where the rectangle of a value ends on both sides: half-way to its neighbours; at the ends of the values there is
// no more than the value itself.
func edges(values []float64, i int) (low, high float64) {
	low, high = values[i], values[i]
	if i > 0 {
		low = (values[i-1] + values[i]) / 2
	}
	if i+1 < len(values) {
		high = (values[i] + values[i+1]) / 2
	}
	return low, high
}

// heat returns the colour of a value: equal ratios of values are equal steps from pale yellow over green to dark blue, which
// people tell apart who see few colours, and on paper without any.
func heat(v, least, most float64) string {
	stops := [...]string{"#fde725", "#5ec962", "#21918c", "#3b528b", "#440154"}
	part := 0.0
	switch {
	case least > 0 && most > least:
		part = math.Log(v/least) / math.Log(most/least)
	case most > least:
		part = (v - least) / (most - least)
	}
	part = min(max(part, 0), 1) * float64(len(stops)-1)
	i := min(int(part), len(stops)-2)
	return blend(stops[i], stops[i+1], part-float64(i))
}

// blend mixes two colours: so much of the second, in [0,1].
func blend(a, b string, part float64) string {
	r0, g0, b0, _ := paint(a).RGBA()
	r1, g1, b1, _ := paint(b).RGBA()
	mix := func(x, y uint32) string {
		v := int(float64(x>>8) + float64(part*(float64(y>>8)-float64(x>>8))) + 0.5)
		return string([]byte{hexDigits[v>>4], hexDigits[v&15]})
	}
	return "#" + mix(r0, r1) + mix(g0, g1) + mix(b0, b1)
}

func (c *Curve) legend() []swatch {
	box := func(part float64) func(*sheet, float64, float64, float64, float64) {
		return func(s *sheet, x, y, w, h float64) { s.box(tint(curveColour, part), x, y, w, h) }
	}
	line := func(p pen) func(*sheet, float64, float64, float64, float64) {
		return func(s *sheet, x, y, w, h float64) { s.stroke(p, []float64{x, x + w}, []float64{y + h/2, y + h/2}) }
	}
	dot := func(colour string) func(*sheet, float64, float64, float64, float64) {
		return func(s *sheet, x, y, w, h float64) { s.point(colour, x+w/2, y+h/2) }
	}
	entries := []swatch{{"median", line(pen{colour: curveColour, width: 1.8})}}
	if c.Curve.Points[0].Spread() {
		entries = append(entries, swatch{"80 % of runs", box(curveInner)}, swatch{"95 %", box(curveOuter)})
	}
	var alone, beside bool
	for _, r := range c.Runs {
		if runColour(r) == besideColour {
			beside = true
		} else {
			alone = true
		}
	}
	if alone {
		entries = append(entries, swatch{"run", dot(aloneColour)})
	}
	if beside {
		entries = append(entries, swatch{"run beside another", dot(besideColour)})
	}
	if c.Curve.Target > 0 {
		entries = append(entries, swatch{"target", line(targetPen())})
	}
	return entries
}
