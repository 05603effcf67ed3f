package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/sched"
)

type companyOutput struct{ Body dovetail.Company }

// company says who ran beside a run that has ended, and what that cost, or who runs beside one that goes on.
func (s *server) company(ctx context.Context, in *RunInput) (*companyOutput, error) {
	id, err := s.find(ctx, in.ID)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	status, _, err := s.reader.Run(ctx, id)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	classes, _, _, err := s.known(ctx, true)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	known := func(class string) (dovetail.KnownClass, bool) {
		i, found := slices.BinarySearchFunc(classes, class, func(k dovetail.KnownClass, c string) int { return strings.Compare(k.Class, c) })
		if !found {
			return dovetail.KnownClass{}, false
		}
		return classes[i], true
	}
	out := dovetail.Company{Run: id, Ended: status.State == dovetail.Ended, Beside: []dovetail.Companion{}}
	var costs []dovetail.Cost
	if out.Ended {
		costs, err = s.costs(ctx, &status, known)
	} else {
		costs, err = s.beside(ctx, id)
	}
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	own, _ := known(status.Class)
	for _, c := range costs {
		with := dovetail.Companion{Cost: c}
		if slow, ok := coloc.Slowdown(own.Evidence, c.Class); ok {
			with.Slowdown = &slow
		}
		out.Beside = append(out.Beside, with)
	}
	return &companyOutput{Body: out}, nil
}

// costs says who ran beside a run that has ended.
func (s *server) costs(ctx context.Context, r *dovetail.RunStatus, known func(string) (dovetail.KnownClass, bool)) ([]dovetail.Cost, error) {
	if r.Ended == nil {
		return nil, nil
	}
	all, err := s.reader.History(ctx, engine.HistoryFilter{Until: *r.Ended, Before: r.ID + 1, Limit: 1, Learn: true})
	if err != nil || len(all) == 0 || all[0].Status.ID != r.ID { // a run that never started is in no history
		return nil, err
	}
	return learn.Costs(&all[0], known), nil
}

// beside says who is on the nodes of a run now, by class.
func (s *server) beside(ctx context.Context, id dovetail.RunID) (costs []dovetail.Cost, err error) {
	err = s.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) {
		slots := c.Desired()
		here := make(map[string]bool)
		for i := range slots {
			if slots[i].Run == id {
				here[slots[i].Node] = true
			}
		}
		var others []dovetail.RunID
		for i := range slots {
			if slots[i].Run != id && here[slots[i].Node] {
				others = append(others, slots[i].Run)
			}
		}
		slices.Sort(others)
		for _, other := range slices.Compact(others) {
			r, ok := c.Status(other)
			if !ok {
				continue
			}
			at := slices.IndexFunc(costs, func(c dovetail.Cost) bool { return c.Class == r.Class })
			if at < 0 {
				at = len(costs)
				costs = append(costs, dovetail.Cost{Class: r.Class})
			}
			costs[at].Runs = append(costs[at].Runs, other)
		}
	})
	slices.SortFunc(costs, func(a, b dovetail.Cost) int { return cmp.Compare(a.Class, b.Class) })
	return costs, err
}

// warnings says what is odd about a submission although it is accepted: neighbours that it names and nobody knows so far.
func (s *server) warnings(ctx context.Context, app *dovetail.Application) ([]string, error) {
	if app.Colocation == nil {
		return nil, nil
	}
	var all []string
	for _, list := range []struct {
		field string
		names []string
	}{{"avoid", app.Colocation.Avoid}, {"prefer", app.Colocation.Prefer}} {
		for _, name := range list.names {
			met, err := s.met(ctx, name)
			if err != nil {
				return nil, err
			}
			if !met {
				all = append(all, fmt.Sprintf("colocation.%s names %s, and no run of that was ever submitted here; it will count when there is one", list.field, name))
			}
		}
	}
	return all, nil
}

// met reports whether an application or a job class is known here: a run of it was submitted, or something was learned of it.
func (s *server) met(ctx context.Context, name string) (known bool, err error) {
	err = s.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) { known = c.Knows(name) })
	if err != nil || known {
		return known, err
	}
	runs, err := s.reader.Runs(ctx, engine.RunFilter{Name: dovetail.AppOf(name), Limit: 1000})
	return slices.ContainsFunc(runs, func(r dovetail.RunStatus) bool { return r.App == name || r.Class == name }), err
}
