package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// A run that has a target gets a ceiling: the scale-out that its choice picked. Until it is there the run may use elastic replicas, and
// those it has up to there are guarded. docs/adr/0010 says why.

// confidence is that of a target that names none.
const confidence = 0.9

// replan is how often at most a choice is reconsidered, if the configuration does not say.
const replan = 30 * time.Second

// What a choice names as its model when it has none.
const (
	modelMax       = "max"       // nothing is known of the class
	modelBootstrap = "bootstrap" // its first runs explore
)

// aims reports whether runs of an application have a target that their scale-out is chosen by.
func aims(a *dovetail.Application) bool {
	return a.Kind != dovetail.Service && (a.Target != nil && a.Target.Runtime > 0 || a.FinishBy != nil)
}

// scales returns the lowest and the highest scale-out of an application's scaled component.
func (a *app) scales() (low, high int) {
	c := &a.spec.Components[a.scaled]
	return max(1, c.Count), max(1, c.Limit())
}

// mayUse returns how many elastic replicas of component ci the run may have: as many as the component can use, or up to the
// ceiling.
func (r *run) mayUse(ci int) int {
	c := &r.app.spec.Components[ci]
	if r.choice != nil && ci == r.app.scaled {
		return max(0, r.choice.ScaleOut-c.Count)
	}
	return c.Elastic()
}

// scaleOut returns the replicas granted to the scaled component; at least 1.
func (r *run) scaleOut() int {
	if r.comps == nil {
		return 1
	}
	p := &r.comps[r.app.scaled]
	return max(1, p.want[core]+p.want[elastic])
}

// scaleUp returns those of them that are up; at least 1.
func (r *run) scaleUp() int {
	p := &r.comps[r.app.scaled]
	return max(1, p.up[core]+p.up[elastic])
}

// goal returns until when the run is to end: a target counts from its start, or from now if it has not started.
func (r *run) goal(now time.Time) time.Time {
	var goal time.Time
	if t := r.app.spec.Target; t != nil {
		goal = r.started
		if goal.IsZero() {
			goal = now
		}
		goal = goal.Add(time.Duration(t.Runtime))
	}
	if by := r.app.spec.FinishBy; by != nil && (goal.IsZero() || by.Before(goal)) {
		goal = *by
	}
	return goal
}

// confidence returns the probability with which the run's target is to be met.
func (r *run) confidence() float64 {
	if t := r.app.spec.Target; t != nil && t.Confidence > 0 {
		return t.Confidence
	}
	return confidence
}

// chosen is a choice of a draft, and what was there before.
type chosen struct {
	r   *run
	was *dovetail.Choice
}

// pick gives a run a choice for the time of the draft. What it has above its new ceiling it gives back, from its last nodes first.
func (d *draft) pick(r *run, choice dovetail.Choice) {
	d.choices = append(d.choices, chosen{r, r.choice})
	r.choice = &choice
	d.c.crave(r)
	if r.comps == nil {
		return
	}
	p := &r.comps[r.app.scaled]
	for i := len(p.cells) - 1; i >= 0; i-- {
		over := -r.craves(r.app.scaled)
		if k := &p.cells[i]; k.class == elastic && k.want > 0 && over > 0 {
			d.shift(r, r.app.scaled, elastic, k.node, -min(over, k.want))
		}
	}
}

// unpick takes back the choice of a run that was not started after all.
func (d *draft) unpick(r *run) {
	if !r.serves() {
		r.choice = nil
	}
}

// unpickAll takes back every choice of the draft, last first.
func (d *draft) unpickAll() {
	for i := len(d.choices) - 1; i >= 0; i-- {
		d.choices[i].r.choice = d.choices[i].was
		d.c.crave(d.choices[i].r)
	}
	clear(d.choices)
	d.choices = d.choices[:0]
}

// picked returns the choices that the plan makes, by run.
func (d *draft) picked() []dovetail.Choice {
	var all []dovetail.Choice
	for i := range d.choices {
		if r := d.choices[i].r; r.choice != nil && r.serves() && !r.ending {
			all = append(all, *r.choice)
		}
	}
	slices.SortStableFunc(all, func(a, b dovetail.Choice) int { return cmp.Compare(a.Run, b.Run) })
	return slices.CompactFunc(all, func(a, b dovetail.Choice) bool { return a.Run == b.Run })
}

// aim chooses the scale-out of a run that is about to start: the smallest with which it meets its target with the confidence it
// asks for, given who is in service or starts in this decision. If there is none it is the highest: what can be done is done.
func (d *draft) aim(r *run) {
	if !r.app.aims || r.choice != nil {
		return
	}
	low, high := r.app.scales()
	x := dovetail.Choice{
		Run: r.id, At: d.now, Model: modelMax, ScaleOut: high, Deadline: r.goal(d.now), Confidence: r.confidence(),
	}
	left := x.Deadline.Sub(d.now).Seconds()
	switch v := d.c.view(r.spec.Class, r.input()); {
	case v.Outlook == nil || v.Runs == 0:
	case v.Runs < predict.Few || !predict.Known(v.Outlook):
		x.Model, x.Runs = modelBootstrap, v.Runs
		x.ScaleOut = predict.Bootstrap(v.First, low, high, left/v.factor)
	default:
		x.Model, x.Runs, x.Known = v.Model, v.Runs, true
		x.Overlaps = d.c.overlaps(r, v, left, d.now, d.started)
		var feasible bool
		x.ScaleOut, x.Probability, feasible = predict.Select(low, high, x.Confidence, func(scaleOut int) float64 {
			return v.at(scaleOut, x.Overlaps).AtMost(left)
		})
		x.Missed = !feasible
	}
	d.pick(r, x)
}

// at returns the distribution of the runtime at a scale-out.
func (v view) at(scaleOut int, overlaps []dovetail.Overlap) predict.Table {
	return predict.Lookup(v.Outlook, float64(scaleOut), overlaps).Scaled(v.factor)
}

// overlaps returns which classes will be beside a run during the seconds left, each with its share: Algorithm 1 of seed 001 for every
// other run in service and those that start with it, times the share of the run's nodes that the other is on; of a run that is not
// placed yet, the share of open nodes.
func (c *Core) overlaps(r *run, v view, left float64, now time.Time, started []*run) []dovetail.Overlap {
	return c.meetings(r, v, started, func(k *run) float64 {
		elapsed := 0.0
		if !k.ready.IsZero() {
			elapsed = max(0, now.Sub(k.ready).Seconds())
		}
		other := c.view(k.spec.Class, k.input())
		return predict.Ratio(other.Outlook, other.factor, float64(k.scaleOut()), elapsed, r.spec.Class, left)
	})
}

// meetings adds up, by class, the shares of a run's nodes that others are on, each times a ratio. Classes of which the outlook does not
// say how they slow the run down are left out.
func (c *Core) meetings(r *run, v view, started []*run, ratio func(k *run) float64) []dovetail.Overlap {
	if len(v.Beside) == 0 {
		return nil
	}
	s := c.survey(r)
	var all []dovetail.Overlap
	for i := range v.Beside {
		o := dovetail.Overlap{Class: v.Beside[i].Class}
		meet := func(k *run) {
			if k == r || k.suspended {
				return
			}
			if share := s.share(k); share > 0 {
				o.Ratio += float64(share * ratio(k))
			}
		}
		for _, k := range c.byClass[o.Class] {
			if k.goesOn() {
				meet(k)
			}
		}
		for _, k := range started {
			if k.spec.Class == o.Class {
				meet(k)
			}
		}
		if o.Ratio > 0 {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b dovetail.Overlap) int { return cmp.Compare(a.Class, b.Class) })
	return all
}

// regroup notes who is beside runs that have a choice, when runs of some classes (nil: of any) came, went or moved. Progress up to now was made
// beside those that were there.
func (c *Core) regroup(moved map[string]bool, now time.Time) {
	for _, r := range c.aimed {
		if !r.choice.Known || !r.goesOn() {
			continue
		}
		v := c.view(r.spec.Class, r.input())
		touched := moved == nil || moved[r.spec.Class]
		for i := 0; i < len(v.Beside) && !touched; i++ {
			touched = moved[v.Beside[i].Class]
		}
		if touched {
			c.progress(r, now)
			r.beside = c.meetings(r, v, nil, func(*run) float64 { return 1 })
		}
	}
}

// survey knows the nodes that a run is on, or will be on with equal chances. A core has one, whose memory every survey uses again.
type survey struct {
	mine  []int // per node, the last survey for which it is the run's
	seen  []int // per node, the last run that was found on it
	made  int   // surveys
	asked int   // runs asked for
	total int   // nodes that are the run's
}

// survey is valid until the next one.
func (c *Core) survey(r *run) *survey {
	s := &c.surveyed
	if len(s.mine) != len(c.nodes) {
		*s = survey{mine: make([]int, len(c.nodes)), seen: make([]int, len(c.nodes))}
	}
	s.made++
	s.total = 0
	if r.inService() {
		s.on(r, func(node int) { s.mine[node] = s.made; s.total++ })
		return s
	}
	for i := range c.nodes {
		if n := c.space.Node(i); n.Up && !n.Cordoned {
			s.mine[i] = s.made
			s.total++
		}
	}
	return s
}

// on calls f with each node that something of a run is granted on, once.
func (s *survey) on(r *run, f func(node int)) {
	s.asked++
	for ci := range r.comps {
		for _, k := range r.comps[ci].cells {
			if k.want > 0 && s.seen[k.node] != s.asked {
				s.seen[k.node] = s.asked
				f(k.node)
			}
		}
	}
}

// share returns the share of the run's nodes that another run is on.
func (s *survey) share(k *run) float64 {
	if s.total == 0 {
		return 0
	}
	n := 0
	s.on(k, func(node int) {
		if s.mine[node] == s.made {
			n++
		}
	})
	return float64(n) / float64(s.total)
}

// doneBy returns the share of its work that a run with a known outlook has done by a time: 1 after as long as the median says. It goes on
// while the run is ready and not frozen, at the scale-out that is up and beside those that are there; no framework is asked.
func (c *Core) doneBy(r *run, now time.Time) float64 {
	if r.choice == nil || !r.choice.Known || r.state != dovetail.Running || r.frozen {
		return r.done
	}
	v := c.view(r.spec.Class, r.input())
	if !predict.Known(v.Outlook) {
		return r.done
	}
	return r.done + max(0, now.Sub(r.doneAt).Seconds())/v.at(r.scaleUp(), r.beside).Quantile(.5)
}

// periods returns how many periods of reconsideration have begun by a time. They are the same for all runs, so that one turn does for
// all.
func (c *Core) periods(t time.Time) int64 { return t.UnixMicro() / c.period() }

// nextPeriod returns when the next one begins.
func (c *Core) nextPeriod(t time.Time) time.Time {
	return time.UnixMicro((c.periods(t) + 1) * c.period()).UTC()
}

// period returns the length of a period in microseconds.
func (c *Core) period() int64 {
	if c.cfg.Replan > 0 {
		return time.Duration(c.cfg.Replan).Microseconds()
	}
	return replan.Microseconds()
}

// due reports whether choices are to be reconsidered now: since the instant before, a period has begun.
func (c *Core) due(now time.Time) bool {
	before := c.now
	if !now.After(c.now) {
		before = c.before
	}
	return c.periods(now) > c.periods(before)
}

// appraises reports whether a model can say how a run in service does that has a choice. Of one that explores none does: what it is to
// teach would be lost.
func (c *Core) appraises(r *run) bool {
	return r.goesOn() && !r.suspended && r.choice != nil && r.choice.Known && predict.Known(c.view(r.spec.Class, r.input()).Outlook)
}

// reconsiders reports whether a run's choice is looked at again at a time. When its deadline is past and it may have all it can use,
// nothing is left to choose.
func (c *Core) reconsiders(r *run, now time.Time) bool {
	if !c.appraises(r) {
		return false
	}
	_, high := r.app.scales()
	return r.choice.ScaleOut < high || r.goal(now).After(now)
}

// reconsider looks again at the choices that are due. A run that falls behind gets the smallest scale-out with which it still meets its target; a
// run that needs less gives back, but only down to where half of the risk it may take is left, so that it does not go to and fro. A choice is
// made if it changes the scale-out, or if the run has all that it may have and what is said of it, that it is sure enough or not, is no longer true.
func (d *draft) reconsider() {
	if len(d.c.aimed) == 0 || !d.c.due(d.now) {
		return
	}
	for _, r := range d.c.aimed {
		if !d.c.reconsiders(r, d.now) {
			continue
		}
		was := r.choice
		x, meets := d.appraise(r)
		low, high := r.app.scales()
		x.Probability, x.Missed = meets(x.ScaleOut), false
		if x.Probability < x.Confidence {
			var feasible bool
			x.ScaleOut, x.Probability, feasible = predict.Select(low, high, x.Confidence, meets)
			x.Missed = !feasible
		} else if x.ScaleOut > low {
			fewer, p, feasible := predict.Select(low, x.ScaleOut-1, x.Confidence+(1-x.Confidence)/2, meets)
			if feasible {
				x.ScaleOut, x.Probability = fewer, p
			}
		}
		if x.ScaleOut != was.ScaleOut || isSure(&x) != isSure(was) && r.craves(r.app.scaled) <= 0 {
			d.pick(r, x)
		}
	}
}

// isSure reports whether a choice says that the target is met with the confidence that is asked for.
func isSure(x *dovetail.Choice) bool { return x.Probability >= x.Confidence }

// appraise returns a run's choice as of now, and the probability to meet the deadline by scale-out, given that it still runs.
func (d *draft) appraise(r *run) (x dovetail.Choice, meets func(scaleOut int) float64) {
	x = *r.choice
	v := d.c.view(r.spec.Class, r.input())
	x.At, x.Model, x.Runs, x.Deadline = d.now, v.Model, v.Runs, r.goal(d.now)
	left := x.Deadline.Sub(d.now).Seconds()
	x.Overlaps = d.c.overlaps(r, v, left, d.now, d.started)
	done := d.c.doneBy(r, d.now)
	return x, func(scaleOut int) float64 {
		t := v.at(scaleOut, x.Overlaps)
		return t.EndsWithin(float64(done*t.Quantile(.5)), left)
	}
}

// bereaved makes a new choice for each run that loses replicas up to its ceiling by this decision: the same scale-out, with the
// probability that what is left to the run leaves.
func (d *draft) bereaved() {
	if len(d.c.aimed) == 0 {
		return
	}
	for _, s := range d.steps {
		if s.cl == elastic && s.ci == s.r.app.scaled {
			s.r.lost -= s.delta
		}
	}
	for _, r := range d.c.aimed {
		if r.lost > 0 && d.c.appraises(r) && r.craves(r.app.scaled) > 0 {
			x, meets := d.appraise(r)
			x.Probability = meets(r.scaleOut())
			d.pick(r, x)
		}
	}
	for _, s := range d.steps {
		s.r.lost = 0
	}
}

// topUp gives runs in service that have less than their ceiling what is free, and then, with an allocator that takes back, elastic replicas of
// runs without a target that are of no higher priority; last in order first, as for a core.
func (d *draft) topUp() {
	var short []*run
	for _, runs := range [...][]*run{d.c.aimed, d.started} {
		for _, r := range runs {
			if r.choice != nil && r.isHungry() && !d.now.Before(r.regrow) {
				short = append(short, r)
			}
		}
	}
	if len(short) == 0 {
		return
	}
	d.sort(short)
	f := fitter{d}
	for _, r := range short {
		f.grow(r)
	}
	if d.c.cfg.Alloc != "flexible" && d.c.cfg.Alloc != "eager" {
		return
	}
	var victims []*run
	for v := range d.backwards() {
		if v.choice == nil {
			victims = append(victims, v)
		}
	}
	if len(victims) == 0 {
		return
	}
	var failed []*run // for what these cannot get, others of the application that rank after them need not try
	for _, r := range short {
		if slices.ContainsFunc(failed, func(o *run) bool { return o.app == r.app && o.priority >= r.priority }) {
			continue
		}
		if f.evictFor(r, victims); r.craves(r.app.scaled) > 0 {
			failed = append(failed, r)
		}
	}
}

// evictFor replaces elastic replicas of others, the first first, by those that r lacks up to its ceiling.
func (f fitter) evictFor(r *run, victims []*run) {
	ci := r.app.scaled
	n := r.craves(ci)
	if n <= 0 {
		return
	}
	own, before := f.c.key(r, f.now), n
	for _, v := range victims {
		if last := f.c.key(v, f.now); f.c.cfg.Reclaim == "lower" && last.compare(&own) < 0 {
			break
		}
		if v.priority > r.priority {
			continue
		}
		for n > 0 && v.elastic > 0 {
			placed := f.evict(r, ci, elastic, n, v)
			if placed == 0 {
				break
			}
			n -= placed
		}
		if n <= 0 {
			break
		}
	}
	if n < before {
		f.again = true
		f.forget()
	}
}

// close says how a run's choice turned out when it ends.
func (r *run) close() {
	if r.choice == nil || r.verdict == nil {
		return
	}
	x := *r.choice
	switch r.verdict.Outcome {
	case dovetail.OutcomeSucceeded:
		x.Closed = "met"
		if r.ended.After(x.Deadline) {
			x.Closed = "missed"
		}
	case dovetail.OutcomeCancelled:
		x.Closed = "abandoned"
	case dovetail.OutcomeFailed, dovetail.OutcomeTimedOut, dovetail.OutcomeLost:
		x.Closed = "failed"
	}
	r.choice = &x
}

// choose applies a choice of a plan.
func (c *Core) choose(x *dovetail.Choice, now time.Time) {
	r := c.runs[x.Run]
	if r.choice == nil {
		i, _ := slices.BinarySearchFunc(c.aimed, r.id, byID)
		c.aimed = slices.Insert(c.aimed, i, r)
	}
	c.progress(r, now)
	choice := *x
	r.choice = &choice
	c.touch(r)
}

// progress notes the work done so far, before the speed of the run changes.
func (c *Core) progress(r *run, now time.Time) { r.done, r.doneAt = c.doneBy(r, now), now }
