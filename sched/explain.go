package sched

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// unblockers bounds how many ways out an explanation names.
const unblockers = 3

// togetherLimit bounds how many runs are tried to end together.
const togetherLimit = 16

// Explain says why a run is where it is. The bool is false when the core does not know the run (it never did, or it ended).
func (c *Core) Explain(id dovetail.RunID, now time.Time) (dovetail.Explanation, bool) {
	r, ok := c.runs[id]
	if !ok {
		return dovetail.Explanation{}, false
	}
	if now.Before(c.now) {
		now = c.now
	}
	x := dovetail.Explanation{Run: id, State: r.state}
	if r.state != dovetail.Queued {
		x.Text = c.serviceText(r, now)
		return x, true
	}
	d := c.draft(now)
	defer d.undo()
	x.Waiting = c.line.n
	c.position(&x, r, now)
	if d.varies(r) {
		d.aim(r)
	}
	d.needs(&x, r)
	x.Code = d.code(r, x.Behind)
	if x.Code != dovetail.OnHold && x.Code != dovetail.NoNode {
		x.Unblock = d.unblock(r)
	}
	x.Text = c.waitText(&x, r, now)
	return x, true
}

// position finds the run's place in the line, and the run before it that must go first if the policy is strict.
func (c *Core) position(x *dovetail.Explanation, r *run, now time.Time) {
	if r.held {
		return
	}
	n := 0
	first := window{}
	open := c.method != nil // nobody was found yet that is not of the window
	for w := range c.waiting(now) {
		n++
		if open = open && (!c.fits(w.app) || first.takes(c, w, now)); open && c.fits(w.app) {
			first.runs = append(first.runs, contender{r: w})
		}
		if w == r {
			x.Position = n
			break
		}
		reserved := c.order.Reserves && r.reason == dovetail.Behind
		if x.Behind == 0 && (!c.order.Backfill || reserved || c.overdue(w, now)) && c.fits(w.app) {
			x.Behind = w.id
		}
	}
	c.drawnBehind(x, r, &first, open, now)
}

// drawnBehind corrects who goes first where runs are drawn: nobody within the window, unless one of it is due or overdue.
func (c *Core) drawnBehind(x *dovetail.Explanation, r *run, first *window, inside bool, now time.Time) {
	for _, o := range first.runs {
		if c.isDue(o.r) && o.r != r && !c.overdue(first.runs[0].r, now) {
			x.Behind = o.r.id
			return
		}
	}
	if inside && c.fits(r.app) && !c.order.Reserves && !c.overdue(first.runs[0].r, now) {
		x.Behind = 0
	}
}

// needs fills in what the run asks for, and how much of it fits now, component by component.
func (d *draft) needs(x *dovetail.Explanation, r *run) {
	c := d.c
	for ci := range r.app.shapes {
		comp, sh := &r.app.spec.Components[ci], &r.app.shapes[ci]
		n := c.first(r, ci)
		if n == 0 {
			continue
		}
		spots := d.place(r, ci, n)
		for _, s := range spots {
			c.space.Take(s.Node, sh.Each, -s.N)
		}
		need := dovetail.Need{Component: comp.Name, N: n, Each: comp.Resources, Fits: count(spots)}
		if need.Fits < need.N {
			need.Refused = c.space.Refused(sh, d.c.refusal(r))
		}
		x.Needs = append(x.Needs, need)
	}
}

// code finds the reason afresh.
func (d *draft) code(r *run, behind dovetail.RunID) dovetail.ReasonCode {
	switch {
	case r.held:
		return dovetail.OnHold
	case !d.c.fits(r.app):
		return dovetail.NoNode
	case behind != 0 && d.c.overdue(d.c.runs[behind], d.now):
		return dovetail.WaitOverdue
	case behind != 0:
		return dovetail.Behind
	case d.saturated(r):
		return dovetail.Saturated
	}
	return dovetail.NoCapacity
}

// unblock tries what would make room for the run: reclaiming elastic replicas, and the end of runs in service. There is
// nothing to try if it fits already and waits only for those before it.
func (d *draft) unblock(r *run) []string {
	f := fitter{d}
	var ways []string
	defer func() {
		d.forget()
		r.comps = nil
	}()
	if d.fitsWithout(f, r, nil) {
		return nil
	}
	if reclaimed := d.tryReclaim(f, r); reclaimed != "" {
		ways = append(ways, reclaimed)
	}
	for _, v := range d.c.serving {
		if len(ways) >= unblockers {
			break
		}
		if !v.goesOn() {
			continue
		}
		if d.fitsWithout(f, r, []*run{v}) {
			ways = append(ways, fmt.Sprintf("run %d (%s) ends", v.id, v.spec.Name))
		}
	}
	if len(ways) == 0 {
		ways = d.together(f, r)
	}
	return ways
}

// together looks for runs in service whose ends would make room for r's core only if all of them end: as few as can be found
// by leaving out one after the other.
func (d *draft) together(f fitter, r *run) []string {
	var ending []*run
	for _, v := range d.c.serving {
		if len(ending) == togetherLimit {
			return nil
		}
		if !v.goesOn() {
			continue
		}
		if ending = append(ending, v); d.fitsWithout(f, r, ending) {
			break
		}
	}
	if !d.fitsWithout(f, r, ending) {
		return nil
	}
	for i := len(ending) - 2; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(ending), i, i+1); d.fitsWithout(f, r, fewer) {
			ending = fewer
		}
	}
	names := make([]string, len(ending))
	for i, v := range ending {
		names[i] = fmt.Sprintf("run %d (%s)", v.id, v.spec.Name)
	}
	return []string{strings.Join(names, " and ") + " end"}
}

// fitsWithout reports whether r could start if these runs held nothing.
func (d *draft) fitsWithout(f fitter, r *run, ended []*run) bool {
	fits := false
	f.Try(func() bool {
		for _, v := range ended {
			for ci := range v.comps {
				for cl := range numClasses {
					d.take(v, ci, cl, func(int) bool { return true })
				}
			}
		}
		d.forget()
		fits = f.Core(r) && (d.c.cfg.Alloc != "rigid" || f.Grow(r))
		return false
	})
	return fits
}

// tryReclaim says how many elastic replicas of which runs would have to be reclaimed.
func (d *draft) tryReclaim(f fitter, r *run) string {
	said := ""
	if a := d.c.cfg.Alloc; a != "flexible" && a != "eager" {
		return said // the others take nothing back
	}
	f.Try(func() bool {
		var parts []string
		total := 0
		for v := range d.victims(r) {
			had := v.elastic
			done := f.CoreBy(r, v)
			if !done {
				f.Strip(v)
			}
			if n := had - v.elastic; n > 0 {
				total += n
				what := "replicas"
				if n == 1 {
					what = "replica"
				}
				parts = append(parts, fmt.Sprintf("%d elastic %s of run %d", n, what, v.id))
			}
			if done {
				said = strings.Join(parts, " and ") + " are reclaimed"
				if total == 1 {
					said = parts[0] + " is reclaimed"
				}
				break
			}
		}
		return false
	})
	return said
}

func (c *Core) waitText(x *dovetail.Explanation, r *run, now time.Time) string {
	var needs []string
	for _, n := range x.Needs {
		needs = append(needs, fmt.Sprintf("%d × %s (%s), %d of them would fit now", n.N, n.Component, n.Each, n.Fits))
	}
	what := "its core needs"
	if c.cfg.Alloc == "rigid" {
		what = "the rigid allocator starts it when all of it fits:"
	}
	text := fmt.Sprintf("it has waited %s; %s %s", now.Sub(r.waiting).Round(time.Second), what, strings.Join(needs, "; "))
	switch x.Code {
	case dovetail.OnHold:
		return text + fmt.Sprintf(". It is held: release it with `dovetail release %d`.", r.id)
	case dovetail.NoNode:
		return text + ". It would not fit the nodes that are open, were they empty; it waits for more capacity, and does not stop others."
	case dovetail.Behind:
		if o := c.runs[x.Behind]; c.method != nil && o != nil && c.isDue(o) {
			text += fmt.Sprintf(". Run %d was passed over %s and goes first", o.id, times(o.passes))
			break
		}
		if c.order.Reserves {
			text += fmt.Sprintf(". Policy %s lets it pass only when that does not delay run %d, as far as runtimes are predicted", c.cfg.Policy, x.Behind)
			break
		}
		text += fmt.Sprintf(". Policy %s is strict and run %d goes first", c.cfg.Policy, x.Behind)
	case dovetail.WaitOverdue:
		text += fmt.Sprintf(". Run %d has waited longer than %s and goes first", x.Behind, c.cfg.MaxWait)
	case dovetail.Saturated:
		text += ". The runs in service can use all that is left, so that nothing is reclaimed for it yet"
	case dovetail.NoReason, dovetail.NoCapacity: // what it needs says it all
	}
	text += r.passText(c.patience())
	if c.method != nil && c.isDue(r) {
		text += ". It goes first now, and those behind it wait until it has started"
	}
	if len(x.Unblock) > 0 {
		text += ". It fits when " + strings.Join(x.Unblock, ", or if ")
	}
	return text + "."
}

// choiceText says what a run's target made of its scale-out.
func (c *Core) choiceText(r *run) string {
	x := r.choice
	text := fmt.Sprintf("; for its target it may have %d replicas of %s", x.ScaleOut, r.app.spec.Components[r.app.scaled].Name)
	switch {
	case x.Model == modelMax:
		return text + ", all it can use, as nothing is known of its class yet"
	case x.Model == modelBootstrap:
		return text + fmt.Sprintf(", to explore (finished runs of its class: %d)", x.Runs)
	case x.Missed:
		return text + fmt.Sprintf(", all it can use: the probability of meeting it is %.0f %%, wanted are %.0f %%", 100*x.Probability, 100*x.Confidence)
	}
	return text + fmt.Sprintf(": the probability of meeting it was %.0f %% at %s", 100*x.Probability, x.At.Format(time.RFC3339))
}

// passText says how often a waiting run was passed over, by whom last, and why.
func (r *run) passText(patience int) string {
	p := r.passed
	if p == nil {
		return ""
	}
	text := fmt.Sprintf(". It was passed over %s (after %d it goes first), last by run %d at %s", times(r.passes), patience, p.By, p.At.Format(time.RFC3339))
	switch {
	case p.Method == methodDue:
		return text + ", which had been passed over often enough itself"
	case !p.Could:
		return text + ": it could not have started then"
	}
	return text + fmt.Sprintf(": method %s gave it a probability of %s", p.Method, percent(p.Probability))
}

// drawText says how a run came to start before or after others, and beside whom.
func (r *run) drawText() string {
	x := r.draw
	text := fmt.Sprintf("; method %s drew it with a probability of %s among %d that could start", x.Method, percent(x.Probability()), len(x.Options))
	if x.Method == methodDue {
		text = fmt.Sprintf("; it had been passed over %s, so that it went first", times(r.passes))
	}
	if len(x.Passed) > 0 {
		text += fmt.Sprintf(", before %d that had come before it", len(x.Passed))
	}
	if len(x.Beside) == 0 {
		return text + ", on nodes where nobody else was"
	}
	text += ", beside " + strings.Join(x.Beside, ", ")
	if x.Score > 0 {
		text += fmt.Sprintf(" (its nodes score %.2f; 0.5 is neither good nor bad)", x.Score)
	}
	return text
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func percent(p float64) string { return fmt.Sprintf("%.0f %%", 100*p) }

// serviceText describes a run in service.
func (c *Core) serviceText(r *run, now time.Time) string {
	s := r.status()
	text := fmt.Sprintf("%d of %d core replicas are up, %d elastic ones are granted of %d it can use",
		s.CoreUp, s.Core, s.Elastic, s.ElasticMax)
	switch {
	case r.state == dovetail.Stopping:
		return text + fmt.Sprintf("; it ends as %s when %d more replicas have stopped.", s.Outcome, r.live)
	case r.suspended:
		return text + fmt.Sprintf("; it is suspended: resume it with `dovetail resume %d`.", r.id)
	case r.broken():
		return text + "; a part of its core died and waits for room."
	}
	for ci := range r.comps {
		if !r.mayStart(ci) {
			return text + fmt.Sprintf("; component %s waits until those it comes after are ready.", r.app.spec.Components[ci].Name)
		}
	}
	if r.choice != nil {
		text += c.choiceText(r)
	}
	if r.draw != nil {
		text += r.drawText()
	}
	if now.Before(r.regrow) {
		text += fmt.Sprintf("; it gets no new elastic replica for another %s", r.regrow.Sub(now).Round(time.Second))
	}
	return text + "."
}
