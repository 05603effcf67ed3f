package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/dovetail-sched/dovetail"
)

// The measures of tables of neighbours.
const (
	longestHeader = 16 // characters of a class above a column; longer ones make columns be numbered
	cellColumns   = 11 // of "100 % 14.2" with a gap
	mostSlowed    = 40 // pairs that are shown, those that are slowed down the most
	mostProven    = 10 // sentences
)

// writeNeighbours prints what is known of neighbours: preferences, slowdowns, and what is proven.
func (e *environment) writeNeighbours(w io.Writer, n *dovetail.Neighbours, cfg *dovetail.Colocation) error {
	m := matrixOf(n)
	if len(m.names) == 0 {
		_, err := fmt.Fprintf(w, "Nothing is known of neighbours yet. %s.\n", neighboursHow)
		return err
	}
	if err := e.writePreferences(w, m); err != nil {
		return err
	}
	slow := slowed(n)
	if err := e.writeSlowdowns(w, slow); err != nil {
		return err
	}
	if err := writeProven(w, slow); err != nil {
		return err
	}
	if cfg.Choose == "" {
		_, err := fmt.Fprint(w, "\nThe policy alone decides who starts next, so none of this is used to choose. `dovetail config set choose=bandit` changes that.\n")
		return err
	}
	return nil
}

// header returns what stands above the column of a class, and before the name of its row.
func (m *matrix) header(i int) (above, before string) {
	if !slices.ContainsFunc(m.names, func(c string) bool { return visible(printable(c)) > longestHeader }) {
		return printable(m.names[i]), ""
	}
	number := "[" + strconv.Itoa(i+1) + "]"
	return number, number + " "
}

// fitting returns the part of the matrix that a screen has room for.
func (e *environment) fitting(m *matrix) *matrix {
	const least = 4
	width, _ := e.size()
	label := 0
	for i, name := range m.names {
		_, before := m.header(i)
		label = max(label, visible(before)+visible(printable(name)))
	}
	column := cellColumns
	for i := range m.names {
		above, _ := m.header(i)
		column = max(column, visible(above)+2)
	}
	return m.most(max((width-label-cellColumns)/column, least))
}

// writePreferences prints π and G: a row for each running class, a column for each newcomer.
func (e *environment) writePreferences(w io.Writer, m *matrix) error {
	measured := false
	for _, row := range m.pairs {
		measured = measured || slices.ContainsFunc(row, func(p *dovetail.PairKnown) bool { return p != nil && p.Updates > 0 })
	}
	if !measured {
		_, err := fmt.Fprintln(w, "No preferences are known yet: they are learned from the measured use of nodes.")
		return err
	}
	m = e.fitting(m)
	fmt.Fprintln(w, "Whom runs want for their next neighbour, in per cent, and the mean goodness of nodes that both used:")
	fmt.Fprintln(w)
	head := []string{"RUNNING"}
	for i := range m.names {
		above, _ := m.header(i)
		head = append(head, above)
	}
	t := newTable(append(head, "NOT MET")...)
	for i, name := range m.names {
		_, before := m.header(i)
		if before == "" && !m.met(i) {
			continue
		}
		cells := []string{before + printable(name)}
		for j := range m.names {
			cells = append(cells, preferenceText(m.pairs[i][j]))
		}
		rest := ""
		if m.met(i) {
			rest = percent(m.rest[i])
		}
		t.add(append(cells, rest)...)
	}
	if err := t.write(w, e.paint); err != nil {
		return err
	}
	return m.writeMore(w)
}

// writeMore says how many classes there was no room for.
func (m *matrix) writeMore(w io.Writer) error {
	if m.more == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s not shown; name one, or take -o json.\n", plural(m.more, "job class is", "job classes are"))
	return err
}

// preferenceText writes π and G of a pair; "" if they were not measured.
func preferenceText(p *dovetail.PairKnown) string {
	if p == nil || p.Updates == 0 {
		return ""
	}
	return percent(p.Likes) + " " + strconv.FormatFloat(p.Goodness, 'f', 1, 64)
}

// slowedPair is a pair of which finished runs say something.
type slowedPair struct {
	class string
	*dovetail.PairKnown
}

// slowed returns the pairs of which finished runs say something, those that are slowed down the most first.
func slowed(n *dovetail.Neighbours) []slowedPair {
	var all []slowedPair
	for i := range n.Rows {
		for j := range n.Rows[i].Pairs {
			if p := &n.Rows[i].Pairs[j]; p.Slowdown != nil {
				all = append(all, slowedPair{n.Rows[i].Class, p})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b slowedPair) int { return cmp.Compare(b.Slowdown.Times, a.Slowdown.Times) })
	return all
}

// writeSlowdowns prints what finished runs say of pairs.
func (e *environment) writeSlowdowns(w io.Writer, all []slowedPair) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "\nNo finished run shows yet what a neighbour costs.")
		return err
	}
	fmt.Fprintln(w, "\nHow many times as long runs take beside others as they do alone, or as usual if none of them was alone:")
	fmt.Fprintln(w)
	t := newTable("RUNS OF", "BESIDE", "TIMES AS LONG", "90 % INTERVAL", "RUNS", "TOGETHER", "PERIODS", "")
	for _, p := range all[:min(len(all), mostSlowed)] {
		s := p.Slowdown
		verdict := e.paint(dim, "cannot be told yet")
		switch {
		case s.Proven() && s.Low > 1:
			verdict = e.paint(red, "slower")
		case s.Proven():
			verdict = e.paint(green, "faster")
		}
		periods := ""
		if p.Updates > 0 {
			periods = strconv.FormatFloat(p.Updates, 'f', 0, 64)
		}
		t.add(printable(p.class), printable(p.Newcomer), timesText(s.Times), timesText(s.Low)+" to "+timesText(s.High), fmt.Sprint(s.Runs),
			span(fromSeconds(s.Seconds)), periods, verdict)
	}
	if err := t.write(w, e.paint); err != nil {
		return err
	}
	if n := len(all) - mostSlowed; n > 0 {
		fmt.Fprintf(w, "%s not shown; name an application, or take -o json.\n", plural(n, "pair is", "pairs are"))
	}
	return nil
}

// writeProven says in sentences what is proven.
func writeProven(w io.Writer, all []slowedPair) error {
	said := 0
	for _, p := range all {
		if !p.Slowdown.Proven() || said == mostProven {
			continue
		}
		if said == 0 {
			fmt.Fprintln(w)
		}
		said++
		if _, err := fmt.Fprintln(w, evidenceText(p.class, p.Newcomer, p.Slowdown)); err != nil {
			return err
		}
	}
	return nil
}

// evidenceText says in a sentence what finished runs say of a pair.
func evidenceText(class, beside string, s *dovetail.Slowdown) string {
	how := timesText(s.Times) + "x slower"
	if s.Times < 1 {
		how = "done in " + percent(s.Times) + " of the time"
	}
	return fmt.Sprintf("%s ran beside %s in %s: %s (%s to %s).", printable(class), printable(beside), plural(s.Runs, "run", "runs"), how,
		timesText(s.Low), timesText(s.High))
}

// timesText writes a factor.
func timesText(v float64) string {
	switch {
	case v >= 99.5:
		return "> 99"
	case v >= 9.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
