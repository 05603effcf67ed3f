package trace

import (
	"math"
	"math/bits"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// taskLines reads what Hawk's and Eagle's simulators read (Delgado et al., ATC 2015 and SoCC 2016): the arrival in seconds, the
// number of tasks, their mean duration as the scheduler knows it, and the duration of each. A job becomes a pool of tasks: one
// component with one core replica and as many elastic ones as there are tasks more, up to MaxReplicas in all, of one processor
// each. Its runtime is such that its work is that of its tasks, as nearly as microseconds allow: the mean of their durations.
type taskLines struct {
	apps   apps
	fields [][]byte
	id     int64
}

func startTasks() decoder { return &taskLines{apps: newApps()} }

func (*taskLines) notices() []string { return nil }

func (t *taskLines) line(text []byte) (j Job, ok bool, err error) {
	t.id++ // the format numbers no jobs: the first line is 1
	j.ID = t.id
	t.fields = fields(text, t.fields)
	f := t.fields
	if len(f) < 4 {
		return j, false, faultf("line", "it has %d columns; expected arrival, number of tasks, mean duration, and the duration of each", len(f))
	}
	if j.Submit, err = seconds("arrival", f[0]); err != nil {
		return j, false, err
	}
	n, err := count("tasks", f[1], 1, math.MaxInt32)
	if err != nil {
		return j, false, err
	}
	if int(n) != len(f)-3 {
		return j, false, faultf("tasks", "there are %d durations; expected one for each of %d tasks", len(f)-3, n)
	}
	a := shape{name: "tasks", kind: dovetail.Batch, core: 1, full: min(int(n), MaxReplicas)}
	a.each[dovetail.CPU] = 1000
	if a.runtime, err = positive("mean", f[2]); err != nil {
		return j, false, err
	}
	j.Tasks = make([]time.Duration, n)
	var work uint64 // microseconds
	for i := range j.Tasks {
		if j.Tasks[i], err = positive("duration", f[3+i]); err != nil {
			return j, false, err
		}
		if work, err = addTask(work, j.Tasks[i]); err != nil {
			return j, false, err
		}
	}
	j.Runtime = time.Duration(max(1, (work+uint64(a.full)/2)/uint64(a.full))) * time.Microsecond
	j.App = t.apps.of(&a)
	return j, true, nil
}

// addTask adds the duration of a task, if the sum can still be counted.
func addTask(work uint64, d time.Duration) (uint64, error) {
	sum, carry := bits.Add64(work, uint64(d.Microseconds()), 0)
	if carry != 0 || sum > math.MaxInt64/2 {
		return 0, faultf("duration", "the tasks are more work than can be counted; expected fewer or shorter ones")
	}
	return sum, nil
}
