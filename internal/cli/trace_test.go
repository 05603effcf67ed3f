package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/trace"
)

func TestTraceConvertOptions(t *testing.T) {
	in := traceInput{File: "f"}
	for _, tc := range []struct {
		reason string
		args   []string
		want   *traceConvertOptions
		fails  bool
	}{
		{"only a file", []string{"f"}, &traceConvertOptions{In: in, To: "dovetail"}, false},
		{"every flag", []string{"f", "--to", "zoe", "--expect", "runtime", "--sort", "--format", "swf", "--skip-bad", "--out", "g", "--force"},
			&traceConvertOptions{In: traceInput{"f", trace.Options{Format: "swf", SkipBad: true}}, Out: fileOutput{File: "g", Force: true}, To: "zoe", Expect: true, Sort: true}, false},
		{"a format that is only read", []string{"f", "--to", "swf"}, nil, true},
		{"an unknown hint", []string{"f", "--expect", "nothing"}, nil, true},
		{"no file", nil, nil, true},
	} {
		got, err := parsed(t, newTraceConvert, tc.args...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

func TestTraceCutOptions(t *testing.T) {
	in := traceInput{File: "f"}
	for _, tc := range []struct {
		reason string
		args   []string
		want   *traceCutOptions
		fails  bool
	}{
		{"a window", []string{"f", "--from", "1h", "--to", "2h"}, &traceCutOptions{In: in, Window: trace.Window{From: time.Hour, To: 2 * time.Hour}}, false},
		{"the first ones", []string{"f", "--first", "7"}, &traceCutOptions{In: in, Window: trace.Window{First: 7}}, false},
		{"no window", []string{"f"}, nil, true},
		{"none of them", []string{"f", "--first", "0"}, nil, true},
		{"an end before the beginning", []string{"f", "--from", "2h", "--to", "1h"}, nil, true},
		{"an end at the beginning of the trace", []string{"f", "--to", "0"}, nil, true},
		{"a negative time", []string{"f", "--from", "-1h"}, nil, true},
	} {
		got, err := parsed(t, newTraceCut, tc.args...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

func TestTraceScaleOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *traceScaleOptions
		fails  bool
	}{
		{"more load", []string{"f", "--load", "2"}, &traceScaleOptions{In: traceInput{File: "f"}, Factors: trace.Factors{Time: 1, Load: 2, Runtime: 1}}, false},
		{"nothing to change", []string{"f"}, nil, true},
		{"no number", []string{"f", "--time", "fast"}, nil, true},
	} {
		got, err := parsed(t, newTraceScale, tc.args...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

// The applications that traces are made of could be submitted.
func TestApplicationsOfTracesAreValid(t *testing.T) {
	if trace.MaxReplicas != describe.MaxReplicas {
		t.Errorf("traces have up to %d replicas of a component, descriptions up to %d", trace.MaxReplicas, describe.MaxReplicas)
	}
	pods := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
	for format, text := range map[string]string{
		trace.Zoe:   "1 0 1 10 36.276 0.25 0.25\n2 12.5 100000 -1 328.579 0 1.5\n",
		trace.Tasks: "7.5 3 2 1.5 2.0 2.6\n8 120000 1" + strings.Repeat(" 1", 120_000) + "\n",
		trace.SWF:   "1 0 -1 14 128 -1 -1 -1 -1 -1 -1 3 1 7 -1 -1 -1 -1\n2 60 5 0 -1 -1 512 4 3600 1024 1 -1 1 -1 -1 -1 -1 -1\n",
		trace.Openb: pods + "p,12000,16384,1,1000,,LS,Running,0,100,5\np,0,0,8,1000,,??,Running,0,100,5\n",
	} {
		n := 0
		for j, err := range trace.Read(strings.NewReader(text), format, trace.Options{Format: format}).Jobs() {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if faults := describe.Validate(j.App); len(faults) > 0 {
				t.Errorf("%s: job %d: %v", format, j.ID, faults)
			}
		}
		if n != 2 {
			t.Errorf("%s: %d jobs", format, n)
		}
	}
}

func TestTraceInfoText(t *testing.T) {
	e, out, _ := testEnvironment(nil)
	file := filepath.Join(t.TempDir(), "jobs.swf")
	text := "; Computer: a\x1b[31mred one\n" +
		"1 0 -1 14 128 -1 -1 -1 -1 -1 -1 3 1 7 -1 -1 -1 -1\n2 60 5 0 -1 -1 512 4 3600 1024 1 -1 1 -1 -1 -1 -1 -1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.traceInfo(t.Context(), &traceInfoOptions{In: traceInput{File: file}}); err != nil {
		t.Fatal(err)
	}
	golden(t, "trace_info.golden", strings.ReplaceAll(out.String(), file, "jobs.swf"))
}

func TestFileOutput(t *testing.T) {
	fill := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return err
		}
	}
	broken := errors.New("broken")
	for _, tc := range []struct {
		reason string
		before string // what is in the file; empty: there is none
		force  bool
		err    error // of writing
		want   string
		code   dovetail.ErrorCode // empty: no error
	}{
		{"a new file", "", false, nil, "new", ""},
		{"a file that exists is left alone", "old", false, nil, "old", dovetail.Conflict},
		{"unless that is asked for", "old", true, nil, "new", ""},
		{"what is written in part does not appear", "", false, broken, "", dovetail.Internal},
		{"and replaces nothing", "old", true, broken, "old", dovetail.Internal},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			dir := t.TempDir()
			o := fileOutput{File: filepath.Join(dir, "f"), Force: tc.force}
			if tc.before != "" {
				if err := os.WriteFile(o.File, []byte(tc.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := o.write(nil, fill("new", tc.err))
			if (err == nil) != (tc.code == "") || err != nil && dovetail.CodeOf(err) != tc.code {
				t.Errorf("error %v, want code %q", err, tc.code)
			}
			got, _ := os.ReadFile(o.File)
			if string(got) != tc.want {
				t.Errorf("the file holds %q, want %q", got, tc.want)
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) > 1 {
				t.Errorf("something is left behind: %v, %v", files, err)
			}
		})
	}
	dir := t.TempDir()
	for reason, file := range map[string]string{"a directory": dir, "in no directory": filepath.Join(dir, "no", "f")} {
		o := fileOutput{File: file, Force: true}
		if err := o.write(nil, fill("new", nil)); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%s: %v", reason, err)
		}
	}
	compressed := fileOutput{File: filepath.Join(dir, "f.gz")}
	if err := compressed.write(nil, fill("new", nil)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(compressed.File)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); string(text) != "new" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	device := fileOutput{File: os.DevNull, Force: true}
	if err := device.write(nil, fill("new", nil)); err != nil {
		t.Errorf("a device: %v", err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device was replaced: %v", err)
	}
}
