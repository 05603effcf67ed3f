package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/sched"
)

// predictInput asks for the runtimes of a job class.
type predictInput struct {
	App        string   `query:"app" maxLength:"253" doc:"Name of the application; its newest run says which parameters it has"`
	Class      string   `query:"class" doc:"In place of app and param: the job class"`
	Params     []string `query:"param,explode" doc:"A parameter as name=value; others have their defaults"`
	InputSize  int64    `query:"inputSize" minimum:"0" doc:"Bytes that the run reads; 0: as most runs"`
	Low        int      `query:"low" minimum:"0" doc:"Smallest scale-out; 0: the smallest that the application can have"`
	High       int      `query:"high" minimum:"0" doc:"Largest scale-out; 0: the largest that the application can have"`
	Beside     []string `query:"beside,explode" doc:"Another job class that runs beside it for a share of its time, as CLASS=RATIO"`
	Target     string   `query:"target" doc:"The wanted runtime, such as 350s"`
	Confidence float64  `query:"confidence" doc:"With which probability the target is to be met; 0 means 0.9"`
}

type predictOutput struct{ Body dovetail.Curve }

// defaultConfidence is with which probability a target is to be met if nobody says otherwise.
const defaultConfidence = 0.9

func (s *server) registerPredict(api huma.API) {
	op := operation(http.MethodGet, "/v1/predictions", "predict", "Say how long runs will take by scale-out, and which scale-out meets a target", "runs")
	op.Description = "From what was learned of finished runs of the job class. Nothing is fitted for the answer."
	huma.Register(api, op, s.predict)

	op = operation(http.MethodGet, "/v1/models", "models", "Say what predictions of an application rest on", "runs")
	op.Description = "Class by class: the model, the runs it learned from, how well it predicts each of them from the others, and what neighbours do. " +
		"That takes a while: it is computed for the answer. Where half of the time that a request may take is not enough, fewer runs are predicted; " +
		"leaveOneOut.runs says how many."
	huma.Register(api, op, s.models)
}

// modelsInput asks what predictions rest on.
type modelsInput struct {
	App   string `query:"app" maxLength:"253" doc:"Name of the application"`
	Class string `query:"class" doc:"In place of app: one job class"`
}

type modelsOutput struct{ Body modelsBody }

type modelsBody struct {
	Models []dovetail.ClassModel `json:"models" nullable:"false" doc:"In order of class"`
}

func (s *server) models(ctx context.Context, in *modelsInput) (*modelsOutput, error) {
	if (in.App == "") == (in.Class == "") {
		return nil, s.failure(ctx, dovetail.Errorf(dovetail.Invalid, "of what? Expected app or class"))
	}
	var outlooks []*dovetail.Outlook // nobody changes them
	err := s.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) { outlooks = c.Outlooks() })
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	all, err := learn.Models(ctx, s.reader, outlooks, in.App, in.Class, time.Now().Add(s.timeout/2))
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	return &modelsOutput{Body: modelsBody{Models: filled(all)}}, nil
}

func (s *server) predict(ctx context.Context, in *predictInput) (*predictOutput, error) {
	c, overlaps, err := in.question()
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	o, err := s.outlook(ctx, in)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	xs, err := in.scaleOuts(o)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	if err := known(o, overlaps); err != nil {
		return nil, s.failure(ctx, err)
	}
	c.App, c.Class, c.Model, c.Runs, c.Overlaps = in.App, o.Class, o.Model, o.Runs, overlaps
	c.App = cmp.Or(c.App, dovetail.AppOf(o.Class))
	c.InputSize = cmp.Or(in.InputSize, o.InputSize)
	c.Points, c.Chosen = predict.Curve(xs, func(x int) predict.Distribution {
		return predict.Runtime(o, float64(x), overlaps)
	}, c.Target, c.Confidence)
	c.Notes = notes(o, in.InputSize)
	return &predictOutput{Body: c}, nil
}

// question reads what is asked: target, confidence and neighbours.
func (in *predictInput) question() (c dovetail.Curve, overlaps []dovetail.Overlap, err error) {
	if in.App == "" && in.Class == "" {
		return c, nil, dovetail.Errorf(dovetail.Invalid, "of which application? Expected app or class")
	}
	if in.App != "" && in.Class != "" {
		return c, nil, dovetail.Errorf(dovetail.Invalid, "a class says which application it is of; leave app or class out")
	}
	if in.Class != "" && len(in.Params) > 0 {
		return c, nil, dovetail.Errorf(dovetail.Invalid, "a class has its parameters in its name; leave param out")
	}
	if in.Target != "" {
		d, err := time.ParseDuration(in.Target)
		if err != nil || d <= 0 {
			return c, nil, dovetail.Errorf(dovetail.Invalid, "target=%s: expected a length of time above 0, such as 350s", in.Target)
		}
		c.Target, c.Confidence = d.Seconds(), in.Confidence
		if c.Confidence == 0 {
			c.Confidence = defaultConfidence
		}
	}
	if in.Confidence != 0 && !(in.Confidence > 0 && in.Confidence < 1) {
		return c, nil, dovetail.Errorf(dovetail.Invalid, "confidence=%v: expected a probability between 0 and 1, such as 0.9", in.Confidence)
	}
	for _, b := range in.Beside {
		i := strings.LastIndexByte(b, '=')
		if i < 0 {
			return c, nil, dovetail.Errorf(dovetail.Invalid, "beside=%s: expected CLASS=RATIO, such as sgd=0.5", b)
		}
		ratio, err := strconv.ParseFloat(b[i+1:], 64)
		if err != nil || i == 0 || !(ratio >= 0 && ratio <= mostOverlap) {
			return c, nil, dovetail.Errorf(dovetail.Invalid, "beside=%s: expected CLASS=RATIO with a ratio of 0 or more, such as sgd=0.5", b)
		}
		if slices.ContainsFunc(overlaps, func(o dovetail.Overlap) bool { return o.Class == b[:i] }) {
			return c, nil, dovetail.Errorf(dovetail.Invalid, "beside=%s: %s is there twice; several runs of a class add up, such as %s=2", b, b[:i], b[:i])
		}
		overlaps = append(overlaps, dovetail.Overlap{Class: b[:i], Ratio: ratio})
	}
	slices.SortFunc(overlaps, func(a, b dovetail.Overlap) int { return strings.Compare(a.Class, b.Class) })
	return c, overlaps, nil
}

// mostOverlap is how many runs of one class may be beside another.
const mostOverlap = 1000

// outlook returns what is known of the class that is asked about.
func (s *server) outlook(ctx context.Context, in *predictInput) (*dovetail.Outlook, error) {
	wanted, given, err := s.classes(ctx, in)
	if err != nil {
		return nil, err
	}
	var found *dovetail.Outlook
	var others []string
	err = s.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) {
		if found = c.Outlook(wanted, in.InputSize); found != nil {
			return
		}
		for _, o := range c.Outlooks() {
			if in.Class == "" && dovetail.AppOf(o.Class) == in.App {
				others = append(others, o.Class)
			}
		}
		if others = slices.Compact(others); len(others) == 1 && !given {
			found = c.Outlook(others[0], in.InputSize)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case found != nil && !predict.Known(found):
		return nil, dovetail.Errorf(dovetail.NotFound, "nothing can be said of %s yet: %d of its runs have finished, which is too few", found.Class, found.Runs)
	case found != nil:
		return found, nil
	case len(others) > 0:
		return nil, dovetail.Errorf(dovetail.NotFound, "nothing is known of %s; of %s there are %s: ask for one of them by its parameters or its class",
			wanted, in.App, strings.Join(others, ", "))
	}
	return nil, dovetail.Errorf(dovetail.NotFound,
		"nothing is known of %s: no run of it has succeeded, or none was learned from yet, which takes a moment. Submit one, or import finished runs with `dovetail history import`; `dovetail history` lists what there is", wanted)
}

// classes returns the job class that is meant, and whether its parameters were given.
func (s *server) classes(ctx context.Context, in *predictInput) (class string, given bool, err error) {
	if in.Class != "" {
		return in.Class, true, nil
	}
	params, err := assignments(in.Params)
	if err != nil {
		return "", false, err
	}
	app, err := s.application(ctx, in.App)
	if err != nil {
		return "", false, err
	}
	if app != nil {
		if params, err = describe.Params(app, params); err != nil {
			return "", false, err
		}
	}
	return dovetail.ClassOf(in.App, params), len(in.Params) > 0, nil
}

// application returns the description of the newest run of an application; nil if there is none.
func (s *server) application(ctx context.Context, name string) (*dovetail.Application, error) {
	runs, err := s.reader.Runs(ctx, engine.RunFilter{Name: name, Limit: 100})
	if err != nil {
		return nil, err
	}
	for i := range runs {
		if runs[i].App != name { // a run of another application has this name
			continue
		}
		_, run, err := s.reader.Run(ctx, runs[i].ID)
		if err != nil {
			return nil, err
		}
		return run.App, nil
	}
	return nil, nil //nolint:nilnil // there is none
}

// scaleOuts returns those that are asked about: within those that the class can have.
func (in *predictInput) scaleOuts(o *dovetail.Outlook) ([]int, error) {
	least, largest := o.ScaleOuts[0], o.ScaleOuts[len(o.ScaleOuts)-1]
	low, high := cmp.Or(in.Low, least), cmp.Or(in.High, largest)
	if low > high || low < least || high > largest {
		return nil, dovetail.Errorf(dovetail.Invalid,
			"scale-outs from %d to %d: %s can have %d to %d; to look beyond, export its history and use `dovetail predict --data`", low, high, o.Class, least, largest)
	}
	if in.Low == 0 && in.High == 0 {
		return o.ScaleOuts, nil
	}
	const most = 1000 // points of an answer
	var xs []int
	step := (high-low)/most + 1
	for x := low; x <= high; x += step {
		xs = append(xs, x)
	}
	return xs, nil
}

// known refuses neighbours that no run of the class has met.
func known(o *dovetail.Outlook, overlaps []dovetail.Overlap) error {
	met := make([]string, len(o.Beside))
	for i := range o.Beside {
		met[i] = o.Beside[i].Class
	}
	for _, n := range overlaps {
		if !slices.Contains(met, n.Class) {
			return dovetail.Errorf(dovetail.NotFound, "no run of %s that was learned from ran beside %q; they met %s",
				o.Class, n.Class, cmp.Or(strings.Join(met, ", "), "nobody"))
		}
	}
	return nil
}

// notes says what to think of when an outlook is used for an input of so many bytes; 0: of whatever size.
func notes(o *dovetail.Outlook, input int64) []string {
	var all []string
	if o.Runs < predict.Few {
		all = append(all, fmt.Sprintf("with %d of %d runs these are guesses; the first runs with a target try scale-outs out", o.Runs, predict.Few))
	}
	if input > 0 && o.InputSize == 0 {
		all = append(all, "no run that was learned from says how much it read: the input size changes nothing")
	}
	return all
}
