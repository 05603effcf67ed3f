// Package target_test answers: does a target pay on a real machine? A recurring job with a target runs beside another one that is started at a
// random moment, with the scale-out that was chosen for it, and with fixed ones.
//
// The proof takes a quarter of an hour and is not part of the other tests: `make target-proof`. It demands that all results are right and that
// choices are made and closed as they are to be; how fast runs were it reports, and demands nothing of.
package target_test

import (
	"context"
	"flag"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

var (
	runsFlag = flag.Int("runs", 0, "how many trials there are; 0: none, the proof is skipped")
	seedFlag = flag.Uint64("seed", 1, "what the moments and the order of the arms are drawn from")
	outFlag  = flag.String("out", "", "file that the report is written to, in Markdown; empty: the log")
)

// TestTarget plays the trials, each in every arm, and writes the report.
func TestTarget(t *testing.T) {
	switch {
	case *runsFlag <= 0:
		t.Skip("SKIPPED: takes a quarter of an hour; make target-proof")
	case runtime.NumCPU() != 2:
		t.Fatalf("this machine has %d processors: the loads are made for two, so run it under taskset -c 0,1", runtime.NumCPU())
	}
	d := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cfg, err := d.client.Config(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Replan = dovetail.Duration(replan)
	if err := d.client.Configure(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	var trials []played
	for _, tr := range draw(*seedFlag, *runsFlag) {
		p := played{trial: tr, outcomes: make([]outcome, len(arms()))}
		for _, i := range tr.order {
			a := arms()[i]
			o := d.play(tr, a)
			p.outcomes[i] = o
			t.Logf("run %d %s: %.1f s, %.0f node-seconds, neighbour %+.1f s (%s), chosen %s (%s), others %.2f",
				tr.number, a.name, o.took, o.nodeSeconds, tr.delay.Seconds(), percent(o.beside), scaleOuts(o.choices), chosenBy(o.choices), o.others)
			checkChoices(t, tr, a, &o)
		}
		trials = append(trials, p)
	}
	text := write(*seedFlag, trials)
	if *outFlag == "" {
		t.Log("\n" + text)
		return
	}
	if err := os.WriteFile(*outFlag, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkChoices demands that choices are made where there is a target and nowhere else, within its bounds; that the first runs explore, and
// that from then on the model chooses; and that the last choice is closed as the run turned out.
func checkChoices(t *testing.T, tr trial, a arm, o *outcome) {
	t.Helper()
	if (len(o.choices) > 0) != a.target {
		t.Errorf("run %d %s: %d choices", tr.number, a.name, len(o.choices))
		return
	}
	for _, c := range o.choices {
		explores := c.Model == "max" || c.Model == "bootstrap"
		if c.ScaleOut < least || c.ScaleOut > most || c.Runs != tr.number-1 || explores != (tr.number <= exploring) || c.Known == explores {
			t.Errorf("run %d %s: choice %+v", tr.number, a.name, c)
		}
	}
	if want := map[bool]string{true: "met", false: "missed"}[o.met()]; a.target && o.closed != want {
		t.Errorf("run %d %s took %.3f s and its choice is closed as %q, want %q", tr.number, a.name, o.took, o.closed, want)
	}
}
