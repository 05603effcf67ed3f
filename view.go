package dovetail

import (
	"encoding/json"
	"time"
)

// RunStatus is what people and programs see of a run.
type RunStatus struct {
	ID        RunID      `json:"id"`
	Name      string     `json:"name"`
	Class     string     `json:"class"`
	App       string     `json:"app"` // name of the application
	Kind      Kind       `json:"kind"`
	User      string     `json:"user,omitempty"`
	Key       string     `json:"key,omitempty"`
	Digest    string     `json:"digest,omitempty"`
	Priority  int        `json:"priority"`
	State     State      `json:"state"`
	Outcome   Outcome    `json:"outcome,omitempty"`
	Why       string     `json:"why,omitempty"` // of the outcome
	Held      bool       `json:"held,omitempty"`
	Suspended bool       `json:"suspended,omitempty"`
	Reason    ReasonCode `json:"reason,omitempty"` // why it waits
	Submitted time.Time  `json:"submitted"`
	Started   *time.Time `json:"started,omitempty"` // first replica handed to the back-end
	Ended     *time.Time `json:"ended,omitempty"`

	Core       int `json:"core"`       // core replicas it needs
	CoreUp     int `json:"coreUp"`     // core replicas that run
	Elastic    int `json:"elastic"`    // elastic replicas granted
	ElasticUp  int `json:"elasticUp"`  // elastic replicas that run
	ElasticMax int `json:"elasticMax"` // elastic replicas it can use
	Retries    int `json:"retries"`    // deaths of core replicas survived

	Ready       *time.Time  `json:"ready,omitempty"`       // all of its core was ready: its runtime counts from here
	InputSize   int64       `json:"inputSize,omitempty"`   // bytes
	NodeClasses []string    `json:"nodeClasses,omitempty"` // of the nodes that ever held a replica of it, sorted
	Prediction  *Prediction `json:"prediction,omitempty"`  // when it started; absent if nothing was known
	Choice      *Choice     `json:"choice,omitempty"`      // the last decision about its scale-out; absent without a target
	Draw        *Draw       `json:"draw,omitempty"`        // the decision to start it before or after others; absent if the policy alone decided
	Passes      int         `json:"passes,omitempty"`      // how often it was passed over, while it waits
}

// ReplicaStatus is what people and programs see of a replica.
type ReplicaStatus struct {
	Replica
	Name      string         `json:"name"` // worker.3
	Component string         `json:"componentName"`
	Elastic   bool           `json:"elastic"`
	Node      string         `json:"node"`
	Host      string         `json:"host,omitempty"`
	Ports     map[string]int `json:"ports,omitempty"`
	State     string         `json:"state"` // starting, up, ready, stopping, down
	Up        *time.Time     `json:"up,omitempty"`
	Ready     *time.Time     `json:"ready,omitempty"`
	Down      *time.Time     `json:"down,omitempty"`
	Exit      *Exit          `json:"exit,omitempty"`
	Usage     Usage          `json:"usage,omitzero"`
}

// NodeStatus is what people and programs see of a node.
type NodeStatus struct {
	Node
	Up       bool      `json:"up"`
	Cordoned bool      `json:"cordoned,omitempty"`
	Draining bool      `json:"draining,omitempty"`
	Granted  Resources `json:"granted"`  // set aside for replicas, started or not
	Occupied Resources `json:"occupied"` // taken by replicas that were started and have not stopped
	Replicas int       `json:"replicas"` // granted replicas
}

// EventRecord is an entry of the log that people read.
type EventRecord struct {
	Seq  int64           `json:"seq"` // position in the journal
	At   time.Time       `json:"at"`
	Type string          `json:"type"`          // as EventType says
	Run  RunID           `json:"run,omitempty"` // 0: about no single run
	Text string          `json:"text"`
	Data json.RawMessage `json:"data,omitempty"` // the event itself
}

// Placement says that from At on a run has N replicas of this component and class on this node. Successive placements are
// a run's scale-out over time, and, joined by node, its neighbours.
type Placement struct {
	At time.Time `json:"at"`
	Slot
	N int `json:"n"`
}

// History is a finished run as later predictions see it.
type History struct {
	Status     RunStatus         `json:"status"`
	Params     map[string]string `json:"params,omitempty"`
	Placements []Placement       `json:"placements"`           // in order of time
	Neighbours []Neighbour       `json:"neighbours,omitempty"` // in order of From, then Run
	Suspended  bool              `json:"suspended,omitempty"`  // at some time; not looked up for a replay
	Usage      Usage             `json:"usage"`                // sum over its replicas; MemoryPeak is the largest
	App        *Application      `json:"app,omitempty"`        // if asked for
	Import     *Past             `json:"import,omitempty"`     // an imported run: Status has only its class, application, outcome and end, and there are no placements
}

// Neighbour is another run that had replicas on one of the run's nodes for some time.
type Neighbour struct {
	Run   RunID     `json:"run"`
	Class string    `json:"class"`
	Node  string    `json:"node"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
}

// Explanation says why a run is where it is, and what would change that.
type Explanation struct {
	Run      RunID      `json:"run"`
	State    State      `json:"state"`
	Code     ReasonCode `json:"code,omitempty"`
	Text     string     `json:"text"`               // one sentence for people
	Position int        `json:"position,omitempty"` // in the waiting line, from 1; 0: not waiting
	Waiting  int        `json:"waiting,omitempty"`  // length of the waiting line
	Behind   RunID      `json:"behind,omitempty"`   // the run that must go first
	Needs    []Need     `json:"needs,omitempty"`    // of its core; of all of it with the rigid allocator
	Unblock  []string   `json:"unblock,omitempty"`  // each by itself would make room for it

	ExpectedStart *Expectation `json:"expectedStart,omitempty"` // of a run that waits; absent when nobody can tell
}

// Need is what one component asks for, and how much of it fits now.
type Need struct {
	Component string         `json:"component"`
	N         int            `json:"n"`
	Each      Resources      `json:"each"`
	Fits      int            `json:"fits"`              // replicas that fit into free capacity now
	Refused   map[string]int `json:"refused,omitempty"` // nodes ruled out, by reason
}
