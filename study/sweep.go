package study

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// Sweep says what is to be simulated: every configuration under every seed.
type Sweep struct {
	// Workload returns the jobs of a seed, sorted by submission. They are read by several simulations at once and never
	// changed. It is called once a seed, by a goroutine of the sweep, and the jobs are forgotten when the cells of the seed are done.
	Workload func(ctx context.Context, seed uint64) ([]trace.Job, error)
	Seeds    []uint64 // of the workload and of the faults
	Configs  []dovetail.Config
	Nodes    []dovetail.Node
	Zoe      bool // by the model of Zoe's own simulator (sim/zoe), on one machine with all that the nodes have

	Faults    sim.Faults
	Model     sim.Model // nil: sim.Linear
	Hash      bool      // Metrics.JournalHash is wanted
	Digests   bool      // Result.Digest is wanted: what pictures are drawn from
	Timelines bool      // with Digests: timelines are wanted as well; for small workloads

	Workers  int                          // cells that run at once; 0: as many as Go runs threads
	Keep     func(*report.Schedule) error // gets each schedule before it is forgotten, one at a time and in the order of the results; may be nil
	Progress func(Progress)               // called now and then, one call at a time; may be nil
}

// Progress is how far a sweep has come.
type Progress struct {
	Done, Total int     // cells
	Share       float64 // of all the work, in [0,1], with that of the cells under way
}

// Result is what is kept of a cell.
type Result struct {
	Metrics report.Metrics
	Digest  *report.Digest   // if asked for: some hundred kilobytes
	Refused []report.Refusal // jobs that were left out; the same ones in all cells of a seed
}

// Configs returns the configurations with each of these policies, allocators and choices of preemption, and everything else as in
// base, in this order of nesting.
func Configs(base dovetail.Config, policies, allocs []string, preempt []bool) []dovetail.Config {
	all := make([]dovetail.Config, 0, len(policies)*len(allocs)*len(preempt))
	for _, p := range policies {
		for _, a := range allocs {
			for _, pre := range preempt {
				c := base
				c.Policy, c.Alloc, c.Preempt = p, a, pre
				all = append(all, c)
			}
		}
	}
	return all
}

// Cells returns how many cells the sweep has.
func (s *Sweep) Cells() int { return len(s.Seeds) * len(s.Configs) }

// Run simulates all cells and returns their results: seed after seed, and for each seed in the order of Configs.
//
// Jobs that the empty cluster could never hold are left out: if one of the configurations is rigid, those whose core and elastic
// replicas do not all fit, and in every cell, so that cells are about the same jobs. It is an error if that leaves none.
//
// When the context ends or a cell fails, the other cells are broken off. Then the error is the cause, and the results are those of
// the cells that were done.
func (s *Sweep) Run(ctx context.Context) ([]Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	workers := s.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, s.Cells())
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := newRunner(s, workers)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			if err := r.work(ctx); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
	results := r.rest()
	switch {
	case r.failed != nil:
		return results, r.failed
	case len(results) < len(r.cells):
		return results, context.Cause(ctx)
	}
	return results, nil
}

// check returns what is wrong with the sweep before anything is simulated.
func (s *Sweep) check() error {
	if s.Cells() == 0 {
		return dovetail.Errorf(dovetail.Invalid, "there is nothing to simulate; expected at least one configuration and one seed")
	}
	if s.Zoe {
		return nil // zoe.Run knows its policies and allocators
	}
	for _, c := range s.Configs {
		if _, err := sched.New(c); err != nil {
			return err
		}
	}
	_, err := sim.NewCluster(s.Nodes, s.Model, s.Faults, 0, sim.Epoch())
	return err
}

// strictest returns the configuration that decides which jobs can be held: a rigid one if there is any.
func (s *Sweep) strictest() dovetail.Config {
	if i := slices.IndexFunc(s.Configs, func(c dovetail.Config) bool { return c.Alloc == "rigid" }); i >= 0 {
		return s.Configs[i]
	}
	return s.Configs[0]
}

// runner is a sweep under way.
type runner struct {
	*Sweep

	seeds []*workload
	room  chan struct{} // bounds how far cells may be ahead of the first one that is not done, and so the schedules that wait for Keep

	mu      sync.Mutex
	started int
	done    int
	first   int             // all cells below were kept
	failed  error           // why Keep could not; it is not called again
	cells   []cell          // in the order of results
	shares  map[int]float64 // of the work of cells under way
}

// cell is one simulation.
type cell struct {
	result   *Result          // nil: not done
	schedule *report.Schedule // until it is kept
}

func newRunner(s *Sweep, workers int) *runner {
	r := &runner{Sweep: s, room: make(chan struct{}, 2*workers), cells: make([]cell, s.Cells()), shares: make(map[int]float64)}
	for _, seed := range s.Seeds {
		r.seeds = append(r.seeds, &workload{seed: seed, left: len(s.Configs)})
	}
	return r
}

// work simulates cells until there are no more.
func (r *runner) work(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case r.room <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		i, ok := r.next()
		if !ok {
			break
		}
		w := r.seeds[i/len(r.Configs)]
		s, err := r.simulate(ctx, i, w)
		if err != nil {
			return err
		}
		result := &Result{Metrics: s.Metrics(), Refused: s.Refused}
		if r.Digests {
			result.Digest = s.Digest()
		}
		if err := r.finish(i, w, result, s); err != nil {
			return err
		}
	}
	return nil
}

// next returns the cell that is to be simulated next.
func (r *runner) next() (i int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i = r.started
	if i == len(r.cells) {
		return 0, false
	}
	r.started++
	return i, true
}

// finish takes the result of a cell, and keeps all schedules whose turn it is.
func (r *runner) finish(i int, w *workload, result *Result, s *report.Schedule) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	delete(r.shares, i)
	r.cells[i].result = result
	if r.Keep != nil {
		r.cells[i].schedule = s
	}
	if w.left--; w.left == 0 {
		w.jobs = nil
	}
	for r.first < len(r.cells) && r.cells[r.first].result != nil {
		r.keep(r.first)
		r.first++
		<-r.room
	}
	r.tell()
	return r.failed
}

// keep hands a schedule on and forgets it.
func (r *runner) keep(i int) {
	s := r.cells[i].schedule
	r.cells[i].schedule = nil
	if s != nil && r.failed == nil {
		r.failed = r.Keep(s)
	}
}

// rest keeps the schedules of cells behind one that is missing, and returns all results that there are.
func (r *runner) rest() []Result {
	results := make([]Result, 0, r.done)
	for i := range r.cells {
		if r.cells[i].result != nil {
			r.keep(i)
			results = append(results, *r.cells[i].result)
		}
	}
	return results
}

// advance notes how far a cell has come.
func (r *runner) advance(i int, share float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shares[i] = share
	r.tell()
}

// tell reports the progress.
func (r *runner) tell() {
	if r.Progress == nil {
		return
	}
	sum := float64(r.done)
	for i := r.first; i < r.started; i++ { // in order: floating-point sums depend on it
		sum += r.shares[i]
	}
	r.Progress(Progress{Done: r.done, Total: len(r.cells), Share: sum / float64(len(r.cells))})
}
