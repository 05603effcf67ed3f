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

// ClassModel is what predictions of a job class rest on.
type ClassModel struct {
	App        string       `json:"app"`
	Class      string       `json:"class"`
	Model      string       `json:"model,omitempty"` // in use; absent: there is none
	Why        string       `json:"why"`             // it is, or is not: a sentence for people
	Runs       int          `json:"runs"`            // learned from
	LeftOut    []LeftOut    `json:"leftOut"`         // in order of the reason
	InputSizes []int64      `json:"inputSizes,omitempty"`
	Score      *Score       `json:"leaveOneOut,omitempty"` // absent if there are too few runs
	Neighbours []SlowedDown `json:"neighbours"`            // in order of class
}

// LeftOut counts finished runs of a class that nothing is learned from.
type LeftOut struct {
	Why  string `json:"why"` // failed, cancelled, timedout, lost, preempted, incomplete, older
	Runs int    `json:"runs"`
}

// Score is how well a model predicts runs that it has not learned from.
type Score struct {
	Runs        int     `json:"runs"`             // predicted
	MeanError   float64 `json:"meanError"`        // of |predicted / took − 1|; 0.05 is 5 %
	MedianError float64 `json:"medianError"`      // likewise
	Spread      bool    `json:"spread,omitempty"` // the model says how sure it is; without it there are no shares
	Within80    float64 `json:"within80"`         // share of runs between the 10th and the 90th percentile
	Within90    float64 `json:"within90"`         // and between the 5th and the 95th
}

// SlowedDown says how much longer a class takes while another runs beside it all the time.
type SlowedDown struct {
	Class    string  `json:"class"`
	Runs     int     `json:"runs"`     // that ran beside it
	ScaleOut int     `json:"scaleOut"` // at which it is said: the middle of those that the class can have
	Slowdown float64 `json:"slowdown"` // median beside / median alone, at least 1
}
