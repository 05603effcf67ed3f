package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/describe"
)

func TestPredictOptions(t *testing.T) {
	usual := func(change func(*predictOptions)) *predictOptions {
		o := &predictOptions{Params: map[string]string{}, Model: "bayes-cobell", Confidence: 0.9}
		change(o)
		return o
	}
	for _, tc := range []struct {
		reason string
		args   []string
		want   *predictOptions
	}{
		{"an application", []string{"wordcount"}, usual(func(o *predictOptions) { o.App = "wordcount" })},
		{"everything of a daemon", []string{"w", "-p", "a=b", "--scale", "4..24", "--beside", "sgd=0.5", "--beside", "k?n=3", "--beside", "k?n=3&m=4=2",
			"--input-size", "24GB", "--target", "350s", "--confidence", "0.8", "--plot", "f.png", "--surface"},
			usual(func(o *predictOptions) {
				o.App, o.Params, o.Scale = "w", map[string]string{"a": "b"}, scaleRange{4, 24}
				o.Beside = []dovetail.Overlap{{Class: "sgd", Ratio: 0.5}, {Class: "k?n=3", Ratio: 1}, {Class: "k?n=3&m=4", Ratio: 2}}
				o.InputSize, o.Target, o.Confidence, o.Plot, o.Surface = 24e9, 350*time.Second, 0.8, "f.png", true
			})},
		{"everything of a file", []string{"--data", "runs.csv", "--model", "ernest", "--weights", "none", "--overlap", "0.5", "--scale", "8"},
			usual(func(o *predictOptions) {
				o.Data, o.Model, o.Unweighted, o.Overlap, o.Scale = "runs.csv", "ernest", true, 0.5, scaleRange{8, 8}
			})},
		{"a class of a daemon", []string{"--class", "w?a=b"}, usual(func(o *predictOptions) { o.Class = "w?a=b" })},
		{"a class of a file", []string{"--data", "f", "--class", "w"}, usual(func(o *predictOptions) { o.Data, o.Class = "f", "w" })},
		{"nothing to predict", nil, nil},
		{"an application and a class", []string{"a", "--class", "b"}, nil},
		{"a class and parameters", []string{"--class", "b", "-p", "a=b"}, nil},
		{"two applications", []string{"a", "b"}, nil},
		{"both a daemon and a file", []string{"a", "--data", "f"}, nil},
		{"the daemon chooses its model", []string{"a", "--model", "ernest"}, nil},
		{"neighbours of a daemon have names", []string{"a", "--overlap", "0.5"}, nil},
		{"a file has no application", []string{"--data", "f", "-p", "a=b"}, nil},
		{"two ways to name a neighbour", []string{"--data", "f", "--overlap", "0.5", "--beside", "a"}, nil},
		{"unknown weights", []string{"--data", "f", "--weights", "heavy"}, nil},
		{"more than all the time", []string{"--data", "f", "--overlap", "1.5"}, nil},
		{"an overlap that is no number", []string{"--data", "f", "--overlap", "NaN"}, nil},
		{"a share that is no number", []string{"a", "--beside", "sgd=much"}, nil},
		{"a share below 0", []string{"a", "--beside", "sgd=-1"}, nil},
		{"no class", []string{"a", "--beside", "=1"}, nil},
		{"a neighbour twice", []string{"a", "--beside", "sgd", "--beside", "sgd=2"}, nil},
		{"scale-outs from 0", []string{"a", "--scale", "0..4"}, nil},
		{"scale-outs that fall", []string{"a", "--scale", "8..4"}, nil},
		{"scale-outs in words", []string{"a", "--scale", "few"}, nil},
		{"too many scale-outs", []string{"a", "--scale", "1..1001"}, nil},
		{"a target without a unit", []string{"a", "--target", "350"}, nil},
		{"a target of 0", []string{"a", "--target", "0s"}, nil},
		{"certainty", []string{"a", "--target", "1s", "--confidence", "1"}, nil},
		{"confidence of nothing", []string{"a", "--confidence", "0.9"}, nil},
		{"a size in words", []string{"a", "--input-size", "big"}, nil},
		{"a surface nowhere", []string{"a", "--surface"}, nil},
		{"a picture of another kind", []string{"a", "--plot", "f.pdf"}, nil},
	} {
		got, err := parsed(t, newPredict, tc.args...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != (tc.want == nil) {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

func TestModelsOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *modelsOptions
	}{
		{"an application", []string{"a"}, &modelsOptions{App: "a"}},
		{"a class", []string{"--class", "a?b=c"}, &modelsOptions{Class: "a?b=c"}},
		{"neither", nil, nil},
		{"both", []string{"a", "--class", "c"}, nil},
	} {
		got, err := parsed(t, newModels, tc.args...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != (tc.want == nil) {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

func TestSubmitGoal(t *testing.T) {
	later := time.Date(2026, 3, 1, 18, 30, 0, 0, time.UTC)
	for _, tc := range []struct {
		reason string
		args   []string
		want   *goal
	}{
		{"none", nil, &goal{}},
		{"a target", []string{"--target", "350s"}, &goal{Target: 350 * time.Second}},
		{"with a confidence", []string{"--target", "5m", "--confidence", "0.95"}, &goal{Target: 5 * time.Minute, Confidence: 0.95}},
		{"another confidence alone", []string{"--confidence", "0.5"}, &goal{Confidence: 0.5}},
		{"a time", []string{"--finish-by", "2026-03-01T18:30:00Z"}, &goal{FinishBy: later}},
		{"how long from now", []string{"--finish-by", "6h30m"}, &goal{FinishBy: later}},
		{"a time of day", []string{"--finish-by", later.Local().Format("15:04")}, &goal{FinishBy: later.Local()}},
		{"that of tomorrow", []string{"--finish-by", now.Local().Format("15:04")}, &goal{FinishBy: now.Local().AddDate(0, 0, 1)}},
		{"no target", []string{"--target", ""}, nil},
		{"a target below 0", []string{"--target", "-5s"}, nil},
		{"certainty", []string{"--target", "5s", "--confidence", "1"}, nil},
		{"a time that has passed", []string{"--finish-by", "2026-03-01T11:59:59Z"}, nil},
		{"no time", []string{"--finish-by", "soon"}, nil},
	} {
		got, err := parsed(t, newSubmit, append(tc.args, "a.yaml")...)
		switch {
		case (err != nil) != (tc.want == nil):
			t.Errorf("%s: error %v", tc.reason, err)
		case err == nil:
			if diff := cmp.Diff(*tc.want, got.Goal); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		}
	}
}

const described = `apiVersion: dovetail/v1
name: a
params: {n: {type: int, default: "3"}}
components:
  - {name: main, command: [run, "${params.n}"], count: 1, max: 4, resources: {cpu: 500m, memory: 1Gi}, ports: {ui: 80}}
`

func TestGoalChangesTheDescription(t *testing.T) {
	soon := time.Date(2026, 3, 1, 13, 0, 0, 5, time.FixedZone("", 3600))
	for _, tc := range []struct {
		reason, spec string
		goal         goal
		want         func(*dovetail.Application)
	}{
		{"a target where there was none", described, goal{Target: time.Minute},
			func(a *dovetail.Application) { a.Target = &dovetail.Target{Runtime: dovetail.Duration(time.Minute)} }},
		{"another target keeps the confidence", described + "target: {runtime: 1h, confidence: 0.7}\n", goal{Target: time.Minute},
			func(a *dovetail.Application) {
				a.Target = &dovetail.Target{Runtime: dovetail.Duration(time.Minute), Confidence: 0.7}
			}},
		{"another confidence keeps the target", described + "target: {runtime: 1h, confidence: 0.7}\n", goal{Confidence: 0.99},
			func(a *dovetail.Application) { a.Target.Confidence = 0.99 }},
		{"a time, in whole seconds", described, goal{FinishBy: soon}, func(a *dovetail.Application) {
			by := soon.UTC().Truncate(time.Second)
			a.FinishBy = &by
		}},
	} {
		before, err := describe.Application([]byte(tc.spec), describe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tc.want(before)
		text, err := tc.goal.apply([]byte(tc.spec), "a.yaml")
		if err != nil {
			t.Errorf("%s: %v", tc.reason, err)
			continue
		}
		after, err := describe.Application(text, describe.Options{})
		if diff := cmp.Diff(before, after); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", tc.reason, err, diff)
		}
	}
	if text, err := (goal{}).apply([]byte("not: [valid"), "a.yaml"); err != nil || string(text) != "not: [valid" {
		t.Errorf("without a goal the text is as it was, got %q %v", text, err)
	}
	if _, err := (goal{Confidence: 0.9}).apply([]byte(described), "a.yaml"); err == nil || !strings.Contains(err.Error(), "a.yaml has none") {
		t.Errorf("a confidence without a target: %v", err)
	}
	if _, err := (goal{Target: 1}).apply([]byte("name: 3"), "a.yaml"); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("a description that is not valid: %v", err)
	}
}

// TestShowSaysWhatWasForetold reads what show prints of targets and predictions at every stage of a run.
func TestShowSaysWhatWasForetold(t *testing.T) {
	at := func(s int) *time.Time {
		v := now.Add(time.Duration(s) * time.Second)
		return &v
	}
	app := &dovetail.Application{Target: &dovetail.Target{Runtime: dovetail.Duration(350 * time.Second)}}
	run := func(change func(*dovetail.RunStatus)) *client.RunDetail {
		s := dovetail.RunStatus{
			State: dovetail.Running, Started: at(-110), Ready: at(-100),
			Prediction: &dovetail.Prediction{Model: "bayes-cobell", Runs: 30, ScaleOut: 14, Low: 280, Median: 300, High: 330},
			Choice:     &dovetail.Choice{Model: "bayes-cobell", Runs: 30, ScaleOut: 14, Deadline: *at(240), Confidence: 0.9, Probability: 0.934, Known: true},
		}
		change(&s)
		return &client.RunDetail{Status: s, Run: &dovetail.Run{App: app}}
	}
	for _, tc := range []struct {
		reason string
		d      *client.RunDetail
		want   []string
	}{
		{"a run without either says nothing", &client.RunDetail{Run: &dovetail.Run{App: &dovetail.Application{}}}, nil},
		{"it runs", run(func(*dovetail.RunStatus) {}), []string{
			"Target: runs for 350s at the most, with 90 %; 4m00s left",
			"Chosen: 14 replicas; it is then met with 93.4 % (bayes-cobell, from 30 runs)",
			"Predicted: 300s (280 to 330s in 80 % of runs) with 14 replicas, from 30 runs; so far 100s",
		}},
		{"it waits", run(func(s *dovetail.RunStatus) {
			*s = dovetail.RunStatus{State: dovetail.Queued}
		}), []string{"Target: runs for 350s at the most"}},
		{"it is late", run(func(s *dovetail.RunStatus) { s.Choice.Deadline, s.Prediction = *at(-5), nil }), []string{
			"Target: runs for 350s at the most, with 90 %; overdue for 5.0s", "Chosen: 14 replicas; it is then met with 93.4 % (bayes-cobell, from 30 runs)",
		}},
		{"nothing is known", run(func(s *dovetail.RunStatus) {
			s.Choice.Model, s.Choice.Runs, s.Choice.Known, s.Prediction = "max", 0, false, nil
		}), []string{
			"Target: runs for 350s at the most, with 90 %; 4m00s left", "Chosen: 14 replicas, all that it can use: nothing is known of its runtimes yet",
		}},
		{"the first runs", run(func(s *dovetail.RunStatus) { s.Choice.Model, s.Choice.Runs, s.Prediction = "bootstrap", 1, nil }), []string{
			"Target: runs for 350s at the most, with 90 %; 4m00s left", "Chosen: 14 replicas, to try that out: 1 run is known yet",
		}},
		{"it cannot be met", run(func(s *dovetail.RunStatus) { s.Choice.Missed, s.Choice.Probability, s.Prediction = true, 0.2, nil }), []string{
			"Target: runs for 350s at the most, with 90 %; 4m00s left",
			"Chosen: 14 replicas, all that it can use: that meets it with 20 %, less than wanted (bayes-cobell, from 30 runs)",
		}},
		{"it was met", run(func(s *dovetail.RunStatus) {
			s.State, s.Outcome, s.Ended, s.Choice.Closed = dovetail.Ended, dovetail.OutcomeSucceeded, at(215), "met"
		}), []string{
			"Target: runs for 350s at the most, with 90 %", "Chosen: 14 replicas; it is then met with 93.4 % (bayes-cobell, from 30 runs)",
			"Predicted: 300s (280 to 330s in 80 % of runs) with 14 replicas, from 30 runs; it took 315s, 5 % longer", "Outcome: target met, 25s early",
		}},
		{"it was missed", run(func(s *dovetail.RunStatus) {
			s.State, s.Outcome, s.Ended, s.Choice.Closed = dovetail.Ended, dovetail.OutcomeSucceeded, at(260), "missed"
			s.Prediction.Low, s.Prediction.High = 300, 300
		}), []string{
			"Target: runs for 350s at the most, with 90 %", "Chosen: 14 replicas; it is then met with 93.4 % (bayes-cobell, from 30 runs)",
			"Predicted: 300s with 14 replicas, from 30 runs; it took 360s, 20 % longer", "Outcome: target missed by 20s",
		}},
		{"it failed", run(func(s *dovetail.RunStatus) {
			s.State, s.Outcome, s.Ended, s.Choice.Closed = dovetail.Ended, dovetail.OutcomeFailed, at(-50), "failed"
		}), []string{
			"Target: runs for 350s at the most, with 90 %", "Chosen: 14 replicas; it is then met with 93.4 % (bayes-cobell, from 30 runs)",
			"Predicted: 300s (280 to 330s in 80 % of runs) with 14 replicas, from 30 runs; it ended after 50s", "Outcome: the run failed before its target",
		}},
	} {
		var got []string
		for _, p := range foretold(tc.d, now) {
			if p[1] != "" {
				got = append(got, p[0]+": "+p[1])
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestPercent(t *testing.T) {
	for p, want := range map[float64]string{
		0: "0 %", 0.0001: "< 0.1 %", 0.05: "5 %", 0.934: "93.4 %", 0.99949: "99.9 %", 0.9999: "> 99.9 %", 1: "100 %", 1.5: "150 %",
	} {
		if got := percent(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}

func TestSecondsText(t *testing.T) {
	for v, want := range map[float64]string{
		0.0123456: "0.0123s", 1.5: "1.5s", 7.256: "7.26s", 42.04: "42s", 42.06: "42.1s", 350: "350s", 123456.7: "123457s",
	} {
		if got := secondsText(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

// TestPredictFromAPipe reads runs from standard input, and answers for programs.
func TestPredictFromAPipe(t *testing.T) {
	e, out, errOut := testEnvironment(nil)
	e.in = strings.NewReader("scale_out,runtime_s\n2,310\n4,162\n8,91\n8,89\n")
	if code := e.execute(t.Context(), []string{"predict", "--data", "-", "--model", "ernest", "--scale", "4..6", "--target", "120s", "-o", "json"}); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	var got filePrediction
	d := json.NewDecoder(bytes.NewReader(out.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Model != "ernest" || got.Runs != 4 || len(got.Points) != 3 || len(got.Parameters) == 0 || got.Weights != "relative" {
		t.Errorf("got %+v", got)
	}
	if m := got.Points[0].Median; m < 150 || m > 175 || got.Points[0].Spread() {
		t.Errorf("at 4 it says %+v, and the run took 162 s", got.Points[0])
	}
	if q := got.Chosen; q == nil || q.ScaleOut != 6 || q.Infeasible {
		t.Errorf("chosen %+v", q)
	}
}

// TestPredictLearnsFromTheLatest bounds what a long history costs.
func TestPredictLearnsFromTheLatest(t *testing.T) {
	var runs []dovetail.Past
	for i := range mostLearned + 10 {
		p := dovetail.Past{Outcome: dovetail.OutcomeSucceeded, Ended: now.Add(-time.Duration(i) * time.Minute), ScaleOut: 2, Runtime: float64(i + 1)}
		if i == 0 {
			p.Outcome = dovetail.OutcomeFailed
		}
		runs = append(runs, p)
	}
	got := latest(runs)
	if len(got) != mostLearned || got[0].Runtime != mostLearned+1 || got[len(got)-1].Runtime != 2 {
		t.Errorf("%d runs, from %v s to %v s; want the latest %d that succeeded, in order", len(got), got[0].Runtime, got[len(got)-1].Runtime, mostLearned)
	}
}
