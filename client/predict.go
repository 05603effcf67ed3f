package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// PredictQuery asks for the runtimes of an application or a job class; zero fields leave things as they are.
type PredictQuery struct {
	App        string             // with its parameters
	Params     map[string]string  // those that differ from their defaults
	Class      string             // in place of both
	InputSize  int64              // bytes that the run reads
	Low, High  int                // scale-outs
	Beside     []dovetail.Overlap // neighbours
	Target     time.Duration      // wanted runtime
	Confidence float64            // with which probability it is to be met; 0 means 0.9
}

// Predict says how long runs will take by scale-out, and which scale-out meets the target if there is one. Of what nothing is known it
// is a dovetail.NotFound error.
func (c *Client) Predict(ctx context.Context, q PredictQuery) (dovetail.Curve, error) {
	v := url.Values{}
	set(v, "app", q.App)
	set(v, "class", q.Class)
	for name, value := range q.Params {
		v.Add("param", name+"="+value)
	}
	setInt(v, "inputSize", q.InputSize)
	setInt(v, "low", int64(q.Low))
	setInt(v, "high", int64(q.High))
	for _, o := range q.Beside {
		v.Add("beside", o.Class+"="+strconv.FormatFloat(o.Ratio, 'g', -1, 64))
	}
	if q.Target > 0 {
		v.Set("target", q.Target.String())
		if q.Confidence > 0 {
			v.Set("confidence", strconv.FormatFloat(q.Confidence, 'g', -1, 64))
		}
	}
	var curve dovetail.Curve
	err := c.get(ctx, "/v1/predictions", v, &curve)
	return curve, err
}

// Models says what predictions of an application rest on, or of one job class of it. It takes a while: every run is predicted from all
// others.
func (c *Client) Models(ctx context.Context, app, class string) ([]dovetail.ClassModel, error) {
	v := url.Values{}
	set(v, "app", app)
	set(v, "class", class)
	var answer struct {
		Models []dovetail.ClassModel `json:"models"`
	}
	err := c.get(ctx, "/v1/models", v, &answer)
	return answer.Models, err
}
