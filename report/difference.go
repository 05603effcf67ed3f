package report

import "slices"

// Difference says what a schedule changes for the people and job classes of a workload against another schedule of it, such as
// the recorded history against its replay with another policy. Runs are paired by ID; only those that ended and did the same work in
// both count.
type Difference struct {
	Before Cell            `json:"before"`
	After  Cell            `json:"after"`
	Runs   int             `json:"runs"`             // paired
	Alone  int             `json:"unpaired"`         // that ended in one of them only
	Failed int             `json:"failed,omitempty"` // that ended in both, but in a play failed, timed out or were lost; not of Runs
	Groups []DifferenceRow `json:"groups"`           // all runs, then by kind, class and user; each in order of names
}

// DifferenceRow is the change for one group of runs; times in seconds. The interval treats runs as independent, which runs
// that wait in one line are not: it says how far single runs scatter, and is too narrow where one burst made many of them.
type DifferenceRow struct {
	By       string   `json:"by"`             // all, kind, class or user
	Name     string   `json:"name,omitempty"` // empty for all
	Runs     int      `json:"runs"`
	Before   float64  `json:"beforeSeconds"`  // mean turnaround
	After    float64  `json:"afterSeconds"`   // mean turnaround
	Change   Interval `json:"changeSeconds"`  // after − before: mean over runs, with a t interval over the paired runs
	Relative float64  `json:"relativeChange"` // Change over Before; −0.3 is 30 % shorter
}

// ByAll is the dimension of the one group that holds every run.
const ByAll = "all"

// Compare pairs the runs of two schedules of one workload, by ID. Kinds, classes and users are those of the first. A run that failed in
// a play did less than its work, and does not count; one that failed on record counts, as its replay has just the work that it had.
func Compare(before, after *Schedule) Difference {
	d := Difference{Before: before.Cell, After: after.Cell}
	later := make(map[int64]*Job)
	for i := range after.Jobs {
		if j := &after.Jobs[i]; j.Ended() {
			later[j.ID] = j
		}
	}
	var pairs []pair
	for i := range before.Jobs {
		j := &before.Jobs[i]
		if !j.Ended() {
			continue
		}
		switch o := later[j.ID]; {
		case o == nil:
			d.Alone++
		case j.Failed() && !before.Recorded || o.Failed() && !after.Recorded:
			d.Failed++
		default:
			pairs = append(pairs, pair{j, o})
		}
	}
	d.Runs = len(pairs)
	d.Alone += len(later) - len(pairs) - d.Failed
	for _, by := range []string{ByAll, ByKind, ByClass, ByUser} {
		d.Groups = append(d.Groups, compareBy(by, pairs)...)
	}
	return d
}

// pair is one run in two schedules.
type pair struct{ before, after *Job }

// compareBy returns a row for each group of one dimension. Small groups beyond maxGroups are put together.
func compareBy(by string, pairs []pair) []DifferenceRow {
	members := make(map[string][]pair)
	for _, p := range pairs {
		members[p.before.group(by)] = append(members[p.before.group(by)], p)
	}
	names := foldSmall(members)
	rows := make([]DifferenceRow, 0, len(names))
	for _, name := range names {
		rows = append(rows, compareGroup(by, name, members[name]))
	}
	return rows
}

func compareGroup(by, name string, pairs []pair) DifferenceRow {
	before, after, change := make([]float64, len(pairs)), make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		before[i], after[i] = p.before.Turnaround().Seconds(), p.after.Turnaround().Seconds()
		change[i] = (p.after.Turnaround() - p.before.Turnaround()).Seconds()
	}
	slices.Sort(before)
	slices.Sort(after)
	row := DifferenceRow{By: by, Name: name, Runs: len(pairs), Before: mean(before), After: mean(after), Change: interval(change)}
	row.Relative = ratio(row.Change.Mean, row.Before)
	return row
}
