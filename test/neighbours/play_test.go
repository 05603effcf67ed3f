package neighbours_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/internal/usage/local"
)

// patience bounds one pass. A quiet machine needs less than a minute.
const patience = 10 * time.Minute

// ticks is how many of /proc/stat a processor has in a second.
const ticks = 100

// play lets an arm play a queue on a daemon that begins with what the arm learned before, and kills the daemon in the end.
func (p *place) play(t *testing.T, s *study, arm int, queue []string) pass {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	name := s.Setting.Arms[arm]
	d := p.serve(ctx, t, &s.Setting, name)
	defer d.kill()
	if n := len(s.Repetitions); n > 0 {
		before, now := s.Repetitions[n-1].Passes[arm].Known, d.known(ctx)
		if !reflect.DeepEqual(before, now) {
			d.fatal("%s knows other things than before it was killed:\n%+v\nbefore:\n%+v", name, now, before)
		}
	}
	ids := d.line(ctx, p, s, queue)
	before := read(t)
	d.cordon(ctx, false)
	d.until(ctx, "all runs have ended", func() bool { return d.living(ctx) == 0 })
	after := read(t)
	d.cordon(ctx, true) // for the next pass
	x := d.observe(ctx, name, queue, ids, before.at)
	x.Others = max(0, (after.busy-before.busy-x.used)/after.at.Sub(before.at).Seconds())
	d.until(ctx, "all has been learned", func() bool {
		x.Known = d.known(ctx)
		return compared(&x.Known) == len(queue)*(len(s.Repetitions)+1)
	})
	return x.pass
}

// line submits the queue while the machine is closed, and returns the numbers of the runs.
func (d *daemon) line(ctx context.Context, p *place, s *study, queue []string) []string {
	d.t.Helper()
	d.until(ctx, "the machine is there", func() bool {
		nodes, err := d.client.Nodes(ctx)
		return err == nil && len(nodes) == 1 && nodes[0].Up
	})
	d.cordon(ctx, true)
	var ids []string
	for _, kind := range queue {
		run, err := d.client.Submit(ctx, client.SubmitRequest{Spec: []byte(p.application(kind, s.Amounts[kind]))})
		if err != nil {
			d.fatal("submit: %v", err)
		}
		ids = append(ids, fmt.Sprint(run.ID))
	}
	return ids
}

func (d *daemon) cordon(ctx context.Context, on bool) {
	d.t.Helper()
	if err := d.client.Cordon(ctx, "machine", on, false); err != nil {
		d.fatal("cordon: %v", err)
	}
}

// observed is a pass with what is needed to finish it.
type observed struct {
	pass
	used float64 // processor time of the runs, in seconds
}

// observe measures the runs of a pass, and demands that they succeeded and that decisions are on record as the arm takes them.
func (d *daemon) observe(ctx context.Context, arm string, queue, ids []string, begin time.Time) observed {
	d.t.Helper()
	var x observed
	for i, id := range ids {
		run, err := d.client.Run(ctx, id)
		if err != nil {
			d.fatal("run %s: %v", id, err)
		}
		st := &run.Status
		if st.Outcome != dovetail.OutcomeSucceeded {
			d.fatal("run %s (%s) %s: %s", id, st.App, st.Outcome, st.Why)
		}
		r := played{Kind: queue[i], Started: st.Started.Sub(begin).Seconds(), Ended: st.Ended.Sub(begin).Seconds()}
		x.Played = append(x.Played, r)
		x.Makespan = max(x.Makespan, r.Ended)
		x.Turnaround += r.Ended / float64(len(ids))
		for _, rep := range run.Replicas {
			x.used += rep.Usage.CPU.Seconds()
		}
		if w := st.Draw; w != nil {
			x.Drawn++
			if fault := wrong(w, arm); fault != "" {
				d.t.Errorf("%s: run %s was drawn %s: %+v", arm, id, fault, w)
			}
		}
	}
	if (x.Drawn > 0) != (arm != "fifo") {
		d.t.Errorf("%s: %d of %d runs were drawn", arm, x.Drawn, len(ids))
	}
	return x
}

// wrong says what is wrong with the draw of a run that succeeded; "" if nothing is.
func wrong(w *dovetail.Draw, arm string) string {
	sum := 0.0
	for _, o := range w.Options {
		sum += o.Probability
	}
	switch {
	case w.Method != arm && w.Method != "due":
		return "by " + w.Method
	case math.Abs(sum-1) > 1e-9:
		return fmt.Sprintf("with probabilities that sum to %g", sum)
	case w.Probability() <= 0:
		return "although it had no chance"
	case w.Closed != "succeeded":
		return "and the draw is closed as " + w.Closed
	}
	return ""
}

// compared returns how many runs the evidence is from.
func compared(n *dovetail.Neighbours) int {
	runs := 0
	for i := range n.Classes {
		if e := n.Classes[i].Evidence; e != nil {
			runs += e.Runs
		}
	}
	return runs
}

// moment is the processor time that the machine has spent at work, in seconds.
type moment struct {
	at   time.Time
	busy float64
}

func read(t *testing.T) moment {
	t.Helper()
	c, err := local.New("/").Read()
	if err != nil {
		t.Fatal(err)
	}
	return moment{at: c.At, busy: float64(c.CPU.Total-c.CPU.Idle-c.CPU.Wait) / ticks}
}
