package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/study"
	"github.com/dovetail-sched/dovetail/trace"
)

func TestExperimentOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *experimentOptions
	}{
		{"nothing: small", nil, &experimentOptions{Applications: study.ZoeSmall, Seeds: study.ZoeSmallSeeds, Command: "zoe"}},
		{"as published", []string{"--full"}, &experimentOptions{Applications: study.ZoeFull, Seeds: study.ZoeFullSeeds, Command: "zoe --full=true"}},
		{"as published, once", []string{"--full", "--seeds", "1"},
			&experimentOptions{Applications: study.ZoeFull, Seeds: 1, Command: "zoe --full=true --seeds=1"}},
		{"every other flag", []string{
			"--jobs", "900", "--seeds", "2", "--only", "10.4-same, rules", "--trace", "t", "--format", "swf", "--skip-bad", "--journal-hash", "--out", "d",
			"--force", "--workers", "3",
		}, &experimentOptions{
			Applications: 900, Seeds: 2, Only: []string{"10.4-same", "rules"}, Trace: traceInput{"t", trace.Options{Format: "swf", SkipBad: true}},
			Hash: true, Out: "d", Force: true, Workers: 3,
			Command: "zoe --force=true --format=swf --jobs=900 --journal-hash=true --only=10.4-same,rules --out=d --seeds=2 --skip-bad=true --trace=t --workers=3",
		}},
		{"too few applications", []string{"--jobs", "499"}, nil},
		{"more than were published", []string{"--jobs", "80001"}, nil},
		{"no seeds", []string{"--seeds", "0"}, nil},
		{"too many seeds", []string{"--seeds", "1001"}, nil},
		{"two scales", []string{"--full", "--jobs", "4000"}, nil},
		{"no such claim", []string{"--only", "10.4"}, nil},
		{"fewer workers than none", []string{"--workers", "-1"}, nil},
		{"an argument", []string{"zoe"}, nil},
	} {
		got, err := parsed(t, newExperimentZoe, tc.args...)
		if (err != nil) != (tc.want == nil) {
			t.Errorf("%s: error %v; want one: %v", tc.reason, err, tc.want == nil)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: options differ (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestCobellOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *cobellOptions
	}{
		{"nothing: as published", nil, &cobellOptions{Seeds: study.CobellSeeds, Repetitions: study.CobellRepetitions, Command: "cobell"}},
		{"every flag", []string{
			"--seeds", "2", "--repetitions", "3", "--only", "models, data", "--bell", "b.csv", "--c3o", "c.csv", "--out", "d", "--force", "--workers", "4",
		}, &cobellOptions{
			Seeds: 2, Repetitions: 3, Only: []string{"models", "data"}, Bell: "b.csv", C3O: "c.csv", Out: "d", Force: true, Workers: 4,
			Command: "cobell --bell=b.csv --c3o=c.csv --force=true --only=models,data --out=d --repetitions=3 --seeds=2 --workers=4",
		}},
		{"no seeds", []string{"--seeds", "0"}, nil},
		{"no repetitions", []string{"--repetitions", "-1"}, nil},
		{"no such part", []string{"--only", "a"}, nil},
		{"real runs without a file", []string{"--only", "data"}, nil},
		{"fewer workers than none", []string{"--workers", "-1"}, nil},
		{"an argument", []string{"cobell"}, nil},
	} {
		got, err := parsed(t, newExperimentCobell, tc.args...)
		if (err != nil) != (tc.want == nil) {
			t.Errorf("%s: error %v; want one: %v", tc.reason, err, tc.want == nil)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: options differ (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestColocationOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *colocationOptions
	}{
		{"nothing: small", nil, &colocationOptions{Seeds: study.ColocationSmallSeeds, Command: "colocation"}},
		{"all of it", []string{"--full"}, &colocationOptions{Seeds: study.ColocationFullSeeds, Command: "colocation --full=true"}},
		{"every other flag", []string{"--full", "--seeds", "2", "--only", "tables, worlds", "--out", "d", "--force", "--workers", "4"}, &colocationOptions{
			Seeds: 2, Only: []string{"tables", "worlds"}, Out: "d", Force: true, Workers: 4,
			Command: "colocation --force=true --full=true --only=tables,worlds --out=d --seeds=2 --workers=4",
		}},
		{"no seeds", []string{"--seeds", "0"}, nil},
		{"too many seeds", []string{"--seeds", "1001"}, nil},
		{"no such part", []string{"--only", "a"}, nil},
		{"fewer workers than none", []string{"--workers", "-1"}, nil},
		{"an argument", []string{"a"}, nil},
	} {
		got, err := parsed(t, newExperimentColocation, tc.args...)
		if (err != nil) != (tc.want == nil) {
			t.Errorf("%s: error %v; want one: %v", tc.reason, err, tc.want == nil)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: options differ (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// TestExperimentBeside shows that a file which appears while an experiment runs costs nothing of it: it stays, what was to be there is
// beside it, the other files and the text are there, and the exit code tells.
func TestExperimentBeside(t *testing.T) {
	e, out, errOut := testEnvironment(nil)
	e.started = true
	into := filepath.Join(t.TempDir(), "report")
	e.now = func() time.Time {
		if err := os.WriteFile(filepath.Join(into, pageFile), []byte("mine"), 0o600); err != nil {
			t.Error(err)
		}
		return time.Time{}
	}
	err := e.experimentZoe(t.Context(), &experimentOptions{Applications: study.ZoeFewest, Seeds: 1, Only: []string{"11-tails"}, Out: into})
	if code := e.finish(t.Context(), err); code != exitFailed || dovetail.CodeOf(err) != dovetail.Conflict {
		t.Errorf("exit code %d of %v; want %d and a conflict", code, err, exitFailed)
	}
	if !strings.Contains(out.String(), "11-tails") {
		t.Errorf("the claim is not printed: %q", out)
	}
	for name, begins := range map[string]string{
		pageFile: "mine", "report-2.html": "<!", claimsMarkdown: "## Claims", claimsJSON: "{",
		filepath.Join(figuresPath, "testbed-turnaround-boxes.svg"): "<",
	} {
		if data, err := os.ReadFile(filepath.Join(into, name)); err != nil || !strings.HasPrefix(string(data), begins) {
			t.Errorf("%s begins with %.20q, %v; want %q", name, data, err, begins)
		}
	}
	if !strings.Contains(errOut.String(), "report-2.html") || strings.Contains(errOut.String(), "The report is in") {
		t.Errorf("said %q; want where the page is, and not that all is well", errOut)
	}
}
