package trace

import (
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// Generator draws workloads from published distributions.
type Generator struct {
	Name      string
	Doc       string                         // one line for people
	Default   int                            // how many jobs the published workload has
	Generate  func(seed uint64, n int) []Job // the first n jobs; the same seed gives the same jobs, whatever n is
	Published []Marginal                     // what its source says about it
	Notes     []string                       // what has to be known to judge the comparison, a sentence or two each
}

// Marginal is one published figure about a workload, and how to measure it.
type Marginal struct {
	Name      string
	Published string  // as the source says it
	Low, High float64 // a measured value in [Low,High] agrees with that, if the workload has its default number of jobs
	Unit      string  // of Low, High and Measure; empty: a plain number
	Source    string
	Measure   func([]Job) float64
}

// Comparison is one published figure next to that of a workload.
type Comparison struct {
	Name      string  `json:"name"`
	Published string  `json:"published"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Measured  float64 `json:"measured"`
	Unit      string  `json:"unit,omitempty"`
	Agrees    bool    `json:"agrees"`
	Source    string  `json:"source"`
}

// maxGenerated bounds how many jobs are generated at once: so many of a task trace take some gigabytes.
const maxGenerated = 1_000_000

// Generators returns all generators, in the order in which people are shown them.
func Generators() []Generator {
	return []Generator{
		zoe(), zoeBatch(), zoeInelastic(), zoeTestbed(), yahoo(), google(), poisson(), gaussian(), diurnal(),
	}
}

// Generate draws a workload of n jobs, or of the generator's default number of jobs if n is 0. It fails when there is no
// such generator, and when n is negative or too large.
func Generate(name string, seed uint64, n int) (*Workload, error) {
	all := Generators()
	i := slices.IndexFunc(all, func(g Generator) bool { return g.Name == name })
	switch {
	case i < 0:
		names := make([]string, len(all))
		for k := range all {
			names[k] = all[k].Name
		}
		return nil, dovetail.Errorf(dovetail.Invalid, "there is no workload %q; choose one of %s", name, strings.Join(names, ", "))
	case n < 0:
		return nil, dovetail.Errorf(dovetail.Invalid, "cannot generate %d jobs; ask for 1 or more, or 0 for the published %d",
			n, all[i].Default)
	case n > maxGenerated:
		return nil, dovetail.Errorf(dovetail.Invalid, "cannot generate %d jobs; ask for at most %d", n, maxGenerated)
	case n == 0:
		n = all[i].Default
	}
	return &Workload{Name: name, Format: "generated", Jobs: all[i].Generate(seed, n)}, nil
}

// Compare measures a workload against what was published about it.
func Compare(jobs []Job, published []Marginal) []Comparison {
	found := make([]Comparison, len(published))
	for i, m := range published {
		v := m.Measure(jobs)
		found[i] = Comparison{m.Name, m.Published, m.Low, m.High, v, m.Unit, m.Low <= v && v <= m.High, m.Source}
	}
	return found
}
