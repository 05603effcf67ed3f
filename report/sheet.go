package report

import (
	"image/color"
	"strconv"
	"sync"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sheet is what figures are drawn on. Lengths are points; as in the timeline, y grows downwards.
type sheet struct {
	canvas vg.Canvas
	height float64
}

// The colours of figures that are not those of data. A page may give them others.
const (
	inkColour    = "#1B1F24"
	faintColour  = "#59636E"
	gridColour   = "#D4D9DF"
	groundColour = "#FFFFFF"
)

// Sizes of text.
const (
	titleSize = 13.0
	textSize  = 9.0
	smallSize = 8.0
)

// fonts returns the fonts that the drawing library brings with it.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

// writing is how text is set: size, weight, colour, and where of its place it stands.
type writing struct {
	size   float64
	bold   bool
	colour string
	align  draw.XAlignment
}

// boldWeight is WeightBold of golang.org/x/image/font.
const boldWeight = 3

func (wr writing) style() text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(wr.size)}
	if wr.bold {
		f.Weight = boldWeight
	}
	return text.Style{Color: paint(wr.colour), Font: f, XAlign: wr.align, YAlign: draw.YBottom, Handler: text.Plain{Fonts: fonts()}}
}

// width returns how wide text becomes.
func (wr writing) width(s string) float64 { return float64(wr.style().Width(s)) }

func (s *sheet) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(s.height - y)}
}

func (s *sheet) drawCanvas() *draw.Canvas { return &draw.Canvas{Canvas: s.canvas} }

// write sets a line of text with its base line at y.
func (s *sheet) write(wr writing, x, y float64, words string) {
	if words == "" {
		return
	}
	style := wr.style()
	descent := float64(style.FontExtents().Descent)
	s.drawCanvas().FillText(style, s.at(x, y+descent), words)
}

// upright sets text that reads from below to above, its middle at y and its base line at x.
func (s *sheet) upright(wr writing, x, y float64, words string) {
	s.canvas.Push()
	s.canvas.Translate(s.at(x, y))
	s.canvas.Rotate(quarterTurn)
	style := wr.style()
	style.XAlign = draw.XCenter
	s.drawCanvas().FillText(style, vg.Point{Y: -style.FontExtents().Descent}, words)
	s.canvas.Pop()
}

const quarterTurn = 1.5707963267948966

// box fills a rectangle whose upper left corner is at x, y.
func (s *sheet) box(fill string, x, y, w, h float64) {
	s.area(fill, []float64{x, x + w, x + w, x}, []float64{y, y, y + h, y + h})
}

// frame draws the outline of a rectangle.
func (s *sheet) frame(p pen, x, y, w, h float64) {
	s.stroke(p, []float64{x, x + w, x + w, x, x}, []float64{y, y, y + h, y + h, y})
}

// area fills a polygon.
func (s *sheet) area(fill string, xs, ys []float64) {
	path := s.path(xs, ys)
	path.Close()
	s.canvas.SetColor(paint(fill))
	s.canvas.Fill(path)
}

// pen is how a line is drawn.
type pen struct {
	colour string
	width  float64
	dashes []vg.Length
}

// stroke draws a line through points.
func (s *sheet) stroke(p pen, xs, ys []float64) { s.ink(p, s.path(xs, ys)) }

func (s *sheet) ink(p pen, path vg.Path) {
	s.canvas.SetColor(paint(p.colour))
	s.canvas.SetLineWidth(vg.Length(p.width))
	s.canvas.SetLineDash(p.dashes, 0)
	s.canvas.Stroke(path)
}

func (s *sheet) path(xs, ys []float64) vg.Path {
	var path vg.Path
	for i := range xs {
		if i == 0 {
			path.Move(s.at(xs[i], ys[i]))
		} else {
			path.Line(s.at(xs[i], ys[i]))
		}
	}
	return path
}

// dot fills a circle.
func (s *sheet) dot(fill string, x, y, radius float64) {
	centre := s.at(x, y)
	var path vg.Path
	path.Move(vg.Point{X: centre.X + vg.Length(radius), Y: centre.Y})
	path.Arc(centre, vg.Length(radius), 0, 4*quarterTurn)
	path.Close()
	s.canvas.SetColor(paint(fill))
	s.canvas.Fill(path)
}

// hatch fills a rectangle with a pale tint and slanting lines, as elastic replicas are drawn.
func (s *sheet) hatch(colour string, x, y, w, h float64) {
	const pitch = 4.0 // across
	s.box(tint(colour, 0.2), x, y, w, h)
	var path vg.Path
	for d := pitch / 2; d < w+h; d += pitch { // the line x' + y' = d within the rectangle
		path.Move(s.at(x+min(d, w), y+max(d-w, 0)))
		path.Line(s.at(x+max(d-h, 0), y+min(d, h)))
	}
	s.ink(pen{colour: colour, width: 1}, path)
	if w > 2 && h > 2 {
		s.frame(pen{colour: colour, width: 0.6}, x, y, w, h)
	}
}

// paint reads a colour that is written #rrggbb.
func paint(s string) color.Color {
	v, err := strconv.ParseUint(s[1:], 16, 32)
	if err != nil {
		panic("colour " + s + " is not written #rrggbb") // the colours are constants of this package
	}
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

// tint mixes a colour with white: so much of it, in [0,1].
func tint(colour string, part float64) string {
	r, g, b, _ := paint(colour).RGBA()
	mix := func(c uint32) string {
		v := 0xff - int(part*float64(0xff-int(c>>8))+0.5)
		return string([]byte{hexDigits[v>>4], hexDigits[v&15]})
	}
	return "#" + mix(r) + mix(g) + mix(b)
}

const hexDigits = "0123456789abcdef"
