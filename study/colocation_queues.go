package study

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
)

// The ways to choose that are compared.
const (
	armFIFO    = "FIFO"
	armRandom  = "random"
	armGreedy  = "argmax"
	armRA      = "RA"
	armRAStar  = "RA*"
	armCold    = "price, nothing known"
	armPrice   = "price"
	armGoesOn  = "price, learning on"
	armWary    = "random, slowdown 1.3"
	armCareful = "RA*, slowdown 1.3"
	armOracle  = "oracle"
)

// arm is a way to choose.
type arm struct {
	name     string
	choose   string
	knows    bool // what one earlier pass of RA taught
	saw      bool // the finished runs of one earlier pass of RA
	truth    bool // the true rates
	learns   bool // from its own finished runs
	slowdown float64
}

// arms returns those that are compared on the queues of the seed.
func arms() []arm {
	return []arm{
		{name: armFIFO},
		{name: armRandom, choose: "random"},
		{name: armGreedy, choose: "greedy"},
		{name: armRA, choose: "bandit"},
		{name: armRAStar, choose: "bandit", knows: true},
		{name: armCold, choose: "price", learns: true},
		{name: armPrice, choose: "price", knows: true},
		{name: armGoesOn, choose: "price", saw: true, learns: true},
		{name: armOracle, choose: "price", truth: true},
	}
}

// some returns the arms of these names.
func some(names ...string) []arm {
	all := append(arms(),
		arm{name: armWary, choose: "random", knows: true, slowdown: 1.3}, arm{name: armCareful, choose: "bandit", knows: true, slowdown: 1.3})
	return slices.DeleteFunc(all, func(a arm) bool { return !slices.Contains(names, a.name) })
}

// earlierSeed is added to a seed for the pass that teaches: other runtimes, other nodes and other draws.
const earlierSeed = 1000

// setting is where arms are compared.
type setting struct {
	part   string
	world  *contended
	queue  string
	kinds  []int // of the queue; nil: they are drawn anew for each seed
	window int
	seed   uint64
	arms   []arm
}

// QueueRun is one play of a queue.
type QueueRun struct {
	Part       string  `json:"part"`
	World      string  `json:"world"`
	Queue      string  `json:"queue"`
	Straggler  float64 `json:"straggler"`
	Window     int     `json:"window"`
	Policy     string  `json:"policy"`
	Seed       uint64  `json:"seed"`
	Minutes    float64 `json:"minutes"`           // until the last job was done
	Turnaround float64 `json:"turnaroundMinutes"` // mean
	Gain       float64 `json:"gainPercent"`       // of Minutes over FIFO
	Harmed     float64 `json:"harmedHours"`       // node-hours of two runs of the kind that harms itself on one node
}

// QueueRow is a policy over seeds.
type QueueRow struct {
	Part      string          `json:"part"`
	World     string          `json:"world"`
	Queue     string          `json:"queue"`
	Straggler float64         `json:"straggler"`
	Window    int             `json:"window"`
	Policy    string          `json:"policy"`
	Minutes   report.Interval `json:"minutes"`
	Gain      report.Interval `json:"gainPercent"`
	Stay      report.Interval `json:"turnaroundGainPercent"`
	Harmed    report.Interval `json:"harmedHours"`
}

// lpBound is the name under which the bound of the linear program is listed.
const lpBound = "LP bound"

// play plays one arm.
func (s *setting) play(ctx context.Context, a *arm, taught *colocationOutcome, store Memory) (*colocationOutcome, error) {
	p := colocationPlay{
		world: s.world, queue: s.kinds, nodes: colocationNodes, window: s.window, seed: s.seed, choose: a.choose, learns: a.learns, slowdown: a.slowdown,
	}
	switch {
	case a.knows:
		p.known = taught.known
	case a.saw:
		p.past = taught.past
	case a.truth:
		p.known = s.world.truth()
	}
	out, err := p.run(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("%s, queue %s, seed %d: %w", a.name, s.queue, s.seed, err)
	}
	return out, nil
}

// teach returns the outcome of the earlier pass, with RA.
func (s *setting) teach(ctx context.Context, store Memory) (*colocationOutcome, error) {
	earlier := *s
	earlier.seed += earlierSeed
	return earlier.play(ctx, &arm{name: "the earlier pass", choose: "bandit", learns: true}, nil, store)
}

// shuffled returns the kinds of a queue of random order.
func (w *contended) shuffled(seed uint64) []int {
	kinds := w.queue(colocationJobs/len(w.kinds), 1)
	rand.New(rand.NewPCG(seed, 7)).Shuffle(len(kinds), func(i, k int) { kinds[i], kinds[k] = kinds[k], kinds[i] })
	return kinds
}

// compared is what came out of a setting.
type compared struct {
	runs     []QueueRun
	outcomes map[string]*colocationOutcome
	taught   *colocationOutcome
}

// run plays every arm, and solves the linear program.
func (s setting) run(ctx context.Context, store func() Memory) (*compared, error) {
	if s.kinds == nil {
		s.kinds = s.world.shuffled(s.seed)
	}
	found := &compared{outcomes: make(map[string]*colocationOutcome)}
	var err error
	if found.taught, err = s.teach(ctx, store()); err != nil {
		return nil, err
	}
	row := QueueRun{Part: s.part, World: s.world.name, Queue: s.queue, Straggler: s.world.straggler, Window: s.window, Seed: s.seed}
	fifo := 0.0
	for i := range s.arms {
		a := &s.arms[i]
		out, err := s.play(ctx, a, found.taught, store())
		if err != nil {
			return nil, err
		}
		if a.name == armFIFO {
			fifo = out.minutes
		}
		self := s.world.kinds[0].name
		row.Policy, row.Minutes, row.Turnaround = a.name, out.minutes, out.turnaround
		row.Gain, row.Harmed = 100*(1-out.minutes/fifo), out.beside[[2]string{self, self}]/3600
		found.runs = append(found.runs, row)
		found.outcomes[a.name] = out
	}
	row.Policy, row.Turnaround, row.Harmed = lpBound, 0, 0
	if row.Minutes, err = s.bound(); err != nil {
		return nil, err
	}
	row.Gain = 100 * (1 - row.Minutes/fifo)
	found.runs = append(found.runs, row)
	return found, nil
}

// truth returns the true rates as evidence that leaves no doubt.
func (w *contended) truth() []dovetail.KnownClass {
	const runs, seconds = 1000, 1e6
	m := w.rates()
	var all []dovetail.KnownClass
	for a, kind := range w.kinds {
		e := dovetail.Evidence{Class: kind.name, Runs: runs, Until: sim.Epoch()}
		alone := w.alone(a)
		e.Rates = append(e.Rates, dovetail.Rate{Rate: alone, Low: alone, High: alone, Runs: runs, Seconds: seconds})
		for b, beside := range w.kinds {
			e.Rates = append(e.Rates, dovetail.Rate{Beside: beside.name, Rate: m[a][b], Low: m[a][b], High: m[a][b], Runs: runs, Seconds: seconds})
		}
		slices.SortFunc(e.Rates, func(a, b dovetail.Rate) int { return cmp.Compare(a.Beside, b.Beside) })
		all = append(all, dovetail.KnownClass{Class: kind.name, Seen: sim.Epoch(), Evidence: &e})
	}
	slices.SortFunc(all, func(a, b dovetail.KnownClass) int { return cmp.Compare(a.Class, b.Class) })
	return all
}

// bound returns the minutes that the queue takes at the least if every node always holds two runs that progress at the true rates: the linear program of
// models.md 5.4. At the end of a queue nodes hold fewer, on which runs are faster.
func (s *setting) bound() (float64, error) {
	work := make([]float64, len(s.world.kinds))
	jobs := s.world.jobs(s.kinds, s.seed)
	for i, k := range s.kinds {
		work[k] += jobs[i].Runtime.Minutes() * nodesPerJob
	}
	time, _, err := coloc.PairTime(s.world.rates(), work)
	return time / colocationNodes, err
}

// settings returns where arms are compared, for the parts that are wanted.
func (c *Colocation) settings() []setting {
	var all []setting
	add := func(s setting) {
		for seed := range c.Seeds {
			s.seed = uint64(seed + 1)
			all = append(all, s)
		}
	}
	if c.wants(ColocationQueues) {
		for _, straggler := range stragglers() {
			for _, window := range windows() {
				for _, queue := range []string{queueA, queueB} {
					w := published(straggler)
					add(setting{part: ColocationQueues, world: w, queue: queue, kinds: queueOf(w, queue), window: window, arms: arms()})
				}
			}
		}
	}
	if c.wants(ColocationWorlds) {
		for i := range perturbedWorlds {
			for _, queue := range []string{queueA, queueB} {
				w := published(0).perturbed(i + 1)
				add(setting{
					part: ColocationWorlds, world: w, queue: queue, kinds: queueOf(w, queue), window: windows()[0],
					arms: some(armFIFO, armRandom, armRA, armRAStar, armPrice, armGoesOn, armOracle),
				})
			}
		}
	}
	if c.wants(ColocationFurther) {
		add(setting{
			part: ColocationFurther, world: opposites(), queue: queueMixed, window: windows()[1],
			arms: some(armFIFO, armRandom, armRA, armRAStar, armCold, armPrice, armGoesOn, armOracle),
		})
		w := thrashing()
		add(setting{
			part: ColocationFurther, world: w, queue: queueHarm, kinds: w.queue(4, 4), window: windows()[1],
			arms: some(armFIFO, armRandom, armWary, armRA, armRAStar, armCareful, armPrice, armOracle),
		})
	}
	return all
}

// queues compares arms in all settings. When the context ends the evaluation holds those that were done.
func (c *Colocation) queues(ctx context.Context, e *ColocationEvaluation) error {
	all := c.settings()
	found := make([]*compared, len(all))
	done := &cobellProgress{tell: c.Progress, total: len(all)}
	err := each(ctx, c.Workers, len(all), func(ctx context.Context, i int) error {
		var err error
		if found[i], err = all[i].run(ctx, c.Store); err != nil {
			return err
		}
		done.step()
		return nil
	})
	for _, f := range found {
		if f != nil {
			e.Runs = append(e.Runs, f.runs...)
		}
	}
	e.Queues = queueRows(e.Runs)
	if err == nil {
		err = e.look(all, found)
	}
	return err
}

// queueRows sums up runs by setting and policy, in the order in which they come first.
func queueRows(runs []QueueRun) []QueueRow {
	type group struct{ minutes, gains, stays, harmed []float64 }
	var rows []QueueRow
	var groups []group
	at := make(map[QueueRow]int)
	fifo := 0.0
	for i := range runs {
		r := &runs[i]
		key := QueueRow{Part: r.Part, World: r.World, Queue: r.Queue, Straggler: r.Straggler, Window: r.Window, Policy: r.Policy}
		k, ok := at[key]
		if !ok {
			k = len(rows)
			at[key] = k
			rows, groups = append(rows, key), append(groups, group{})
		}
		if r.Policy == armFIFO {
			fifo = r.Turnaround
		}
		g := &groups[k]
		g.minutes, g.gains, g.harmed = append(g.minutes, r.Minutes), append(g.gains, r.Gain), append(g.harmed, r.Harmed)
		g.stays = append(g.stays, 100*(1-r.Turnaround/fifo))
	}
	for k := range rows {
		g := &groups[k]
		rows[k].Minutes, rows[k].Gain = report.Estimate(g.minutes), report.Estimate(g.gains)
		rows[k].Stay, rows[k].Harmed = report.Estimate(g.stays), report.Estimate(g.harmed)
	}
	return rows
}
