package dovetail

// Curve is how long runs of a job class are expected to take, by scale-out, and which scale-out meets a target.
type Curve struct {
	App        string       `json:"app,omitempty"`
	Class      string       `json:"class,omitempty"`
	InputSize  int64        `json:"inputSize,omitempty"` // bytes; 0: as in the runs learned from
	Model      string       `json:"model"`
	Runs       int          `json:"runs"`                    // learned from
	Overlaps   []Overlap    `json:"overlaps,omitempty"`      // assumed
	Target     float64      `json:"targetSeconds,omitempty"` // 0: there is none
	Confidence float64      `json:"confidence,omitempty"`    // wanted; absent without a target
	Points     []CurvePoint `json:"scaleOuts"`               // in order of scale-out
	Chosen     *Pick        `json:"chosen,omitempty"`        // absent without a target
	Notes      []string     `json:"notes,omitempty"`         // for people: what to think of when they use this
}

// CurvePoint is what is expected at one scale-out, in seconds. A model that knows no spread has a median alone.
type CurvePoint struct {
	ScaleOut    int      `json:"scaleOut"`
	Median      float64  `json:"medianSeconds"`
	Low80       float64  `json:"low80Seconds,omitempty"`  // 10th percentile
	High80      float64  `json:"high80Seconds,omitempty"` // 90th
	Low95       float64  `json:"low95Seconds,omitempty"`  // 2.5th
	High95      float64  `json:"high95Seconds,omitempty"` // 97.5th
	Probability *float64 `json:"probability,omitempty"`   // of meeting the target; absent without one
	NodeSeconds float64  `json:"nodeSeconds"`             // what it costs: scale-out × median
}

// Spread reports whether the model said how sure it is.
func (p *CurvePoint) Spread() bool { return p.High95 > 0 }

// Pick is the scale-out to take for a target: the smallest that meets it with the confidence wanted. If none does it is the largest.
type Pick struct {
	ScaleOut    int     `json:"scaleOut"`
	Probability float64 `json:"probability"`          // of meeting the target with it
	Infeasible  bool    `json:"infeasible,omitempty"` // no scale-out asked about reaches the confidence
}
