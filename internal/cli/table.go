package cli

import (
	"io"
	"strings"
)

// table is text in aligned columns.
type table struct {
	header []string
	rows   [][]string
}

func newTable(header ...string) *table { return &table{header: header} }

// add appends a row. Empty cells become a dash.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		if c == "" {
			cells[i] = "-"
		}
	}
	t.rows = append(t.rows, cells)
}

// write prints the table; the header is dim.
func (t *table) write(w io.Writer, paint painter) error {
	widths := make([]int, len(t.header))
	for i, h := range t.header {
		widths[i] = visible(h)
	}
	for _, r := range t.rows {
		for i, c := range r {
			widths[i] = max(widths[i], visible(c))
		}
	}
	var b strings.Builder
	line := func(cells []string, st style) {
		for i, c := range cells {
			b.WriteString(paint(st, c))
			if i+1 < len(cells) {
				b.WriteString(strings.Repeat(" ", widths[i]-visible(c)+2))
			}
		}
		b.WriteByte('\n')
	}
	line(t.header, dim)
	for _, r := range t.rows {
		line(r, plain)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// list writes names and values, one pair a line, with the values aligned. Pairs without a value are left out.
func list(w io.Writer, paint painter, pairs ...[2]string) error {
	widest := 0
	for _, p := range pairs {
		if p[1] != "" {
			widest = max(widest, visible(p[0]))
		}
	}
	var b strings.Builder
	for _, p := range pairs {
		if p[1] == "" {
			continue
		}
		b.WriteString(paint(dim, p[0]) + strings.Repeat(" ", widest-visible(p[0])+2) + p[1] + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
