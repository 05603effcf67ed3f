package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail/trace"
)

func TestTraceGenerateOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *generateOptions
		fails  bool
	}{
		{"only a workload", []string{"zoe"}, &generateOptions{Workload: "zoe", Seed: 1}, false},
		{"every flag", []string{"zoe", "--seed", "7", "--jobs", "9", "--out", "f", "--force"},
			&generateOptions{Workload: "zoe", Seed: 7, Jobs: 9, Out: fileOutput{File: "f", Force: true}}, false},
		{"no workload", nil, nil, true},
		{"two workloads", []string{"zoe", "yahoo"}, nil, true},
		{"no jobs", []string{"zoe", "--jobs", "0"}, nil, true},
		{"fewer than none", []string{"zoe", "--jobs", "-3"}, nil, true},
		{"a seed is not negative", []string{"zoe", "--seed", "-3"}, nil, true},
	} {
		got, err := parsed(t, newTraceGenerate, tc.args...)
		if (err != nil) != tc.fails {
			t.Errorf("%s: error %v, want one: %v", tc.reason, err, tc.fails)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: options differ (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestTraceGenerateStreams(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jsonl.gz")
	generate := func(f format, o generateOptions) (out, errOut *bytes.Buffer, err error) {
		e, out, errOut := testEnvironment(nil)
		e.format = f
		return out, errOut, e.generate(t.Context(), &o)
	}

	out, errOut, err := generate(text, generateOptions{Workload: "poisson", Seed: 3, Jobs: 5})
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 6 {
		t.Errorf("standard output has %d lines, want a header and 5 jobs:\n%s", lines, out)
	}
	for _, want := range []string{"poisson, seed 3: 5 jobs", "mean runtime", "PUBLISHED", "With 5 jobs instead of 10080"} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("standard error lacks %q:\n%s", want, errOut)
		}
	}

	out, errOut, err = generate("json", generateOptions{Workload: "poisson", Seed: 3, Jobs: 5, Out: fileOutput{File: file}})
	if err != nil || errOut.Len() > 0 {
		t.Fatalf("error %v, standard error %q; want neither", err, errOut)
	}
	var got generated
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("standard output is not the comparison: %v\n%s", err, out)
	}
	if got.Jobs != 5 || got.Seed != 3 || len(got.Marginals) == 0 {
		t.Errorf("the comparison is not about what was asked for: %+v", got)
	}
	want, err := trace.Generate("poisson", 3, 5)
	if err != nil {
		t.Fatal(err)
	}
	read, err := trace.Load(t.Context(), file, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Jobs, read.Jobs); diff != "" {
		t.Errorf("the file holds other jobs (-generated +read):\n%s", diff)
	}

	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = generate(text, generateOptions{Workload: "poisson", Seed: 4, Jobs: 5, Out: fileOutput{File: file}}); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("error %v, want one that says how to overwrite the file", err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %v", err)
	}
	if _, _, err = generate(text, generateOptions{Workload: "poisson", Seed: 4, Jobs: 5, Out: fileOutput{File: file, Force: true}}); err != nil {
		t.Errorf("--force: %v", err)
	}
}
