package study

import (
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// The parts of the evaluation of CoBell, which Cobell.Only names.
const (
	CobellModels = "models" // seed 001, section IV-E1: how well models fit
	CobellTarget = "target" // section IV-E2: do runs meet their target
	CobellData   = "data"   // real runs: how well are runtimes foretold that no model has seen
)

// The scale of the evaluation.
const (
	CobellSeeds       = 30 // data sets of the first experiment
	CobellRepetitions = 5  // of each pair of jobs in the second
)

// Cobell reruns the evaluation of CoBell (seed 001, section IV-E) on synthetic runs, the second experiment through Dovetail's own core, and
// judges its statements; and measures models on real runs (Runtimes).
type Cobell struct {
	Seeds       int       // of the first experiment, from 1 on
	Repetitions int       // of the second, from 1 on
	Only        []string  // parts; empty: all for which there is what they need
	Bell, C3O   io.Reader // files of real runs, as Runtimes wants them; nil: without them

	// Store returns a new store that keeps the history of one play of the second experiment.
	Store func() Memory

	Workers  int              // that compute at once; 0: as many as Go runs threads
	Progress func(p Progress) // called now and then, one call at a time; may be nil
}

// Memory is a store that answers questions about what it keeps.
type Memory interface {
	engine.Store
	engine.Reader
}

// CobellEvaluation is what came out.
type CobellEvaluation struct {
	Seeds       int             `json:"seeds"`
	Repetitions int             `json:"repetitions"`
	Claims      []Claim         `json:"claims"`
	Errors      []ModelErrors   `json:"errors,omitempty"`   // of the first experiment
	Policies    []TargetRow     `json:"policies,omitempty"` // of the second
	Runs        []TargetRun     `json:"runs,omitempty"`     // behind them
	Data        *RuntimesResult `json:"data,omitempty"`
}

// CobellParts returns what Only may ask for.
func CobellParts() []string { return []string{CobellModels, CobellTarget, CobellData} }

func (c *Cobell) wants(part string) bool {
	if len(c.Only) == 0 {
		return part != CobellData || c.Bell != nil || c.C3O != nil
	}
	return slices.Contains(c.Only, part)
}

// check returns what is wrong with what is asked for.
func (c *Cobell) check() error {
	for _, part := range c.Only {
		if !slices.Contains(CobellParts(), part) {
			return dovetail.Errorf(dovetail.Invalid, "there is no part %q; choose from %s", part, strings.Join(CobellParts(), ", "))
		}
	}
	if c.Seeds < 1 || c.Repetitions < 1 {
		return dovetail.Errorf(dovetail.Invalid, "%d seeds and %d repetitions; expected one of each or more", c.Seeds, c.Repetitions)
	}
	return nil
}

// Run computes the parts that are wanted. When the context ends it returns what is done, together with the context's cause; claims of
// parts that are not done are then not judged; those of parts that are not wanted are left out. It fails with dovetail.Invalid if there is no such part.
func (c *Cobell) Run(ctx context.Context) (*CobellEvaluation, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	e := &CobellEvaluation{Seeds: c.Seeds, Repetitions: c.Repetitions}
	var whole CobellEvaluation // the parts that are done: by half of one nothing is judged
	var err error
	if c.wants(CobellModels) {
		e.Errors, err = c.models(ctx, &cobellProgress{tell: c.Progress, total: c.Seeds})
		whole.Errors = e.Errors
	}
	if err == nil && c.wants(CobellTarget) {
		e.Runs, err = c.target(ctx)
		e.Policies = targetRows(e.Runs)
		if err == nil {
			whole.Runs = e.Runs
		}
	}
	if err == nil && c.wants(CobellData) {
		e.Data, err = (&Runtimes{Bell: c.Bell, C3O: c.C3O, Seed: 1, Workers: c.Workers, Progress: c.Progress}).Run(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	e.Claims = judged(&whole, cobellClaims())
	if err == nil { // what is missing was not asked for
		e.Claims = slices.DeleteFunc(e.Claims, func(c Claim) bool { return c.Verdict == NotJudged })
	}
	return e, err
}

// cobellProgress counts what is done of a part.
type cobellProgress struct {
	tell  func(Progress)
	mu    sync.Mutex
	done  int
	total int
}

func (p *cobellProgress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.tell != nil {
		p.tell(Progress{Done: p.done, Total: p.total, Share: float64(p.done) / float64(p.total)})
	}
}

// each calls f for 0 … n−1, some at once. The first error, or the end of the context, ends it.
func each(ctx context.Context, workers, n int, f func(ctx context.Context, i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
