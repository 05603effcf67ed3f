package report

import (
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Schedule is what became of a workload under one policy: what the simulator, a peer model or the recorded history of a
// daemon hands to reports. Times are whole microseconds since the beginning of the workload.
type Schedule struct {
	Cell       Cell
	Capacity   dovetail.Resources   // of all nodes
	Jobs       []Job                // in order of submission, ties as in the workload
	Levels     []Level              // in order of time, one an instant at which something changed
	Placements []dovetail.Placement // only if asked for: what a timeline is drawn from
	Nodes      []dovetail.Node      // with Placements: in the order in which they are shown
	Epoch      time.Time            // with Placements: the time of day at which the workload begins
	Refused    []Refusal            // jobs that the cluster could never hold
	Hash       string               // of the journal, if asked for

	// Recorded says that this is the record of what really happened, from which the jobs of a replay are made: a job that failed
	// has exactly the work that it had until then.
	Recorded bool
}

// Refusal is a job that was left out, and why.
type Refusal struct {
	ID  int64  `json:"id"`
	Why string `json:"why"`
}

// Cell names one setting of a sweep.
type Cell struct {
	Policy  string `json:"policy"`
	Alloc   string `json:"alloc"`
	Preempt bool   `json:"preempt"`
	Seed    uint64 `json:"seed"`
	With    string `json:"with,omitempty"` // other settings by which it differs from the cells beside it: "choose price"
}

// Job is what became of one run.
type Job struct {
	ID          int64                 // as the workload numbers it
	Run         dovetail.RunID        // as Placements do; only with those
	App         *dovetail.Application // only for a timeline; may be nil
	Class       string
	User        string
	Kind        dovetail.Kind
	Core        int           // replicas
	Elastic     int           // replicas it could use beyond its core; 0: rigid
	Runtime     time.Duration // with all of its replicas: nominal
	Submit      time.Duration
	Start       time.Duration    // first replica; negative: never
	Finish      time.Duration    // negative: not by the end of the schedule
	Outcome     dovetail.Outcome // empty while it has not ended
	Preemptions int              // instants at which elastic replicas were reclaimed from it
	Taken       int              // elastic replicas that were reclaimed from it, in all
	Redone      time.Duration    // replica time lost to reclaims and failures, if the model loses any
}

// Level is the state of the cluster from At until the next level.
type Level struct {
	At      time.Duration
	Waiting int32
	Serving int32
	Core    [dovetail.NumResources]float32 // share of the capacity granted to core replicas, in [0,1]
	Elastic [dovetail.NumResources]float32 // … to elastic ones
}
