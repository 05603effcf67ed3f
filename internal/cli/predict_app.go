package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/report"
)

// predictApp asks the daemon how long runs of an application will take.
func (e *environment) predictApp(ctx context.Context, o *predictOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	q := client.PredictQuery{
		App: o.App, Params: o.Params, Class: o.Class, InputSize: o.InputSize, Low: o.Scale.Low, High: o.Scale.High, Beside: o.Beside,
		Target: o.Target,
	}
	if o.Target > 0 {
		q.Confidence = o.Confidence
	}
	curve, err := c.Predict(ctx, q)
	if err != nil {
		return err
	}
	if o.Plot != "" {
		if err := e.plotApp(ctx, c, o, q, &curve); err != nil {
			return err
		}
	}
	return e.show(&curve, func(w io.Writer) error {
		err := list(w, e.paint, withNotes(&curve,
			[2]string{"Class", printable(curve.Class)},
			[2]string{"Model", fmt.Sprintf("%s, learned from %s", curve.Model, plural(curve.Runs, "run", "runs"))},
			[2]string{"Input", inputText(curve.InputSize)},
			[2]string{"Beside", besideText(curve.Overlaps)},
		)...)
		if err != nil {
			return err
		}
		return e.writeCurve(w, &curve)
	})
}

func inputText(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return bytesText(bytes)
}

// plotApp draws a curve of the daemon with the runs that are in its history.
func (e *environment) plotApp(ctx context.Context, c *client.Client, o *predictOptions, q client.PredictQuery, curve *dovetail.Curve) error {
	samples, err := pastRuns(ctx, c, curve.Class)
	if err != nil {
		return err
	}
	picture := report.Curve{Title: "Runtime" + ofClass(curve.Class), Curve: *curve, Runs: drawn(samples)}
	if o.Surface {
		if picture.Surface, err = askSurface(ctx, c, q, curve, met(samples)); err != nil {
			return err
		}
	}
	return e.drawCurve(o.Plot, &picture)
}

// mostDrawn bounds the runs of a picture: the newest.
const mostDrawn = 200

// pastRuns returns the newest finished runs of a class that are learned from.
func pastRuns(ctx context.Context, c *client.Client, class string) ([]predict.Sample, error) {
	all, err := c.History(ctx, client.HistoryQuery{Class: class, Limit: mostDrawn, Learn: true})
	if err != nil {
		return nil, err
	}
	past := make([]dovetail.Past, len(all))
	for i := range all {
		past[i] = learn.PastOf(&all[i])
	}
	return learn.Samples(past), nil
}

// askSurface asks for medians over the overlap with the neighbour that a curve is about, or with the only one there is.
func askSurface(ctx context.Context, c *client.Client, q client.PredictQuery, curve *dovetail.Curve, met []string) (*report.Surface, error) {
	beside, err := besideOf(curve, met)
	if err != nil {
		return nil, err
	}
	s := &report.Surface{Beside: beside}
	q.App, q.Params, q.Class, q.Target, q.Confidence = "", nil, curve.Class, 0, 0
	for i := range surfaceSteps + 1 {
		ratio := float64(i) / surfaceSteps
		q.Beside = []dovetail.Overlap{{Class: beside, Ratio: ratio}}
		there, err := c.Predict(ctx, q)
		if err != nil {
			return nil, err
		}
		row := make([]float64, len(there.Points))
		for k := range there.Points {
			row[k] = there.Points[k].Median
		}
		s.Overlaps, s.Seconds = append(s.Overlaps, ratio), append(s.Seconds, row)
	}
	return s, nil
}
