package study

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// runtimesFile makes runs of so many jobs with runtimes of a known curve, each scale-out twice.
func runtimesFile(jobs int, scaleOuts ...float64) string {
	var b strings.Builder
	b.WriteString("job,scale_out,rep,runtime_s\n")
	for j := range jobs {
		for i, x := range scaleOuts {
			for rep := range 2 {
				seconds := (50*float64(j+1) + 1000/x) * (1 + 0.01*math.Sin(float64(7*i+3*rep+j)))
				fmt.Fprintf(&b, "job%d,%g,%d,%.3f\n", j, x, rep, seconds)
			}
		}
	}
	return b.String()
}

func TestRuntimes(t *testing.T) {
	file := runtimesFile(2, 2, 4, 6, 8, 10, 12) + "small,2,0,10\nsmall,4,0,6\n" // at too few scale-outs
	run := func(workers int) *RuntimesResult {
		t.Helper()
		r := Runtimes{Bell: strings.NewReader(file), Seed: 1, Splits: 3, Workers: workers}
		var last Progress
		r.Progress = func(p Progress) { last = p }
		e, err := r.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if last.Done != last.Total || last.Total != 2*(6*3+2*3+4) { // inside and outside with 3, 5 and 8 runs; wild with 5 and 8; four scale-outs of which all others are known
			t.Errorf("%d of %d tasks", last.Done, last.Total)
		}
		return e
	}
	e := run(1)
	var text, again strings.Builder
	if err := e.WriteMarkdown(&text); err != nil {
		t.Fatal(err)
	}
	if err := run(2).WriteMarkdown(&again); err != nil {
		t.Fatal(err)
	}
	if text.String() != again.String() {
		t.Error("other figures with two workers than with one")
	}
	for _, r := range e.Rows {
		if r.Kind == RuntimesInside && (r.Model == "reference" || r.Model == "bayes-ernest" || r.Model == "ernest") && r.Mean > 10 {
			t.Errorf("%s, %s: error %.1f %%, although the curve is Ernest's", r.Model, r.title(), r.Mean)
		}
		if r.Spread != slices.Contains([]string{"reference", "bayes-ernest"}, r.Model) {
			t.Errorf("%s, %s: spread is %v", r.Model, r.title(), r.Spread)
		}
		if r.Model == "reference" && r.Difference.Mean != 0 {
			t.Errorf("the reference differs from itself by %g", r.Difference.Mean)
		}
	}
	for _, s := range e.Sections() {
		for _, row := range s.Rows {
			if len(row) != len(s.Columns) {
				t.Errorf("%s: %d cells in %d columns", s.Title, len(row), len(s.Columns))
			}
		}
	}
}

// TestRuntimesTasks checks what a task must be.
func TestRuntimesTasks(t *testing.T) {
	r := Runtimes{Bell: strings.NewReader(runtimesFile(1, 2, 4, 6, 8, 10, 12, 14)), C3O: strings.NewReader(runtimesFile(2, 2, 4, 6, 8, 10, 12)), Splits: 12}
	tasks, err := r.tasks()
	if err != nil {
		t.Fatal(err)
	}
	for i := range tasks {
		task := &tasks[i]
		var known []float64
		for _, s := range task.learn {
			known = append(known, s.ScaleOut)
		}
		slices.Sort(known)
		sites := slices.Compact(slices.Clone(known))
		if task.runs > 0 && (len(known) != task.runs || len(sites) < min(task.runs, 5)) {
			t.Errorf("%s %d: %d runs at scale-outs %v", task.kind, task.runs, len(known), known)
		}
		for _, s := range task.ask {
			inside := known[0] < s.ScaleOut && s.ScaleOut < known[len(known)-1]
			if slices.Contains(known, s.ScaleOut) || inside == (task.kind == RuntimesOutside) {
				t.Errorf("%s %d: asked for %g, having learned from %v", task.kind, task.runs, s.ScaleOut, known)
			}
		}
	}
}

func TestRuntimesRefuses(t *testing.T) {
	for _, tc := range []struct{ reason, file, want string }{
		{"empty", "", "bell runs"},
		{"no column", "job,scale_out\n", `no column "runtime_s"`},
		{"no number", "job,scale_out,runtime_s\na,4,1\na,four,1\n", "line 3"},
		{"negative", "job,scale_out,runtime_s\na,4,-1\n", "line 2"},
		{"ragged", "job,scale_out,runtime_s\na,4\n", "bell runs"},
		{"no job with enough scale-outs", "job,scale_out,runtime_s\na,4,1\n", "no runs to compare"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			r := Runtimes{Bell: strings.NewReader(tc.file)}
			_, err := r.Run(context.Background())
			if dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want code invalid, and %q", err, tc.want)
			}
		})
	}
}

// TestRuntimesGoals measures on the real runs, with a third of the tasks that the command has. Bounds are
// the goals of the project: no greater error than the reference, and honest intervals.
func TestRuntimesGoals(t *testing.T) {
	if testing.Short() {
		t.Skip("some ten seconds")
	}
	open := func(name string) *os.File {
		f, err := os.Open(filepath.Join("..", "..", "shared", "data", "runtimes", name))
		if os.IsNotExist(err) {
			t.Skip("without the shared runtimes: ", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	r := Runtimes{Bell: open("bell_runs.csv"), C3O: open("c3o_runs.csv"), Seed: 1, Splits: 12}
	e, err := r.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	width := make(map[string]float64)
	for i := range e.Rows {
		row := &e.Rows[i]
		if row.Model == "reference" {
			width[row.title()] = row.Width
		}
		if row.Model != "bayes-ernest" || row.Kind == RuntimesWild {
			continue
		}
		if row.Coverage < 0.85 {
			t.Errorf("%s: 90 %% intervals cover %.1f %%", row.title(), 100*row.Coverage)
		}
		if row.Kind == RuntimesInside && row.Width > 1.1*width[row.title()] {
			t.Errorf("%s: intervals are %.2f wide, those of the reference %.2f", row.title(), row.Width, width[row.title()])
		}
		if row.Difference.Low > 0 {
			t.Errorf("%s: the mean error is greater than that of the reference, by %+.1f [%+.1f, %+.1f]",
				row.title(), row.Difference.Mean, row.Difference.Low, row.Difference.High)
		}
	}
}
