package report

import (
	"fmt"
	"io"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Timeline is a picture of a workload on its nodes: one row a node, in which the height of a bar is a replica's share of
// the node, core replicas solid and elastic ones hatched; below, one row a run with its wait as a thin line.
type Timeline struct {
	Workload
	Title    string
	Subtitle string
	Span     time.Duration // length of the time axis; 0: as long as the workload. For pictures on one scale.
}

// The measures of the picture, in pixels.
const (
	width     = 1220.0
	left      = 170.0 // before the time axis: names
	right     = 220.0 // behind it: figures
	plotWidth = width - left - right
	header    = 96.0
	nodeRow   = 68.0
	nodeGap   = 10.0
	runRow    = 20.0
	runGap    = 7.0
	panelGap  = 40.0
	footer    = 42.0
	maxTicks  = 12
	labelSize = 6.4   // width of a character of a label within a bar
	waitedAt  = 84.0  // where the second column of figures begins
	outcomeAt = 140.0 // and the third
)

// WriteSVG draws the timeline as an SVG document that needs nothing else and reads well on light and dark ground.
func (t *Timeline) WriteSVG(w io.Writer) error {
	d := newDrawing(t)
	d.open()
	d.legend()
	d.grid()
	d.nodes()
	d.runs()
	d.close()
	if _, err := w.Write(d.out.Bytes()); err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	return nil
}

// newDrawing lays the timeline out.
func newDrawing(t *Timeline) *drawing {
	d := &drawing{t: t, stays: t.stays()}
	d.from, d.until = t.span()
	d.span = max(d.until.Sub(d.from), t.Span, time.Millisecond)
	d.rows = byNode(d.stays, len(t.Nodes))
	d.nodesTop = header
	d.runsTop = d.nodesTop + float64(len(t.Nodes))*(nodeRow+nodeGap) - nodeGap + panelGap
	d.bottom = d.runsTop + float64(len(t.Runs))*(runRow+runGap)
	d.height = d.bottom + footer
	return d
}

// x returns where a time lies on the axis.
func (d *drawing) x(at time.Time) float64 {
	return left + plotWidth*min(max(at.Sub(d.from).Seconds()/d.span.Seconds(), 0), 1)
}

// nodes draws a row for each node.
func (d *drawing) nodes() {
	for i := range d.t.Nodes {
		n := &d.t.Nodes[i]
		y := d.nodesTop + float64(i)*(nodeRow+nodeGap)
		d.text(left-12, y+nodeRow/2-3, "name", "end", n.Name)
		d.text(left-12, y+nodeRow/2+12, "small", "end", n.Capacity.String())
		d.printf(`<rect class="lane" x="%s" y="%s" width="%s" height="%s" rx="3"/>`, num(left), num(y), num(plotWidth), num(nodeRow))
		stays := d.rows[i]
		scale := nodeRow / stack(stays)
		for j := range stays {
			s := &stays[j]
			d.bar(s, y+nodeRow-(s.at+s.share)*scale, s.share*scale)
		}
	}
}

// bar draws one replica's stay on a node.
func (d *drawing) bar(s *stay, y, height float64) {
	run := &d.t.Runs[s.run].Status
	x := d.x(s.from)
	wide := max(d.x(s.to)-x, 0.6)
	class, what := "core", "core"
	if s.elastic {
		class, what = "elastic", "elastic"
	}
	component := fmt.Sprintf("component %d", s.component)
	if app := d.t.Runs[s.run].App; app != nil && s.component < len(app.Components) {
		component = app.Components[s.component].Name
	}
	d.printf(`<g><title>%s, %s (%s): %s to %s</title>`, escape(run.Name), escape(component), what,
		seconds(s.from.Sub(d.from)), seconds(s.to.Sub(d.from)))
	d.rect(class, d.colour(s.run), x, y+0.5, max(wide-0.8, 0.4), max(height-1, 0.4))
	if float64(len(run.Name))*labelSize+8 < wide && height >= 12 && d.roomiest(s) {
		d.label(s, x+6, y+height/2+3.8)
	}
	d.printf("</g>\n")
}

// label writes the name of a run on one of its bars.
func (d *drawing) label(s *stay, x, y float64) {
	name := escape(d.t.Runs[s.run].Status.Name)
	if s.elastic {
		d.printf(`<text class="in halo" x="%s" y="%s">%s</text>`, num(x), num(y), name)
		return
	}
	d.printf(`<text class="in" style="fill:%s" x="%s" y="%s">%s</text>`, d.colour(s.run).ink, num(x), num(y), name)
}

// roomiest reports whether s has the most room for a name among the stays of its run and class on its node; the first of
// several that have as much.
func (d *drawing) roomiest(s *stay) bool {
	var best *stay
	for i := range d.rows[s.node] {
		o := &d.rows[s.node][i]
		if o.run == s.run && o.elastic == s.elastic && (best == nil || area(o) > area(best)) {
			best = o
		}
	}
	return best == s
}

func area(s *stay) float64 { return s.share * s.to.Sub(s.from).Seconds() }

// runs draws a row for each run: its wait, its core as a band of constant height, its elastic replicas above it, and its
// figures.
func (d *drawing) runs() {
	for i := range d.t.Runs {
		st := &d.t.Runs[i].Status
		y := d.runsTop + float64(i)*(runRow+runGap)
		base := y + runRow
		d.text(left-12, base-4, "name", "end", st.Name)
		end := d.until
		if st.Ended != nil {
			end = *st.Ended
		}
		started := end
		if st.Started != nil {
			started = *st.Started
		}
		if started.After(st.Submitted) {
			d.printf(`<path class="wait" stroke="%s" d="M%s %sv6m0 -3H%s"/>`+"\n",
				d.colour(i).fill, num(d.x(st.Submitted)), num(base-6), num(d.x(started)))
		}
		if st.Started != nil {
			d.rect("core", d.colour(i), d.x(started), base-6, max(d.x(end)-d.x(started), 0.6), 6)
			d.scaleOut(i, base-6.8)
		}
		d.figures(st, base-4, end)
	}
}

// scaleOut draws the elastic replicas of a run over time as steps on its core.
func (d *drawing) scaleOut(run int, base float64) {
	top := max(d.t.Runs[run].Status.ElasticMax, 1)
	all := steps(d.stays, run, true)
	for _, s := range all {
		top = max(top, s.n)
	}
	for _, s := range all {
		height := (runRow - 7) * float64(s.n) / float64(top)
		d.rect("elastic", d.colour(run), d.x(s.from), base-height, max(d.x(s.to)-d.x(s.from), 0.4), height)
	}
}

// figures writes what became of a run.
func (d *drawing) figures(st *dovetail.RunStatus, y float64, end time.Time) {
	const x = width - right + 14
	d.text(x+waitedAt, y, "figure", "start", seconds(waited(st, end)))
	if st.Ended == nil {
		d.text(x+outcomeAt, y, "figure", "start", string(st.State))
		return
	}
	d.text(x, y, "figure", "start", seconds(end.Sub(st.Submitted)))
	if st.Outcome != dovetail.OutcomeSucceeded {
		d.text(x+outcomeAt, y, "figure", "start", string(st.Outcome))
	}
}
