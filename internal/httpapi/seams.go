package httpapi

import (
	"context"
	"io"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// Engine is what the API needs of a running engine; *engine.Engine is one.
type Engine interface {
	Commands
	Sights
}

// Commands are the requests that change something, or say what would change.
type Commands interface {
	// Submit puts a run on record. The bool is false when its key was used before for the same submission.
	Submit(ctx context.Context, s engine.Submission) (dovetail.RunStatus, bool, error)
	// DryRun says what Submit would lead to now.
	DryRun(ctx context.Context, s engine.Submission) (dovetail.Plan, dovetail.Explanation, error)
	// Tell puts an event on record that a person or a program asks for.
	Tell(ctx context.Context, e dovetail.Event) error
}

// Sights are the ways to look at a running engine.
type Sights interface {
	// Inspect calls f inside the engine's loop. f must be quick, change nothing and keep nothing of c.
	Inspect(ctx context.Context, f func(c *sched.Core, now time.Time)) error
	// Watch delivers event records from now on, until the context ends or the reader falls behind.
	Watch(ctx context.Context) <-chan dovetail.EventRecord
	// Health says whether the engine accepts work.
	Health() engine.Health
	// Stats returns the engine's counters.
	Stats() engine.Stats
}

// Logs gives access to what replicas wrote.
type Logs interface {
	// Log returns the bytes [from, from+limit) of a stream (stdout or stderr) of a replica; limit 0 means to the end. With
	// follow it goes on until the replica ends, the context ends or the limit is reached. A dovetail.NotFound error says
	// that there is no such log.
	Log(ctx context.Context, r dovetail.Replica, stream string, from, limit int64, follow bool) (io.ReadCloser, error)
}

// Forecasts tell what is to be expected of runs that wait.
type Forecasts interface {
	// Expect returns when a waiting run is expected to start; nil if nobody can tell in the time that an answer may take.
	Expect(ctx context.Context, run dovetail.RunID) (*dovetail.Expectation, error)
	// WhatIf says who would start when under an alternative, next to what is expected as things are.
	WhatIf(ctx context.Context, a dovetail.Alternative) (dovetail.WhatIf, error)
}

// Meter knows what replicas consume while they live; what those consumed that ended is on record.
type Meter interface {
	// Usage returns what a replica consumed so far; false if nothing is known of it.
	Usage(r dovetail.Replica) (dovetail.Usage, bool)
}
