// Package predict answers: how long will a run take, at which scale-out, beside whom, and how sure is that?
//
// Everything is learned from finished runs alone: scale-out, runtime, overlaps with other job classes, input size. Models is the
// table of models: Ernest and Bell (Thamsen et al., "Selecting Resources for Distributed Dataflow Systems According to Runtime
// Targets", IPCCC 2016), CoBell (seed 001), and Bayesian models of our own that also say how sure they are.
//
// A model is fitted off the turns. What it says is written down as a dovetail.Outlook, a table of quantiles, which is all that the
// core evaluates: see Tabulate, Runtime and Select.
package predict

import (
	"fmt"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// Sample is a finished run: what it was given, and how long it took.
type Sample struct {
	ScaleOut float64            // replicas, averaged over time; at least 1
	Runtime  float64            // seconds, positive
	Input    float64            // bytes; 0: unknown
	Overlaps []dovetail.Overlap // with other job classes; in order of class
	Steps    []Step             // of a run whose scale-out varied: it is learned from through its integrated work; nil: it did not
}

// Step is a time during which the scale-out stood still.
type Step struct{ ScaleOut, Seconds float64 }

// At is the circumstances that a runtime is asked for.
type At struct {
	ScaleOut float64
	Input    float64 // bytes; 0: as in most samples
	Overlaps []dovetail.Overlap
}

// Distribution is what is known of a runtime.
type Distribution interface {
	// Quantile returns the runtime in seconds that is not exceeded with probability p in (0,1).
	Quantile(p float64) float64
	// AtMost returns the probability that the runtime is at most so many seconds.
	AtMost(seconds float64) float64
}

// Model predicts runtimes. It is pure: same question, same answer.
type Model interface {
	Predict(at At) Distribution
	Report() Report
}

// Report says what a model has learned.
type Report struct {
	Model      string      `json:"model"`
	Picked     string      `json:"picked,omitempty"` // by a model that chooses among others: which, and with which bandwidth
	Runs       int         `json:"runs"`             // learned from
	Dropped    int         `json:"dropped,omitempty"`
	SSE        float64     `json:"sse"` // sum of squared errors of the medians, in the weights of the fit
	Parameters []Parameter `json:"parameters,omitempty"`
	Notes      []string    `json:"notes,omitempty"` // for people: what the data does not determine, which runs were taken for wild
}

// Parameter is a fitted number. Class is the neighbour that it is about, if it is about one.
type Parameter struct {
	Name  string  `json:"name"`
	Class string  `json:"class,omitempty"`
	Value float64 `json:"value"`
}

// Options of a fit; the zero value is the default.
type Options struct {
	Unweighted bool // least squares of seconds, as in the papers; else relative to the runtime (weights 1/y²)
}

// Method is a way to fit a model. Fit needs at least one sample with a positive, finite runtime and a scale-out of at least 1; it drops
// others, and says how many.
type Method struct {
	Name string
	Text string // one line for people
	Fit  func(samples []Sample, o Options) (Model, error)
}

// Find returns the method with this name; the error lists the names there are.
func Find(name string) (Method, error) {
	var names []string
	for _, m := range Models() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Method{}, fmt.Errorf("unknown model %q; expected one of %s", name, strings.Join(names, ", "))
}

// Exactly is the distribution of a model that knows no spread: the runtime in seconds is what it says.
type Exactly float64

// Quantile returns the runtime, whatever p is.
func (e Exactly) Quantile(float64) float64 { return float64(e) }

// AtMost returns 1 from the runtime on, and 0 below it.
func (e Exactly) AtMost(seconds float64) float64 {
	if seconds < float64(e) {
		return 0
	}
	return 1
}
