package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is a table of text on its way to a terminal, to Markdown or to a page.
type table struct {
	columns []column
	rows    int
}

// column is one column of a table, with a cell a row.
type column struct {
	group string // of neighbouring columns: a heading over all of them
	name  string
	unit  string // of the group; may be empty
	words bool   // aligned to the left
	rank  int    // how soon it is left out where it is narrow; 0: never
	cells []string
}

// add appends a column whose cells a function gives.
func (t *table) add(c column, cell func(row int) string) {
	for row := range t.rows {
		c.cells = append(c.cells, cell(row))
	}
	t.columns = append(t.columns, c)
}

// heading is the name of a column where columns have no common heading: "turnaround mean, s".
func (c *column) heading() string { return measuredIn(strings.TrimSpace(c.group+" "+c.name), c.unit) }

// over is the heading that neighbouring columns share: "turnaround, s".
func (c *column) over() string { return measuredIn(c.group, c.unit) }

func measuredIn(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + ", " + unit
}

// defaultWidth is that of a table for which nobody said how wide a terminal is.
const defaultWidth = 120

// columnGap lies between the columns of text.
const columnGap = 2

// text writes aligned columns within a width, in characters. Columns that do not fit are left out, and it says so.
func (t *table) text(w io.Writer, width int) error {
	if width <= 0 {
		width = defaultWidth
	}
	shown := t.within(width)
	widths := columnWidths(shown)
	var b, line bytes.Buffer
	for i := 0; i < len(shown); {
		n := groupOf(shown[i:])
		pad(&line, shown[i].over(), total(widths[i:i+n]), n > 1 || shown[i].words)
		i += n
	}
	endLine(&b, &line)
	for row := -1; row < t.rows; row++ {
		for i := range shown {
			cell := shown[i].name
			if row >= 0 {
				cell = shown[i].cells[row]
			}
			pad(&line, cell, widths[i], shown[i].words)
		}
		endLine(&b, &line)
	}
	if out := len(t.columns) - len(shown); out > 0 {
		columns := "columns"
		if out == 1 {
			columns = "column"
		}
		fmt.Fprintf(&b, "(%d more %s where there is more room)\n", out, columns)
	}
	return deliver(w, &b)
}

// within returns the columns that fit into a width.
func (t *table) within(width int) []column {
	shown := slices.Clone(t.columns)
	for total(columnWidths(shown)) > width {
		worst := 0
		for i := range shown {
			if shown[i].rank > 0 && shown[i].rank >= shown[worst].rank {
				worst = i
			}
		}
		if shown[worst].rank == 0 {
			break
		}
		shown = slices.Delete(shown, worst, worst+1)
	}
	return shown
}

// groupOf returns how many of the first columns have one heading over them.
func groupOf(columns []column) int {
	n := 1
	for n < len(columns) && columns[n].group == columns[0].group && columns[0].group != "" {
		n++
	}
	return n
}

// columnWidths returns how wide each column is. Where the heading of a group is wider than its columns, the first makes room.
func columnWidths(columns []column) []int {
	widths := make([]int, len(columns))
	for i := range columns {
		widths[i] = utf8.RuneCountInString(columns[i].name)
		for _, cell := range columns[i].cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i := 0; i < len(columns); {
		n := groupOf(columns[i:])
		widths[i] += max(utf8.RuneCountInString(columns[i].over())-total(widths[i:i+n]), 0)
		i += n
	}
	return widths
}

// total returns how wide columns are together, with the gaps between them.
func total(widths []int) int {
	sum := columnGap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// pad writes a cell with the gap behind it.
func pad(b *bytes.Buffer, cell string, width int, words bool) {
	space := strings.Repeat(" ", max(width-utf8.RuneCountInString(cell), 0))
	gap := strings.Repeat(" ", columnGap)
	if words {
		b.WriteString(cell + space + gap)
		return
	}
	b.WriteString(space + cell + gap)
}

// endLine writes a line without the blanks at its end, unless nothing else is in it, and begins a new one.
func endLine(b, line *bytes.Buffer) {
	if s := strings.TrimRight(line.String(), " "); s != "" {
		b.WriteString(s + "\n")
	}
	line.Reset()
}

// markdown writes the table as Markdown has it.
func (t *table) markdown(b *bytes.Buffer) {
	bars := strings.NewReplacer("|", `\|`, "\n", " ")
	line := func(cell func(*column) string) {
		b.WriteString("|")
		for i := range t.columns {
			b.WriteString(" " + cell(&t.columns[i]) + " |")
		}
		b.WriteString("\n")
	}
	line(func(c *column) string { return bars.Replace(c.heading()) })
	line(func(c *column) string {
		if c.words {
			return "---"
		}
		return "---:"
	})
	for row := range t.rows {
		line(func(c *column) string { return bars.Replace(c.cells[row]) })
	}
}

// decimals returns how many decimals numbers of this size are shown with, so that a column has one number of them.
func decimals(largest float64) int {
	switch {
	case largest >= 10000:
		return 0
	case largest >= 100:
		return 1
	case largest >= 10:
		return 2
	}
	return 3
}

// number writes a number for people, with a true minus, but none before zero.
func number(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// signed writes a change with one decimal and its sign, unless it rounds to zero.
func signed(v float64) string {
	s := number(v, 1)
	if v > 0 && s != number(0, 1) {
		return "+" + s
	}
	return s
}

func deliver(w io.Writer, b *bytes.Buffer) error {
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
