package target_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// patience bounds one play. A quiet machine needs a quarter of a minute.
const patience = 5 * time.Minute

// outcome is what became of one run of the job.
type outcome struct {
	took        float64           // seconds from the first replica handed over to the end, which is what a target counts
	nodeSeconds float64           // during which a replica of the scaled component was up, added up
	beside      float64           // share of the run during which the neighbour was in service
	choices     []dovetail.Choice // first to last, as far as they lasted until somebody looked
	closed      string            // how the last one turned out
	median      float64           // seconds, predicted at the start; 0: nothing was known
	others      float64           // processors that were busy with something else than the two runs, on average
}

func (o *outcome) met() bool { return o.took <= target.Seconds() }

// play runs the job of an arm once, with its neighbour, and waits until there is nothing left to run and to learn.
func (d *daemon) play(tr trial, a arm) outcome {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	before, began := busy(d.t), time.Now()
	var job, neighbour string
	if tr.delay < 0 {
		neighbour = d.submit(ctx, a.neighbour(d.binary))
		pause(ctx, -tr.delay)
		job = d.submit(ctx, a.job(d.binary))
	} else {
		job = d.submit(ctx, a.job(d.binary))
		pause(ctx, tr.delay)
		neighbour = d.submit(ctx, a.neighbour(d.binary))
	}
	var choices []dovetail.Choice
	d.until(ctx, "both runs have ended", func() bool {
		left := d.living(ctx)
		for i := range left {
			choices = note(choices, left[i].Choice)
		}
		return len(left) == 0
	})
	seconds, wall := busy(d.t)-before, time.Since(began).Seconds()
	one, other := d.succeeded(ctx, job), d.succeeded(ctx, neighbour)
	o := observe(&one, &other)
	o.others = (seconds - used(&one) - used(&other)) / wall
	o.choices = note(choices, one.Status.Choice)
	d.until(ctx, "both have been learned from", func() bool {
		return d.learned(ctx, one.Status.Class, tr.number) && d.learned(ctx, other.Status.Class, tr.number)
	})
	return o
}

// note appends a choice unless it is the last one, which may have been closed since.
func note(choices []dovetail.Choice, c *dovetail.Choice) []dovetail.Choice {
	if c == nil || len(choices) > 0 && choices[len(choices)-1].At.Equal(c.At) {
		return choices
	}
	return append(choices, *c)
}

// observe measures a run of the job that met this neighbour.
func observe(job, neighbour *client.RunDetail) outcome {
	s := &job.Status
	o := outcome{took: s.Ended.Sub(*s.Started).Seconds()}
	from, to := later(*s.Started, *neighbour.Status.Started), sooner(*s.Ended, *neighbour.Status.Ended)
	o.beside = max(0, to.Sub(from).Seconds()) / o.took
	for _, r := range job.Replicas {
		if r.Component == worker && r.Up != nil && r.Down != nil {
			o.nodeSeconds += r.Down.Sub(*r.Up).Seconds()
		}
	}
	if s.Choice != nil {
		o.closed = s.Choice.Closed
	}
	if s.Prediction != nil {
		o.median = s.Prediction.Median
	}
	return o
}

// learned reports whether all runs of a class, so many, have been learned from.
func (d *daemon) learned(ctx context.Context, class string, runs int) bool {
	curve, err := d.client.Predict(ctx, client.PredictQuery{Class: class})
	return err == nil && curve.Runs == runs
}

// used returns the CPU time of a run's replicas, in seconds.
func used(run *client.RunDetail) float64 {
	sum := 0.0
	for _, r := range run.Replicas {
		sum += r.Usage.CPU.Seconds()
	}
	return sum
}

// busy returns the time that the processors of the machine have worked since it started, added up, in seconds.
func busy(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := busyTime(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

// busyTime reads the time from the text of /proc/stat (proc_stat(5)): the line of all processors, without what they were idle or waited for a
// disk, in hundredths of a second.
func busyTime(text string) (float64, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	const idle, wait, steal = 4, 5, 8
	if len(fields) <= steal || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q, not with the time of all processors", line)
	}
	sum := int64(0)
	for i, f := range fields[1 : steal+1] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if i+1 != idle && i+1 != wait {
			sum += n
		}
	}
	return float64(sum) / 100, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// pause waits, or less if the context ends; whoever is called next notices.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
