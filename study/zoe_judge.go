package study

import (
	"cmp"
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail/report"
)

// Verdict says whether a statement holds here.
type Verdict string

// The verdicts on a claim. It is reproduced if all of its checks hold, partly if some do, and not if none does.
const (
	Reproduced    Verdict = "reproduced"
	Partly        Verdict = "partly"
	NotReproduced Verdict = "not reproduced"
	NotJudged     Verdict = "not judged" // some of its cells are missing, or it is about the full scale only
)

// Claim is a statement of the seed about its evaluation.
type Claim struct {
	ID         string  `json:"id"`
	Where      string  `json:"where"`                // in seed 004
	Words      string  `json:"words"`                // the seed's, literally; … stands for what is left out
	Calibrated string  `json:"calibrated,omitempty"` // what of our workload was chosen with this statement in view: then agreement proves little
	Why        string  `json:"why,omitempty"`        // our reading of the run that ZoeEvaluation.ReasonsOf names; only with a verdict as there
	Checks     []Check `json:"checks"`
	Verdict    Verdict `json:"verdict"`
	Missing    string  `json:"missing,omitempty"` // why it is not judged, if cells are missing
}

// Check is one figure that a claim is judged by. It holds if the mean over seeds is in [Low,High].
type Check struct {
	What  string          `json:"what"`
	Unit  string          `json:"unit,omitempty"` // empty: a ratio
	Seed  string          `json:"seed"`           // the seed's figure, or what it says
	Low   *float64        `json:"low,omitempty"`  // nil: no bound
	High  *float64        `json:"high,omitempty"`
	Full  bool            `json:"fullScaleOnly,omitempty"` // it is shown at a small scale, but not judged
	Value report.Interval `json:"value"`                   // over seeds; N is 0 if it was not measured
	Holds bool            `json:"holds"`
	Clear bool            `json:"clear"` // the interval does not reach across a bound

	judged bool
	needs  []at
	of     func(cells []*ZoeCell) float64 // of one seed, in the order of needs
}

// evidence finds cells.
type evidence struct {
	cells  map[at]map[uint64]*ZoeCell
	seeds  map[string]int    // how many each part has, by name
	failed map[string]string // why a part failed, by name
}

func newEvidence(cells []ZoeCell) *evidence {
	e := &evidence{cells: make(map[at]map[uint64]*ZoeCell)}
	for i := range cells {
		c := &cells[i]
		a := at{c.Part, c.Policy, c.Alloc, c.Preempt}
		if e.cells[a] == nil {
			e.cells[a] = make(map[uint64]*ZoeCell)
		}
		e.cells[a][c.Seed] = c
	}
	return e
}

// values returns a figure for each seed for which all the cells are there and the figure is finite, in order of seeds.
func (e *evidence) values(needs []at, of func([]*ZoeCell) float64) []float64 {
	var seeds []uint64
	for seed := range e.cells[needs[0]] {
		seeds = append(seeds, seed)
	}
	slices.Sort(seeds)
	var values []float64
	for _, seed := range seeds {
		var cells []*ZoeCell
		for _, a := range needs {
			if c := e.cells[a][seed]; c != nil {
				cells = append(cells, c)
			}
		}
		if len(cells) < len(needs) {
			continue
		}
		if v := of(cells); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return values
}

// complete reports whether these settings were simulated on all seeds of their parts.
func (e *evidence) complete(needs []at) bool {
	return !slices.ContainsFunc(needs, func(a at) bool { return len(e.cells[a]) < e.seeds[a.part] })
}

// missing says why a claim cannot be judged: a part that it needs failed, or a check lacks cells, be it of one seed only. It is empty
// if the claim can be judged.
func (e *evidence) missing(c *Claim) string {
	for i := range c.Checks {
		needs := c.Checks[i].needs
		for _, a := range needs {
			if why := e.failed[a.part]; why != "" {
				return why
			}
		}
		if !e.complete(needs) {
			return "some of its cells are missing"
		}
	}
	return ""
}

// judge measures and decides.
func (c *Claim) judge(e *evidence, full bool) {
	for i := range c.Checks {
		k := &c.Checks[i]
		k.measure(e.values(k.needs, k.of))
		k.judged = k.Value.N > 0 && e.complete(k.needs) && (full || !k.Full)
	}
	c.conclude()
	if c.Missing = e.missing(c); c.Missing != "" {
		c.Verdict = NotJudged
	}
}

// measure notes what was measured, one value for each seed, and whether that is as expected.
func (c *Check) measure(values []float64) {
	if len(values) == 0 {
		return
	}
	c.Value = report.Estimate(values)
	c.Holds = c.within(c.Value.Mean)
	c.Clear = c.within(c.Value.Low) == c.Holds && c.within(c.Value.High) == c.Holds
	c.judged = true
}

// conclude gives the verdict by the checks that are judged.
func (c *Claim) conclude() {
	judged, held := 0, 0
	for i := range c.Checks {
		if k := &c.Checks[i]; k.judged {
			judged++
			if k.Holds {
				held++
			}
		}
	}
	switch {
	case judged == 0:
		c.Verdict = NotJudged
	case held == judged:
		c.Verdict = Reproduced
	case held == 0:
		c.Verdict = NotReproduced
	default:
		c.Verdict = Partly
	}
}

func (c *Check) within(v float64) bool {
	return (c.Low == nil || v >= *c.Low) && (c.High == nil || v <= *c.High)
}

// compare orders settings as reports show them: by policy, then by allocator.
func (a at) compare(b at) int {
	return cmp.Or(
		cmp.Compare(slices.Index(zoeSizes(), a.policy), slices.Index(zoeSizes(), b.policy)),
		cmp.Compare(slices.Index(zoeAllocs(), a.alloc), slices.Index(zoeAllocs(), b.alloc)),
		compareBool(a.preempt, b.preempt),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// zoePolicies returns the policies of §10.2.
func zoePolicies() []string { return []string{"fifo", "sjf", "srpt", "hrrn"} }

// zoeSizes returns the policies with all definitions of size, table 10.3a.
func zoeSizes() []string {
	return []string{
		"fifo", "sjf", "sjf-2d", "sjf-3d", "srpt", "srpt-2d1", "srpt-2d2", "srpt-3d1", "srpt-3d2", "hrrn", "hrrn-2d", "hrrn-3d",
	}
}

func zoeAllocs() []string { return []string{"rigid", "malleable", "flexible"} }
