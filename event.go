package dovetail

import "time"

// Event is a fact: something that happened. The set is closed; events are the only way into the core.
type Event interface{ event() }

// What people and programs ask for.
type (
	// Submitted adds a run to the waiting line.
	Submitted struct {
		Run *Run `json:"run"`
	}
	// Cancelled ends a run that has not ended yet.
	Cancelled struct {
		Run RunID  `json:"run"`
		By  string `json:"by,omitempty"`
	}
	// Held keeps a queued run from being started; Released lifts that.
	Held struct {
		Run RunID `json:"run"`
	}
	// Released lets a held run be started again.
	Released struct {
		Run RunID `json:"run"`
	}
	// Suspended freezes a run in service: its elastic replicas are given back, its core stays where it is and stands still.
	Suspended struct {
		Run RunID `json:"run"`
	}
	// Resumed lets a suspended run go on.
	Resumed struct {
		Run RunID `json:"run"`
	}
	// Reprioritised changes the priority of a run that has not ended.
	Reprioritised struct {
		Run      RunID `json:"run"`
		Priority int   `json:"priority"`
	}
	// Configured replaces the configuration.
	Configured struct {
		Config Config `json:"config"`
	}
)

// What the back-end reports. N replicas of one component and class (core or elastic) on one node; Replica names the
// replica when N is 1 and the back-end has identities.
type (
	// ReplicasUp says that replicas run.
	ReplicasUp struct {
		Slot
		N       int            `json:"n"`
		Replica Replica        `json:"replica,omitzero"`
		Host    string         `json:"host,omitempty"`  // where the replica's ports listen
		Ports   map[string]int `json:"ports,omitempty"` // allocated port by name
	}
	// ReplicasReady says that replicas that are up have met their readiness condition. Without a condition it is not sent.
	ReplicasReady struct {
		Slot
		N       int     `json:"n"`
		Replica Replica `json:"replica,omitzero"`
	}
	// ReplicasDown says that replicas that were handed to the back-end run no longer, or never did. WasUp and WasReady say
	// what had been reported of them before.
	ReplicasDown struct {
		Slot
		N        int     `json:"n"`
		Replica  Replica `json:"replica,omitzero"`
		WasUp    bool    `json:"wasUp,omitempty"`
		WasReady bool    `json:"wasReady,omitempty"`
		Exit     Exit    `json:"exit"`
		Usage    Usage   `json:"usage,omitzero"`
	}
	// Refused says that the back-end could not start replicas that it was asked to run.
	Refused struct {
		Slot
		N       int     `json:"n"`
		Replica Replica `json:"replica,omitzero"`
		Why     string  `json:"why"`
	}
	// NodeUp says that a node is there, with this capacity and these labels.
	NodeUp struct {
		Node Node `json:"node"`
	}
	// NodeDown says that a node is gone, and every replica on it.
	NodeDown struct {
		Node string `json:"node"`
	}
	// Cordoned says whether a node may get new replicas. Draining also gives back the elastic ones it has.
	Cordoned struct {
		Node  string `json:"node"`
		On    bool   `json:"on"`
		Drain bool   `json:"drain,omitempty"`
	}
)

// What the engine adds.
type (
	// Decided records a plan. Replay applies it and never decides again.
	Decided struct {
		Plan Plan `json:"plan"`
	}
	// Fitted replaces what is known of the runtimes of a job class, for one input size.
	Fitted struct {
		Outlook Outlook `json:"outlook"`
	}
	// Imported adds runs that another system made to the history.
	Imported struct {
		Runs []Past `json:"runs"`
	}
	// Used says how nodes were used in a period that ends now. Nodes that were not measured, or hold fewer than two job classes, may
	// be left out.
	Used struct {
		Period Duration  `json:"period"`
		Nodes  []NodeUse `json:"nodes"` // by name
	}
	// Paired replaces what finished runs of a job class say of its neighbours.
	Paired struct {
		Evidence Evidence `json:"evidence"`
	}
	// Recalled replaces all that is known of these job classes and their neighbours: it was imported. With Back it had been put away,
	// and what was learned since stays if it says more (coloc.Merge). With All everything else is forgotten, as by Forgotten; then Back
	// means nothing.
	Recalled struct {
		Classes []KnownClass `json:"classes"`
		Back    bool         `json:"back,omitempty"`
		All     bool         `json:"all,omitempty"`
	}
	// Forgotten drops what is known of a job class and of others beside it; "" means all. Runs that ended before teach nothing any more.
	Forgotten struct {
		Class string `json:"class,omitempty"`
	}
	// Tick says only that time has passed.
	Tick struct{}
)

// Slot says which replicas are meant: those of one component, of one class, on one node. Runs of counts, never identities.
type Slot struct {
	Run       RunID  `json:"run"`
	Component int    `json:"component"`
	Elastic   bool   `json:"elastic,omitempty"`
	Node      string `json:"node"`
}

func (Submitted) event()     {}
func (Cancelled) event()     {}
func (Held) event()          {}
func (Released) event()      {}
func (Suspended) event()     {}
func (Resumed) event()       {}
func (Reprioritised) event() {}
func (Configured) event()    {}
func (ReplicasUp) event()    {}
func (ReplicasReady) event() {}
func (ReplicasDown) event()  {}
func (Refused) event()       {}
func (NodeUp) event()        {}
func (NodeDown) event()      {}
func (Cordoned) event()      {}
func (Decided) event()       {}
func (Fitted) event()        {}
func (Imported) event()      {}
func (Used) event()          {}
func (Paired) event()        {}
func (Recalled) event()      {}
func (Forgotten) event()     {}
func (Tick) event()          {}

// Action is a desired state for the back-end: doing one twice is doing it once. The set is closed.
type Action interface{ action() }

type (
	// RunReplicas wants N replicas of this component and class on this node, no more and no fewer.
	RunReplicas struct {
		Slot
		N      int  `json:"n"`
		Frozen bool `json:"frozen,omitempty"` // they stand still
	}
	// StopRun wants no replica of the run anywhere.
	StopRun struct {
		Run RunID `json:"run"`
	}
)

func (RunReplicas) action() {}
func (StopRun) action()     {}

// Plan is one decision. Assign and Ends change the core's own picture, Actions go to the back-end, Reasons to people.
type Plan struct {
	At      time.Time `json:"at"`
	Seq     int64     `json:"seq"` // number of the decision, from 1
	Assign  []Assign  `json:"assign,omitempty"`
	Choices []Choice  `json:"choices,omitempty"` // in order of run; each replaces the last one of its run
	Draws   []Draw    `json:"draws,omitempty"`   // in the order in which they were made; how they turn out follows from how the runs end
	Ends    []End     `json:"ends,omitempty"`
	Actions Actions   `json:"actions,omitempty"`
	Reasons []Reason  `json:"reasons,omitempty"`
}

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool {
	return len(p.Assign) == 0 && len(p.Choices) == 0 && len(p.Draws) == 0 && len(p.Ends) == 0 && len(p.Actions) == 0 && len(p.Reasons) == 0
}

// Assign grants N replicas of this component and class on this node to a run: capacity set aside, to be used as soon as it
// is really free and the start order allows.
type Assign struct {
	Slot
	N int `json:"n"`
}

// End decides that a run stops with this outcome.
type End struct {
	Run     RunID   `json:"run"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"`
}

// Reason says why a waiting run waits.
type Reason struct {
	Run  RunID      `json:"run"`
	Code ReasonCode `json:"code"`
}

// ReasonCode classifies why a run waits.
type ReasonCode string

// Why a run waits.
const (
	NoReason    ReasonCode = ""            // it does not wait
	OnHold      ReasonCode = "held"        // somebody holds it
	NoCapacity  ReasonCode = "no_capacity" // its core does not fit now, even if every elastic replica that may be reclaimed were
	NoNode      ReasonCode = "no_node"     // its core would not fit the open nodes, were they empty
	Behind      ReasonCode = "behind"      // the policy is strict, and a run before it waits
	Saturated   ReasonCode = "saturated"   // the runs in service can use all there is; no elastic replica is reclaimed for a newcomer yet
	WaitOverdue ReasonCode = "overdue"     // a run that waited longer than the bound goes first
)
