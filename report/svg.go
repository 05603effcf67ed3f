package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// drawing is a timeline on its way to paper.
type drawing struct {
	t           *Timeline
	out         bytes.Buffer
	stays       []stay
	rows        [][]stay // of stays, by node
	from, until time.Time
	span        time.Duration // of the axis

	nodesTop, runsTop, bottom, height float64
}

// colour is how a run is painted; ink is legible on fill.
type colour struct{ id, fill, ink string }

// palette is Paul Tol's bright and vibrant schemes: told apart by colour-blind people, and on white and on black.
var palette = [...]colour{
	{"c0", "#4477aa", "#ffffff"},
	{"c1", "#ee6677", "#1b1f24"},
	{"c2", "#228833", "#ffffff"},
	{"c3", "#ccbb44", "#1b1f24"},
	{"c4", "#aa3377", "#ffffff"},
	{"c5", "#66ccee", "#1b1f24"},
	{"c6", "#ee7733", "#1b1f24"},
	{"c7", "#009988", "#ffffff"},
	{"c8", "#8866cc", "#ffffff"},
	{"c9", "#997755", "#ffffff"},
}

func (d *drawing) colour(run int) colour { return palette[run%len(palette)] }

// style is the sheet of the picture: dark ground where people prefer it.
const style = `
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1b1f24;font-size:12px}
.ground{fill:#ffffff}.lane{fill:#f1f3f6}.grid{stroke:#d4d9df;stroke-width:1}
.title{font-size:19px;font-weight:600}.name{font-weight:500}
.subtitle,.small,.tick,.figure,.key{fill:#59636e}.small,.tick{font-size:10.5px}.figure,.key{font-size:11.5px}
.panel{fill:#59636e;font-size:10.5px;font-weight:600;letter-spacing:.08em}
.in{font-size:10.5px;font-weight:600}.halo{paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round}
.wait{fill:none;stroke-width:1.6}
@media (prefers-color-scheme:dark){
text{fill:#e6e9ed}.ground{fill:#0e1217}.lane{fill:#191f27}.grid{stroke:#2c343e}
.subtitle,.small,.tick,.figure,.key,.panel{fill:#9aa4b0}.halo{stroke:#0e1217}
}
`

// open writes the head: style, one hatching a colour, ground, title.
func (d *drawing) open() {
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img">`+"\n",
		num(width), num(d.height), num(width), num(d.height))
	d.printf("<title>%s</title>\n<style>%s</style>\n<defs>\n", escape(d.t.Title), style)
	for i := range min(max(len(d.t.Runs), 1), len(palette)) {
		c := palette[i]
		d.printf(`<pattern id="%s" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
			`<rect width="6" height="6" fill="%s" fill-opacity=".18"/><rect width="2.4" height="6" fill="%s" fill-opacity=".85"/></pattern>`+"\n",
			c.id, c.fill, c.fill)
	}
	d.printf("</defs>\n<rect class=\"ground\" width=\"%s\" height=\"%s\"/>\n", num(width), num(d.height))
	d.text(left, 34, "title", "start", d.t.Title)
	d.text(left, 54, "subtitle", "start", d.t.Subtitle)
}

func (d *drawing) close() { d.printf("</svg>\n") }

// legend says what solid, hatched and thin mean.
func (d *drawing) legend() {
	const y = 26.0
	const x = width - right - 232
	c := palette[0]
	d.rect("core", c, x, y-1, 22, 11)
	d.text(x+28, y+9, "key", "start", "core")
	d.rect("elastic", c, x+72, y-1, 22, 11)
	d.text(x+100, y+9, "key", "start", "elastic")
	d.printf(`<path class="wait" stroke="%s" d="M%s %sv6m0 -3h22"/>`+"\n", c.fill, num(x+158), num(y+1.5))
	d.text(x+186, y+9, "key", "start", "waiting")
}

// grid draws the time axis through both panels, and their names.
func (d *drawing) grid() {
	d.text(left, d.nodesTop-12, "panel", "start", "NODES")
	d.text(left, d.runsTop-12, "panel", "start", "RUNS")
	d.text(width-right+14, d.runsTop-12, "panel", "start", "TOOK")
	d.text(width-right+14+waitedAt, d.runsTop-12, "panel", "start", "WAITED")
	each := ticks(d.span, maxTicks)
	for i := range d.span/each + 1 {
		at := i * each
		x := left + plotWidth*at.Seconds()/d.span.Seconds()
		d.printf(`<path class="grid" d="M%s %sV%s"/>`, num(x), num(d.nodesTop-6), num(d.bottom+6))
		d.text(x, d.bottom+22, "tick", "middle", clock(at, each))
		d.printf("\n")
	}
}

// rect draws a bar: core ones are filled, elastic ones hatched and outlined.
func (d *drawing) rect(class string, c colour, x, y, w, h float64) {
	fill := c.fill
	if class == "elastic" {
		fill = "url(#" + c.id + ")"
	}
	d.printf(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"`, num(x), num(y), num(w), num(h), fill)
	if class == "elastic" && w > 2 && h > 2 {
		d.printf(` stroke="%s" stroke-width=".8"`, c.fill)
	}
	if w > 6 && h > 6 {
		d.printf(` rx="1.5"`)
	}
	d.printf("/>")
}

func (d *drawing) text(x, y float64, class, anchor, s string) {
	if s == "" {
		return
	}
	d.printf(`<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`, num(x), num(y), class, anchor, escape(s))
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

// num writes a coordinate with at most two decimals.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// escape makes text safe within XML: markup is quoted, and what XML cannot hold becomes U+FFFD.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// seconds writes a duration for people: 7.3 s, 2 min 5 s, 3 h 20 min.
func seconds(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < 2*time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
}

// clock writes a mark of the time axis, as fine as the distance between marks asks for.
func clock(at, each time.Duration) string {
	switch {
	case each < time.Second:
		return strconv.FormatFloat(at.Seconds(), 'f', 1, 64) + " s"
	case each < time.Minute:
		return strconv.Itoa(int(at/time.Second)) + " s"
	case each < time.Hour:
		return strconv.Itoa(int(at/time.Minute)) + " min"
	}
	return strconv.Itoa(int(at/time.Hour)) + " h"
}
