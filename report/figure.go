package report

import "io"

// Figure is one picture of a report, which can be written as SVG and as PNG.
type Figure struct {
	Name  string // for a file: "turnaround-boxes"
	Title string // for people
	plate plate
}

// plate draws a figure.
type plate struct{}

// WriteSVG writes the figure as an SVG document on white ground. Same figure, same bytes.
func (f Figure) WriteSVG(w io.Writer) error { return nil }

// WritePNG writes the figure as a PNG image of 144 dots an inch. Same figure, same bytes, on one platform.
func (f Figure) WritePNG(w io.Writer) error { return nil }

// Figures returns the pictures of a sweep: boxes and curves of turnaround, queueing and slowdown with the seeds of a setting put
// together; boxes of queue lengths and allocation; queue length and allocation over time, of the first seed of each setting; and a
// timeline of each small schedule whose placements are known.
func Figures(cells []*Digest) []Figure { return nil }
