package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/policy"
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

// TestRekey: after an outlook the line, and those in service, are in the order in which they would be if every key were computed anew.
func TestRekey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := dovetail.DefaultConfig()
		cfg.Policy = rapid.SampledFrom(policy.Orders()).Draw(t, "policy").Name
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		now, next := epoch, dovetail.RunID(1)
		apply := func(e dovetail.Event) {
			if err := c.Apply(now, e); err != nil {
				t.Fatal(err)
			}
		}
		apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(12)}})
		order := func() (waiting, serving []dovetail.RunID) {
			for w := range c.waiting(now) {
				waiting = append(waiting, w.id)
			}
			d := c.draft(now)
			defer d.undo()
			for r := range d.fromLast() {
				serving = append(serving, r.id)
			}
			return waiting, serving
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "s")) * time.Second)
			for range rapid.IntRange(0, 4).Draw(t, "arrivals") {
				n := rapid.IntRange(1, 3).Draw(t, "core")
				app := oneComponent(n, n+rapid.IntRange(0, 4).Draw(t, "elastic"), 1)
				app.Priority = rapid.IntRange(0, 1).Draw(t, "priority")
				if rapid.Bool().Draw(t, "says") {
					app.Expected = dovetail.Duration(rapid.IntRange(1, 200).Draw(t, "expected")) * dovetail.Duration(time.Second)
				}
				apply(dovetail.Submitted{Run: &dovetail.Run{ID: next, Class: genClass(t), App: app, Input: genInput(t), Hold: rapid.IntRange(0, 5).Draw(t, "hold") == 0}})
				next++
			}
			if next > 1 && rapid.IntRange(0, 2).Draw(t, "departure") == 0 {
				_ = c.Apply(now, dovetail.Cancelled{Run: dovetail.RunID(rapid.IntRange(1, int(next)-1).Draw(t, "run"))})
			}
			if rapid.Bool().Draw(t, "decide") {
				if plan := c.Decide(now); !plan.Empty() {
					apply(dovetail.Decided{Plan: plan})
				}
			}
			if rapid.Bool().Draw(t, "look") {
				order() // what was fresh is sorted in
			}
			apply(dovetail.Fitted{Outlook: genOutlook(t)})
			waiting, serving := order()
			c.rerank(now)
			if w, s := order(); !slices.Equal(w, waiting) || !slices.Equal(s, serving) {
				t.Fatalf("%v wait and %v are in service; ranked anew it is %v and %v", waiting, serving, w, s)
			}
		}
	})
}

// Of many classes those are remembered that were learned of last, also after a restart.
func TestOldOutlooksAreForgotten(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Policy = "sjf"
	s := newStage(t, cfg, 1)
	learn := func(class string, seconds float64) {
		s.apply(dovetail.Fitted{Outlook: outlookOf(class, 0, 4, func(int) float64 { return seconds })})
	}
	learn("a", 100)
	learn("b", 50)
	s.submit("x", oneComponent(4, 4, 1))
	s.turn()
	s.submit("b", oneComponent(4, 4, 1))
	s.submit("a", oneComponent(4, 4, 1))
	first := func() dovetail.RunID {
		for w := range s.core.waiting(s.now) {
			return w.id
		}
		return 0
	}
	if id := first(); id != 2 {
		t.Fatalf("run %d is first, and run 2 takes 50 s", id)
	}
	learn("a", 100)
	for i := range mostLearned - 2 {
		learn(fmt.Sprint("once", i), 1)
	}
	data, err := s.core.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if s.core, err = Restore(data); err != nil {
		t.Fatal(err)
	}
	if s.core.Outlook("b", 0) == nil {
		t.Error("there is room for as many")
	}
	learn("one more", 1)
	if n := len(s.core.Outlooks()); n != mostLearned || s.core.Outlook("b", 0) != nil || s.core.Outlook("a", 0) == nil {
		t.Errorf("%d outlooks; b was learned of longest ago, a again since: %v, %v", n, s.core.Outlook("b", 0), s.core.Outlook("a", 0))
	}
	if id := first(); id != 3 {
		t.Errorf("run %d is first, and nothing is known of run 2 any more", id)
	}
}
