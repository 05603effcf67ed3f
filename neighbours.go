package dovetail

import "time"

// Colocation says how the next run is chosen, and placed, by who it would run beside, and what is learned of that. The zero value:
// the policy alone decides, and what is measured is learned all the same.
type Colocation struct {
	Choose   string   `json:"choose,omitempty"`   // name of a coloc.Method: random, bandit, greedy or price; empty: the policy alone decides
	Window   int      `json:"window,omitempty"`   // among how many of the first runs of the line it chooses (n of seed 000); 0 means 5
	Passes   int      `json:"passes,omitempty"`   // a run that was passed over so often goes first; 0 means 4 × Window
	Step     float64  `json:"step,omitempty"`     // γ of seed 000, equations 2 and 3, in (0,1]; 0 means 0.01
	Period   Duration `json:"period,omitempty"`   // over which the use of nodes is measured; 0 means 60s
	Slowdown float64  `json:"slowdown,omitempty"` // a neighbour proven to make runs take so many times as long is avoided while there is an alternative; above 1; 0: none is
	HalfLife Duration `json:"halfLife,omitempty"` // what was learned of a pair fades by half in so long; 0: never
	Classes  int      `json:"classes,omitempty"`  // job classes that are kept at once; 0 means 256. Idle ones are put away
	Seed     uint64   `json:"seed,omitempty"`     // of the draws
}

// Affinity is what an application says itself of its neighbours. Names are those of applications or job classes.
type Affinity struct {
	Avoid     []string `json:"avoid,omitempty"`     // never on a node with one of them
	Prefer    []string `json:"prefer,omitempty"`    // rather on a node with one of them than elsewhere
	Exclusive bool     `json:"exclusive,omitempty"` // no other run on its nodes
}

// NodeUse is how a node was used, on average over a period. Shares are of what the node has.
type NodeUse struct {
	Node string  `json:"node"`
	CPU  float64 `json:"cpu"`  // at work, in [0,1]
	Wait float64 `json:"wait"` // time in which work stood still for the sake of I/O, in [0,1]: I/O wait (seed 000), or pressure
	Disk float64 `json:"disk"` // read/rmax + written/wmax, at least 0
	Net  float64 `json:"net"`  // received/rmax + sent/wmax, at least 0
}

// Rate is how fast runs of a job class progress beside another one.
type Rate struct {
	Beside  string  `json:"beside"` // job class; "" means alone
	Rate    float64 `json:"rate"`   // work done per time, relative to the class's usual pace; above 0
	Low     float64 `json:"low"`    // 90 % interval
	High    float64 `json:"high"`
	Runs    int     `json:"runs"`    // that ran beside it
	Seconds float64 `json:"seconds"` // that they did so, node by node, averaged over their nodes
}

// Evidence is what finished runs of a job class say of its neighbours (models.md 5.4).
type Evidence struct {
	Class string    `json:"class"`
	Runs  int       `json:"runs"`  // learned from
	Until time.Time `json:"until"` // the last of them ended
	Rates []Rate    `json:"rates"` // by Beside
}

// Cost is what neighbours of one job class cost a finished run, by what is known of its class.
type Cost struct {
	Class   string  `json:"class"`                 // of the neighbours
	Runs    []RunID `json:"runs,omitempty"`        // which they were, in order; none of an imported run
	Seconds float64 `json:"seconds"`               // that they were there: node by node, averaged over the run's nodes; several at once add up
	Known   bool    `json:"known"`                 // finished runs tell what that means; if not, the rest is 0
	Lost    float64 `json:"lostSeconds,omitempty"` // by which the run took longer than it would have alone; less than 0: it was quicker
	Low     float64 `json:"lowSeconds,omitempty"`  // 90 % interval
	High    float64 `json:"highSeconds,omitempty"`
}

// Preference is what the bandit has learned of runs of a class as newcomers beside those of another.
type Preference struct {
	Class    string  `json:"class"`    // of the newcomer: a in H(a | a') of seed 000
	H        float64 `json:"h"`        // preference; only differences within a row mean something
	Updates  float64 `json:"updates"`  // periods that it was learned from; less than one by one if they fade
	Goodness float64 `json:"goodness"` // G (equation 1), mean over these
}

// KnownClass is all that is known of a job class and its neighbours.
type KnownClass struct {
	Class       string       `json:"class"`
	Seen        time.Time    `json:"seen"`                  // when something was learned of it last
	Forgotten   time.Time    `json:"forgotten,omitzero"`    // runs that ended before say nothing
	Goodness    float64      `json:"goodness,omitempty"`    // average of the row (seed 000 §4.3)
	Updates     float64      `json:"updates,omitempty"`     // … over so many updates
	Preferences []Preference `json:"preferences,omitempty"` // the row of runs of this class: H(· | class); by class, only pairs seen
	Evidence    *Evidence    `json:"evidence,omitempty"`
}

// Option is one of the runs that a draw was made among.
type Option struct {
	Run         RunID   `json:"run"`
	Probability float64 `json:"probability"`
}

// Draw is a learned decision: which of the first runs of the line starts next.
type Draw struct {
	Run     RunID     `json:"run"`
	At      time.Time `json:"at"`
	Method  string    `json:"method"`           // name of a coloc.Method, or "due" for one that had been passed over often enough
	Options []Option  `json:"options"`          // those that could start, in the order of the line; probabilities sum to 1
	Passed  []RunID   `json:"passed,omitempty"` // were before it in the line and wait on, in that order
	Beside  []string  `json:"beside,omitempty"` // job classes on the nodes that its core was given, sorted
	Score   float64   `json:"score,omitempty"`  // of these nodes, mean, by the method; 0.5 means neither good nor bad
	Closed  string    `json:"closed,omitempty"` // succeeded, failed or abandoned; empty while the run goes on
}

// Probability returns that of the run that was picked.
func (p *Draw) Probability() float64 {
	for _, o := range p.Options {
		if o.Run == p.Run {
			return o.Probability
		}
	}
	return 0
}

// KnowledgeVersion is the version of Knowledge that this program writes and reads.
const KnowledgeVersion = 1

// Knowledge is what is known of job classes as neighbours, as one system hands it to another.
type Knowledge struct {
	Version int          `json:"version"`
	Classes []KnownClass `json:"classes"` // by class
}

// Neighbours is what is known of job classes as neighbours, and what follows from it.
type Neighbours struct {
	Version int            `json:"version"`
	Classes []KnownClass   `json:"classes"` // by class
	Rows    []NeighbourRow `json:"rows"`    // one for each of them, by class
}

// NeighbourRow is what is known of runs of a class and of who comes to them.
type NeighbourRow struct {
	Class string      `json:"class"`
	Rest  float64     `json:"rest"`  // π of each class that it has not met
	Pairs []PairKnown `json:"pairs"` // by Newcomer; only those met
}

// PairKnown is what is known of runs of a class beside another one.
type PairKnown struct {
	Newcomer string  `json:"newcomer"`           // the other class
	Likes    float64 `json:"likes"`              // π(newcomer | class) of seed 000 §4.3: how much it is wanted for the next neighbour; over all classes these sum to 1
	Goodness float64 `json:"goodness,omitempty"` // G (equation 1), mean
	Updates  float64 `json:"updates,omitempty"`  // periods that Likes and Goodness are from; 0: both are not measured

	Slowdown *Slowdown `json:"slowdown,omitempty"` // of runs of the class; absent if no finished run ran beside the other one
}

// Slowdown is how many times as long runs take beside a neighbour as they do alone.
type Slowdown struct {
	Times   float64 `json:"times"`
	Low     float64 `json:"low"` // 90 % interval
	High    float64 `json:"high"`
	Runs    int     `json:"runs"`    // that ran beside it
	Against int     `json:"against"` // that these are compared with: those that ran alone at times, or all of the class if none did
	Seconds float64 `json:"seconds"` // that they ran beside it
}

// ProvenRuns is how many runs beside a neighbour, and how many to compare them with, it takes to prove anything. The interval of fewer runs is
// not to be trusted on a machine that others use too: all of them may have come at a busy, or at a quiet, moment.
const ProvenRuns = 5

// Proven reports whether the neighbour slows runs down for sure, or speeds them up: there are at least ProvenRuns on either side, and the
// interval lies on one side of 1.
func (s *Slowdown) Proven() bool {
	return min(s.Runs, s.Against) >= ProvenRuns && (s.Low > 1 || s.High < 1)
}

// Company is who ran beside a run, or runs there now.
type Company struct {
	Run    RunID       `json:"run"`
	Ended  bool        `json:"ended"`  // of a run that goes on only those are known who are there now
	Beside []Companion `json:"beside"` // by class
}

// Companion is the runs of one job class beside a run.
type Companion struct {
	Cost               // of a run that goes on: without times
	Slowdown *Slowdown `json:"slowdown,omitempty"` // by which that class slows down the run's; absent if no finished run says so
}
