package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

func finishedRun() dovetail.Past {
	return dovetail.Past{
		Class: "sort?n=1", App: "sort", Params: map[string]string{"n": "1"}, Ended: epoch, Outcome: dovetail.OutcomeSucceeded, Runtime: 12.5, ScaleOut: 4,
		Stretches: []dovetail.Stretch{{ScaleOut: 4, Seconds: 12.5}}, Overlaps: []dovetail.Overlap{{Class: "scan", Ratio: .5}}, InputSize: 24e9, NodeClasses: []string{"big"},
	}
}

func TestImportHistory(t *testing.T) {
	f := newFake(t)
	c := ask(t, handler(t, f))
	zoned, utc := finishedRun(), finishedRun()
	zoned.Ended = epoch.Add(time.Second).In(time.FixedZone("east", 3600)).Add(time.Nanosecond)
	utc.Ended = epoch.Add(time.Second)
	if n, err := c.ImportHistory(t.Context(), []dovetail.Past{finishedRun(), zoned}, false); err != nil || n != 2 {
		t.Fatalf("%d imported, %v", n, err)
	}
	want := []dovetail.Event{dovetail.Imported{Runs: []dovetail.Past{finishedRun(), utc}}}
	if diff := cmp.Diff(want, f.told); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}

	f.told = nil
	f.history = []dovetail.History{{Status: dovetail.RunStatus{ID: -1, Class: utc.Class, Ended: &utc.Ended}, Import: &utc}}
	if n, err := c.ImportHistory(t.Context(), []dovetail.Past{utc}, false); err != nil || n != 0 || f.told != nil {
		t.Errorf("a run that is on record: %d imported, %v; the engine was told %v", n, err, f.told)
	}
	if n, err := c.ImportHistory(t.Context(), []dovetail.Past{zoned, finishedRun()}, false); err != nil || n != 1 {
		t.Errorf("one of two is on record: %d imported, %v", n, err)
	}
	if n, err := c.ImportHistory(t.Context(), []dovetail.Past{utc}, true); err != nil || n != 1 {
		t.Errorf("by force: %d imported, %v", n, err)
	}
	want = []dovetail.Event{dovetail.Imported{Runs: []dovetail.Past{finishedRun()}}, dovetail.Imported{Runs: []dovetail.Past{utc}}}
	if diff := cmp.Diff(want, f.told); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}

	f.fail = dovetail.Errorf(dovetail.Unavailable, "the disk is full")
	if _, err := c.ImportHistory(t.Context(), []dovetail.Past{finishedRun()}, false); dovetail.CodeOf(err) != dovetail.Unavailable {
		t.Errorf("error %v; expected that of the engine", err)
	}
}

func TestImportHistoryRefuses(t *testing.T) {
	const good = `{"class":"a","app":"a","ended":"2026-01-01T00:00:00Z","outcome":"succeeded","runtimeSeconds":1,"scaleOut":2}`
	for _, test := range []struct {
		reason, body string
		status       int
		says         string
	}{
		{"nothing", `{"runs":[]}`, 422, "expected 1 to 1000"},
		{"too many", `{"runs":[` + strings.Repeat("0,", 1000) + `0]}`, 422, "1001 runs"},
		{"another unit", `{"runs":[` + good + `,{"runtimeMs":1}]}`, 422, `runs[1].runtimeMs`},
		{"no outcome", `{"runs":[` + strings.Replace(good, "succeeded", "", 1) + `]}`, 422, "its outcome is none of"},
		{"no runtime", `{"runs":[` + strings.Replace(good, `"runtimeSeconds":1`, `"runtimeSeconds":0`, 1) + `]}`, 422, `"field":"runs[0]"`},
		{"no JSON", `runs`, 400, "invalid"},
	} {
		f := newFake(t)
		w := call(t, handler(t, f), "POST /v1/history", test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.says) {
			t.Errorf("%s: %d %s; expected %d and %q", test.reason, w.Code, w.Body, test.status, test.says)
		}
		if len(f.told) > 0 {
			t.Errorf("%s: %v was recorded", test.reason, f.told)
		}
	}
}

func TestInputSizeOfASubmission(t *testing.T) {
	f := newFake(t)
	h := handler(t, f)
	c := ask(t, h)
	for i, size := range []int64{0, 24e9} {
		if _, err := c.Submit(t.Context(), client.SubmitRequest{Spec: []byte(tiny), InputSize: size, Wait: true}); err != nil {
			t.Fatal(err)
		}
		if got := f.runs[i].Input; got != size {
			t.Errorf("the input of run %d has %d bytes; expected %d", i+1, got, size)
		}
	}
	w := call(t, h, "POST /v1/runs?inputSize=7&waitCapacity=true", tiny, "Content-Type: application/yaml")
	if w.Code != 201 || f.runs[2].Input != 7 {
		t.Errorf("submitting as YAML: %d, %d bytes; expected 7", w.Code, f.runs[2].Input)
	}
	key := func(size int) string {
		return fmt.Sprintf(`{"spec": %s, "key": "k", "waitCapacity": true, "inputSize": %d}`, tiny, size)
	}
	if a, b := call(t, h, "POST /v1/runs", key(1)), call(t, h, "POST /v1/runs", key(2)); a.Code != 201 || b.Code != 409 {
		t.Errorf("the same key with another size: %d, then %d; expected a conflict", a.Code, b.Code)
	}
}
