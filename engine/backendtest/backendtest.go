// Package backendtest answers: does a back-end keep the promises of engine.Runner?
//
// A back-end calls TestRunner from its own tests with a Harness that says how to open it and how to write a component that
// runs a shell script. The suite knows nothing of processes, containers or pods.
package backendtest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// Harness is what the suite needs to know of a back-end.
type Harness struct {
	// Open opens a Runner. Later calls open another one on the same place, as a new daemon would, after the Run of the one
	// before has returned.
	Open func() (engine.Runner, error)
	// Shell returns a component that runs a script with a POSIX shell. The suite sets what else it needs.
	Shell func(script string) dovetail.Component
	// Log returns all that a replica wrote to stdout; nil skips what needs it.
	Log func(ctx context.Context, r engine.Runner, id dovetail.Replica) (io.ReadCloser, error)
	// Node is the node that replicas are started on.
	Node string
	// Patience is how long the suite waits for something that must happen; 0 means 2 min.
	Patience time.Duration
}

// TestRunner runs the suite. open is called once for each of its tests, each of which has a place of its own.
func TestRunner(t *testing.T, open func(t *testing.T) Harness) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := open(t)
			if test.logs && h.Log == nil {
				t.Skip("the harness cannot show what replicas print")
			}
			if h.Patience == 0 {
				h.Patience = 2 * time.Minute
			}
			test.run(t, &session{t: t, h: h})
		})
	}
}

// session is one test at work on one place.
type session struct {
	t       *testing.T
	h       Harness
	runner  engine.Runner
	events  <-chan item
	heard   []dovetail.Event // all since the runner was opened
	before  int              // how many of heard came before observed was called
	next    dovetail.RunID
	started []dovetail.Replica
	end     func()
}

// open opens a Runner and lets it run until it has reported what it has a record of.
func (s *session) open() {
	s.t.Helper()
	r, err := s.h.Open()
	if err != nil {
		s.t.Fatalf("open: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	inbox, out := make(chan item), make(chan item)
	events := make(chan dovetail.Event)
	ended := make(chan error, 1)
	s.runner, s.events, s.heard = r, out, nil
	go relay(ctx, inbox, events, out)
	go func() { ended <- r.Run(ctx, events, func() { inbox <- item{observed: true} }) }()
	s.end = func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("Run returned %v when its context ended; expected nil", err)
		}
		s.end = nil
	}
	for deadline := time.After(s.h.Patience); ; {
		select {
		case i := <-s.events:
			if i.observed {
				s.before = len(s.heard)
				s.t.Cleanup(s.tidy)
				return
			}
			s.heard = append(s.heard, i.event)
		case <-deadline:
			s.t.Fatalf("Run did not call observed in time; it reported %s", describe(s.heard))
		}
	}
}

// item is an event, or the call of observed, which has its place between events.
type item struct {
	event    dovetail.Event
	observed bool
}

// relay takes events from a Runner at once, as the engine does, and keeps them until the test asks for them.
func relay(ctx context.Context, marks <-chan item, events <-chan dovetail.Event, out chan<- item) {
	var queue []item
	for {
		var to chan<- item
		var next item
		if len(queue) > 0 {
			to, next = out, queue[0]
		}
		select {
		case e := <-events:
			queue = append(queue, item{event: e})
		case m := <-marks:
			queue = append(queue, m)
		case to <- next:
			queue = queue[1:]
		case <-ctx.Done():
			return
		}
	}
}

// restart ends the Runner and opens another one in its place.
func (s *session) restart() {
	s.t.Helper()
	s.end()
	s.open()
}

// tidy stops what the test left running.
func (s *session) tidy() {
	if s.end == nil {
		return
	}
	for _, r := range s.started {
		s.runner.Stop(r, false)
		s.await("the end of a replica at the end of the test", overOf(r))
	}
	s.end()
}

// launch makes a launch of a run of its own with one component.
func (s *session) launch(c dovetail.Component) engine.Launch {
	s.next++
	c.Name, c.Count = "it", 1
	run := &dovetail.Run{
		ID: s.next, Name: fmt.Sprintf("run-%d", s.next), Class: "test", User: "tester",
		App: &dovetail.Application{APIVersion: dovetail.APIVersion, Name: "test", Kind: dovetail.Batch, Components: []dovetail.Component{c}},
	}
	return engine.Launch{Replica: dovetail.Replica{Run: run.ID, Attempt: 1}, Node: s.h.Node, Run: run}
}

// start starts a component and returns its replica.
func (s *session) start(c dovetail.Component) dovetail.Replica {
	l := s.launch(c)
	s.started = append(s.started, l.Replica)
	s.runner.Start(l)
	return l.Replica
}

// shell starts a script.
func (s *session) shell(script string) dovetail.Replica { return s.start(s.h.Shell(script)) }

// await returns the first event that matches, of those heard and those to come.
func (s *session) await(what string, match func(dovetail.Event) bool) dovetail.Event {
	s.t.Helper()
	for _, e := range s.heard {
		if match(e) {
			return e
		}
	}
	return s.awaitNew(what, match)
}

// awaitNew returns the first event to come that matches.
func (s *session) awaitNew(what string, match func(dovetail.Event) bool) dovetail.Event {
	s.t.Helper()
	for deadline := time.After(s.h.Patience); ; {
		select {
		case i := <-s.events:
			s.heard = append(s.heard, i.event)
			if match(i.event) {
				return i.event
			}
		case <-deadline:
			s.t.Fatalf("waited %v in vain for %s; heard %s", s.h.Patience, what, describe(s.heard))
		}
	}
}

// up, ready, down and over wait for what is reported of a replica.
func (s *session) up(r dovetail.Replica) dovetail.ReplicasUp {
	s.t.Helper()
	return s.await("ReplicasUp", upOf(r)).(dovetail.ReplicasUp)
}

func (s *session) ready(r dovetail.Replica) {
	s.t.Helper()
	s.await("ReplicasReady", readyOf(r))
}

func (s *session) down(r dovetail.Replica) dovetail.ReplicasDown {
	s.t.Helper()
	e := s.await("ReplicasDown", overOf(r))
	d, ok := e.(dovetail.ReplicasDown)
	if !ok {
		s.t.Fatalf("expected ReplicasDown, got %T %+v", e, e)
	}
	return d
}

func upOf(r dovetail.Replica) func(dovetail.Event) bool {
	return func(e dovetail.Event) bool { u, ok := e.(dovetail.ReplicasUp); return ok && u.Replica == r }
}

func readyOf(r dovetail.Replica) func(dovetail.Event) bool {
	return func(e dovetail.Event) bool { u, ok := e.(dovetail.ReplicasReady); return ok && u.Replica == r }
}

func overOf(r dovetail.Replica) func(dovetail.Event) bool {
	return func(e dovetail.Event) bool {
		switch e := e.(type) {
		case dovetail.ReplicasDown:
			return e.Replica == r
		case dovetail.Refused:
			return e.Replica == r
		}
		return false
	}
}

// count returns how many events heard so far match.
func (s *session) count(match func(dovetail.Event) bool) int {
	n := 0
	for _, e := range s.heard {
		if match(e) {
			n++
		}
	}
	return n
}

// output returns what a replica wrote.
func (s *session) output(r dovetail.Replica) string {
	s.t.Helper()
	log, err := s.h.Log(s.t.Context(), s.runner, r)
	if err != nil {
		s.t.Fatalf("log: %v", err)
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil {
		s.t.Fatalf("read the log: %v", err)
	}
	return string(text)
}

// printed waits until a replica has written a text.
func (s *session) printed(r dovetail.Replica, text string) {
	s.t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(s.h.Patience); !strings.Contains(s.output(r), text); <-poll.C {
		if time.Now().After(deadline) {
			s.t.Fatalf("the replica did not print %q in time; it printed %q", text, s.output(r))
		}
	}
}

// writes waits until a replica has written so many bytes more.
func (s *session) writes(r dovetail.Replica, more int) {
	s.t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	from := len(s.output(r))
	for deadline := time.Now().Add(s.h.Patience); len(s.output(r)) < from+more; <-poll.C {
		if time.Now().After(deadline) {
			s.t.Fatalf("the replica did not write %d bytes more in time", more)
		}
	}
}

// describe lists events for people.
func describe(events []dovetail.Event) string {
	var list []string
	for e := range slices.Values(events) {
		list = append(list, fmt.Sprintf("%s%+v", dovetail.EventType(e), e))
	}
	return "[" + strings.Join(list, " ") + "]"
}
