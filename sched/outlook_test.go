package sched

import (
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// outlookOf is what 10 runs of a class say: seconds(x) at scale-outs 1 to n, without a spread.
func outlookOf(class string, input int64, n int, seconds func(x int) float64) dovetail.Outlook {
	o := dovetail.Outlook{Class: class, InputSize: input, Model: "test", Runs: 10, Levels: []float64{.5}}
	for x := 1; x <= n; x++ {
		o.ScaleOuts = append(o.ScaleOuts, x)
		row := []float64{0}
		if seconds != nil {
			row[0] = seconds(x)
		}
		o.Alone = append(o.Alone, row)
	}
	return o
}

func TestOutlookOfTheNearestSize(t *testing.T) {
	c, err := New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if c.Outlook("a", 0) != nil || c.Outlook("a", 5) != nil {
		t.Fatal("something is known from nothing")
	}
	add := func(class string, input int64, runs int, seconds float64) {
		o := outlookOf(class, input, 4, func(int) float64 { return seconds })
		o.Runs = runs
		if err := c.Apply(epoch, dovetail.Fitted{Outlook: o}); err != nil {
			t.Fatal(err)
		}
	}
	add("a", 1000, 7, 10)
	add("a", 4000, 9, 40)
	add("b", 0, 7, 5)
	add("b", 1000, 9, 50)
	add("c", 0, 7, 3)
	for _, tc := range []struct {
		class   string
		input   int64
		seconds float64
		reason  string
	}{
		{"a", 1000, 10, "its own size"},
		{"a", 1111, 10, "within 10 % of the larger: the same"},
		{"a", 900, 10, "within 10 %, below"},
		{"a", 1500, 15, "the nearest, in proportion"},
		{"a", 2500, 25, "2500 is nearer by ratio to 4000 than to 1000, and in proportion"},
		{"a", 40000, 400, "ten times the nearest"},
		{"a", 0, 40, "no size: the one that learned most"},
		{"b", 0, 5, "no size: that of any size"},
		{"b", 2000, 100, "with a size, those of a size come first"},
		{"c", 2000, 3, "only any size is known"},
	} {
		if o := c.Outlook(tc.class, tc.input); o == nil || o.Alone[2][0] != tc.seconds {
			t.Errorf("%s: class %s with %d bytes: %+v, expected %g s", tc.reason, tc.class, tc.input, o, tc.seconds)
		}
	}
	data, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(back.Outlooks()); n != 5 {
		t.Errorf("%d outlooks after a restore, expected 5", n)
	}
	for reason, o := range map[string]dovetail.Outlook{
		"no class":       {Runs: 1},
		"negative":       {Class: "a", InputSize: -1},
		"says nothing":   {Class: "a", Runs: 4},
		"not rising":     {Class: "a", Levels: []float64{.5, .4}},
		"a missing row":  {Class: "a", Levels: []float64{.5}, ScaleOuts: []int{1}},
		"zero scale-out": {Class: "a", Levels: []float64{.5}, ScaleOuts: []int{0}, Alone: [][]float64{{1}}},
	} {
		if err := c.Apply(epoch, dovetail.Fitted{Outlook: o}); err == nil {
			t.Errorf("%s: accepted", reason)
		}
	}
}
