package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// withNotes adds to a list what to think of when a curve is used.
func withNotes(c *dovetail.Curve, pairs ...[2]string) [][2]string {
	for _, n := range c.Notes {
		pairs = append(pairs, [2]string{"Note", printable(n)})
	}
	return pairs
}

// writeCurve prints a table by scale-out, and what to take.
func (e *environment) writeCurve(w io.Writer, c *dovetail.Curve) error {
	fmt.Fprintln(w)
	header := []string{"SCALE-OUT", "MEDIAN"}
	spread := len(c.Points) > 0 && c.Points[0].Spread()
	if spread {
		header = append(header, "80 % OF RUNS", "95 %")
	}
	if c.Target > 0 {
		header = append(header, "MEETS "+secondsText(c.Target))
	}
	t := newTable(append(header, "NODE-SECONDS", "")...)
	for i := range c.Points {
		p := &c.Points[i]
		row := []string{fmt.Sprint(p.ScaleOut), secondsText(p.Median)}
		if spread {
			row = append(row, bandText(p.Low80, p.High80), bandText(p.Low95, p.High95))
		}
		if p.Probability != nil {
			row = append(row, meetsText(p))
		}
		mark := " "
		if q := c.Chosen; q != nil && q.ScaleOut == p.ScaleOut {
			mark = e.paint(green, "<- take this")
			if q.Infeasible {
				mark = e.paint(yellow, "<- all there is")
			}
		}
		t.add(append(row, strconv.FormatFloat(p.NodeSeconds, 'f', 0, 64), mark)...)
	}
	if err := t.write(w, e.paint); err != nil {
		return err
	}
	return e.writePick(w, c)
}

// meetsText says whether a target is met: how surely, if the model knows.
func meetsText(p *dovetail.CurvePoint) string {
	switch {
	case p.Spread():
		return percent(*p.Probability)
	case *p.Probability == 1:
		return "yes"
	}
	return "no"
}

// writePick says in a sentence which scale-out to take.
func (e *environment) writePick(w io.Writer, c *dovetail.Curve) error {
	q := c.Chosen
	if q == nil {
		return nil
	}
	low, high := c.Points[0].ScaleOut, c.Points[len(c.Points)-1].ScaleOut
	take, within, wanted := plural(q.ScaleOut, "replica", "replicas"), secondsText(c.Target), percent(c.Confidence)
	var text string
	switch spread := c.Points[0].Spread(); {
	case spread && q.Infeasible:
		text = fmt.Sprintf("No scale-out from %d to %d meets %s with %s or more: at the most, %d, it is met with %s.",
			low, high, within, wanted, q.ScaleOut, percent(q.Probability))
	case spread:
		text = fmt.Sprintf("Take %s: the fewest that meet %s with %s or more (%s).", take, within, wanted, percent(q.Probability))
	case q.Infeasible:
		text = fmt.Sprintf("No scale-out from %d to %d has a median within %s; there are %s at the most.", low, high, within, take)
	default:
		text = fmt.Sprintf("Take %s: the fewest with a median within %s. This model does not know how sure that is.", take, within)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", text)
	return err
}

// secondsText writes a runtime in seconds with three digits or more.
func secondsText(v float64) string {
	decimals := 0
	switch {
	case v < 1:
		return strconv.FormatFloat(v, 'g', 3, 64) + "s"
	case v < 10:
		decimals = 2
	case v < 100:
		decimals = 1
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s + "s"
}

func bandText(low, high float64) string {
	return strings.TrimSuffix(secondsText(low), "s") + " to " + secondsText(high)
}

// percent writes a share. What is not quite certain does not read as if it were.
func percent(p float64) string {
	s := strconv.FormatFloat(100*p, 'f', 1, 64)
	switch {
	case p < 1 && s == "100.0":
		return "> 99.9 %"
	case p > 0 && s == "0.0":
		return "< 0.1 %"
	}
	return strings.TrimSuffix(s, ".0") + " %"
}

// besideText says who is there, and for how much of the time.
func besideText(overlaps []dovetail.Overlap) string {
	var parts []string
	for _, o := range overlaps {
		parts = append(parts, fmt.Sprintf("%s for %s of the time", printable(o.Class), percent(o.Ratio)))
	}
	return strings.Join(parts, ", ")
}
