package example

import (
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// defaultGrain is the size of a task in milliseconds of CPU time: short enough that workers can come and go.
const defaultGrain = 40

// Spec says which computation is meant: master and workers build the same one from it.
type Spec struct {
	Job     string `json:"job"`
	Parts   int    `json:"parts"` // tasks of a round
	Grain   int    `json:"grain"` // size of a task: milliseconds of CPU time, roughly
	Seed    uint64 `json:"seed"`
	Scratch string `json:"scratch,omitempty"` // directory that master and workers share; sort only
}

// job is a computation in rounds of independent tasks. Only the master calls the methods other than task. A task done
// twice gives the same result.
type job interface {
	// round returns how many tasks the round has, 0 after the last one, and what they need to know besides their number.
	round(n int) (tasks int, state []byte)
	// task does one task of a round.
	task(round, part int, state []byte) ([]byte, error)
	// reduce takes the results of a round in the order of its tasks.
	reduce(round int, results [][]byte) error
	// digest names the result after the last round; equal digests mean equal results.
	digest() string
	// expected returns what digest must return, found without rounds and tasks and in another way.
	expected() string
}

// kind is a row of the table of jobs.
type kind struct {
	name   string
	about  string
	rounds int
	build  func(Spec) job
}

func kinds() []kind {
	return []kind{
		{"wordcount", "counts the words of a text", 1, newWordcount},
		{"kmeans", "finds clusters of points", lloydRounds, newKmeans},
		{"components", "finds the connected components of a graph", 1, newComponents},
		{"pagerank", "ranks pages by the links between them", rankRounds + 1, newPagerank},
		{"sort", "sorts records on disk", sortRounds, newSorting},
	}
}

// Jobs returns the names of the applications.
func Jobs() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

func findKind(name string) (kind, error) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, dovetail.Errorf(dovetail.Invalid, "unknown job %q; there are %s", name, strings.Join(Jobs(), ", "))
	}
	return all[i], nil
}

// Size returns how much CPU time a job of that size takes, roughly: 2 s (small), 10 s (medium) or 40 s (large). Any other
// size is read as a duration, such as 15s.
func Size(size string) (time.Duration, error) {
	switch size {
	case "small":
		return 2 * time.Second, nil
	case "medium":
		return 10 * time.Second, nil
	case "large":
		return 40 * time.Second, nil
	}
	d, err := time.ParseDuration(size)
	if err != nil || d <= 0 || d > time.Hour {
		return 0, dovetail.Errorf(dovetail.Invalid, "size %q: expected small, medium, large or a CPU time up to 1h such as 15s", size)
	}
	return d, nil
}

// NewSpec returns the computation of a job that takes about this much CPU time, whatever the machine: the same arguments
// mean the same data.
func NewSpec(jobName string, work time.Duration, seed uint64) (Spec, error) {
	k, err := findKind(jobName)
	if err != nil {
		return Spec{}, err
	}
	parts := int(work.Milliseconds()) / (k.rounds * defaultGrain)
	return Spec{Job: k.name, Parts: max(parts, 2), Grain: defaultGrain, Seed: seed}, nil
}

// newJob builds the computation that s means.
func newJob(s Spec) (job, error) {
	k, err := findKind(s.Job)
	if err != nil {
		return nil, err
	}
	const most = 1 << 20
	if s.Parts < 1 || s.Parts > most || s.Grain < 1 || s.Grain > most {
		return nil, dovetail.Errorf(dovetail.Invalid, "%s: %d parts of %d ms; both must be between 1 and %d", s.Job, s.Parts, s.Grain, most)
	}
	return k.build(s), nil
}

// Expected returns the digest that the result of a job of this size has, if nothing was lost. It is found in another way
// than by doing the job, and in a small part of its time.
func Expected(jobName string, work time.Duration, seed uint64) (string, error) {
	s, err := NewSpec(jobName, work, seed)
	if err != nil {
		return "", err
	}
	j, err := newJob(s)
	if err != nil {
		return "", err
	}
	return j.expected(), nil
}
