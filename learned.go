package dovetail

import "time"

// Overlap says that another job class ran beside a run for this share of the run's time: node by node, averaged over the nodes
// that held the run. 1 means on all of its nodes, all the time. Several runs of the class add up, so that it may exceed 1.
type Overlap struct {
	Class string  `json:"class"`
	Ratio float64 `json:"ratio"`
}

// Stretch is a time during which the scale-out of a run stood still.
type Stretch struct {
	ScaleOut int     `json:"scaleOut"`
	Seconds  float64 `json:"seconds"`
}

// Past is a finished run as predictions learn from it: one that Dovetail ran, or one that was imported.
type Past struct {
	Class       string            `json:"class"`
	App         string            `json:"app"`
	Params      map[string]string `json:"params,omitempty"`
	Run         RunID             `json:"run,omitempty"` // 0: imported
	Ended       time.Time         `json:"ended"`
	Outcome     Outcome           `json:"outcome"`             // only what succeeded is learned from
	Preempted   bool              `json:"preempted,omitempty"` // it was suspended, or its core restarted: its runtime says nothing of its work
	Runtime     float64           `json:"runtimeSeconds"`      // from all of its core ready to its end
	ScaleOut    float64           `json:"scaleOut"`            // replicas of the scaled component, averaged over that time
	Stretches   []Stretch         `json:"stretches,omitempty"` // scale-out over time; absent if it never changed
	Overlaps    []Overlap         `json:"overlaps,omitempty"`  // by class
	InputSize   int64             `json:"inputSize,omitempty"` // bytes; 0: unknown
	NodeClasses []string          `json:"nodeClasses,omitempty"`
}

// Varied reports whether the scale-out changed so much that its average is not a point to learn from: for more than 5 % of the time it
// differed from the average by more than 20 %. Replicas come and go one by one at either end of a run; that is not meant.
func (p *Past) Varied() bool {
	away, whole := 0.0, 0.0
	for _, s := range p.Stretches {
		whole += s.Seconds
		if x := float64(s.ScaleOut); x < 0.8*p.ScaleOut || x > 1.2*p.ScaleOut {
			away += s.Seconds
		}
	}
	return away > 0.05*whole
}

// Outlook is what finished runs of a job class say about the runtimes to come: quantiles by scale-out. It is computed beside the
// turns and journaled (Fitted), and is all that the core evaluates.
type Outlook struct {
	Class     string      `json:"class"`
	InputSize int64       `json:"inputSize,omitempty"` // of the runs that it is about, in bytes; 0: whatever they have
	Model     string      `json:"model"`               // name of the model (predict.Models) it was computed with; "" if there are too few runs for any
	Runs      int         `json:"runs"`                // learned from
	First     []Stretch   `json:"first,omitempty"`     // the runs themselves while there are too few for a model: scale-out and runtime
	Levels    []float64   `json:"levels,omitempty"`    // of the quantiles: rising, in (0,1). One level alone: a prediction without a spread
	ScaleOuts []int       `json:"scaleOuts,omitempty"` // rising
	Alone     [][]float64 `json:"alone,omitempty"`     // [scale-out][level] runtime in seconds without neighbours; rising with the level
	Beside    []Beside    `json:"beside,omitempty"`    // by class
}

// Beside is the runtimes of a class while one other class runs beside it all the time (overlap 1).
type Beside struct {
	Class   string      `json:"class"`
	Runs    int         `json:"runs"`                  // that ran beside it
	Mean    float64     `json:"meanOverlap,omitempty"` // over all runs that were learned from: what is typical
	Seconds [][]float64 `json:"seconds"`               // as Outlook.Alone; nowhere less
}

// Choice is a learned decision: the scale-out of a run that has a target.
type Choice struct {
	Run         RunID     `json:"run"`
	At          time.Time `json:"at"`
	Model       string    `json:"model"`                // "max" if nothing is known, "bootstrap" while the first runs explore, else that of the outlook
	Runs        int       `json:"runs"`                 // that the outlook had learned from
	ScaleOut    int       `json:"scaleOut"`             // picked
	Deadline    time.Time `json:"deadline"`             // that it is to meet
	Confidence  float64   `json:"confidence"`           // wanted
	Probability float64   `json:"probability"`          // of meeting it with that scale-out; 0 if nobody can tell
	Known       bool      `json:"known,omitempty"`      // Probability means something
	Missed      bool      `json:"infeasible,omitempty"` // no scale-out reaches the confidence: it gets all it can use
	Overlaps    []Overlap `json:"overlaps,omitempty"`   // expected from then on
	Closed      string    `json:"closed,omitempty"`     // met, missed, failed or abandoned; empty while the run goes on
}

// Prediction is the runtime that was expected of a run when it started.
type Prediction struct {
	Model    string  `json:"model"`
	Runs     int     `json:"runs"` // learned from
	ScaleOut int     `json:"scaleOut"`
	Low      float64 `json:"lowSeconds"` // 10th percentile
	Median   float64 `json:"medianSeconds"`
	High     float64 `json:"highSeconds"` // 90th percentile
}
