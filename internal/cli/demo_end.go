package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/internal/backend/proc"
	"github.com/dovetail-sched/dovetail/internal/example"
	"github.com/dovetail-sched/dovetail/report"
)

// pass is one playing of the demo's workload.
type pass struct {
	alloc    string
	number   int
	dir      string
	client   *client.Client
	mix      example.Mix
	runs     []dovetail.RunID
	work     report.Workload
	summary  report.Summary
	checked  int           // results that were right
	taken    int           // elastic replicas that were taken away from runs that went on
	notebook time.Duration // how long the interactive run waited
	picture  string        // file
}

// collect checks every result and gathers the figures.
func (p *pass) collect(ctx context.Context) error {
	all, err := p.client.History(ctx, client.HistoryQuery{})
	if err != nil {
		return err
	}
	if p.work, err = workload(ctx, p.client, all); err != nil {
		return err
	}
	p.summary = p.work.Summary()
	for i := range p.work.Runs {
		st := &p.work.Runs[i].Status
		if st.Outcome != dovetail.OutcomeSucceeded {
			return dovetail.Errorf(dovetail.Internal, "run %s of the demo %s: %s; `dovetail demo --keep` keeps its logs", st.Name, st.Outcome, st.Why)
		}
		if st.Kind == dovetail.Interactive {
			p.notebook = waitedFor(st, *st.Ended)
			continue
		}
		if _, err := example.Check(p.mix.ResultFile(st.Name)); err != nil {
			return err
		}
		p.checked++
		d, err := p.client.Run(ctx, fmt.Sprint(st.ID))
		if err != nil {
			return err
		}
		p.taken += taken(&d)
	}
	return nil
}

// taken counts the elastic replicas that a run lost while it went on.
func taken(d *client.RunDetail) int {
	n := 0
	for i := range d.Replicas {
		r := &d.Replicas[i]
		// Within the last moments the run may have been stopping already.
		if r.Elastic && r.Exit != nil && r.Exit.Asked && r.Down != nil && d.Status.Ended != nil &&
			d.Status.Ended.Sub(*r.Down) > time.Second {
			n++
		}
	}
	return n
}

// sweep ends what a pass may have left: its runs, its daemon, its processes. It does so whatever happened before.
func (s *demoStage) sweep(ctx context.Context, c *client.Client, d *daemon, dir string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := errors.Join(s.cancelAll(ctx, c), d.stop(), killOrphans(dir)); err != nil {
		return sweepError{fmt.Errorf("clean up after the demo, processes may be left over: %w", err)}
	}
	return nil
}

// sweepError says that the demo may have left something behind.
type sweepError struct{ error }

func (s sweepError) Unwrap() error { return s.error }

// cancelAll cancels the runs that have not ended and waits until they have, and looks again: a submission that was on its way when
// somebody interrupted may have come in meanwhile.
func (s *demoStage) cancelAll(ctx context.Context, c *client.Client) error {
	for first := true; ; first = false {
		p, err := c.Runs(ctx, client.RunQuery{States: living})
		if err != nil || len(p.Runs) == 0 {
			return err
		}
		if first {
			s.e.say("Cleaning up: %s to end. A second Ctrl-C leaves their processes behind.", plural(len(p.Runs), "run has", "runs have"))
		}
		if err := s.cancelThese(ctx, c, p.Runs); err != nil {
			return err
		}
	}
}

// cancelThese cancels runs and waits until they have ended.
func (s *demoStage) cancelThese(ctx context.Context, c *client.Client, runs []dovetail.RunStatus) error {
	for i := range runs {
		// A run that has ended meanwhile refuses, which is as good.
		_ = c.Cancel(ctx, fmt.Sprint(runs[i].ID))
	}
	for i := range runs {
		err := s.e.watchRun(ctx, c, fmt.Sprint(runs[i].ID), func(d *client.RunDetail) (bool, error) {
			return d.Status.State == dovetail.Ended, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// busyText says that others use this machine so much that the figures of a demo mean little; else "".
func busyText() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, err := strconv.ParseFloat(first, 64)
	if cores := runtime.NumCPU(); err == nil && load > float64(cores) {
		return fmt.Sprintf("Note: this machine is busy with other things (load %.1f on %s), which blurs the comparison; repeat it when it is quiet.",
			load, plural(cores, "core", "cores"))
	}
	return ""
}

// killOrphans ends processes of a state directory that nobody looks after.
func killOrphans(dir string) error {
	left, err := proc.Orphans(dir)
	if err != nil {
		return err
	}
	for _, o := range left {
		if o.Pid > 0 {
			// It may have ended by itself meanwhile.
			_ = syscall.Kill(o.Pid, syscall.SIGKILL)
		}
	}
	return nil
}

// logTo returns the log of the demo's daemon.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// drawPasses writes a timeline of each pass, all on one scale.
func drawPasses(dir string, passes []*pass) error {
	var longest time.Duration
	for _, p := range passes {
		longest = max(longest, p.summary.Makespan)
	}
	for _, p := range passes {
		p.picture = filepath.Join(dir, p.alloc+".svg")
		t := report.Timeline{
			Workload: p.work, Title: "Dovetail demo: " + p.alloc + " allocation", Subtitle: subtitle(&p.work), Span: longest,
		}
		if err := drawFile(p.picture, &t); err != nil {
			return err
		}
	}
	return nil
}

// passAnswer is a pass as programs see it.
type passAnswer struct {
	Alloc    string         `json:"alloc"`
	Summary  report.Summary `json:"summary"`
	Checked  int            `json:"checked"`  // results that were right
	Taken    int            `json:"taken"`    // elastic replicas taken away
	Notebook time.Duration  `json:"notebook"` // wait of the interactive run
	Timeline string         `json:"timeline"` // file
}

func demoAnswer(passes []*pass) []passAnswer {
	var all []passAnswer
	for _, p := range passes {
		all = append(all, passAnswer{p.alloc, p.summary, p.checked, p.taken, p.notebook, p.picture})
	}
	return all
}

// writeComparison puts the figures of two passes side by side.
func (e *environment) writeComparison(w io.Writer, passes []*pass) error {
	a, b := passes[0], passes[1]
	checks := a.checked + b.checked
	fmt.Fprintf(w, "\n%s All %d results are right; %s from runs that went on, and no work was lost.\n\n",
		e.paint(green, "✓"), checks, takenText(a.taken+b.taken))
	t := newTable("", a.alloc, b.alloc, a.alloc+" is")
	row := func(name string, x, y time.Duration) {
		t.add(name, span(x), span(y), change100(x.Seconds(), y.Seconds(), "shorter", "longer"))
	}
	row("mean turnaround", a.summary.Turnaround, b.summary.Turnaround)
	row("mean wait", a.summary.Queueing, b.summary.Queueing)
	row("wait of the notebook", a.notebook, b.notebook)
	row("all done after", a.summary.Makespan, b.summary.Makespan)
	t.add("cluster granted", fmt.Sprintf("%.0f%%", 100*a.summary.Allocation), fmt.Sprintf("%.0f%%", 100*b.summary.Allocation),
		change100(a.summary.Allocation, b.summary.Allocation, "lower", "higher"))
	if err := t.write(w, e.paint); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nTimelines: %s\n           %s\n", a.picture, b.picture)
	return err
}

func takenText(n int) string {
	return plural(n, "elastic replica was taken away", "elastic replicas were taken away")
}

// change100 says by how much x differs from y.
func change100(x, y float64, less, more string) string {
	switch {
	case y <= 0 || x == y:
		return ""
	case x < y:
		return fmt.Sprintf("%.0f%% %s", 100*(y-x)/y, less)
	}
	return fmt.Sprintf("%.0f%% %s", 100*(x-y)/y, more)
}

// viewer shows how a pass goes.
type viewer interface {
	show(*snapshot) error
	leave()
}

// liveView keeps a picture up to date.
type liveView struct {
	e      *environment
	screen screen
}

func (v *liveView) show(s *snapshot) error {
	width, _ := v.e.size()
	return v.screen.draw(v.e.fit(s.lines(v.e.errPaint, width)))
}

func (v *liveView) leave() { v.screen.leave() }

// logView writes a line whenever a run changes.
type logView struct {
	e     *environment
	began time.Time
	last  map[dovetail.RunID]string
}

func (v *logView) show(s *snapshot) error {
	if v.last == nil {
		v.last = make(map[dovetail.RunID]string)
		fmt.Fprintln(v.e.err, s.Title)
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		line := stateOf(&r.RunStatus)
		if r.State == dovetail.Running {
			line += fmt.Sprintf(", %d of %d elastic granted", r.Elastic, r.ElasticMax)
		}
		if v.last[r.ID] == line {
			continue
		}
		v.last[r.ID] = line
		if _, err := fmt.Fprintf(v.e.err, "%6.1fs  %-14s %s\n", s.At.Sub(v.began).Seconds(), r.Name, line); err != nil {
			return err
		}
	}
	return nil
}

func (v *logView) leave() {}
