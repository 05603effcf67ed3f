package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/sim/zoe"
	"github.com/dovetail-sched/dovetail/trace"
)

// goldenZoe is the scale of the golden: large enough for some queueing.
func goldenZoe() *Zoe {
	return &Zoe{
		Applications: 1000, Seeds: 2, Hash: true,
		Only: []string{"10.2-turnaround", "10.3-flexible", "10.3-srpt", "10.3-hrrn", "10.4-same", "10.5-interactive",
			"11-turnaround"},
	}
}

// smallTrace stands in for the trace of a thousand applications. Zoe's simulator starts nothing before four wait.
func smallTrace() []trace.Job {
	w, err := trace.Generate("zoe-testbed", 1, 20)
	if err != nil {
		panic(err)
	}
	return w.Jobs
}

// TestZoeGolden compares numbers and journals of every cell with those that were found good. A change of the core that decides
// otherwise changes them: go test ./study -run TestZoeGolden -update.
func TestZoeGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates some 200 cells")
	}
	e, err := goldenZoe().Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range e.Cells {
		c := &e.Cells[i]
		fmt.Fprintf(&b, "%s %s seed %d: %d runs, mean %.3f s, median %.3f s, queueing %.3f s, waiting %.3f, cpu %.4f, fates %s, journal %s\n",
			c.Part, c.Setting(), c.Seed, c.Runs, c.MeanTurnaround, c.P50Turnaround, c.MeanQueue, c.ArrivingWaiting,
			c.ArrivingCPU, c.Fates,
			c.JournalHash[:min(16, len(c.JournalHash))])
	}
	fmt.Fprintln(&b)
	for i := range e.Claims {
		fmt.Fprintf(&b, "%s: %s\n", e.Claims[i].ID, e.Claims[i].Verdict)
	}
	compareGolden(t, "zoe", b.String(), "the core decides otherwise on purpose")
}

// TestZoeWhole simulates everything, small, and looks at what is shown of it.
func TestZoeWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates some 120 cells")
	}
	z := Zoe{Applications: ZoeFewest, Seeds: 1, Trace: smallTrace()}
	e, err := z.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkEvaluation(t, e)
}

// checkEvaluation says what must hold of any evaluation in which nothing is missing.
func checkEvaluation(t *testing.T, e *ZoeEvaluation) {
	t.Helper()
	for i := range e.Claims {
		for j := range e.Claims[i].Checks {
			if k := &e.Claims[i].Checks[j]; k.Value.N == 0 {
				t.Errorf("%s: %q was not measured", e.Claims[i].ID, k.What)
			}
		}
	}
	if want := 2 * len(ruleRows()); len(e.Rules) != want {
		t.Errorf("the comparison of rules has %d rows; want %d", len(e.Rules), want)
	}
	for i := range e.Rules {
		if r := &e.Rules[i]; r.Workload == "batch" && r.Alloc == "rigid" && r.Policy == "fifo" && math.Abs(r.Mean.Rules.Mean-1) > 0.005 {
			t.Errorf("with FIFO rigid nothing but the wait for four differs on one machine; ours takes %v of Zoe's",
				r.Mean.Rules.Mean)
		}
	}
	var text, markdown strings.Builder
	if err := errors.Join(e.WriteText(&text), e.WriteMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, id := range ZoeIDs()[:len(e.Claims)] {
		if !strings.Contains("\n"+text.String(), "\n"+id+" ") || !strings.Contains(markdown.String(), "| "+id+" |") {
			t.Errorf("claim %s is not shown", id)
		}
	}
	if bad := "NaN"; strings.Contains(text.String(), bad) || strings.Contains(markdown.String(), bad) {
		t.Error("a figure is not a number")
	}
}

// TestZoeClaims shows that what claims are judged by exists: parts, policies and allocators.
func TestZoeClaims(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range zoeClaims() {
		if seen[c.ID] || len(c.Checks) == 0 || c.Where == "" || c.Words == "" {
			t.Errorf("claim %q is there twice, or says nothing", c.ID)
		}
		seen[c.ID] = true
		for _, k := range c.Checks {
			if k.Low == nil && k.High == nil || k.Seed == "" {
				t.Errorf("%s: %q has no bound, or no figure of the seed", c.ID, k.What)
			}
			for _, a := range k.needs {
				i := slices.IndexFunc(zoeParts(), func(p zoePart) bool { return p.name == a.part })
				if i < 0 {
					t.Errorf("%s: there is no part %q", c.ID, a.part)
					continue
				}
				if _, err := sched.New(a.config()); err != nil {
					t.Errorf("%s: %v", c.ID, err)
				}
				if zoeParts()[i].peer && !slices.Contains(zoe.Policies(), a.policy) {
					t.Errorf("%s: Zoe's simulator knows no %s", c.ID, a.policy)
				}
				if !slices.Contains(zoeSizes(), a.policy) {
					t.Errorf("%s: %s has no place in the order of reports", c.ID, a.policy)
				}
			}
		}
	}
	for id := range zoeReasons() {
		if !seen[id] {
			t.Errorf("there is a reason for %q, but no such claim", id)
		}
	}
}

func TestZoeJudge(t *testing.T) {
	cells := func(values ...float64) *evidence {
		var all []ZoeCell
		for i, v := range values {
			c := ZoeCell{Part: zoeBatch}
			c.Cell = report.Cell{Policy: "fifo", Alloc: "rigid", Seed: uint64(i)}
			c.Runs, c.MeanTurnaround = 1, v
			all = append(all, c)
		}
		return newEvidence(all)
	}
	check := func(b bounds) Check {
		return figure("turnaround", "s", "1 s", b, meanTurnaround, batch("fifo", "rigid"))
	}
	onlyFull := check(atMost(3))
	onlyFull.Full = true
	for _, tc := range []struct {
		reason  string
		found   *evidence
		checks  []Check
		verdict Verdict
		result  string // of the first check
		full    bool
	}{
		{"within both bounds", cells(1, 2, 3), []Check{check(between(1, 3)), check(atLeast(2))}, Reproduced, "yes?", false},
		{"all seeds agree", cells(2, 2, 2), []Check{check(between(1, 3))}, Reproduced, "yes", false},
		{"one holds", cells(1, 2, 3), []Check{check(atMost(1)), check(atMost(2))}, Partly, "no?", false},
		{"none holds", cells(2, 2.001), []Check{check(atMost(1)), check(atLeast(3))}, NotReproduced, "no", false},
		{"nothing was measured", cells(), []Check{check(atMost(1))}, NotJudged, "missing", false},
		{"a figure is not finite", cells(math.Inf(1), math.NaN()), []Check{check(atMost(1))}, NotJudged, "missing", false},
		{"what belongs to the full scale is not judged at a small one", cells(2), []Check{onlyFull}, NotJudged, "–", false},
		{"at full scale it is", cells(2), []Check{onlyFull}, Reproduced, "yes", true},
		{"what is not judged does not count", cells(2), []Check{check(atMost(1)), onlyFull}, NotReproduced, "no", false},
	} {
		c := Claim{Checks: tc.checks}
		c.judge(tc.found, tc.full)
		if c.Verdict != tc.verdict || c.Checks[0].result() != tc.result {
			t.Errorf("%s: %s, first check %q; want %s, %q", tc.reason, c.Verdict, c.Checks[0].result(), tc.verdict, tc.result)
		}
	}
}

// TestZoeOnly shows that nothing is simulated that no claim asks for.
func TestZoeOnly(t *testing.T) {
	z := Zoe{Applications: ZoeFewest, Seeds: 1, Only: []string{"10.4-same"}}
	e, err := z.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Cells) != 8 || len(e.Claims) != 1 || e.Claims[0].Verdict != Reproduced || len(e.Rules) > 0 {
		t.Errorf("%d cells, claims %v, %d rules; want 8 cells and one claim, reproduced", len(e.Cells), e.Claims, len(e.Rules))
	}
	for _, bad := range []Zoe{
		{Applications: ZoeFewest, Seeds: 1, Only: []string{"10.9"}}, {Applications: ZoeFewest - 1, Seeds: 1},
		{Applications: ZoeFull + 1, Seeds: 1},
		{Applications: ZoeFewest},
	} {
		if _, err := bad.Run(t.Context()); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%d applications, %d seeds, only %v: error %v; want an invalid one", bad.Applications, bad.Seeds,
				bad.Only, err)
		}
	}
}

// TestZoeInterrupted shows that claims are judged whose cells are done on all seeds, that the others are not, and have no reason, and that
// reports say how far the run came.
func TestZoeInterrupted(t *testing.T) {
	for _, tc := range []struct {
		seeds   int
		verdict Verdict // on the first claim, of 8 cells a seed; the second has 2 cells a seed of the testbed
		check   string  // what becomes of its first check
	}{{1, Reproduced, "yes"}, {2, NotJudged, "–"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		z := Zoe{Applications: ZoeFewest, Seeds: tc.seeds, Only: []string{"10.4-same", "11-tails"}, Workers: 1}
		total := 8*tc.seeds + 2*zoeTestbedSeeds
		last := 0.0
		z.Progress = func(p Progress) {
			if p.Share < last || p.Total != total {
				t.Errorf("%d seeds: progress %v after a share of %v", tc.seeds, p, last)
			}
			if last = p.Share; p.Done == 9 {
				cancel(why)
			}
		}
		e, err := z.Run(ctx)
		if !errors.Is(err, why) || e == nil {
			t.Fatalf("%d seeds: evaluation %v, error %v; want an evaluation and the context's cause", tc.seeds, e, err)
		}
		first, second := &e.Claims[0], &e.Claims[1]
		if first.Verdict != tc.verdict || first.Checks[0].result() != tc.check || first.Checks[0].Value.N != 1 {
			t.Errorf("%d seeds: first claim %q, its first check %q on %d seeds; want %s, %q on one",
				tc.seeds, first.verdict(), first.Checks[0].result(), first.Checks[0].Value.N, tc.verdict, tc.check)
		}
		if second.verdict() != "not judged: some of its cells are missing" || second.Why != "" {
			t.Errorf("%d seeds: second claim %q because %q; want it not judged for its cells, and no reason", tc.seeds, second.verdict(), second.Why)
		}
		var markdown strings.Builder
		notice := fmt.Sprintf("interrupted: 9 of %d cells were simulated", total)
		if err := e.WriteMarkdown(&markdown); err != nil || !slices.Equal(e.Notices, []string{notice}) ||
			!strings.HasPrefix(markdown.String(), "Notice: "+notice+".\n\n## Claims\n") {
			t.Errorf("%d seeds: error %v, notices %q; want only %q, and that it comes first in\n%s", tc.seeds, err, e.Notices, notice, &markdown)
		}
	}
}

// TestZoePartFails shows that what the other parts computed is kept, and that the claims of the part that failed say why they are not judged.
func TestZoePartFails(t *testing.T) {
	parts := zoeParts()
	i := slices.IndexFunc(parts, func(p zoePart) bool { return p.name == zoeInelastic })
	parts[i].of = "no such generator"
	z := Zoe{Applications: ZoeFewest, Seeds: 1, Only: []string{"10.4-same", "11-tails"}}
	e, err := z.run(t.Context(), parts)
	if err == nil || e == nil || !strings.Contains(err.Error(), "no such generator") || !strings.HasPrefix(err.Error(), parts[i].title) {
		t.Fatalf("evaluation %v, error %v; want an evaluation, and what failed why", e, err)
	}
	failed, other := &e.Claims[0], &e.Claims[1]
	if failed.Verdict != NotJudged || failed.Missing != err.Error() || other.Verdict != Reproduced || other.Missing != "" {
		t.Errorf("verdicts %q and %q; want the first not judged for %q, and the second reproduced", failed.verdict(), other.verdict(), err)
	}
	var shown, markdown strings.Builder
	if err := errors.Join(e.WriteText(&shown), e.WriteMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	if why := "not judged: " + err.Error(); !strings.Contains(shown.String(), why) || !strings.Contains(markdown.String(), "| "+why+" |") {
		t.Errorf("%q is not shown in\n%s%s", why, &shown, &markdown)
	}
}

// TestZoeReasons shows that a reason, which is of one run, is given only where the verdict is the same as there.
func TestZoeReasons(t *testing.T) {
	for _, tc := range []struct {
		id      string
		verdict Verdict
		want    bool
	}{
		{"10.3-rigid", Partly, true}, {"10.3-rigid", NotReproduced, false}, {"10.3-rigid", NotJudged, false}, {"10.2-slowdown", Reproduced, false},
	} {
		c := Claim{ID: tc.id, Verdict: tc.verdict}
		if c.reason(); (c.Why != "") != tc.want {
			t.Errorf("%s, %s: why %q; want a reason: %v", tc.id, tc.verdict, c.Why, tc.want)
		}
	}
}

// TestZoeTrace shows what is said of a trace that cannot be compared as it is.
func TestZoeTrace(t *testing.T) {
	job := func(id int64, count int, each dovetail.Resources) trace.Job {
		return trace.Job{ID: id, Runtime: time.Minute, App: &dovetail.Application{
			Name: "a", Expected: dovetail.Duration(time.Minute), Components: []dovetail.Component{{Name: "c", Count: count, Resources: each}},
		}}
	}
	small := dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 1 << 30}
	odd := small
	odd[dovetail.GPU] = 1000
	for _, tc := range []struct {
		reason string
		jobs   []trace.Job
		why    string
	}{
		{"Zoe's simulator knows no gpus", []trace.Job{job(1, 1, small), job(2, 1, odd)}, "job 2: a replica asks for gpu"},
		{"nothing fits", []trace.Job{job(3, 2000, small)}, "not one of the 1 jobs fits"},
	} {
		z := Zoe{Applications: ZoeFewest, Seeds: 1, Only: []string{"10.4-same", rulesID}, Trace: tc.jobs}
		z.Progress = func(p Progress) { t.Errorf("%s: %+v is simulated before it is refused", tc.reason, p) }
		if e, err := z.Run(t.Context()); e != nil || dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%s: evaluation %v, error %v; want one about %q", tc.reason, e, err, tc.why)
		}
	}
	z := Zoe{Applications: ZoeFewest, Seeds: 1, Only: []string{rulesID}, Trace: []trace.Job{job(4, 1, small), job(5, 1, small), job(6, 2000, small)}}
	e, err := z.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Notices) != 2 || !strings.HasPrefix(e.Notices[0], "trace: 1 of 3 jobs left out") || !strings.Contains(e.Notices[0], "first job 6") ||
		!strings.HasPrefix(e.Notices[1], "trace-peer, fifo rigid, seed 1: Zoe's simulator never starts 2 of the 2 jobs") {
		t.Errorf("notices %q; want that job 6 is left out, and that two never start", e.Notices)
	}
	for i := range e.Rules {
		r := &e.Rules[i]
		if got := r.row("mean", &r.Mean); r.Workload == "trace" && !slices.Equal(got[4:], []string{"–", "60", "60", "–", "1.000"}) {
			t.Errorf("%s %s: %q; want no figure of Zoe's simulator, which starts nothing", r.Policy, r.Alloc, got)
		}
	}
}

// TestZoeQuotations shows that the words of claims are the seed's, word by word.
func TestZoeQuotations(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "seeds", "004_b228454a22289983.txt"))
	if err != nil {
		t.Skip("needs ../shared/seeds, which is not part of the project")
	}
	aside := regexp.MustCompile(`^(Figure [0-9]+:|Name\t|S[A-Z]+-[23]D|HRRN-[23]D|[⁰¹²³⁴⁵⁶⁷⁸⁹])`) // between the halves of sentences that go on overleaf
	var said []string
	for line := range strings.Lines(string(data)) {
		if !aside.MatchString(line) && !strings.HasPrefix(line, "Table 10.3a") {
			said = append(said, strings.Fields(strings.ReplaceAll(line, "*", ""))...)
		}
	}
	seed := strings.Join(said, " ")
	for _, c := range zoeClaims() {
		rest := seed
		for part := range strings.SplitSeq(c.Words, " … ") {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("%s: %q is not in the seed, or not behind the words before it", c.ID, part)
			}
			rest = after
		}
	}
}

// TestShrunk shows what a small picture of a workload keeps, and what it changes.
func TestShrunk(t *testing.T) {
	const n, full, load = 900, 64_000, 1.28
	capacity := dovetail.Resources{dovetail.CPU: 3_200_000, dovetail.Memory: 12_800 << 30}
	for seed := range uint64(3) {
		drawn, err := trace.Generate("zoe-batch", seed, n)
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := shrunk("zoe-batch", seed, n, full, load, capacity)
		if err != nil {
			t.Fatal(err)
		}
		scale, cut, work := float64(n)/full, 0, [dovetail.NumResources]float64{}
		for i := range jobs {
			j, was := &jobs[i], &drawn.Jobs[i]
			if j.ID != was.ID || j.Full() != was.Full() || j.Core() != was.Core() || j.App.Components[0].Resources != was.App.Components[0].Resources {
				t.Fatalf("job %d has another shape than it was drawn with", j.ID)
			}
			if time.Duration(j.App.Expected) != j.Runtime || j.Runtime > was.Runtime || i > 0 && j.Submit < jobs[i-1].Submit {
				t.Fatalf("job %d runs %v of %v, expects %v, is submitted at %v", j.ID, j.Runtime, was.Runtime,
					j.App.Expected, j.Submit)
			}
			if j.Runtime < was.Runtime {
				cut++
			}
			s := shares(j, capacity)
			if got := largest(s) * j.Runtime.Seconds(); got > scale*zoeMostWork.Seconds() || j.Runtime.Seconds() > scale*zoeLongest.Seconds() {
				t.Errorf("job %d is too much: %v s of the cluster in %v", j.ID, got, j.Runtime)
			}
			for k := range work {
				work[k] += s[k] * j.Runtime.Seconds()
			}
		}
		if got := largest(work) / jobs[n-1].Submit.Seconds(); math.Abs(got-load) > 0.001 {
			t.Errorf("seed %d: load %v; want %v", seed, got, load)
		}
		if cut == 0 || cut > n/5 {
			t.Errorf("seed %d: %d of %d jobs were cut; want a few", seed, cut, n)
		}
	}
}

// TestFullIsAsGenerated shows that the full scale is the workload as published.
func TestFullIsAsGenerated(t *testing.T) {
	drawn, err := trace.Generate("zoe", 3, 400)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := shrunk("zoe", 3, 400, 400, 1.4, dovetail.Resources{dovetail.CPU: 1, dovetail.Memory: 1})
	if diff := cmp.Diff(drawn.Jobs, jobs); err != nil || diff != "" {
		t.Errorf("error %v; jobs differ (-want +got):\n%s", err, diff)
	}
}
