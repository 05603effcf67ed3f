package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/policy"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/study"
	"github.com/dovetail-sched/dovetail/trace"
)

// simulation is a sweep on its way from the command line to its report.
type simulation struct {
	sweep   study.Sweep
	about   []report.Fact
	notices []string
	results []study.Result
	stopped error    // why cells are missing; nil: none are
	beside  []string // files that are not where they were to be, and where they are
	failed  error    // why what became of every run could not be written
}

func (e *environment) simulate(ctx context.Context, o *simulateOptions) error {
	if err := o.free(); err != nil {
		return err
	}
	s, err := newSimulation(ctx, o)
	if err != nil {
		return err
	}
	if err := e.play(ctx, s, o); err != nil {
		return err
	}
	if err := e.present(s, o); err != nil {
		return err
	}
	unwritten := s.failed
	if len(s.beside) > 0 {
		unwritten = errors.Join(unwritten, dovetail.Errorf(dovetail.Conflict, "%s", strings.Join(s.beside, "; ")))
	}
	if err := e.broken(s); err != nil { // how it was broken off is the exit code
		if unwritten != nil {
			e.complain(unwritten)
		}
		return err
	}
	return unwritten
}

// newSimulation reads the cluster and the trace.
func newSimulation(ctx context.Context, o *simulateOptions) (*simulation, error) {
	nodes, err := clusterNodes(o)
	if err != nil {
		return nil, err
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	s := &simulation{sweep: study.Sweep{
		Configs: o.configs(config), Nodes: nodes, Zoe: o.Zoe, Faults: o.Faults, Model: o.Model, Workers: o.Workers,
		Hash: o.Hash, Digests: o.Out != "", Timelines: o.Timeline,
	}}
	for i := range o.Seeds {
		s.sweep.Seeds = append(s.sweep.Seeds, o.Seed+uint64(i))
	}
	first, err := o.load(ctx, o.Seed)
	if err != nil {
		return nil, err
	}
	s.notices = first.Notices
	s.sweep.Workload = func(ctx context.Context, seed uint64) ([]trace.Job, error) {
		if o.Workload == "" || seed == o.Seed {
			return first.Jobs, nil
		}
		w, err := o.load(ctx, seed)
		if err != nil {
			return nil, err
		}
		return w.Jobs, nil
	}
	if o.Timeline && (len(first.Jobs) > timelineJobs || len(nodes) > timelineNodes) {
		return nil, dovetail.Errorf(dovetail.Invalid, "--timeline shows at most %d jobs on %d nodes, not %d on %d; take fewer with --jobs and --cluster",
			timelineJobs, timelineNodes, len(first.Jobs), len(nodes))
	}
	if n := unknown(first.Jobs); n > 0 && !o.Zoe {
		s.notices = append(s.notices, fmt.Sprintf("%d of %d jobs say nothing of how long they run; policies that ask for it assume %s of each",
			n, len(first.Jobs), span(policy.UnknownTime)))
	}
	if o.Zoe && len(nodes) > 1 {
		s.notices = append(s.notices, fmt.Sprintf("Zoe's simulator knows one machine: the %d nodes are taken for one", len(nodes)))
	}
	s.about = o.about(nodes, len(first.Jobs))
	return s, nil
}

// unknown returns how many jobs tell policies nothing of their runtime.
func unknown(jobs []trace.Job) int {
	n := 0
	for i := range jobs {
		if jobs[i].Run(0).Expected() == 0 {
			n++
		}
	}
	return n
}

// configs returns the configuration of each cell of a seed.
func (o *simulateOptions) configs(base dovetail.Config) []dovetail.Config {
	preempt := map[string][]bool{"false": {false}, "true": {true}, "both": {false, true}}[o.Preempt]
	all := study.Configs(base, o.Policies, o.Allocs, preempt)
	for i := range all {
		all[i].InteractiveFirst = all[i].Preempt
	}
	return all
}

// about says what is simulated.
func (o *simulateOptions) about(nodes []dovetail.Node, jobs int) []report.Fact {
	var sum dovetail.Resources
	for i := range nodes {
		sum = sum.Plus(nodes[i].Capacity)
	}
	seeds := fmt.Sprint(o.Seed)
	if o.Seeds > 1 {
		seeds = fmt.Sprintf("%d to %d", o.Seed, o.Seed+uint64(o.Seeds)-1)
	}
	facts := []report.Fact{
		{Name: "Workload", Value: fmt.Sprintf("%s, %s", printable(o.workload()), plural(jobs, "job", "jobs"))},
		{Name: "Seed", Value: seeds},
		{Name: "Cluster", Value: fmt.Sprintf("%s with %s", plural(len(nodes), "node", "nodes"), sum)},
	}
	if text := o.settingsText(); text != "" {
		facts = append(facts, report.Fact{Name: "Settings", Value: text})
	}
	if o.Zoe {
		facts = append(facts, report.Fact{Name: "Rules", Value: "those of Zoe's own simulator"})
	}
	return facts
}

// settingsText names the settings that are the same in all cells, as far as the command line gives them: "choose price, window 8".
func (o *simulateOptions) settingsText() string {
	var all []string
	for _, s := range simulatedSettings() {
		if v, given := o.Scheduling[s.name]; given {
			all = append(all, s.name+" "+printable(v))
		}
	}
	return strings.Join(all, ", ")
}

// clusterNodes reads the cluster, from a file if there is one of that name.
func clusterNodes(o *simulateOptions) ([]dovetail.Node, error) {
	text := o.Cluster
	switch {
	case text == "" && o.Workload == testbed:
		text = testbedCluster
	case text == "":
		text = zoeCluster
	}
	data, err := os.ReadFile(text)
	switch {
	case err == nil:
		nodes, err := describe.Nodes(data, text)
		if err != nil {
			return nil, fileError{text, err}
		}
		return nodes, nil
	case errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(text, ".yaml"):
		return nil, dovetail.Errorf(dovetail.Invalid, "cannot read the cluster: there is no file %s; check --cluster", text)
	case errors.Is(err, fs.ErrNotExist):
		return sim.Nodes(text)
	}
	return nil, dovetail.Errorf(dovetail.Invalid, "cannot read the cluster: %v; check --cluster", err)
}

// play simulates all cells, and writes what became of every run where that is wanted. Cells that are done are kept when it is
// interrupted.
func (e *environment) play(ctx context.Context, s *simulation, o *simulateOptions) error {
	if err := o.makeDirectory(); err != nil {
		return err
	}
	bar := e.newBar()
	s.sweep.Progress = bar.show
	played := false
	run := func(w io.Writer) error {
		runs := report.NewPerRun(w)
		var unwritten error // the play goes on: there are its figures
		if w != io.Discard {
			s.sweep.Keep = func(schedule *report.Schedule) error {
				if unwritten == nil {
					unwritten = runs.Write(schedule)
				}
				return nil
			}
		}
		var err error
		s.results, err = s.sweep.Run(ctx)
		bar.leave()
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err != nil && len(s.results) == 0:
			e.say("Interrupted: no cell is done.")
			return err
		}
		s.stopped, played = err, true
		return cmp.Or(unwritten, runs.Flush())
	}
	err := s.writeRuns(o.runFiles(), nil, run)
	if played {
		s.failed, err = err, nil
	}
	return err
}

// writeRuns writes what the function writes into all of the files, and to these writers.
func (s *simulation) writeRuns(files []fileOutput, to []io.Writer, run func(io.Writer) error) error {
	switch {
	case len(files) > 0:
		return s.put(files[0].write(nil, func(w io.Writer) error { return s.writeRuns(files[1:], append(to, w), run) }))
	case len(to) == 0:
		return run(io.Discard)
	}
	return run(io.MultiWriter(to...))
}

// put takes the error of a file that was written. A file that is beside its place is no reason to lose the others and the tables:
// it is said at the end.
func (s *simulation) put(err error) error {
	var b besideError
	if !errors.As(err, &b) {
		return err
	}
	s.beside = append(s.beside, b.Error())
	return nil
}

// present writes the report, and prints the figures.
func (e *environment) present(s *simulation, o *simulateOptions) error {
	s.notices = append(s.notices, s.refused()...)
	s.notices = append(s.notices, failures(s.results)...)
	if s.idle() {
		s.notices = append(s.notices, "no run ever waited: on so large a cluster all settings are alike; a smaller --cluster says more")
	}
	for _, n := range s.notices {
		e.say("Notice: %s.", printable(n))
	}
	doc := s.document()
	var failed error // the table is printed all the same
	if o.Out != "" {
		failed = s.writeReport(o, &doc)
	}
	answer := report.Document{Cells: doc.Cells, Partial: doc.Partial, Missing: doc.Missing}
	if o.Seeds > 1 {
		answer.Summary = doc.Summary
	}
	err := e.show(&answer, func(w io.Writer) error {
		if err := s.writeText(w, &doc, e.tableWidth()); err != nil {
			return err
		}
		if o.Out != "" && failed == nil {
			e.note("The report is in %s.", o.Out)
		}
		return nil
	})
	return errors.Join(failed, err)
}

// writeText prints the table for people.
func (s *simulation) writeText(w io.Writer, doc *report.Document, width int) error {
	for _, f := range s.about {
		fmt.Fprintf(w, "%s: %s\n", f.Name, f.Value)
	}
	if gap := doc.Gap(); gap != "" {
		fmt.Fprintln(w, gap)
	}
	fmt.Fprintln(w)
	if err := report.WriteTable(w, doc.Summary, width); err != nil {
		return err
	}
	if slices.ContainsFunc(doc.Summary, func(r report.Row) bool { return r.Seeds > 1 }) {
		fmt.Fprintln(w, "± is half of the 95 % confidence interval over seeds.")
	}
	if without := doc.Without(); without != "" {
		fmt.Fprintln(w, without)
	}
	if !s.sweep.Hash {
		return nil
	}
	fmt.Fprintln(w)
	t := newTable("POLICY", "ALLOCATOR", "SEED", "JOURNAL HASH")
	for i := range doc.Cells {
		c := &doc.Cells[i]
		t.add(c.Policy, c.Variant(), fmt.Sprint(c.Seed), c.JournalHash)
	}
	return t.write(w, unpainted)
}

// tableWidth returns how wide a table may be: as wide as the screen, and 0, which leaves it to the table, where there is none.
func (e *environment) tableWidth() int {
	if !e.outScreen {
		return 0
	}
	width, _ := e.size()
	return width
}

// document returns the figures of all cells, over seeds, and against the first setting.
func (s *simulation) document() report.Document {
	var doc report.Document
	for i := range s.results {
		doc.Cells = append(doc.Cells, s.results[i].Metrics)
	}
	doc.Summary = report.Summarise(doc.Cells)
	if len(doc.Summary) > 1 {
		baseline := doc.Cells[0].Cell
		if changes, err := report.Against(doc.Cells, baseline); err == nil { // there is such a cell: it is the first one
			doc.Baseline, doc.Changes = &baseline, changes
		}
	}
	doc.Break(s.wanted())
	return doc
}

// wanted returns the cells of the whole sweep.
func (s *simulation) wanted() []report.Cell {
	all := make([]report.Cell, 0, s.sweep.Cells())
	for _, seed := range s.sweep.Seeds {
		for i := range s.sweep.Configs {
			c := &s.sweep.Configs[i]
			all = append(all, report.Cell{Policy: c.Policy, Alloc: c.Alloc, Preempt: c.Preempt, Seed: seed})
		}
	}
	return all
}

// refused says which jobs were left out, for each seed.
func (s *simulation) refused() []string {
	var all []string
	seen := make(map[uint64]bool)
	for i := range s.results {
		r := &s.results[i]
		if n := len(r.Refused); n > 0 && !seen[r.Metrics.Seed] {
			seen[r.Metrics.Seed] = true
			all = append(all, fmt.Sprintf("seed %d: %s left out that the cluster could never hold, first job %d: %s",
				r.Metrics.Seed, plural(n, "job was", "jobs were"), r.Refused[0].ID, r.Refused[0].Why))
		}
	}
	return all
}

// failures says that runs failed, and what figures mean then.
func failures(results []study.Result) []string {
	runs, failed := 0, 0
	for i := range results {
		runs += results[i].Metrics.Runs
		failed += results[i].Metrics.Failed
	}
	if failed == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %s failed, timed out or were lost. Figures are over the others, which tend to be the short ones, "+
		"so compare settings only if they lose about as many. With --retries, core replicas that die are replaced",
		failed, plural(runs, "run", "runs"))}
}

// idle reports whether nothing waited in any cell of a comparison.
func (s *simulation) idle() bool {
	waited := func(r study.Result) bool { return r.Metrics.MaxQueue > 0 || r.Metrics.MaxWaiting > 0 } // the latter knows of runs that failed
	return len(s.results) > 1 && !slices.ContainsFunc(s.results, waited)
}

// missing returns how many cells were not simulated.
func (s *simulation) missing() int { return s.sweep.Cells() - len(s.results) }

// broken ends the command as it was interrupted, if it was.
func (e *environment) broken(s *simulation) error {
	if s.stopped == nil {
		return nil
	}
	e.say("Interrupted: %d of %s are missing.", s.missing(), plural(s.sweep.Cells(), "cell", "cells"))
	var why signalled
	if errors.As(s.stopped, &why) {
		return exit(why.code())
	}
	return s.stopped
}
