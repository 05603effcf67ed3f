package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
)

// The colours of heat maps of characters, of little to much: 256-colour codes of grounds, and of text that reads well on them.
var (
	likeStyles = []style{"48;5;255;38;5;16", "48;5;153;38;5;16", "48;5;111;38;5;16", "48;5;68;38;5;231", "48;5;25;38;5;231"}
	slowStyles = []style{"48;5;255;38;5;16", "48;5;224;38;5;16", "48;5;217;38;5;16", "48;5;203;38;5;16", "48;5;160;38;5;231"}
	fastStyles = []style{"48;5;255;38;5;16", "48;5;194;38;5;16", "48;5;157;38;5;16", "48;5;114;38;5;16", "48;5;28;38;5;231"}
)

// shades are what stands for colours where there are none.
var shades = []string{" ", "░", "▒", "▓", "█"}

// writeHeat draws preferences and slowdowns with characters.
func (e *environment) writeHeat(w io.Writer, m *matrix) error {
	m = e.fitting(m)
	most, slowest := 0.0, 1.0
	for _, row := range m.pairs {
		for _, p := range row {
			if p != nil && p.Updates > 0 {
				most = max(most, p.Likes)
			}
			if p != nil && p.Slowdown != nil {
				slowest = max(slowest, p.Slowdown.Times, 1/p.Slowdown.Times)
			}
		}
	}
	if most > 0 {
		fmt.Fprintln(w, "Whom runs (rows) want for their next neighbour (columns), in per cent:")
		if err := e.writeCells(w, m, func(p *dovetail.PairKnown) (string, style, int) {
			if p.Updates == 0 {
				return "", plain, 0
			}
			level := levelOf(p.Likes / most)
			return fmt.Sprintf("%.0f", 100*p.Likes), likeStyles[level], level
		}); err != nil {
			return err
		}
	}
	if slowest == 1 {
		return m.writeMore(w)
	}
	if most > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "How many times as long runs (rows) take beside others (columns):")
	err := e.writeCells(w, m, func(p *dovetail.PairKnown) (string, style, int) {
		if p.Slowdown == nil {
			return "", plain, 0
		}
		part := math.Log(p.Slowdown.Times) / math.Log(slowest)
		level := levelOf(math.Abs(part))
		if part < 0 {
			return timesText(p.Slowdown.Times), fastStyles[level], level
		}
		return timesText(p.Slowdown.Times), slowStyles[level], level
	})
	if err != nil {
		return err
	}
	return m.writeMore(w)
}

// levelOf returns the step of a scale that a share of the most is on.
func levelOf(share float64) int {
	return min(max(int(math.Round(share*float64(len(shades)-1))), 0), len(shades)-1)
}

// writeCells draws a cell for each pair; without colours a shade stands before its number.
func (e *environment) writeCells(w io.Writer, m *matrix, cell func(*dovetail.PairKnown) (text string, st style, level int)) error {
	head := []string{""}
	for j := range m.names {
		above, _ := m.header(j)
		head = append(head, above)
	}
	t := newTable(head...)
	for i, name := range m.names {
		_, before := m.header(i)
		if before == "" && !m.met(i) {
			continue
		}
		cells := []string{before + printable(name)}
		for j, p := range m.pairs[i] {
			above, _ := m.header(j)
			wide := max(visible(above), 6)
			said, st, level := "", plain, 0
			if p != nil {
				said, st, level = cell(p)
			}
			switch {
			case said == "":
				said = strings.Repeat("·", wide)
			case e.outScreen && e.colours:
				said = e.paint(st, fmt.Sprintf("%*s", wide, said+" "))
			default:
				said = strings.Repeat(shades[level], wide-visible(said)-1) + " " + said
			}
			cells = append(cells, said)
		}
		t.add(cells...)
	}
	return t.write(w, e.paint)
}

// drawNeighbours draws preferences, and slowdowns if any are known, into a file.
func (e *environment) drawNeighbours(file string, m *matrix) error {
	const mostDrawn = 40 // classes
	m = m.most(mostDrawn)
	names := make([]string, len(m.names))
	for i, name := range m.names {
		names[i] = printable(name)
	}
	values := func(of func(*dovetail.PairKnown) float64) (rows [][]float64, known bool) {
		for _, pairs := range m.pairs {
			row := make([]float64, len(pairs))
			for j, p := range pairs {
				row[j] = math.NaN()
				if p != nil {
					row[j] = of(p)
				}
				known = known || !math.IsNaN(row[j])
			}
			rows = append(rows, row)
		}
		return rows, known
	}
	var maps []report.HeatMap
	likes, measured := values(func(p *dovetail.PairKnown) float64 {
		if p.Updates == 0 {
			return math.NaN()
		}
		return p.Likes
	})
	if measured {
		maps = append(maps, report.HeatMap{
			Title: "Preference", Down: "running", Across: "newcomer", Rows: names, Columns: names, Values: likes,
			Text: func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
		})
	}
	times, shown := values(func(p *dovetail.PairKnown) float64 {
		if p.Slowdown == nil {
			return math.NaN()
		}
		return p.Slowdown.Times
	})
	if shown {
		maps = append(maps, report.HeatMap{
			Title: "Times as long", Down: "runs of", Across: "beside", Rows: names, Columns: names, Values: times, Middle: 1, Text: timesText,
		})
	}
	notes := plural(len(m.names), "job class", "job classes")
	if m.more > 0 {
		notes += fmt.Sprintf(", of %d those of which the most is known", len(m.names)+m.more)
	}
	f, err := report.HeatMaps("neighbours", "Which job classes run well side by side", notes, maps...)
	if err != nil {
		return err
	}
	return e.drawFigure(file, f)
}
