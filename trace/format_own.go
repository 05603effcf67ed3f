package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// version is what the first line of a trace of our own format says.
const version = "dovetail/trace/v1"

// header is the first line of our own format.
type header struct {
	Version string `json:"version"`
}

// ownJob is each further line: a job. Times are seconds with up to six decimals.
type ownJob struct {
	ID      *int64          `json:"id"`
	Submit  *exact          `json:"submitSeconds"`
	Runtime *exact          `json:"runtimeSeconds"`
	User    string          `json:"user,omitempty"`
	Tasks   []exact         `json:"tasks,omitempty"` // seconds each
	App     json.RawMessage `json:"app"`
}

// ownApp is an application whose components are read later, or not at all if the same were read before.
type ownApp struct {
	dovetail.Application

	Components json.RawMessage `json:"components"`
}

// exact is a time that JSON writes in seconds, without a float64 in between.
type exact time.Duration

// MarshalJSON writes seconds such as 12.5.
func (e exact) MarshalJSON() ([]byte, error) { return appendSeconds(nil, time.Duration(e)), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (e *exact) UnmarshalJSON(data []byte) error {
	d, err := seconds("seconds", data)
	*e = exact(d)
	return err
}

// ownLines reads our own format.
type ownLines struct {
	begun      bool // the header was read
	apps       map[string]*dovetail.Application
	components map[string][]dovetail.Component
}

func startOwn() decoder {
	return &ownLines{apps: map[string]*dovetail.Application{}, components: map[string][]dovetail.Component{}}
}

func (*ownLines) notices() []string { return nil }

func (o *ownLines) line(text []byte) (j Job, ok bool, err error) {
	if !o.begun {
		o.begun = true
		var h header
		if err := strict(text, &h); err != nil || h.Version != version {
			return j, false, faultf("version", `the first line is %s; expected {"version":"%s"}`, shown(text), version)
		}
		return j, false, nil
	}
	var in ownJob
	if err := strict(text, &in); err != nil {
		return j, false, cmp.Or(blameLine(text, reflect.TypeFor[ownJob]()), err)
	}
	switch {
	case in.ID == nil:
		return j, false, faultf("id", "it is missing; expected %s", wantCount)
	case *in.ID < 0:
		return j, false, faultf("id", "%d is negative; expected %s", *in.ID, wantCount)
	case in.Submit == nil:
		return j, false, faultf("submitSeconds", "it is missing; expected %s", wantSeconds)
	case in.Runtime == nil:
		return j, false, faultf("runtimeSeconds", "it is missing; expected %s", wantSeconds)
	case *in.Runtime == 0:
		return j, false, faultf("runtimeSeconds", "it is less than a microsecond; expected %s", wantSeconds)
	case len(in.App) == 0:
		return j, false, faultf("app", "it is missing; expected an application, as dovetail submit takes it")
	}
	j = Job{ID: *in.ID, Submit: time.Duration(*in.Submit), Runtime: time.Duration(*in.Runtime), User: in.User}
	for i, t := range in.Tasks {
		if t == 0 {
			return j, false, faultf(fmt.Sprintf("tasks[%d]", i), "it is less than a microsecond; expected %s", wantSeconds)
		}
		j.Tasks = append(j.Tasks, time.Duration(t))
	}
	j.App, err = o.app(in.App)
	return j, err == nil, err
}

const ownExample = `{"id":1,"submitSeconds":0,"runtimeSeconds":12.5,"app":{…}}`

// app reads an application, or returns the equal one that was read before.
func (o *ownLines) app(text []byte) (*dovetail.Application, error) {
	if app, ok := o.apps[string(text)]; ok {
		return app, nil
	}
	var in ownApp
	if err := strict(text, &in); err != nil {
		return nil, cmp.Or(blame("app", text, reflect.TypeFor[dovetail.Application]()), err)
	}
	app := new(dovetail.Application) // of its own: the text of the components is not kept
	*app = in.Application
	components, ok := o.components[string(in.Components)]
	if !ok && len(in.Components) > 0 {
		if err := strict(in.Components, &components); err != nil {
			return nil, cmp.Or(blame("app.components", in.Components, reflect.TypeFor[[]dovetail.Component]()), err)
		}
		keep(o.components, string(in.Components), components)
	}
	app.Components = components
	if err := checkApp(app); err != nil {
		return nil, err
	}
	keep(o.apps, string(text), app)
	return app, nil
}

// strict reads one JSON value without fields that nobody knows, and nothing after it.
func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the end of the object")
	}
	return nil
}

// checkApp checks what simulators rely on; describe.Validate checks all that can be wrong with an application.
func checkApp(app *dovetail.Application) error {
	switch {
	case app.APIVersion != dovetail.APIVersion:
		return faultf("app.apiVersion", "%q is not known; expected %s", app.APIVersion, dovetail.APIVersion)
	case app.Name == "":
		return faultf("app.name", "it is missing; expected the name that runs of this application share")
	case app.Kind != dovetail.Batch && app.Kind != dovetail.Interactive && app.Kind != dovetail.Service:
		return faultf("app.kind", "%q is not known; expected batch, interactive or service", string(app.Kind))
	case app.Expected < 0 || time.Duration(app.Expected) > longest:
		return faultf("app.expected", "%v is out of range; expected more than 0 and at most 100 years", time.Duration(app.Expected))
	case app.MaxRuntime < 0 || time.Duration(app.MaxRuntime) > longest:
		return faultf("app.maxRuntime", "%v is out of range; expected more than 0 and at most 100 years", time.Duration(app.MaxRuntime))
	case app.FinishBy != nil && !mayName(*app.FinishBy):
		return faultf("app.finishBy", "the year %d is out of range; expected one between %d and %d", app.FinishBy.Year(), firstYear, lastYear)
	}
	core := 0
	for i := range app.Components {
		c := &app.Components[i]
		field := fmt.Sprintf("app.components[%d]", i)
		switch {
		case c.Count < 0 || c.Max < 0 || c.Limit() < 1 || c.Limit() > MaxReplicas || c.Max != 0 && c.Max < c.Count:
			return faultf(field, "count %d and max %d make no sense; expected 0 ≤ count ≤ max ≤ %d, and one replica or more", c.Count, c.Max, MaxReplicas)
		case c.Resources.IsZero() || c.Resources != c.Resources.Max(dovetail.Resources{}):
			return faultf(field+".resources", "they are missing; expected what one replica needs, such as {\"cpu\":\"1\"}")
		}
		core += c.Count
	}
	if core == 0 {
		return faultf("app.components", "there is no core replica; expected a count of 1 or more in one of them")
	}
	return checkAfter(app)
}

// Write writes a trace in our own format. It stops at the first error that the jobs yield, and returns it.
func Write(w io.Writer, jobs iter.Seq2[Job, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	text := newEncoder(out)
	if err := text.Encode(header{version}); err != nil {
		return err
	}
	apps := map[*dovetail.Application]json.RawMessage{}
	for j, err := range jobs {
		if err != nil {
			return err
		}
		app, ok := apps[j.App]
		if !ok {
			var b bytes.Buffer
			if err := newEncoder(&b).Encode(j.App); err != nil {
				return fmt.Errorf("write the application of job %d: %w", j.ID, err)
			}
			app = bytes.TrimSpace(b.Bytes())
			keep(apps, j.App, app)
		}
		submit, runtime := exact(j.Submit), exact(j.Runtime)
		line := ownJob{ID: &j.ID, Submit: &submit, Runtime: &runtime, User: j.User, App: app}
		for _, t := range j.Tasks {
			line.Tasks = append(line.Tasks, exact(t))
		}
		if err := text.Encode(line); err != nil {
			return fmt.Errorf("write job %d: %w", j.ID, err)
		}
	}
	return out.Flush()
}

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
