package learn_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/learn"
)

var day = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

func read(t *testing.T, text string, d learn.Defaults) []dovetail.Past {
	t.Helper()
	all, err := readRuns(strings.NewReader(text), "runs.csv", d)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readRuns reads all runs of a text.
func readRuns(r io.Reader, name string, d learn.Defaults) ([]dovetail.Past, error) {
	var all []dovetail.Past
	for p, err := range learn.Rows(r, name, d) {
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func TestReadRuns(t *testing.T) {
	for _, test := range []struct {
		reason, text string
		defaults     learn.Defaults
		want         []dovetail.Past
	}{
		{"the least there is", "scale_out,runtime_s\n4,846.235\n8,1\n", learn.Defaults{App: "grep", Ended: day}, []dovetail.Past{
			{Class: "grep", App: "grep", Ended: day, Outcome: "succeeded", Runtime: 846.235, ScaleOut: 4},
			{Class: "grep", App: "grep", Ended: day.Add(time.Microsecond), Outcome: "succeeded", Runtime: 1, ScaleOut: 8},
		}},
		{"overlap with somebody", "runtime_s,overlap,scale_out\n10,0.5,2\n10,0,2\n10,,2\n", learn.Defaults{Class: "c?x=1"}, []dovetail.Past{
			{Class: "c?x=1", App: "c", Outcome: "succeeded", Runtime: 10, ScaleOut: 2, Overlaps: []dovetail.Overlap{{Class: "neighbour", Ratio: 0.5}}},
			{Class: "c?x=1", App: "c", Ended: time.Time{}.Add(time.Microsecond), Outcome: "succeeded", Runtime: 10, ScaleOut: 2},
			{Class: "c?x=1", App: "c", Ended: time.Time{}.Add(2 * time.Microsecond), Outcome: "succeeded", Runtime: 10, ScaleOut: 2},
		}},
		{"neighbours in order of class", "runtime_s,scale_out,neighbour,overlap,ended,outcome,class\n10,2,b;a\\;1,0.5;2,2026-03-29T14:00:00+02:00,failed,k?a=b\n",
			learn.Defaults{}, []dovetail.Past{{
				Class: "k?a=b", App: "k", Ended: day, Outcome: "failed", Runtime: 10, ScaleOut: 2,
				Overlaps: []dovetail.Overlap{{Class: "a;1", Ratio: 2}, {Class: "b", Ratio: 0.5}},
			}}},
		{"Bell", "job,framework,scale_out,rep,runtime_s\ngrep,spark,4,0,846.235\n", learn.Defaults{Ended: day}, []dovetail.Past{{
			Class: "grep?framework=spark", App: "grep", Params: map[string]string{"framework": "spark"}, Ended: day, Outcome: "succeeded", Runtime: 846.235, ScaleOut: 4,
		}}},
		{"C3O", "job,context,machine_type,data_size_MB,scale_out,rep,runtime_s\ngrep,c4|15150,c4.2xlarge,15150,2,0,150\n", learn.Defaults{Ended: day}, []dovetail.Past{{
			Class: "grep?context=c4%7C15150", App: "grep", Params: map[string]string{"context": "c4|15150"}, Ended: day, Outcome: "succeeded", Runtime: 150, ScaleOut: 2,
			InputSize: 15150e6, NodeClasses: []string{"c4.2xlarge"},
		}}},
		{"Ernest", "cores,input_fraction,runtime_s\n32,0.125,7.9\n", learn.Defaults{App: "rcv1", Ended: day}, []dovetail.Past{{
			Class: "rcv1", App: "rcv1", Ended: day, Outcome: "succeeded", Runtime: 7.9, ScaleOut: 32, InputSize: 125e6,
		}}},
		{"a part of a known whole", "cores,input_fraction,runtime_s\n32,0.125,7.9\n", learn.Defaults{App: "rcv1", Ended: day, Input: 8e9}, []dovetail.Past{{
			Class: "rcv1", App: "rcv1", Ended: day, Outcome: "succeeded", Runtime: 7.9, ScaleOut: 32, InputSize: 1e9,
		}}},
		{"a spreadsheet's mark, spaces, upper case", "\ufeffScale_Out, Runtime_S, input_size\n4, 10, 24 GB\n", learn.Defaults{App: "a", Ended: day}, []dovetail.Past{{
			Class: "a", App: "a", Ended: day, Outcome: "succeeded", Runtime: 10, ScaleOut: 4, InputSize: 24e9,
		}}},
		{"a run that varied", "scale_out,runtime_s,stretches\n5.6,10,4:6;8:4\n", learn.Defaults{App: "a", Ended: day}, []dovetail.Past{{
			Class: "a", App: "a", Ended: day, Outcome: "succeeded", Runtime: 10, ScaleOut: 5.6, Stretches: []dovetail.Stretch{{ScaleOut: 4, Seconds: 6}, {ScaleOut: 8, Seconds: 4}},
		}}},
		{"a run that never began", "scale_out,runtime_s,outcome\n0,0,cancelled\n", learn.Defaults{App: "a", Ended: day}, []dovetail.Past{{
			Class: "a", App: "a", Ended: day, Outcome: "cancelled",
		}}},
	} {
		if diff := cmp.Diff(test.want, read(t, test.text, test.defaults)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestReadRunsRefuses(t *testing.T) {
	for _, test := range []struct {
		reason, text string
		line, column int
		field, says  string
	}{
		{"empty", "", 1, 1, "", "names of the columns"},
		{"no row", "scale_out,runtime_s\n", 2, 1, "", "at least one run"},
		{"no header", "4,846\n8,500\n", 1, 1, "4", "expected the name of a column"},
		{"milliseconds", "scale_out,runtime_ms\n4,8\n", 1, 11, "runtime_ms", "expected in seconds"},
		{"another duration", "scale_out,duration\n4,8\n", 1, 11, "duration", "expected in seconds"},
		{"stages", "job,run_id,stage_job_id,scale_out,duration_s,app_s\n", 1, 12, "stage_job_id", "one row for each run"},
		{"semicolons", "scale_out;runtime_s\n4;8\n", 1, 1, "scale_out;runtime_s", "expected commas"},
		{"a stranger", "scale_out,runtime_s,colour\n", 1, 21, "colour", "unknown column"},
		{"twice", "scale_out,runtime_s,cores\n", 1, 21, "cores", "keep one"},
		{"no runtime", "scale_out\n4\n", 1, 1, "runtime_s", "expected a column"},
		{"no scale-out", "runtime_s\n4\n", 1, 1, "scale_out", "expected a column"},
		{"neighbour alone", "runtime_s,scale_out,neighbour\n4,4,a\n", 1, 1, "overlap", "beside neighbour"},
		{"two sizes", "runtime_s,scale_out,input_size,data_size_MB\n", 1, 1, "input_size", "only one of"},
		{"a short row", "scale_out,runtime_s\n4,1\n5\n", 3, 1, "", "expected 2 values"},
		{"a stray quote", "scale_out,runtime_s\n4,\"1\"2\n", 2, 5, "", "not valid CSV"},
		{"no number", "scale_out,runtime_s\n4,1\n4,12s\n", 3, 3, "runtime_s", "expected a runtime in seconds"},
		{"NaN", "scale_out,runtime_s\n4,NaN\n", 2, 3, "runtime_s", "more than 0"},
		{"infinity", "scale_out,runtime_s\n4,+Inf\n", 2, 3, "runtime_s", "expected a runtime"},
		{"no runtime at all", "scale_out,runtime_s\n4,0\n", 2, 3, "runtime_s", "more than 0"},
		{"negative", "scale_out,runtime_s\n4,-1\n", 2, 3, "runtime_s", "more than 0"},
		{"nanoseconds", "scale_out,runtime_s\n4,846235000000\n", 2, 3, "runtime_s", "in seconds"},
		{"half a replica", "scale_out,runtime_s\n0.5,1\n", 2, 1, "scale_out", "at least 1"},
		{"per cent", "scale_out,runtime_s,overlap\n4,1,50\n", 2, 5, "overlap", "not a percentage"},
		{"overlaps and neighbours", "scale_out,runtime_s,overlap,neighbour\n4,1,0.5;0.5,a\n", 2, 5, "overlap", "as many overlaps as neighbours"},
		{"one neighbour twice", "scale_out,runtime_s,overlap,neighbour\n4,1,0.5;0.5,a;a\n", 2, 13, "neighbour", "every neighbour once"},
		{"an outcome", "scale_out,runtime_s,outcome\n4,1,fine\n", 2, 5, "outcome", "expected succeeded"},
		{"a time", "scale_out,runtime_s,ended\n4,1,yesterday\n", 2, 5, "ended", "expected a time"},
		{"a size", "scale_out,runtime_s,input_size\n4,1,big\n", 2, 5, "input_size", "number of bytes"},
		{"a fraction", "scale_out,runtime_s,input_fraction\n4,1,2\n", 2, 5, "input_fraction", "at most 1"},
		{"a parameter", "scale_out,runtime_s,params\n4,1,small\n", 2, 5, "params", "expected parameters"},
		{"stretches", "scale_out,runtime_s,stretches\n4,1,4x3\n", 2, 5, "stretches", "with their seconds"},
		{"a boolean", "scale_out,runtime_s,preempted\n4,1,maybe\n", 2, 5, "preempted", "true or false"},
	} {
		_, err := readRuns(strings.NewReader(test.text), "runs.csv", learn.Defaults{App: "a"})
		var e *dovetail.Error
		if !errors.As(err, &e) || e.Code != dovetail.Invalid || len(e.Faults) != 1 {
			t.Errorf("%s: error %v; expected an invalid one with its place", test.reason, err)
			continue
		}
		f := e.Faults[0]
		if f.Line != test.line || f.Column != test.column || f.Field != test.field || !strings.Contains(f.Message, test.says) || !strings.Contains(e.Message, "runs.csv") {
			t.Errorf("%s: %v; expected line %d, column %d (%s): %s", test.reason, err, test.line, test.column, test.field, test.says)
		}
	}
}

// drawPast returns any run that a history may hold.
func drawPast(rt *rapid.T) dovetail.Past {
	text := rapid.StringMatching(`[ -~é;\\,"=?|]{0,12}[a-z;\\"]`).Filter(func(s string) bool { return strings.TrimSpace(s) == s })
	number := func(label string) float64 {
		return rapid.OneOf(rapid.Float64Range(1, 1e6), rapid.Map(rapid.IntRange(1, 100), func(n int) float64 { return float64(n) })).Draw(rt, label)
	}
	p := dovetail.Past{
		Class: text.Draw(rt, "class"), App: text.Draw(rt, "app"), Ended: day.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(rt, "ended")) * time.Microsecond),
		Outcome: rapid.SampledFrom([]dovetail.Outcome{"succeeded", "failed", "cancelled", "timedout", "lost"}).Draw(rt, "outcome"),
		Runtime: number("runtime"), ScaleOut: number("scale-out"), Preempted: rapid.Bool().Draw(rt, "preempted"),
		Params:    rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), text, 0, 3).Draw(rt, "params"),
		InputSize: rapid.Int64Range(0, 1<<50).Draw(rt, "input"), NodeClasses: rapid.SliceOfN(text, 0, 2).Draw(rt, "nodes"),
	}
	for _, class := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z;\\]{1,3}`), 0, 3, rapid.ID).Draw(rt, "neighbours") {
		p.Overlaps = append(p.Overlaps, dovetail.Overlap{Class: class, Ratio: rapid.Float64Range(1e-9, 3).Draw(rt, "overlap")})
	}
	for range rapid.IntRange(0, 3).Draw(rt, "stretches") {
		p.Stretches = append(p.Stretches, dovetail.Stretch{ScaleOut: rapid.IntRange(0, 99).Draw(rt, "n"), Seconds: number("seconds")})
	}
	return p
}

func TestWrittenRunsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawPast), 1, 4).Draw(rt, "runs")
		var b bytes.Buffer
		w, err := learn.NewWriter(&b)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range all {
			if err := w.Write(&all[i]); err != nil {
				rt.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			rt.Fatal(err)
		}
		got, err := readRuns(&b, "runs.csv", learn.Defaults{App: "another", Ended: day})
		if err != nil {
			rt.Fatal(err)
		}
		sorted := cmpopts.SortSlices(func(a, b dovetail.Overlap) bool { return a.Class < b.Class })
		if diff := cmp.Diff(all, got, cmpopts.EquateEmpty(), sorted); diff != "" {
			rt.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestPublicData(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "data", "runtimes")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the public data are not here: ", err)
	}
	for file, rows := range map[string]int{"bell_runs.csv": 630, "c3o_runs.csv": 4650, "ellis_constant_scaleout_runs.csv": 78, "rcv1.csv": 7, "ellis_stage_runs.csv": 0} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		all, err := readRuns(bytes.NewReader(text), file, learn.Defaults{App: "rcv1"})
		if len(all) != rows || (err == nil) != (rows > 0) {
			t.Errorf("%s: %d runs, %v; expected %d", file, len(all), err, rows)
		}
	}
}

// FuzzReadRuns feeds the reader garbage: what it takes for runs can be written, and is read again as the same.
func FuzzReadRuns(f *testing.F) {
	f.Add("job,context,machine_type,data_size_MB,scale_out,rep,runtime_s\ngrep,c4|15150,c4.2xlarge,15150,2,0,150\n")
	f.Add("scale_out,runtime_s,overlap,neighbour,stretches,ended\n4,1,0.5;1,a;b\\;,4:1;5:2,2026-03-29T12:00:00Z\n")
	f.Add("\ufeffcores,input_fraction,runtime_s,params,outcome,preempted\n32,0.125,7.9,a=b;c=d,failed,true\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := readRuns(strings.NewReader(text), "x", learn.Defaults{Class: "c", Ended: day})
		if err != nil {
			return
		}
		var b bytes.Buffer
		w, err := learn.NewWriter(&b)
		for i := range all {
			err = errors.Join(err, w.Write(&all[i]))
		}
		if err = errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
		again, err := readRuns(&b, "again", learn.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
