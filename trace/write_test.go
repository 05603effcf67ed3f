package trace

import (
	"bytes"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// drawJobs draws jobs with whatever a trace can say.
func drawJobs() *rapid.Generator[[]Job] {
	name := rapid.StringMatching(`[a-z][a-z0-9-]{0,8}[a-z0-9]`)
	text := rapid.StringOf(rapid.SampledFrom([]rune("aZ0 \"\\<>&\u2028\nü☃")))
	hint := rapid.Custom(func(t *rapid.T) dovetail.Duration {
		return dovetail.Duration(rapid.Int64Range(0, int64(longest)).Draw(t, "hint"))
	})
	component := rapid.Custom(func(t *rapid.T) dovetail.Component {
		core := rapid.IntRange(1, 50).Draw(t, "core")
		return dovetail.Component{
			Name: name.Draw(t, "component"), Image: "simulated", Count: core, Max: core + rapid.IntRange(0, 50).Draw(t, "elastic"),
			Env:       rapid.SampledFrom([]map[string]string{nil, {"A": "b"}, {"A": text.Draw(t, "env")}}).Draw(t, "environment"),
			Resources: dovetail.Resources{rapid.Int64Range(1, 1e6).Draw(t, "cpu"), rapid.Int64Range(0, 1<<45).Draw(t, "memory")},
		}
	})
	app := rapid.Custom(func(t *rapid.T) *dovetail.Application {
		a := &dovetail.Application{
			APIVersion: dovetail.APIVersion, Name: name.Draw(t, "name"), Description: text.Draw(t, "description"), Expected: hint.Draw(t, "expected"),
			Kind:       rapid.SampledFrom([]dovetail.Kind{dovetail.Batch, dovetail.Interactive, dovetail.Service}).Draw(t, "kind"),
			Priority:   rapid.IntRange(-5, 5).Draw(t, "priority"),
			Components: rapid.SliceOfN(component, 1, 3).Draw(t, "components"),
		}
		if rapid.Bool().Draw(t, "deadline") {
			by := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "finish by"), 0).UTC()
			a.FinishBy = &by
		}
		return a
	})
	micros := func(low int64) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(low, 1e15), func(n int64) time.Duration { return time.Duration(n) * us })
	}
	return rapid.Custom(func(t *rapid.T) []Job {
		apps := rapid.SliceOfN(app, 1, 4).Draw(t, "applications")
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Job {
			return Job{
				ID: rapid.Int64Min(0).Draw(t, "id"), Submit: micros(0).Draw(t, "submit"), Runtime: micros(1).Draw(t, "runtime"),
				User: text.Draw(t, "user"), App: rapid.SampledFrom(apps).Draw(t, "application"),
				Tasks: rapid.SampledFrom([][]time.Duration{nil, {us}, {time.Second, 3 * us}}).Draw(t, "tasks"),
			}
		}), 1, 20).Draw(t, "jobs")
	})
}

// What is written is read.
func TestOwnFormatKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawJobs().Draw(t, "trace")
		var text bytes.Buffer
		if err := Write(&text, Each(want)); err != nil {
			t.Fatal(err)
		}
		got, err := collect(Read(bytes.NewReader(text.Bytes()), "own", Options{}).Jobs())
		if err != nil {
			t.Fatalf("%v\n%s", err, text.Bytes())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-written +read:\n%s", diff)
		}
	})
}

// Equal applications are one in memory, and so are the components of those that differ in nothing else.
func TestApplicationsAreShared(t *testing.T) {
	var own bytes.Buffer
	three := "1 0 1 10 5 1 1\n2 0 1 10 5 1 1\n3 0 1 10 6 1 1\n"
	if err := Write(&own, Read(strings.NewReader(three), "zoe", Options{}).Jobs()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{three, own.String()} {
		jobs, err := collect(Read(strings.NewReader(text), "t", Options{}).Jobs())
		if err != nil {
			t.Fatal(err)
		}
		if jobs[0].App != jobs[1].App || jobs[0].App == jobs[2].App || &jobs[0].App.Components[0] != &jobs[2].App.Components[0] {
			t.Errorf("applications %p %p %p", jobs[0].App, jobs[1].App, jobs[2].App)
		}
	}
}

func TestWriteZoe(t *testing.T) {
	jobs, err := collect(Read(strings.NewReader(smallZoe+"3 13 2 3 0.000001 0.001 0.1\n"), "zoe", Options{}).Jobs())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteZoe(&b, Each(jobs)); err != nil {
		t.Fatal(err)
	}
	want := "1 0 1 10 36.276 0.25 0.25\n2 12.5 10 -1 328.579 1 1.5\n3 13 2 3 0.000001 0.001 0.099999999627\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	again, err := collect(Read(&b, "zoe", Options{}).Jobs())
	if diff := cmp.Diff(jobs, again); diff != "" || err != nil {
		t.Errorf("read again (-before +after): %v\n%s", err, diff)
	}
	for _, tc := range []struct {
		reason string
		change func(j *Job, app *dovetail.Application)
		want   string
	}{
		{"a user", func(j *Job, _ *dovetail.Application) { j.User = "ann" }, "it has a user"},
		{"tasks", func(j *Job, _ *dovetail.Application) { j.Tasks = []time.Duration{us} }, "tasks"},
		{"another kind", func(_ *Job, a *dovetail.Application) { a.Kind = dovetail.Interactive }, "its kind is interactive"},
		{"no hint", func(_ *Job, a *dovetail.Application) { a.Expected = 0 }, "--expect"},
		{"a priority", func(_ *Job, a *dovetail.Application) { a.Priority = 1 }, "a priority"},
		{"two components", func(_ *Job, a *dovetail.Application) { a.Components = append(a.Components, a.Components[0]) }, "several components"},
		{"only elastic", func(_ *Job, a *dovetail.Application) { a.Components[0].Count = 0 }, "no core"},
		{"a GPU", func(_ *Job, a *dovetail.Application) { a.Components[0].Resources[dovetail.GPU] = 1 }, "a GPU"},
		{"a labelled node", func(_ *Job, a *dovetail.Application) { a.Components[0].Nodes = map[string]string{"disk": "ssd"} }, "labels"},
	} {
		j, app := jobs[0], *jobs[0].App
		app.Components = []dovetail.Component{app.Components[0]}
		j.App = &app
		tc.change(&j, &app)
		err := WriteZoe(&b, Each([]Job{j}))
		if dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), "job 1 cannot be written in seven columns: ") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.reason, err)
		}
	}
}

// An error in the middle of a trace is that of whoever reads it.
func TestErrorsPassThrough(t *testing.T) {
	broken := errors.New("broken")
	var bad iter.Seq2[Job, error] = func(yield func(Job, error) bool) {
		jobs, err := collect(Read(strings.NewReader(smallZoe), "zoe", Options{}).Jobs())
		if err == nil && yield(jobs[0], nil) {
			yield(Job{}, broken)
		}
	}
	one := Factors{1, 1, 1}
	for name, err := range map[string]error{
		"Write":     Write(&bytes.Buffer{}, bad),
		"WriteZoe":  WriteZoe(&bytes.Buffer{}, bad),
		"Cut":       second(collect(Cut(bad, Window{}))),
		"Scale":     second(collect(Scale(bad, one))),
		"Expect":    second(collect(Expect(bad))),
		"Summarise": second(Summarise(bad)),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broke := Write(failing{broken}, Each(mustRead(t, smallZoe)))
	if !errors.Is(broke, broken) {
		t.Errorf("a full disk: %v", broke)
	}
}

func second[T any](_ T, err error) error { return err }

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func mustRead(t testing.TB, text string) []Job {
	t.Helper()
	jobs, err := collect(Read(strings.NewReader(text), "text", Options{}).Jobs())
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// fuzz reads any text as one format. Whatever is read is sound, and survives being written.
func fuzz(f *testing.F, format string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, skip := range []bool{false, true} {
			r := Read(bytes.NewReader(text), "fuzz", Options{Format: format, SkipBad: skip})
			jobs, err := collect(r.Jobs())
			_ = r.Notices()
			if err != nil {
				continue
			}
			for i := range jobs {
				j := &jobs[i]
				if j.Runtime <= 0 || j.Submit < 0 || j.Core() < 1 || j.Full() < j.Core() || j.Work() <= 0 || checkApp(j.App) != nil ||
					j.Runtime%us != 0 || j.Submit%us != 0 || j.ID < 0 {
					t.Fatalf("job %+v of %+v", j, j.App)
				}
			}
			var b bytes.Buffer
			if err := Write(&b, Each(jobs)); err != nil {
				t.Fatal(err)
			}
			again, err := collect(Read(&b, "again", Options{Format: Own}).Jobs())
			if diff := cmp.Diff(jobs, again); err != nil || diff != "" {
				t.Fatalf("-read +written and read: %v\n%s", err, diff)
			}
		}
	})
}

func FuzzOwn(f *testing.F)   { fuzz(f, Own, smallOwn, smallOwn+smallOwn) }
func FuzzSWF(f *testing.F)   { fuzz(f, SWF, smallSWF) }
func FuzzTasks(f *testing.F) { fuzz(f, Tasks, smallTr, "1e1 1 1e-6 0.0000005") }
func FuzzZoe(f *testing.F)   { fuzz(f, Zoe, smallZoe, "1 1e-7 100000 -1 1e9 0.001 1e-9") }
func FuzzPods(f *testing.F)  { fuzz(f, Openb, smallPods) }

// FuzzAny reads any text as whatever it looks like, compressed or not.
func FuzzAny(f *testing.F) {
	fuzz(f, "", smallOwn, smallSWF, smallTr, smallZoe, smallPods, zipped(f, smallZoe))
}
