package study

import (
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/trace"
)

// The bounds of one application at full scale, as trace/generate_zoe.go has them.
const (
	zoeMostWork = 48 * time.Hour      // of the whole cluster
	zoeLongest  = 28 * 24 * time.Hour // runtime
)

// shrunk returns the first n of the jobs of a generator that has so many at full scale, such that they are a small picture of all.
//
// The first applications of Zoe's workload hardly queue: a few big ones are most of the work, and it takes weeks until there is a
// backlog. So no application may be more work, or run longer, than its share of what one may at full scale: the runtimes of the others
// are cut. Then submissions are moved together until the load is that of the full workload. How many components there are and what
// they need, the mix, the pattern of arrivals and all other runtimes stay as they were drawn.
func shrunk(generator string, seed uint64, n, full int, load float64, capacity dovetail.Resources) ([]trace.Job, error) {
	w, err := trace.Generate(generator, seed, n)
	if err != nil {
		return nil, err
	}
	if n >= full {
		return w.Jobs, nil
	}
	scale := float64(n) / float64(full)
	for i := range w.Jobs {
		j := &w.Jobs[i]
		shorten(j, scale*zoeLongest.Seconds())
		shorten(j, scale*zoeMostWork.Seconds()/largest(shares(j, capacity)))
	}
	crowd(w.Jobs, load, capacity)
	return w.Jobs, nil
}

// shares returns the shares of the capacity that a job takes with all of its replicas.
func shares(j *trace.Job, capacity dovetail.Resources) [dovetail.NumResources]float64 {
	var s [dovetail.NumResources]float64
	for k, total := range capacity {
		if total > 0 {
			s[k] = float64(int64(j.Full())*j.App.Components[0].Resources[k]) / float64(total)
		}
	}
	return s
}

func largest(of [dovetail.NumResources]float64) float64 {
	most := of[0]
	for _, v := range of {
		most = max(most, v)
	}
	return most
}

// shorten cuts the runtime of a job, and what policies are told of it.
func shorten(j *trace.Job, seconds float64) {
	longest := time.Duration(seconds*1000) * time.Millisecond
	if j.Runtime <= longest {
		return
	}
	app := *j.App // other jobs share it
	app.Expected = dovetail.Duration(longest)
	j.Runtime, j.App = longest, &app
}

// crowd divides all times of submission such that the work of the jobs is so many times what the cluster can do until the last of
// them is submitted.
func crowd(jobs []trace.Job, load float64, capacity dovetail.Resources) {
	var work [dovetail.NumResources]float64 // in seconds of the whole cluster
	for i := range jobs {
		for k, s := range shares(&jobs[i], capacity) {
			work[k] += float64(s * jobs[i].Runtime.Seconds())
		}
	}
	last := jobs[len(jobs)-1].Submit.Seconds()
	if last == 0 {
		return
	}
	factor := largest(work) / load / last
	for i := range jobs {
		jobs[i].Submit = time.Duration(float64(jobs[i].Submit.Milliseconds())*factor) * time.Millisecond
	}
}
