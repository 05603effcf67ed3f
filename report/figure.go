package report

import (
	"bytes"
	"fmt"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is one picture of a report, which can be written as SVG and as PNG.
type Figure struct {
	Name       string // for a file: "turnaround-boxes"
	Title      string // for people
	notes      string // below the title: what is drawn how
	wide, high float64
	legend     []swatch
	panels     []func(s *sheet) // each draws one pair of axes with its data
}

// WriteSVG writes the figure as an SVG document on white ground. Same figure, same bytes.
func (f Figure) WriteSVG(w io.Writer) error {
	b, err := f.svg()
	if err != nil {
		return err
	}
	return deliver(w, bytes.NewBuffer(b))
}

func (f Figure) svg() ([]byte, error) {
	canvas := vgsvg.New(vg.Length(f.wide), vg.Length(f.high))
	f.draw(canvas)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("draw %s: %w", f.Name, err)
	}
	// Who has not got the font is to get one of the same measures.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;font-variant:normal;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

// pngDots is the resolution of PNG pictures, in dots an inch.
const pngDots = 144

// WritePNG writes the figure as a PNG image of 144 dots an inch. Same figure, same bytes, on one platform.
func (f Figure) WritePNG(w io.Writer) error {
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(vg.Length(f.wide), vg.Length(f.high)), vgimg.UseDPI(pngDots))}
	f.draw(canvas)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return fmt.Errorf("draw %s: %w", f.Name, err)
	}
	return deliver(w, &b)
}

func (f Figure) draw(canvas vg.Canvas) {
	s := &sheet{canvas: canvas, height: f.high}
	s.box(groundColour, 0, 0, f.wide, f.high)
	s.write(f.titled(), margin, margin+titleSize, f.Title)
	s.write(f.noted(), margin, margin+titleSize+13, f.notes)
	legend(s, f.legend, margin, headHeight-3, f.wide-2*margin)
	for _, p := range f.panels {
		p(s)
	}
}

func (f Figure) titled() writing { return writing{size: titleSize, bold: true, colour: inkColour} }
func (f Figure) noted() writing  { return writing{size: smallSize, colour: faintColour} }

// headHeight is the space for title and notes.
const headHeight = margin + titleSize + 26

// columnsFor returns in how many columns so many panels look best.
func columnsFor(panels int) int {
	switch panels {
	case 1, 2, 4:
		return min(panels, 2)
	}
	return 3
}

// grid lays panels out in rows and columns under title and legend, and sets the size of the figure by them.
func (f *Figure) grid(panels []*panel, columns int, wide, high float64) {
	rows := (len(panels) + columns - 1) / columns
	f.wide = 2*margin + max(float64(columns)*wide, f.titled().width(f.Title), f.noted().width(f.notes))
	top := headHeight + float64(legend(nil, f.legend, margin, 0, f.wide-2*margin))*legendRow
	f.high = top + float64(rows)*high + margin/2
	for i, p := range panels {
		p.place(margin+float64(i%columns)*wide, top+float64(i/columns)*high, wide, high)
	}
}
