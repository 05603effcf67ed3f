package study

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// runtimesJob is the runs of one job in one context.
type runtimesJob struct {
	name  string
	sites []float64          // distinct scale-outs, rising
	runs  [][]predict.Sample // by scale-out
}

// fewestSites is the number of scale-outs that a job needs to take part.
const fewestSites = 6

// readRuntimes reads finished runs: CSV with the columns job, scale_out, runtime_s, and context if jobs ran in several. Jobs come in
// the order of their first runs; those at fewer than fewestSites scale-outs are left out.
func readRuntimes(name string, file io.Reader) ([]runtimesJob, error) {
	reader := csv.NewReader(file)
	reader.ReuseRecord = true
	head, err := reader.Read()
	if err != nil {
		return nil, dovetail.Errorf(dovetail.Invalid, "%s runs: %v", name, err)
	}
	columns := make(map[string]int, len(head))
	for i, h := range head {
		columns[h] = i
	}
	for _, c := range []string{"job", "scale_out", "runtime_s"} {
		if _, ok := columns[c]; !ok {
			return nil, dovetail.Errorf(dovetail.Invalid, "%s runs: there is no column %q; expected job, scale_out, runtime_s, and perhaps context", name, c)
		}
	}
	var jobs []runtimesJob
	known := make(map[string]int)
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, dovetail.Errorf(dovetail.Invalid, "%s runs: %v", name, err)
		}
		sample, err := runtimesSample(row[columns["scale_out"]], row[columns["runtime_s"]])
		if err != nil {
			line, _ := reader.FieldPos(0)
			return nil, dovetail.Errorf(dovetail.Invalid, "%s runs, line %d: %v", name, line, err)
		}
		key := row[columns["job"]]
		if c, ok := columns["context"]; ok {
			key += " " + row[c]
		}
		at, ok := known[key]
		if !ok {
			at = len(jobs)
			known[key] = at
			jobs = append(jobs, runtimesJob{name: key})
		}
		jobs[at].add(sample)
	}
	return slices.DeleteFunc(jobs, func(j runtimesJob) bool { return len(j.sites) < fewestSites }), nil
}

func runtimesSample(scaleOut, seconds string) (predict.Sample, error) {
	x, err := strconv.ParseFloat(scaleOut, 64)
	if err != nil || !(x >= 1) || math.IsInf(x, 1) {
		return predict.Sample{}, fmt.Errorf("scale_out %q is not a number from 1 on", scaleOut)
	}
	y, err := strconv.ParseFloat(seconds, 64)
	if err != nil || !(y > 0) || math.IsInf(y, 1) {
		return predict.Sample{}, fmt.Errorf("runtime_s %q is not a positive number", seconds)
	}
	return predict.Sample{ScaleOut: x, Runtime: y}, nil
}

// add puts a run to those at its scale-out.
func (j *runtimesJob) add(s predict.Sample) {
	at, ok := slices.BinarySearch(j.sites, s.ScaleOut)
	if !ok {
		j.sites = slices.Insert(j.sites, at, s.ScaleOut)
		j.runs = slices.Insert(j.runs, at, nil)
	}
	j.runs[at] = append(j.runs[at], s)
}

// runtimesTask is what models learn from, and what they are asked.
type runtimesTask struct {
	data, job, kind string
	runs            int // 0: all
	learn, ask      []predict.Sample
}

// tasks draws the tasks of a job.
func (j *runtimesJob) tasks(data string, splits int, r *rand.Rand) []runtimesTask {
	var tasks []runtimesTask
	for _, kind := range []string{RuntimesInside, RuntimesOutside} {
		for _, runs := range []int{3, 5, 8} {
			for range splits {
				t := j.task(runs, kind == RuntimesInside, r)
				t.data, t.kind = data, kind
				tasks = append(tasks, t)
				if kind == RuntimesInside && runs > 3 {
					t.kind, t.learn = RuntimesWild, slices.Clone(t.learn)
					t.learn[r.IntN(runs)].Runtime *= 3
					tasks = append(tasks, t)
				}
			}
		}
	}
	for at := 1; at < len(j.sites)-1; at++ {
		t := runtimesTask{data: data, job: j.name, kind: RuntimesOthers, ask: j.runs[at]}
		for i := range j.sites {
			if i != at {
				t.learn = append(t.learn, j.runs[i]...)
			}
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// task draws scale-outs to learn from until there is another one inside (outside) their range; and then runs at them.
func (j *runtimesJob) task(runs int, inside bool, r *rand.Rand) runtimesTask {
	t := runtimesTask{job: j.name, runs: runs}
	var chosen []int
	for t.ask == nil {
		chosen = r.Perm(len(j.sites))[:min(runs, len(j.sites)-1)]
		low, high := slices.Min(chosen), slices.Max(chosen)
		for i := range j.sites {
			if !slices.Contains(chosen, i) && (low < i && i < high) == inside {
				t.ask = append(t.ask, j.runs[i]...)
			}
		}
	}
	var more []predict.Sample
	for _, i := range chosen {
		at := r.IntN(len(j.runs[i]))
		for k := range j.runs[i] {
			if k == at {
				t.learn = append(t.learn, j.runs[i][k])
			} else {
				more = append(more, j.runs[i][k])
			}
		}
	}
	r.Shuffle(len(more), func(a, b int) { more[a], more[b] = more[b], more[a] })
	t.learn = append(t.learn, more[:min(len(more), runs-len(t.learn))]...)
	t.runs = runs
	return t
}

// runtimesScore is how well one model did one task.
type runtimesScore struct {
	errors   []float64 // absolute, in per cent, of each run that was asked for
	mean     float64   // of them
	spread   bool
	coverage float64
	width    float64
}

// score lets a model learn, and compares what it foretells.
func (t *runtimesTask) score(m *runtimesModel) (runtimesScore, error) {
	model, err := m.method.Fit(t.learn, m.options)
	if err != nil {
		return runtimesScore{}, fmt.Errorf("%s, %s: %w", m.name, t.job, err)
	}
	s := runtimesScore{errors: make([]float64, len(t.ask))}
	var low, median, high float64
	for i := range t.ask {
		if i == 0 || t.ask[i].ScaleOut != t.ask[i-1].ScaleOut {
			d := model.Predict(predict.At{ScaleOut: t.ask[i].ScaleOut})
			low, median, high = d.Quantile(0.05), d.Quantile(0.5), d.Quantile(0.95)
		}
		y := t.ask[i].Runtime
		s.errors[i] = 100 * math.Abs(median-y) / y
		s.mean += s.errors[i]
		s.spread = s.spread || high > low
		if low <= y && y <= high {
			s.coverage++
		}
		s.width += math.Log(high / low)
	}
	n := float64(len(t.ask))
	s.mean, s.coverage, s.width = s.mean/n, s.coverage/n, s.width/n
	return s, nil
}
