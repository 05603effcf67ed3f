package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// Small traces of each format, with what is to be read from them.
const (
	smallZoe = "1 0.000 1 10 36.276 0.25 0.25\n2 12.5 10 -1 328.579 1 1.5\n"
	smallTr  = "7.5 3 2 1.5  2.0  2.6\n8 1 10 9.25\n"
	smallSWF = "; MaxNodes: 128\n;\n" +
		"  1   0  -1 1451 128 -1 -1 -1 -1 -1 -1 3 1 7 -1 -1 -1 -1\n" +
		"2 60 5 0 -1 -1 512 4 3600 1024 1 -1 1 -1 -1 -1 -1 -1\n" +
		"3 61 5 -1 -1 -1 -1 4 3600 -1 5 -1 1 -1 -1 -1 -1 -1\n" +
		"2 62 5 10 4 -1 -1 4 3600 -1 2 -1 1 -1 -1 -1 -1 -1\n"
	smallPods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n" +
		"openb-pod-0000,12000,16384,1,1000,,LS,Running,0,100,5\n" +
		"openb-pod-0001,6000,12288,1,460,,BE,Pending,10,30,\n"
	smallOwn = `{"version":"dovetail/trace/v1"}` + "\n" +
		`{"id":7,"submitSeconds":0.5,"runtimeSeconds":12.000001,"user":"ann","tasks":[1,2.5],"app":{"apiVersion":"dovetail/v1","name":"a","kind":"interactive","components":[{"name":"w","image":"i","resources":{"cpu":"500m"},"count":1,"max":2}]}}` + "\n"
)

const us = time.Microsecond

// seen is a job in the words of these tests.
type seen struct {
	ID              int64
	Submit, Runtime time.Duration
	Name, User      string
	Kind            dovetail.Kind
	Core, Full      int
	Each            dovetail.Resources
	Hint            time.Duration
	Tasks           []time.Duration
}

func look(j *Job) seen {
	return seen{
		j.ID, j.Submit, j.Runtime, j.App.Name, j.User, j.App.Kind, j.Core(), j.Full(), j.App.Components[0].Resources,
		time.Duration(j.App.Expected), j.Tasks,
	}
}

// collect reads all jobs until the first error.
func collect(jobs iter.Seq2[Job, error]) (all []Job, err error) {
	for j, err := range jobs {
		if err != nil {
			return all, err
		}
		all = append(all, j)
	}
	return all, nil
}

func TestFormats(t *testing.T) {
	const gib = 1 << 30
	ms := time.Millisecond
	for _, tc := range []struct {
		format, text string
		reason       string
		want         []seen
		notices      []string
	}{
		{
			Zoe, smallZoe, "all components alike; −1 is rigid; the runtime is the hint",
			[]seen{
				{1, 0, 36276 * ms, "zoe-elastic", "", dovetail.Batch, 1, 11, dovetail.Resources{250, gib / 4}, 36276 * ms, nil},
				{2, 12500 * ms, 328579 * ms, "zoe-rigid", "", dovetail.Batch, 10, 10, dovetail.Resources{1000, gib * 3 / 2}, 328579 * ms, nil},
			}, nil,
		},
		{
			Tasks, smallTr, "a pool of tasks: the work is that of the tasks, the hint is the mean that the file says",
			[]seen{
				{1, 7500 * ms, 2033333 * us, "tasks", "", dovetail.Batch, 1, 3, dovetail.Resources{1000}, 2 * time.Second, []time.Duration{1500 * ms, 2 * time.Second, 2600 * ms}},
				{2, 8 * time.Second, 9250 * ms, "tasks", "", dovetail.Batch, 1, 1, dovetail.Resources{1000}, 10 * time.Second, []time.Duration{9250 * ms}},
			}, nil,
		},
		{
			SWF, smallSWF, "given processors before requested ones; 0 s is 1 s; jobs that never ran and parts of jobs are left out",
			[]seen{
				{1, 0, 1451 * time.Second, "app-7", "user-3", dovetail.Batch, 128, 128, dovetail.Resources{1000}, 0, nil},
				{2, time.Minute, time.Second, "job", "", dovetail.Batch, 4, 4, dovetail.Resources{1000, 1 << 20}, time.Hour, nil},
			},
			[]string{
				"the header says MaxNodes 128", "1 job was there for 0 s and counted as 1 s, the resolution of the format",
				"1 job was left out: cancelled before it ran", "1 line was left out: parts of jobs that have a line of their own",
			},
		},
		{
			Openb, smallPods, "from scheduling to deletion, or from creation if it was never scheduled; a share of a GPU is one",
			[]seen{
				{0, 0, 95 * time.Second, "pod-ls", "", dovetail.Batch, 1, 1, dovetail.Resources{12000, 16 * gib, 1}, 0, nil},
				{1, 10 * time.Second, 20 * time.Second, "pod-be", "", dovetail.Batch, 1, 1, dovetail.Resources{6000, 12 * gib, 1}, 0, nil},
			},
			[]string{"pods with a share of a GPU, which is counted as a whole one: 1", "pods that were never scheduled, so that their runtime is that from creation to deletion: 1"},
		},
		{
			Openb, strings.Replace(smallPods, "LS,Running", `"LS","Running, ""so to say"""`, 1), "a field in quotes is what is in them",
			[]seen{
				{0, 0, 95 * time.Second, "pod-ls", "", dovetail.Batch, 1, 1, dovetail.Resources{12000, 16 * gib, 1}, 0, nil},
				{1, 10 * time.Second, 20 * time.Second, "pod-be", "", dovetail.Batch, 1, 1, dovetail.Resources{6000, 12 * gib, 1}, 0, nil},
			},
			[]string{"pods with a share of a GPU, which is counted as a whole one: 1", "pods that were never scheduled, so that their runtime is that from creation to deletion: 1"},
		},
		{
			Own, smallOwn, "everything is as it was written",
			[]seen{{7, 500 * ms, 12*time.Second + us, "a", "ann", dovetail.Interactive, 1, 2, dovetail.Resources{500}, 0, []time.Duration{time.Second, 2500 * ms}}},
			nil,
		},
	} {
		t.Run(tc.format, func(t *testing.T) {
			for name, text := range map[string]string{
				"plain": tc.text, "Windows": "\ufeff" + strings.ReplaceAll(tc.text, "\n", "\r\n"), "gzip": zipped(t, tc.text), "no newline": strings.TrimSpace(tc.text),
			} {
				r := Read(strings.NewReader(text), "small", Options{})
				jobs, err := collect(r.Jobs())
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				var got []seen
				for i := range jobs {
					got = append(got, look(&jobs[i]))
				}
				if diff := cmp.Diff(tc.want, got); diff != "" || r.Format() != tc.format {
					t.Errorf("%s: %s: format %s (-want +got):\n%s", name, tc.reason, r.Format(), diff)
				}
				if diff := cmp.Diff(tc.notices, r.Notices()); diff != "" {
					t.Errorf("%s: notices (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBadLines(t *testing.T) {
	const head = `{"version":"dovetail/trace/v1"}` + "\n"
	job := func(from, to string) string {
		return head + strings.Replace(strings.Split(smallOwn, "\n")[1], from, to, 1)
	}
	pods, _, _ := strings.Cut(smallPods, "\n")
	for _, tc := range []struct {
		reason, format, text, want string
	}{
		{"a word for a number", Zoe, "1 0 1 10 abc 1 1", `small:1: field "runtime": "abc" is not a number; expected seconds, such as 12.5`},
		{"not a number", Zoe, "1 0 1 10 NaN 1 1", `"NaN" is not a number`},
		{"infinite", Zoe, "1 0 1 10 +Inf 1 1", `"+Inf" is not a number`},
		{"negative", Zoe, "1 -0.5 1 10 5 1 1", `field "submit": "-0.5" is negative`},
		{"no runtime", Zoe, "1 0 1 10 0 1 1", "less than a microsecond"},
		{"longer than anything", Zoe, "1 0 1 10 1e300 1 1", `"1e300" is too long`},
		{"longer than a century", Zoe, "1 0 1 10 3153600001 1 1", "at most 100 years"},
		{"a column too few", Zoe, "1 0 1 10 5 1", "6 columns; expected 7"},
		{"half a replica", Zoe, "1 0 1.5 10 5 1 1", `field "core": "1.5" is not a whole number`},
		{"no core", Zoe, "1 0 0 10 5 1 1", "between 1 and 100000"},
		{"too many replicas in all", Zoe, "1 0 99999 2 5 1 1", "between -1 and 1"},
		{"a fraction of a millicore", Zoe, "1 0 1 10 5 0.0001 1", "not a whole number of millicores"},
		{"nothing asked for", Zoe, "1 0 1 10 5 0 0", "neither cpu nor memory"},
		{"memory beyond counting", Zoe, "1 0 1 10 5 1 1e9", `field "memory": "1e9" is too large`},
		{"memory of all replicas beyond counting", Zoe, "1 0 100000 -1 5 1 8000000", `field "memory": 100000 replicas`},
		{"work beyond counting", Zoe, "1 0 100000 -1 3e9 1 1", `field "runtime": 100000 replicas`},
		{"a number that int64 lacks", Zoe, "9223372036854775808 0 1 -1 3 1 1", `field "id"`},
		{"the second line", Zoe, "1 0 1 10 5 1 1\n2 x 1 10 5 1 1", "small:2: field \"submit\""},

		{"durations are missing", Tasks, "1 3 2 1 2", `field "tasks": there are 2 durations; expected one for each of 3 tasks`},
		{"durations are left over", Tasks, "1 1 2 1 2", "there are 2 durations"},
		{"no tasks", Tasks, "1 0 2 3", "between 1 and"},
		{"a task of no length", Tasks, "1 2 2 1 0", `field "duration"`},
		{"a mean of no length", Tasks, "1 2 0 1 1", `field "mean"`},

		{"a field too few", SWF, "1 0 -1 10 1 -1 -1 -1 -1 -1 -1 3 1 7 -1 -1 -1", "17 fields; expected 18"},
		{"unknown run time", SWF, "1 0 -1 -1 1 -1 -1 -1 -1 -1 -1 3 1 7 -1 -1 -1 -1", `field "run time": "-1" is negative`},
		{"a user without a number", SWF, "1 0 -1 10 1 -1 -1 -1 -1 -1 -1 \xff 1 7 -1 -1 -1 -1", `field "user": "\xff" is not a number`},
		{"a field that is not used", SWF, "1 0 -1 10 1 -1 -1 -1 -1 -1 -1 3 1 7 -1 -1 -1 z", `field "think time": "z" is not a number; expected one, or -1`},
		{"a line that is left out", SWF, "1 0 x 0 1 -1 -1 -1 -1 -1 5 3 1 7 -1 -1 -1 -1", `field "wait time": "x" is not a number`},
		{"unknown processors", SWF, "1 0 -1 10 -1 -1 -1 -1 -1 -1 -1 3 1 7 -1 -1 -1 -1", `field "processors": "-1"`},

		{"deleted before it was scheduled", Openb, pods + "\np,1,1,0,0,,LS,R,0,5,6", `field "deletion_time": "5" is before the pod began`},
		{"a field too few", Openb, pods + "\np,1,1,0,0,,LS,R,0,5", "10 fields"},
		{"a field too many", Openb, pods + "\np,1,1,0,0,,LS,R,0,5,6,7", "12 fields; expected 11"},
		{"a quote that is not closed", Openb, pods + "\np,1,1,0,0,,LS,\"Ru,0,5,1", `small:2: field "line": extraneous or missing " in quoted-field, at character `},
		{"a quote in the middle", Openb, pods + "\np,1,1,0,0,,LS,R\"u,0,5,1", `bare " in non-quoted-field, at character 16`},
		{"a header with a quote that is not closed", Openb, "\"" + pods, `small:1: field "line": extraneous or missing "`},
		{"a column is missing", Openb, "name,cpu_milli,memory_mib\n", `field "num_gpu": there is no such column`},
		{"nothing asked for", Openb, pods + "\np,0,0,0,0,,LS,R,0,5,1", "asks for nothing"},

		{"no header", Own, job("", "")[len(head):], `expected {"version":"dovetail/trace/v1"}`},
		{"a version of the future", Own, strings.Replace(job("", ""), "v1", "v2", 1), `field "version"`},
		{"an unknown field of the job", Own, job(`"user"`, `"usr"`), `field "line": there is no field "usr" in it; expected id, submitSeconds, runtimeSeconds, user, tasks, app`},
		{"an unknown field of the application", Own, job(`"kind"`, `"knd"`), `field "app": there is no field "knd" in it; expected apiVersion, name, `},
		{"an unknown field of a component", Own, job(`"image"`, `"imge"`), `field "app.components[0]": there is no field "imge" in it`},
		{"an unknown resource", Own, job(`"cpu"`, `"cqu"`), "unknown kind of resource"},
		{"no number", Own, job(`"id":7,`, ""), `field "id": it is missing`},
		{"no submission", Own, job(`"submitSeconds":0.5,`, ""), `field "submitSeconds": it is missing`},
		{"a runtime of 0", Own, job(`12.000001`, "0"), `field "runtimeSeconds": it is less than a microsecond`},
		{"a negative submission", Own, job(`:0.5`, ":-0.5"), `field "submitSeconds": "-0.5" is negative`},
		{"a task of no length", Own, job(`[1,2.5]`, "[1,0]"), `field "tasks[1]": it is less than a microsecond`},
		{"the wrong type", Own, job(`"ann"`, "3"), `field "user": 3 was found; expected a string`},
		{"no runtime", Own, job(`"runtimeSeconds":12.000001,`, ""), `field "runtimeSeconds": it is missing; expected seconds`},
		{"a negative number", Own, job(`"id":7`, `"id":-7`), `field "id": -7 is negative; expected a whole number`},
		{"half a number", Own, job(`"id":7`, `"id":7.5`), `field "id": 7.5 was found; expected a whole number`},
		{"a string for a number", Own, job(`"id":7`, `"id":"7"`), `field "id": "7" is a string; expected a whole number`},
		{"a string for seconds", Own, job(`12.000001`, `"5"`), `field "runtimeSeconds": "5" is a string; expected seconds, such as 12.5`},
		{"a runtime beyond counting", Own, job(`12.000001`, `1e300`), `field "runtimeSeconds": "1e300" is too long`},
		{"a negative task", Own, job(`[1,2.5]`, "[1,-2]"), `field "tasks[1]": "-2" is negative; expected seconds`},
		{"a task that is nothing", Own, job(`[1,2.5]`, "[1,null]"), `field "tasks[1]": null was found; expected seconds`},
		{"no tasks but a word", Own, job(`[1,2.5]`, `"many"`), `field "tasks": "many" is a string; expected an array`},
		{"an array for a job", Own, head + "[1,2]", `field "line": it is an array; expected a job such as {"id"`},
		{"a number for a job", Own, head + "5", `field "line": 5 was found; expected a job such as {"id"`},
		{"not a number", Own, head + `{"id":1,"runtimeSeconds":NaN}`, `field "line": invalid character 'N' looking for beginning of value, at character 26; expected`},
		{"characters are no bytes", Own, head + `{"user":"äöü","id":NaN}`, `at character 20; expected`},
		{"an array for an application", Own, head + `{"id":1,"submitSeconds":0,"runtimeSeconds":1,"app":[]}`, `field "app": it is an array; expected an object`},
		{"an object for components", Own, head + `{"id":1,"submitSeconds":0,"runtimeSeconds":1,"app":{"components":{}}}`, `field "app.components": it is an object; expected an array`},
		{"a count that is a string", Own, job(`"count":1`, `"count":"1"`), `field "app.components[0].count": "1" is a string; expected a whole number`},
		{"a resource that is nothing", Own, job(`"500m"`, "[1]"), `field "app.components[0].resources": cpu quantity "[1]"`},
		{"resources in an array", Own, job(`{"cpu":"500m"}`, "[1]"), `field "app.components[0].resources": it is an array; expected an object`},
		{"a label that is a number", Own, job(`"kind"`, `"labels":{"a":5},"kind"`), `field "app.labels.a": 5 was found; expected a string`},
		{"a size that is a word", Own, job(`"kind"`, `"size":"big","kind"`), `field "app.size": "big" is a string; expected a number`},
		{"a deadline in words", Own, job(`"kind"`, `"finishBy":"tomorrow","kind"`), `field "app.finishBy": "tomorrow" is a string; expected a date and a time`},
		{"a hint without a unit", Own, job(`"kind"`, `"expected":5,"kind"`), `field "app.expected": duration 5: expected a string such as "90s"`},
		{"two objects on a line", Own, job("", "") + "{}", `field "line": there is more after the end of the object, from character 237 on`},
		{"cut off", Own, job(`}}`, ""), `field "line": the JSON ends too early, after character 234; expected a job such as {"id"`},
		{"no core replica", Own, job(`"count":1`, `"count":0`), "no core replica"},
		{"max less than count", Own, job(`"count":1`, `"count":3`), "count 3 and max 2 make no sense"},
		{"no resources", Own, job(`"cpu":"500m"`, ""), "expected what one replica needs"},
		{"no components", Own, job(`,"components":[{"name":"w","image":"i","resources":{"cpu":"500m"},"count":1,"max":2}]`, ""), "no core replica"},
		{"another kind", Own, job("interactive", "nightly"), `"nightly" is not known`},
		{"another version of applications", Own, job("dovetail/v1\",\"name", "dovetail/v0\",\"name"), `field "app.apiVersion"`},
		{"a component that waits for itself", Own, job(`"count":1`, `"after":["w"],"count":1`), `"w" can never start after ["w"]`},
		{"a component that waits for nobody there", Own, job(`"count":1`, `"after":["x"],"count":1`), `"w" can never start after ["x"]`},
		{"a negative limit", Own, job(`"kind"`, `"maxRuntime":"-3s","kind"`), "app.maxRuntime"},
		{"a deadline long ago", Own, job(`"kind"`, `"finishBy":"1969-12-31T00:00:00Z","kind"`), `field "app.finishBy": the year 1969 is out of range`},
		{"a negative hint", Own, job(`"kind"`, `"expected":"-3s","kind"`), "app.expected"},
	} {
		t.Run(tc.format+"/"+tc.reason, func(t *testing.T) {
			_, err := collect(Read(strings.NewReader(tc.text), "small", Options{Format: tc.format}).Jobs())
			if err == nil || dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %s", err, tc.want)
			}
		})
	}
}

func TestSkipBad(t *testing.T) {
	text := smallZoe + strings.Repeat("x 0 1 1 1 1 1\n", 7) + "9 5 1 1 1 1 1\n"
	r := Read(strings.NewReader(text), "small", Options{SkipBad: true})
	jobs, err := collect(r.Jobs())
	if err != nil || len(jobs) != 3 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	bad := `: field "id": "x" is not a number; expected a whole number, such as 4`
	want := []string{
		"7 bad lines were skipped", "small:3" + bad, "small:4" + bad, "small:5" + bad, "small:6" + bad, "small:7" + bad, "… and 2 more",
		"1 job was submitted before the job on the line before",
	}
	if diff := cmp.Diff(want, r.Notices()); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	_, err = collect(Read(strings.NewReader("a b\nc d\n"), "small", Options{Format: Zoe, SkipBad: true}).Jobs())
	if err == nil || !strings.Contains(err.Error(), "none of its 2 lines is a job of format zoe") {
		t.Errorf("only bad lines: %v", err)
	}
}

func TestTellingTheFormat(t *testing.T) {
	both := "1 4 3 10 36.276 0.25 0.25\n" // four tasks, or seven columns
	for _, tc := range []struct{ reason, name, text, format, want string }{
		{"the name decides between equals", "a.tr", both, Tasks, ""},
		{"with .gz too", "a.txt.gz", both, Zoe, ""},
		{"most lines decide", "a.tr", both + smallZoe, Zoe, ""},
		{"a bad first line does not", "a", "1 2 3\n" + smallZoe, Zoe, ""},
		{"neither", "a", both, "", `first lines do not tell its format, such as "1 4 3 10`},
		{"nothing known", "a.tsv", "job0\t9\t9\t1762\t0\t14347\n", "", "choose one of dovetail, swf, tr, zoe, openb"},
		{"a cluster", "nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1,1,0,\n", "", "lists the nodes of a cluster"},
		{"empty", "a.tr", "", "", "there are no jobs in it"},
		{"only white space", "a.tr", "\n \n", "", "there are no jobs in it"},
		{"only comments", "a.swf", "; MaxNodes: 3\n", SWF, "there are no jobs in its 1 lines"},
		{"only a header", "a.jsonl", `{"version":"dovetail/trace/v1"}`, Own, "there are no jobs in its 1 lines"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			r := Read(strings.NewReader(tc.text), tc.name, Options{SkipBad: true})
			_, err := collect(r.Jobs())
			if r.Format() != tc.format || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("format %q, want %q; error %v", r.Format(), tc.format, err)
			}
		})
	}
	if _, err := collect(Read(strings.NewReader(both), "a", Options{Format: "csv"}).Jobs()); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("unknown format: %v", err)
	}
}

func TestDamagedFiles(t *testing.T) {
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, "%d %d.%03d 1 10 36.%03d 0.25 0.25\n", i, i, i*7919%1000, i*104729%1000)
	}
	whole := zipped(t, lines.String())
	damaged := []byte(whole)
	damaged[len(damaged)-6] ^= 0xff // the checksum
	for _, tc := range []struct{ reason, text, want string }{
		{"cut off in the middle", whole[:len(whole)/2], "is cut off after "},
		{"cut off in the first bytes", whole[:20], "is cut off after 0 complete lines"},
		{"another checksum", string(damaged), "is damaged after 5000 lines"},
		{"nonsense behind the magic number", whole[:12] + "\xff\xff\xff\xff\xff\xff", "small: the compressed file is "},
	} {
		for _, skip := range []bool{false, true} {
			_, err := collect(Read(strings.NewReader(tc.text), "small", Options{SkipBad: skip}).Jobs())
			if dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		}
	}
	broken := errors.New("broken")
	_, err := collect(Read(io.MultiReader(strings.NewReader(smallZoe), fails{broken}), "small", Options{}).Jobs())
	if !errors.Is(err, broken) {
		t.Errorf("a device that fails: %v", err)
	}
}

type fails struct{ err error }

func (f fails) Read([]byte) (int, error) { return 0, f.err }

func TestLongLine(t *testing.T) {
	const n = 120_000
	text := "1 120000 2.5" + strings.Repeat(" 2.5", n) + "\n2 1 1 1\n"
	jobs, err := collect(Read(strings.NewReader(text), "long", Options{}).Jobs())
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 2 || len(jobs[0].Tasks) != n || jobs[0].Full() != MaxReplicas || jobs[0].Runtime != 3*time.Second {
		t.Errorf("%d jobs; the first has %d tasks, %d replicas and runs %v", len(jobs), len(jobs[0].Tasks), jobs[0].Full(), jobs[0].Runtime)
	}
}

// endless is a trace of n lines that are made while they are read, each with a hint of its own.
type endless struct {
	n, i int
	rest []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.i == e.n {
			return 0, io.EOF
		}
		e.i++
		e.rest = fmt.Appendf(e.rest[:0], "%d %d 1 10 %d.5 0.25 0.25\n", e.i, e.i, e.i)
	}
	k := copy(p, e.rest)
	e.rest = e.rest[k:]
	return k, nil
}

func TestStreamsWithBoundedMemory(t *testing.T) {
	const lines = 100_000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, grown, n := heap(), int64(0), 0
	scaled := Scale(Expect(Cut(Read(&endless{n: lines}, "endless", Options{}).Jobs(), Window{From: 1})), Factors{1, 2, 3})
	tee := func(yield func(Job, error) bool) {
		for j, err := range scaled {
			if n++; n == lines-100 {
				grown = heap() - before
			}
			if !yield(j, err) {
				return
			}
		}
	}
	if err := Write(io.Discard, tee); err != nil || n != lines {
		t.Fatalf("%d jobs, %v", n, err)
	}
	t.Logf("after %d jobs the heap has grown by %d KiB", n, grown>>10)
	if grown > 40<<20 {
		t.Errorf("after %d jobs the heap has grown by %d MiB; nothing should be kept of them", n, grown>>20)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, "trace.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	w, err := Load(t.Context(), file("1 5 1 1 1 1 1\n2 3 1 1 1 1 1\n3 5 1 1 1 1 1\n4 3 1 1 1 1 1\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for i := range w.Jobs {
		ids = append(ids, w.Jobs[i].ID)
	}
	if diff := cmp.Diff([]int64{2, 4, 1, 3}, ids); diff != "" || w.Name != "trace.txt" || w.Format != Zoe {
		t.Errorf("%s, %s: order of ids (-want +got):\n%s", w.Name, w.Format, diff)
	}
	want := []string{"2 jobs were submitted before the job on the line before", "the jobs were sorted by their time of submission"}
	if diff := cmp.Diff(want, w.Notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if w.Jobs[0].App != w.Jobs[3].App {
		t.Error("equal applications are not shared")
	}
	for _, tc := range []struct{ reason, path, want string }{
		{"a number used twice", file("1 5 1 1 1 1 1\n1 6 1 1 1 1 1\n"), `trace.txt:2: field "id": 1 is the number of the job on line 1 already`},
		{"no such file", filepath.Join(dir, "missing"), "cannot read the trace: open "},
		{"a directory", dir, "is a directory"},
	} {
		if _, err := Load(t.Context(), tc.path, Options{}); dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.reason, err)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("somebody pressed Ctrl-C")
	cancel(why)
	if _, err := Load(ended, file(smallZoe), Options{}); !errors.Is(err, why) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// Reading a pipe to which nobody writes ends with the context.
func TestOpenWaitsNoLongerThanItsContext(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	f, err := Open(ctx, fmt.Sprintf("/dev/fd/%d", in.Fd()))
	if err != nil {
		t.Skipf("this system has no /dev/fd: %v", err)
	}
	defer f.Close()
	if _, err := out.WriteString(smallZoe); err != nil {
		t.Fatal(err)
	}
	why := errors.New("somebody pressed Ctrl-C")
	b := make([]byte, len(smallZoe))
	if _, err := io.ReadFull(f, b); err != nil || string(b) != smallZoe {
		t.Fatalf("%q, %v", b, err)
	}
	done := make(chan error)
	go func() {
		_, err := f.Read(b)
		done <- err
	}()
	cancel(why)
	select {
	case err := <-done:
		if !errors.Is(err, why) {
			t.Errorf("reading ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("reading goes on")
	}
}

// The numbers of the shared files: jobs, replicas and tasks.
func TestSharedTraces(t *testing.T) {
	for _, tc := range []struct {
		file, format                 string
		jobs, replicas, tasks, known int
		notices                      int
	}{
		{"zoe_apps_1000.txt", Zoe, 1000, 45_726, 0, 1000, 0},
		{"zoe_apps_1000_q.txt", Zoe, 1000, 45_726, 0, 1000, 0},
		{"zoe_apps_1000_q_inelastic.txt", Zoe, 1000, 45_726, 0, 1000, 0},
		{"YH_small.tr", Tasks, 10, 183, 183, 10, 0},
		{"YH1_sub.tr.gz", Tasks, 2910, 122_878, 122_878, 2910, 0},
		{"YH_boot_seed3.tr.gz", Tasks, 24_262, 972_905, 972_905, 24_262, 0},
		{"NASA-iPSC-1993-3.1-cln.swf.gz", SWF, 18_239, 309_953, 0, 0, 2},
		{"openb_pods.csv.gz", Openb, 8152, 8152, 0, 0, 3},
	} {
		t.Run(tc.file, func(t *testing.T) {
			path := filepath.Join("..", "..", "shared", "data", "traces", tc.file)
			if _, err := os.Stat(path); err != nil {
				t.Skipf("the shared traces are not here: %v", err)
			}
			w, err := Load(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := Summarise(Each(w.Jobs))
			if err != nil {
				t.Fatal(err)
			}
			if w.Format != tc.format || s.Jobs != tc.jobs || s.Replicas != int64(tc.replicas) || s.Tasks != int64(tc.tasks) || s.Hinted != tc.known {
				t.Errorf("format %s, %d jobs, %d replicas, %d tasks, %d with a hint", w.Format, s.Jobs, s.Replicas, s.Tasks, s.Hinted)
			}
			if len(w.Notices) != tc.notices {
				t.Errorf("notices %q, want %d", w.Notices, tc.notices)
			}
			for i := range w.Jobs {
				checkTasks(t, &w.Jobs[i])
			}
		})
	}
}

// checkTasks checks that a job's work is that of its tasks, as nearly as its runtime of whole microseconds can say it.
func checkTasks(t *testing.T, j *Job) {
	var sum int64
	for _, d := range j.Tasks {
		sum += d.Microseconds()
	}
	if off := j.Work() - sum; j.Tasks != nil && (2*off > int64(j.Full()) || 2*off < -int64(j.Full())) {
		t.Fatalf("job %d: work %d, tasks %d µs", j.ID, j.Work(), sum)
	}
}

func TestDecimal(t *testing.T) {
	for _, tc := range []struct {
		text  string
		scale int
		n     int64
		exact bool
		ok    bool
	}{
		{"12.5", 6, 12_500_000, true, true},
		{"0.0000005", 6, 1, false, true},
		{"0.00000049999", 6, 0, false, true},
		{"-0.0000005", 6, -1, false, true},
		{"2.0000015", 6, 2_000_002, false, true}, // as a float64 it is less
		{"1e3", 6, 1_000_000_000, true, true},
		{"1.5E-3", 6, 1500, true, true},
		{"1e-400", 6, 0, false, true},
		{"0e9999", 6, 0, true, true},
		{".5", 0, 1, false, true},
		{"5.", 0, 5, true, true},
		{"+7", 0, 7, true, true},
		{"9223372036854775807", 0, 9223372036854775807, true, true},
		{"9223372036854775808", 0, 0, false, false},
		{"1e19", 0, 0, false, false},
		{"1e99999", 0, 0, false, false},
		{"", 0, 0, false, false},
		{".", 0, 0, false, false},
		{"1.2.3", 0, 0, false, false},
		{"--1", 0, 0, false, false},
		{"1e", 0, 0, false, false},
		{"0x10", 0, 0, false, false},
		{"1_000", 0, 0, false, false},
	} {
		n, exact, ok := decimal([]byte(tc.text), tc.scale)
		if ok != tc.ok || ok && (n != tc.n || exact != tc.exact) {
			t.Errorf("%q × 10^%d: %d, exact %v, ok %v", tc.text, tc.scale, n, exact, ok)
		}
	}
}

// Decimals are read as rational numbers would be.
func TestDecimalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,9}(\.[0-9]{1,12})?(e-?[0-9])?`).Draw(t, "text")
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		want.Mul(want, big.NewRat(1_000_000, 1))
		n, exact, ok := decimal([]byte(text), 6)
		if off := new(big.Rat).Sub(want, big.NewRat(n, 1)); !ok {
			if want.Abs(want).Cmp(big.NewRat(1<<62, 1)) < 0 {
				t.Fatalf("%s is not read", text)
			}
		} else if exact != (off.Sign() == 0) || off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 || off.Cmp(big.NewRat(1, 2)) == 0 && new(big.Rat).Abs(want).Cmp(big.NewRat(max(n, -n), 1)) > 0 {
			t.Fatalf("%s s: %d µs, exact %v", text, n, exact)
		}
	})
}

// What is written of seconds and gibibytes is read as exactly that.
func TestWrittenNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, longest.Microseconds()).Draw(t, "µs")) * us
		if got, err := seconds("t", appendSeconds(nil, d)); got != d || err != nil {
			t.Fatalf("%v became %v, %v", d, got, err)
		}
		bytes := rapid.Int64Range(0, 8_000_000<<30).Draw(t, "bytes")
		if got, err := gibibytes("m", appendGibibytes(nil, bytes)); got != bytes || err != nil {
			t.Fatalf("%d bytes became %d, %v: %s", bytes, got, err, appendGibibytes(nil, bytes))
		}
	})
}
