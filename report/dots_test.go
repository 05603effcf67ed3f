package report

import (
	"strings"
	"testing"
)

func TestDots(t *testing.T) {
	d := Dots{
		Name: "runs", Title: "Runs one after the other", Notes: "some of them", X: "run", Y: "runtime, s", Series: []string{"one way", "another"}, Line: 350,
		Panels: []DotsPanel{
			{Title: "alone", Series: [][]DotsPoint{{{1, 300}, {2, 360}}, nil}},
			{Title: "beside", Series: [][]DotsPoint{nil, {{1, 340}}}},
		},
	}
	whole := svgOf(t, d.Figure())
	for _, want := range []string{"Runs one after the other", "some of them", "alone", "beside", "one way", "another", "target", "runtime, s"} {
		if !strings.Contains(whole, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	d.Panels[0].Series[0] = append(d.Panels[0].Series[0], DotsPoint{2, 320})
	if more := svgOf(t, d.Figure()); len(more) <= len(whole) {
		t.Error("one point more is not drawn")
	}
	d.Line = 0
	if strings.Contains(svgOf(t, d.Figure()), ">target<") {
		t.Error("a target is shown that there is not")
	}
}

func TestBoxes(t *testing.T) {
	b := Boxes{
		Name: "boxes", Title: "Runtimes", Label: "runtime, s", Notes: "; of nobody", Line: 350,
		Boxes: []Box{{Name: "one way, alone", Values: []float64{300, 310, 320, 330, 400}}, {Name: "nothing"}},
	}
	whole := svgOf(t, b.Figure())
	for _, want := range []string{"Runtimes", "of nobody", ">one way<", ">alone<", ">nothing<", "target", "runtime, s"} {
		if !strings.Contains(whole, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	b.Boxes[1].Values = []float64{340}
	if more := svgOf(t, b.Figure()); len(more) <= len(whole) {
		t.Error("a second box is not drawn")
	}
}
