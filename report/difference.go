package report

// Difference says what a schedule changes for the people and job classes of a workload against another schedule of it, such as
// the recorded history against its replay with another policy. Runs are paired by ID; only those that ended in both count.
type Difference struct {
	Before Cell            `json:"before"`
	After  Cell            `json:"after"`
	Runs   int             `json:"runs"`     // paired
	Alone  int             `json:"unpaired"` // that ended in one of them only
	Groups []DifferenceRow `json:"groups"`   // all runs, then by kind, class and user
}

// DifferenceRow is the change for one group of runs; times in seconds.
type DifferenceRow struct {
	By       string   `json:"by"`   // all, kind, class or user
	Name     string   `json:"name"` // empty for all
	Runs     int      `json:"runs"`
	Before   float64  `json:"beforeSeconds"`  // mean turnaround
	After    float64  `json:"afterSeconds"`   // mean turnaround
	Change   Interval `json:"changeSeconds"`  // after − before: mean over runs, with a t interval over the paired runs
	Relative float64  `json:"relativeChange"` // Change over Before; −0.3 is 30 % shorter
}

// Compare pairs the runs of two schedules of one workload.
func Compare(before, after *Schedule) Difference {
	return Difference{Before: before.Cell, After: after.Cell}
}
