package report

import (
	"bytes"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Report is what a page about a simulation shows.
type Report struct {
	Title    string
	Command  string // that made it; may be empty
	About    []Fact // what was simulated: trace, cluster, seeds
	Notes    []string
	Sections []Section // shown before the tables of the document
	Document Document
	Figures  []Figure
}

// Section is a table of sentences and figures, with a note below it.
type Section struct {
	Title, Note string
	Columns     []string
	Rows        [][]string
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

//go:embed page.html
var page string

// pageTable is a table as the page shows it.
type pageTable struct {
	Title, Note string
	Columns     []pageCell
	Rows        [][]pageCell
}

type pageCell struct {
	Heading, Cell string
	Words         bool
}

type pageFigure struct {
	Name, Title string
	SVG         template.HTML
}

// intervalNote says what the tables of several seeds show.
const intervalNote = "± and ranges are 95 % confidence intervals over seeds (Student's t)."

// WriteHTML writes the report as one HTML page that needs nothing else: it reads well on light and dark ground, and on paper.
func WriteHTML(w io.Writer, r *Report) error {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return fmt.Errorf("read the template of the page: %w", err)
	}
	figures := make([]pageFigure, 0, len(r.Figures))
	for _, f := range r.Figures {
		svg, err := f.inline()
		if err != nil {
			return err
		}
		figures = append(figures, pageFigure{f.Name, f.Title, svg})
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct {
		*Report
		Tables  []pageTable
		Figures []pageFigure
	}{r, r.Document.pageTables(), figures}); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return deliver(w, &b)
}

// pageTables returns the tables of the page: settings over seeds, changes, differences, and how kinds of runs fared.
func (d *Document) pageTables() []pageTable {
	note := ""
	for _, r := range d.Summary {
		if r.Seeds > 1 {
			note = intervalNote
		}
	}
	note = strings.TrimSpace(note + " " + d.Without())
	var all []pageTable
	if len(d.Summary) > 0 {
		all = append(all, rowTable(d.Summary).page("Settings", note))
	}
	if d.Baseline != nil {
		all = append(all, changeTable(d.Changes).page(changesTitle(*d.Baseline), note))
	}
	for i := range d.Differences {
		all = append(all, d.Differences[i].table().page(d.Differences[i].title(),
			"± is a 95 % confidence interval over paired runs, as if they were independent."))
	}
	if t := kindTable(d.Cells); t.rows > 0 {
		all = append(all, t.page("Kinds of runs", "B-E: batch, elastic. B-R: batch, rigid. Int: interactive. Svc: services. Means over seeds."))
	}
	return all
}

func (t *table) page(title, note string) pageTable {
	p := pageTable{Title: title, Note: note}
	for i := range t.columns {
		p.Columns = append(p.Columns, pageCell{Heading: t.columns[i].heading(), Words: t.columns[i].words})
	}
	for row := range t.rows {
		var cells []pageCell
		for i := range t.columns {
			cells = append(cells, pageCell{Cell: t.columns[i].cells[row], Words: t.columns[i].words})
		}
		p.Rows = append(p.Rows, cells)
	}
	return p
}

// inline returns the figure as part of a page, in the colours of the page.
func (f Figure) inline() (template.HTML, error) {
	b, err := f.svg()
	if err != nil {
		return "", err
	}
	_, body, ok := strings.Cut(string(b), `viewBox=`)
	if !ok {
		return "", fmt.Errorf("draw %s: the drawing library writes SVG without a viewBox", f.Name)
	}
	body = strings.NewReplacer(
		inkColour, "var(--ink)", faintColour, "var(--faint)", gridColour, "var(--grid)", groundColour, "var(--ground)",
		"font-weight:normal;font-style:normal;", "", "font-style:normal;", "",
	).Replace(body)
	head := `<svg role="img" aria-label="` + escape(f.Title) + `" width="` + num(f.wide*pixels) + `" height="` + num(f.high*pixels) + `" viewBox=`
	return template.HTML(head + body), nil //nolint:gosec // the texts in it are escaped, here and by the drawing library
}

// pixels is how many of a page's are in a point.
const pixels = 4.0 / 3
