package dovetail

import "time"

// Expectation is when something will happen, as far as plays of the future from the present state tell: the 10th, the 50th and the
// 90th percentile of them. A time is absent if in so many plays it does not happen: a service that never ends, or a run that is
// held, may leave others waiting for ever.
type Expectation struct {
	Earliest   *time.Time `json:"earliest,omitempty"`
	Median     *time.Time `json:"median,omitempty"`
	Latest     *time.Time `json:"latest,omitempty"`
	Confidence float64    `json:"confidence"`      // share of further plays that would lie between Earliest and Latest: 0.8, less from fewer than 9 plays
	Plays      int        `json:"plays"`           // few of them make the interval coarse
	Never      int        `json:"never,omitempty"` // plays in which it does not happen
	Basis      string     `json:"basis,omitempty"` // what was assumed of runtimes and of later arrivals; one sentence for people
}

// Alternative is another way to go on from the present state.
type Alternative struct {
	Config Config // in place of the one in force
	Nodes  []Node // there from now on, besides those there are
	Submit *Run   // submitted now; its ID is chosen by who answers; nil: nothing is
}

// WhatIf says who would start when if something else were done from now on.
type WhatIf struct {
	At    time.Time  `json:"at"`
	Now   Config     `json:"config"`            // in force
	Then  Config     `json:"alternativeConfig"` // asked about
	Nodes []Node     `json:"nodes,omitempty"`   // asked about: added to those there are
	Plays int        `json:"plays"`             // of each of the two
	Basis string     `json:"basis"`
	Runs  []Prospect `json:"runs"` // that wait, by ID
}

// Prospect is what is to be expected of one waiting run, as things are and under an alternative.
type Prospect struct {
	Run        RunID        `json:"run"`
	Name       string       `json:"name"`
	Class      string       `json:"class"`
	User       string       `json:"user,omitempty"`
	Submitted  bool         `json:"submitted,omitempty"` // only by the alternative
	Start      *Expectation `json:"start,omitempty"`     // absent for a run that only the alternative submits
	Finish     *Expectation `json:"finish,omitempty"`
	ThenStart  Expectation  `json:"alternativeStart"`
	ThenFinish Expectation  `json:"alternativeFinish"`
	Change     *Change      `json:"startChange,omitempty"` // absent if in no play the run starts both ways
}

// Change is by how much something moves: percentiles over pairs of plays that assume the same runtimes. Negative is sooner.
type Change struct {
	Low    float64 `json:"lowSeconds"` // 10th percentile
	Median float64 `json:"medianSeconds"`
	High   float64 `json:"highSeconds"` // 90th percentile
}
