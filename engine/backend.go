package engine

import (
	"context"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/expand"
)

// Backend makes desired states true and reports what happens. It deals in counts, as the core does; the simulator is one.
// Back-ends that start replicas one by one implement Runner instead, and a Roster makes a Backend of them.
type Backend interface {
	// Do must not block; the outcome comes back as an event, at least once, in any order.
	Do(now time.Time, a dovetail.Action)
	// Observe says what really runs, after a restart.
	Observe(ctx context.Context) ([]dovetail.Event, error)
	// Run reports events until the context ends. The first events say which nodes there are.
	Run(ctx context.Context, inbox chan<- dovetail.Event) error
}

// Launch is all that a Runner needs to start one replica.
type Launch struct {
	Replica dovetail.Replica
	Elastic bool
	Node    string
	Run     *dovetail.Run
	Peers   []expand.Peer // replicas of the run that are up, in order of component and index
}

// Component returns the description of the component that the replica belongs to.
func (l *Launch) Component() *dovetail.Component {
	return &l.Run.App.Components[l.Replica.Component]
}

// Runner starts and stops single replicas: local processes, containers, pods. Its events carry N = 1 and the Replica.
// They may come late, twice and in any order: the Roster lets through what is news. Its conformance suite is backendtest.
type Runner interface {
	// Start starts a replica, or does nothing if it was started before. It must not block. Exactly one of
	// ReplicasDown and Refused follows in the end.
	Start(l Launch)
	// Stop stops a replica: hook (only if remove is set), then the stop signal, the grace period, and a kill of the whole
	// process tree. It must not block. Stopping what does not run reports ReplicasDown once more. A second Stop with remove unset
	// cuts the hook short.
	Stop(r dovetail.Replica, remove bool)
	// Freeze lets a replica stand still, or go on, which is asked for again before the end of its run stops it.
	Freeze(r dovetail.Replica, frozen bool)
	// Forget says that the replica's end is on record: all but its logs may be dropped.
	Forget(r dovetail.Replica)
	// Run first reports every node (NodeUp), then every replica it has a record of (ReplicasUp and ReplicasReady for
	// what lives, ReplicasDown for what ended), then calls observed once; after that it reports what happens until the
	// context ends. Replicas outlive it.
	Run(ctx context.Context, inbox chan<- dovetail.Event, observed func()) error
}
