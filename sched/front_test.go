package sched

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/policy"
)

// inFull is the first runs of the waiting line as c.waiting is to yield them, by ranking all of them.
func inFull(c *Core, now time.Time, n int) []dovetail.RunID {
	var all []entry
	for _, r := range c.runs {
		if r.state == dovetail.Queued && !r.held {
			e := entry{r: r, key: c.key(r, now)}
			e.job = r.job(now)
			e.key.rank = c.order.Rank(&e.job, now)
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return a.key.compare(&b.key) })
	var ids []dovetail.RunID
	for i := range all[:min(n, len(all))] {
		ids = append(ids, all[i].r.id)
	}
	return ids
}

// TestFront holds the order in which a moving line is walked against a full ranking, while runs come and go and time passes: few
// of the line or many are asked for, soon again or much later.
func TestFront(t *testing.T) {
	var moving []string
	for _, o := range policy.Orders() {
		if o.Moves {
			moving = append(moving, o.Name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		cfg := dovetail.DefaultConfig()
		cfg.Policy = rapid.SampledFrom(moving).Draw(t, "policy")
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
		alike := rapid.SampledFrom([]int{0, 20, 40}).Draw(t, "alike")
		enter := func(n int) {
			var app *dovetail.Application
			for range n {
				if app != nil && rapid.IntRange(0, 40).Draw(t, "same") < alike { // as submitted together
					apply(dovetail.Submitted{Run: &dovetail.Run{ID: next, Name: "a", App: app}})
					next++
					continue
				}
				seconds := rapid.SampledFrom([]int{1, 2, 60, 61, 3600, 100_000}).Draw(t, "seconds")
				app = &dovetail.Application{
					Name: "a", Kind: rapid.SampledFrom([]dovetail.Kind{dovetail.Batch, dovetail.Interactive}).Draw(t, "kind"),
					Priority: max(0, rapid.IntRange(-8, 2).Draw(t, "priority")), Expected: dovetail.Duration(time.Duration(seconds) * time.Second),
					Components: []dovetail.Component{{Name: "c", Count: rapid.IntRange(1, 3).Draw(t, "count"), Resources: dovetail.Resources{1000, 1 << 30}}},
				}
				apply(dovetail.Submitted{Run: &dovetail.Run{ID: next, Name: "a", App: app, Hold: rapid.IntRange(0, 30).Draw(t, "hold") == 0}})
				next++
			}
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 500}).Draw(t, "gap")) * time.Millisecond)
		}
		for range rapid.IntRange(1, 20).Draw(t, "batches") {
			enter(rapid.IntRange(1, 30).Draw(t, "runs"))
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 50, 3_000, 100_000, 50_000_000}).Draw(t, "ms")) * time.Millisecond)
			n := rapid.SampledFrom([]int{1, 1, 1, 2, 10, 60, 1000}).Draw(t, "wanted")
			var got []dovetail.RunID
			for r := range c.waiting(now) {
				if got = append(got, r.id); len(got) == n {
					break
				}
			}
			if want := inFull(c, now, n); !slices.Equal(got, want) {
				t.Fatalf("at %s the line begins with\n%v, want\n%v", now.Sub(epoch), got, want)
			}
			gone := got[:min(len(got), rapid.IntRange(0, 5).Draw(t, "gone"))]
			for range 5 {
				gone = append(gone, dovetail.RunID(rapid.Int64Range(1, int64(next)-1).Draw(t, "any")))
			}
			for _, id := range gone {
				if r := c.runs[id]; r.state == dovetail.Queued {
					c.leave(r) // as if it were put into service
					r.state = dovetail.Running
				}
			}
			enter(rapid.IntRange(0, 5).Draw(t, "more"))
		}
	})
}

// TestLineForgets checks that runs which left the line are not kept while an older one waits on: a line that is served from its head
// has nothing void in its order, and yet in the order of arrivals.
func TestLineForgets(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Policy = "sjf"
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for id := range dovetail.RunID(20_000) {
		app := &dovetail.Application{Name: "a", Expected: dovetail.Duration(time.Minute), Components: []dovetail.Component{{Name: "c", Count: 1}}}
		if id == 0 {
			app.Expected = dovetail.Duration(time.Hour)
		}
		if err := c.Apply(epoch, dovetail.Submitted{Run: &dovetail.Run{ID: id + 1, Name: "a", App: app}}); err != nil {
			t.Fatal(err)
		}
		c.line.settle(false)
		if id > 0 {
			c.leave(c.runs[id+1])
			c.runs[id+1].state = dovetail.Running
		}
	}
	if n := len(c.line.sorted) + len(c.line.fresh) + len(c.line.arrivals); n > 4_000 {
		t.Errorf("%d entries are kept for %d runs that wait", n, c.line.n)
	}
}
