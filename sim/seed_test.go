package sim_test

import (
	"testing"
	"time"
	"fmt"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

func TestX(t *testing.T) {
	var jobs []trace.Job
	for i, q := range []struct{ e int }{{4}, {3}, {5}, {2}} {
		app := &dovetail.Application{Name: "app", Kind: dovetail.Batch, Expected: dovetail.Duration(10 * time.Second),
			Components: []dovetail.Component{{Name: "w", Count: 3, Max: 3 + q.e, Resources: dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 1 << 30}}}}
		jobs = append(jobs, trace.Job{ID: int64(i), Runtime: 10 * time.Second, App: app})
	}
	for _, alloc := range []string{"rigid", "malleable", "flexible"} {
		cfg := dovetail.DefaultConfig()
		cfg.Alloc = alloc
		out, err := sim.Play(t.Context(), sim.Options{Validate: true, Nodes: []dovetail.Node{{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 10000, dovetail.Memory: 10 << 30}}}, Config: cfg}, jobs)
		if err != nil {
			t.Fatal(err)
		}
		var sum time.Duration
		for _, j := range out.Jobs {
			sum += j.Finish - j.Submit
			fmt.Println(j.ID, j.Start, j.Finish, j.Outcome, j.Taken)
		}
		fmt.Println(alloc, sum/4, len(out.Levels))
	}
}
