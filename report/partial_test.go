package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGap(t *testing.T) {
	cell := func(policy string, seed uint64) Cell { return Cell{Policy: policy, Alloc: "rigid", Seed: seed} }
	var wanted []Cell
	for seed := range uint64(9) {
		wanted = append(wanted, cell("fifo", seed+1), cell("sjf", seed+1))
	}
	for _, tc := range []struct {
		reason string
		wanted []Cell
		done   []int // of wanted
		want   string
	}{
		{"a seed of one setting is missing", wanted[:4], []int{0, 1, 2}, "Partial: 3 of 4 cells; seeds differ between rows. Missing: seed 2 of sjf rigid."},
		{
			"cells are missing in between, and at the end", wanted, []int{0, 1, 3, 6, 7},
			"Partial: 5 of 18 cells; seeds differ between rows. Missing: seeds 2, 3, 5 to 9 of fifo rigid; seeds 3, 5 to 9 of sjf rigid.",
		},
		{"the seeds are the same ones", wanted[:8], []int{0, 1, 2, 3}, "Partial: 4 of 8 cells. Missing: seeds 3, 4 of fifo rigid, sjf rigid."},
		{"a setting has no row", wanted[:2], []int{0}, "Partial: 1 of 2 cells. Missing: seed 1 of sjf rigid."},
		{"all are there", wanted[:2], []int{0, 1}, ""},
	} {
		var d Document
		for _, i := range tc.done {
			d.Cells = append(d.Cells, Metrics{Cell: tc.wanted[i]})
		}
		d.Summary = Summarise(d.Cells)
		d.Break(tc.wanted)
		if diff := cmp.Diff(tc.want, d.Gap()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// What is partial says so where people look first: above the tables, and as a field for programs. What is whole says nothing of it.
func TestPartialIsSaid(t *testing.T) {
	for _, partial := range []bool{false, true} {
		d := document(t)
		var about string
		if partial {
			d.Break([]Cell{d.Cells[0].Cell, {Policy: "edf", Alloc: "rigid", Seed: 4}})
			about = d.Gap()
		}
		var markdown, json, page bytes.Buffer
		for _, err := range []error{WriteMarkdown(&markdown, d), WriteJSON(&json, d), WriteHTML(&page, &Report{Title: "A sweep", Document: *d})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.HasPrefix(markdown.String(), "Partial: "); got != partial || !strings.HasPrefix(markdown.String(), about) {
			t.Errorf("partial %v: Markdown begins with %.60q", partial, markdown.String())
		}
		if got := strings.Contains(json.String(), `"partial": true`) && strings.Contains(json.String(), `"policy": "edf"`); got != partial {
			t.Errorf("partial %v: JSON says %v", partial, got)
		}
		said := strings.Index(page.String(), "Partial: ")
		if got := said >= 0 && said < strings.Index(page.String(), "<table"); got != partial {
			t.Errorf("partial %v: the page says so at %d", partial, said)
		}
	}
}

// Who reads a table learns which runs are not in it.
func TestWithout(t *testing.T) {
	for _, failed := range []int{0, 1} {
		d := document(t)
		d.Cells[1].Failed = failed
		d.Summary = Summarise(d.Cells)
		var markdown, page bytes.Buffer
		for _, err := range []error{WriteMarkdown(&markdown, d), WriteHTML(&page, &Report{Document: *d})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{"Markdown": markdown.String(), "the page": page.String()} {
			if said := strings.Contains(text, "without those that failed"); said != (failed > 0) {
				t.Errorf("%d failed: %s says %v", failed, name, said)
			}
		}
	}
}
