package study

import (
	"context"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// The parts of the evaluation of learned co-location, which Colocation.Only names.
const (
	ColocationTables  = "tables"  // seed 000, tables 2 and 3: pairs of jobs beside each other
	ColocationQueues  = "queues"  // tables 5 and 6, figures 6 to 8: queues A and B
	ColocationWorlds  = "worlds"  // the queues in worlds where jobs need other things
	ColocationFurther = "further" // queues where learning, or caution, pays
)

// The scale of the evaluation.
const (
	ColocationSmallSeeds = 4
	ColocationFullSeeds  = 16
	perturbedWorlds      = 6
)

// Colocation reruns the evaluation of seed 000 with jobs that contend for simulated nodes, through Dovetail's own core, which measures, learns, chooses and
// places as the daemon does; adds what the paper has no figures of; and judges what comes out.
type Colocation struct {
	Seeds int      // of each queue, from 1 on
	Only  []string // parts; empty: all

	// Store returns a new store that keeps the history of one play.
	Store func() Memory

	Workers  int              // that compute at once; 0: as many as Go runs threads
	Progress func(p Progress) // called now and then, one call at a time; may be nil
}

// ColocationEvaluation is what came out.
type ColocationEvaluation struct {
	Seeds       int             `json:"seeds"`
	Claims      []Claim         `json:"claims"`
	Pairs       []PairRow       `json:"pairs,omitempty"`       // tables 2 and 3
	Queues      []QueueRow      `json:"queues,omitempty"`      // of all the other parts
	Runs        []QueueRun      `json:"runs,omitempty"`        // behind them
	Uses        []UseRow        `json:"uses,omitempty"`        // how nodes were used: figures 6 and 7
	Preferences []PreferenceRow `json:"preferences,omitempty"` // figure 8
	Rates       []RateRow       `json:"rates,omitempty"`       // what one earlier pass says of them
}

// ColocationParts returns what Only may ask for.
func ColocationParts() []string {
	return []string{ColocationTables, ColocationQueues, ColocationWorlds, ColocationFurther}
}

func (c *Colocation) wants(part string) bool {
	return len(c.Only) == 0 || slices.Contains(c.Only, part)
}

// check returns what is wrong with what is asked for.
func (c *Colocation) check() error {
	for _, part := range c.Only {
		if !slices.Contains(ColocationParts(), part) {
			return dovetail.Errorf(dovetail.Invalid, "there is no part %q; choose from %s", part, strings.Join(ColocationParts(), ", "))
		}
	}
	if c.Seeds < 1 {
		return dovetail.Errorf(dovetail.Invalid, "%d seeds; expected one or more", c.Seeds)
	}
	return nil
}

// Run computes the parts that are wanted. When the context ends it returns what is done, together with the context's cause; claims of parts that
// are not done are then not judged; those of parts that are not wanted are left out. It fails with dovetail.Invalid if there is no such part.
func (c *Colocation) Run(ctx context.Context) (*ColocationEvaluation, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	e := &ColocationEvaluation{Seeds: c.Seeds}
	var err error
	if c.wants(ColocationTables) {
		e.Pairs, err = pairRows(ctx)
	}
	whole := &ColocationEvaluation{Pairs: e.Pairs} // the parts that are done: by half of the plays nothing is judged
	if err == nil {
		if err = c.queues(ctx, e); err == nil {
			whole = e
		}
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	e.Claims = judged(whole, colocationClaims())
	if err == nil { // what is missing was not asked for
		e.Claims = slices.DeleteFunc(e.Claims, func(c Claim) bool { return c.Verdict == NotJudged })
	}
	return e, err
}
