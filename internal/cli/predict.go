package cli

import (
	"context"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/report"
)

// predictOptions is what `dovetail predict` was asked.
type predictOptions struct {
	App        string             // asked of a daemon
	Data       string             // or of this file of finished runs, with no daemon
	Class      string             // one of several
	Params     map[string]string  // of the application
	Model      string             // of a file
	Unweighted bool               // likewise
	Scale      scaleRange         // zero: what there is
	Overlap    float64            // with the one neighbour of a file
	Beside     []dovetail.Overlap // in the order given
	InputSize  int64              // bytes; 0: as in the runs
	Target     time.Duration      // 0: none
	Confidence float64
	Plot       string // file for a picture
	Surface    bool   // with the surface over overlap
}

// scaleRange is scale-outs from one to another.
type scaleRange struct{ Low, High int }

// defaultConfidence is with which probability a target is to be met unless somebody says otherwise.
const defaultConfidence = 0.9

func newPredict(e *environment, run func(context.Context, *predictOptions) error) *cobra.Command {
	o := predictOptions{Confidence: defaultConfidence}
	var in predictWords
	cmd := &cobra.Command{
		Use:   "predict [APP]",
		Short: "Say how long runs will take by scale-out, and which scale-out meets a target",
		Long: `Say how long runs will take by scale-out: the median, the intervals that 80 % and 95 % of runs lie in, and the cost.
With --target also how likely each scale-out meets it, and the smallest that does with the confidence wanted.

With APP the daemon answers, from the finished runs of that application. With --data it needs no daemon: the runs are
in a CSV file with the columns scale_out,runtime_s[,overlap][,neighbour][,input_size], and --model says how to learn
from them. docs/predict.md explains models, overlap and confidence.`,
		Example: `  dovetail predict wordcount --target 350s
  dovetail predict wordcount -p input=large --beside sgd=0.5 --plot wordcount.svg
  dovetail predict --class 'wordcount?input=large'
  dovetail predict --data runs.csv --model bayes-cobell --scale 4..24 --overlap 0.5 --target 350s --confidence 0.9
  dovetail predict --data runs.csv --model ernest --weights none -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("expected one application, got %s", plural(len(args), "argument", "arguments"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.App = args[0]
			}
			if err := in.read(cmd, &o); err != nil {
				return err
			}
			return orDefault(run, e.predict)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Data, "data", "", "learn from the runs in this `file` (CSV, - for standard input), with no daemon")
	f.StringVar(&o.Class, "class", "", "this `job class` in place of an APP; with --data, of several this one")
	f.StringArrayVarP(&in.params, "param", "p", nil, "a parameter of the application: `param=value`; may be repeated")
	f.StringVar(&o.Model, "model", "bayes-cobell", "with --data: "+strings.Join(modelNames(), ", "))
	f.StringVar(&in.weights, "weights", "relative", "with --data: relative, or none as in the papers (least squares of seconds)")
	f.StringVar(&in.scale, "scale", "", "scale-outs, such as 4..24 (default: those of the runs, or what the application can have)")
	f.Float64Var(&o.Overlap, "overlap", 0, "with --data: share of the run that its neighbour runs beside it")
	f.StringArrayVar(&in.beside, "beside", nil, "another `class[=ratio]` runs beside it for this share of its time (default: 1); may be repeated")
	f.StringVar(&in.input, "input-size", "", "`bytes` that the run reads, such as 24GB")
	f.StringVar(&in.target, "target", "", "the wanted `runtime`, such as 350s")
	f.Float64Var(&o.Confidence, "confidence", defaultConfidence, "with which probability the target is to be met")
	f.StringVar(&o.Plot, "plot", "", "draw the curve and the runs into this `file`, .svg or .png")
	f.BoolVar(&o.Surface, "surface", false, "with --plot: the surface over scale-out and overlap as well")
	complete(cmd, map[string][]string{"model": modelNames(), "weights": {"relative", "none"}})
	return cmd
}

func modelNames() []string {
	var names []string
	for _, m := range predict.Models() {
		names = append(names, m.Name)
	}
	return names
}

// predictWords is what was typed for options that are not words.
type predictWords struct {
	params, beside                []string
	weights, scale, input, target string
}

// read turns words into options and refuses what does not go together.
func (w *predictWords) read(cmd *cobra.Command, o *predictOptions) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	switch {
	case o.App == "" && o.Data == "" && o.Class == "":
		return usagef("expected an APP that the daemon knows, or --data FILE with finished runs")
	case o.App != "" && o.Class != "":
		return usagef("a job class says which application it is of, with its parameters; give %s or --class", o.App)
	case o.Data == "" && o.Class != "" && len(w.params) > 0:
		return usagef("a job class has its parameters in its name; leave --param out")
	case o.App != "" && o.Data != "":
		return usagef("the daemon answers for %s, and no daemon is needed for --data; give one of them", o.App)
	case o.Data == "" && (given("model") || given("weights") || given("overlap")):
		return usagef("--model, --weights and --overlap go with --data; the daemon chooses its model, and --beside names the neighbour")
	case o.Data != "" && len(w.params) > 0:
		return usagef("--param goes with an APP; to choose among the runs of a file use --class")
	case w.weights != "relative" && w.weights != "none":
		return usagef("--weights %q: expected relative or none", w.weights)
	case w.weights == "none" && strings.HasPrefix(o.Model, "bayes-"):
		return usagef("--weights none goes with a fit by least squares; the noise of %s is relative to the runtime", o.Model)
	case !(o.Overlap >= 0 && o.Overlap <= 1):
		return usagef("--overlap %v: expected a share between 0 and 1", o.Overlap)
	case o.Overlap > 0 && len(w.beside) > 0:
		return usagef("--overlap is about the one neighbour of a file, --beside names neighbours; give one of them")
	case o.Surface && o.Plot == "":
		return usagef("--surface is a part of a picture; say where with --plot FILE")
	case o.Plot != "" && !isPicture(o.Plot):
		return usagef("--plot %s: expected a name that ends in .svg or .png", o.Plot)
	}
	o.Unweighted = w.weights == "none"
	var err error
	if o.Scale, err = parseScale(w.scale); err != nil {
		return err
	}
	if o.Params, err = assignments(w.params); err != nil {
		return err
	}
	if o.Beside, err = parseBeside(w.beside); err != nil {
		return err
	}
	if o.InputSize, err = parseInputSize(w.input); err != nil {
		return err
	}
	o.Target, err = parseTarget(w.target, o.Confidence, given("confidence"))
	return err
}

// parseTarget reads a target and checks the confidence that goes with it.
func parseTarget(target string, confidence float64, given bool) (time.Duration, error) {
	if given && !(confidence > 0 && confidence < 1) {
		return 0, usagef("--confidence %v: expected a probability between 0 and 1, such as 0.9", confidence)
	}
	if target == "" {
		if given {
			return 0, usagef("--confidence says how sure a target is to be met; give the --target too")
		}
		return 0, nil
	}
	d, err := time.ParseDuration(target)
	if err != nil || d <= 0 {
		return 0, usagef("--target %q: expected a length of time above 0, such as 350s, 5m or 1h30m", target)
	}
	return d, nil
}

// mostScaleOuts bounds a table.
const mostScaleOuts = 1000

// parseScale reads 4..24, or 8 alone.
func parseScale(s string) (scaleRange, error) {
	if s == "" {
		return scaleRange{}, nil
	}
	low, high, ranged := strings.Cut(s, "..")
	if !ranged {
		high = low
	}
	a, errA := strconv.Atoi(low)
	b, errB := strconv.Atoi(high)
	if errA != nil || errB != nil || a < 1 || b < a {
		return scaleRange{}, usagef("--scale %q: expected scale-outs from 1 on, such as 4..24", s)
	}
	if b-a >= mostScaleOuts {
		return scaleRange{}, usagef("--scale %s are %d scale-outs; ask for %d at most", s, b-a+1, mostScaleOuts)
	}
	return scaleRange{a, b}, nil
}

// all returns the scale-outs, rising.
func (r scaleRange) all() []int {
	var xs []int
	for x := r.Low; x <= r.High; x++ {
		xs = append(xs, x)
	}
	return xs
}

// parseBeside reads neighbours with the share of the time that they are there.
func parseBeside(words []string) ([]dovetail.Overlap, error) {
	var all []dovetail.Overlap
	for _, w := range words {
		n := dovetail.Overlap{Class: w, Ratio: 1}
		var err error
		if i := strings.LastIndexByte(w, '='); i >= 0 && !endsInParam(w[:i]) {
			n.Class = w[:i]
			n.Ratio, err = strconv.ParseFloat(w[i+1:], 64)
		}
		if err != nil || n.Class == "" || !(n.Ratio >= 0 && n.Ratio <= mostOverlap) {
			return nil, usagef("--beside %q: expected a class, and a share of the time of 0 or more, such as sgd=0.5", w)
		}
		for _, other := range all {
			if other.Class == n.Class {
				return nil, usagef("--beside %s is given twice; several runs of a class add up, such as %s=2", n.Class, n.Class)
			}
		}
		all = append(all, n)
	}
	return all, nil
}

// mostOverlap is how many runs of one class may be beside another.
const mostOverlap = 1000

// endsInParam reports whether a class ends in the name of a parameter, so that what follows is its value: wordcount?top.
func endsInParam(class string) bool {
	i := strings.LastIndexAny(class, "?&")
	return i >= 0 && !strings.Contains(class[i:], "=")
}

func isPicture(file string) bool {
	ext := strings.ToLower(filepath.Ext(file))
	return ext == ".svg" || ext == ".png"
}

// drawCurve writes a picture into a file, which it replaces.
func (e *environment) drawCurve(file string, c *report.Curve) error {
	f, err := c.Figure()
	if err != nil {
		return err
	}
	return e.drawFigure(file, f)
}

// drawFigure writes a picture into a file, which it replaces: as PNG if its name says so, else as SVG.
func (e *environment) drawFigure(file string, f report.Figure) error {
	fill := f.WriteSVG
	if strings.EqualFold(filepath.Ext(file), ".png") {
		fill = f.WritePNG
	}
	out := fileOutput{File: file, Force: true}
	if err := out.write(io.Discard, fill); err != nil {
		return err
	}
	e.note("The picture is in %s.", file)
	return nil
}

func (e *environment) predict(ctx context.Context, o *predictOptions) error {
	if o.Data != "" {
		return e.predictFile(ctx, o)
	}
	return e.predictApp(ctx, o)
}
