package study

import (
	"context"
	"io"
	"math/rand/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/report"
)

// Runtimes asks how well models foretell runtimes of real recurring jobs from few runs, at scale-outs that they have not seen. It is
// the measurement of Bell's authors (Thamsen et al., IPCCC 2016) on two public collections: bell_runs.csv of
// github.com/dos-group/runtime-prediction-experiments, six jobs at fifteen scale-outs, and c3o_runs.csv of
// github.com/dos-group/c3o-experiments, five jobs in 154 contexts at six scale-outs. They are not part of Dovetail.
//
// A task is a few runs of one job to learn from, one per distinct scale-out while there are more, and all of its runs at scale-outs
// that none of these had: inside their range, or outside. Where a job has too few scale-outs, one is left for the test, and
// several runs at one scale-out are learned from. All models get the same tasks, so that their errors can be compared task by task.
type Runtimes struct {
	Bell, C3O io.Reader // the files; nil: without them
	Seed      uint64    // of the tasks
	Splits    int       // tasks of each kind per job of Bell's; contexts of C3O, of which there are many, have a twelfth of it. 0: 36, and 3

	Workers  int              // that compute at once; 0: as many as Go runs threads
	Progress func(p Progress) // called now and then, one call at a time; may be nil
}

// Kinds of tasks.
const (
	RuntimesInside  = "inside"  // scale-outs between those that were learned from
	RuntimesOutside = "outside" // scale-outs beyond them
	RuntimesWild    = "wild"    // inside, and one of the runs that were learned from took three times as long
	RuntimesOthers  = "others"  // inside, and all runs at all other scale-outs were learned from
)

// RuntimesResult is what came out.
type RuntimesResult struct {
	Seed uint64        `json:"seed"`
	Rows []RuntimesRow `json:"rows"`
}

// RuntimesRow is one model on one block of tasks.
type RuntimesRow struct {
	Model string `json:"model"`
	Data  string `json:"data"` // bell or c3o
	Kind  string `json:"kind"`
	Runs  int    `json:"runs,omitempty"` // learned from; 0: all there are
	Tasks int    `json:"tasks"`

	Mean   float64 `json:"meanAbsolutePercentageError"`   // of the medians that were foretold: mean over tasks of the mean over runs
	Median float64 `json:"medianAbsolutePercentageError"` // over all runs of all tasks

	// Of models that say how sure they are:
	Spread   bool    `json:"spread"`
	Coverage float64 `json:"coverage,omitempty"` // share of runs between the 5 % and the 95 % quantile; mean over tasks
	Width    float64 `json:"width,omitempty"`    // ln of the ratio of these quantiles; mean over tasks

	// Mean less that of the reference on the same tasks, over jobs (contexts): tasks of one job are not independent.
	Difference report.Interval `json:"difference"`
}

// runtimesModel is a model of the comparison.
type runtimesModel struct {
	name    string
	method  predict.Method
	options predict.Options
}

// runtimesModels returns the models that are compared; the first is what the others are compared with.
func runtimesModels() ([]runtimesModel, error) {
	models := []runtimesModel{{name: "reference", method: predict.Reference()}}
	for _, m := range []struct {
		text, name string
		unweighted bool
	}{
		{"bayes-ernest", "bayes-ernest", false},
		{"ernest, unweighted", "ernest", true},
		{"ernest", "ernest", false},
		{"bell, unweighted", "bell", true},
		{"bell", "bell", false},
	} {
		method, err := predict.Find(m.name)
		if err != nil {
			return nil, err
		}
		models = append(models, runtimesModel{m.text, method, predict.Options{Unweighted: m.unweighted}})
	}
	return models, nil
}

// Run reads the files and compares the models. It fails with dovetail.Invalid if a file is not what it should be.
func (r *Runtimes) Run(ctx context.Context) (*RuntimesResult, error) {
	models, err := runtimesModels()
	if err != nil {
		return nil, err
	}
	tasks, err := r.tasks()
	if err != nil {
		return nil, err
	}
	if len(tasks) == 0 {
		return nil, dovetail.Errorf(dovetail.Invalid, "there are no runs to compare models on: name a file of Bell's runs, or of C3O's")
	}
	done := &cobellProgress{tell: r.Progress, total: len(tasks)}
	scores := make([][]runtimesScore, len(tasks)) // by task and model
	err = each(ctx, r.Workers, len(tasks), func(_ context.Context, i int) error {
		scores[i] = make([]runtimesScore, len(models))
		for m := range models {
			s, err := tasks[i].score(&models[m])
			if err != nil {
				return err
			}
			scores[i][m] = s
		}
		done.step()
		return nil
	})
	if err != nil {
		return nil, err
	}
	result := &RuntimesResult{Seed: r.Seed}
	for m := range models {
		result.Rows = append(result.Rows, runtimesRows(models[m].name, m, tasks, scores)...)
	}
	return result, nil
}

// tasks reads the files and draws tasks from them.
func (r *Runtimes) tasks() ([]runtimesTask, error) {
	splits := r.Splits
	if splits <= 0 {
		splits = 36
	}
	var tasks []runtimesTask
	for i, file := range []struct {
		name   string
		reader io.Reader
		splits int
	}{{"bell", r.Bell, splits}, {"c3o", r.C3O, max(1, splits/12)}} {
		if file.reader == nil {
			continue
		}
		jobs, err := readRuntimes(file.name, file.reader)
		if err != nil {
			return nil, err
		}
		for j := range jobs {
			draw := rand.New(rand.NewPCG(r.Seed, uint64(i)<<32|uint64(j)))
			tasks = append(tasks, jobs[j].tasks(file.name, file.splits, draw)...)
		}
	}
	return tasks, nil
}
