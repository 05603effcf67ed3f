package dovetail

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RunID numbers runs from 1 in the order of their submission.
type RunID int64

// State is where a run is in its life: queued → starting → running → stopping → ended.
type State string

// The states of a run.
const (
	Queued   State = "queued"   // waits for its core to fit, or is held
	Starting State = "starting" // in service; not all of its core is ready yet
	Running  State = "running"  // all of its core is ready
	Stopping State = "stopping" // its outcome is known, its replicas are being stopped
	Ended    State = "ended"
)

// Outcome is how a run ended; empty while it has not.
type Outcome string

// The outcomes of a run.
const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeTimedOut  Outcome = "timedout" // it ran longer than its maximum runtime
	OutcomeLost      Outcome = "lost"     // a node with a core replica was lost
)

// Run is one submission of an application, as everybody may know it: who asked for what. It never changes.
type Run struct {
	ID     RunID             `json:"id"`
	Name   string            `json:"name"`  // unique enough for people: class-id unless chosen
	Class  string            `json:"class"` // job class: application name and parameters, the key of all learning
	User   string            `json:"user,omitempty"`
	Key    string            `json:"key,omitempty"`    // the client's idempotency key
	Digest string            `json:"digest,omitempty"` // of the submitted body; tells a repeated key from a misused one
	Params map[string]string `json:"params,omitempty"` // resolved: every declared parameter has its value
	App    *Application      `json:"app"`
	Input  int64             `json:"inputSize,omitempty"`    // bytes it reads: what the submission says, else App.InputSize; 0: unknown
	Hold   bool              `json:"hold,omitempty"`         // submitted on hold
	Wait   bool              `json:"waitCapacity,omitempty"` // accepted although its core fits no cluster known so far
}

// ClassOf returns the job class of a run: the name of the application, and its parameters in order of name as in a URL, such as
// "wordcount?input=small&top=10".
func ClassOf(app string, params map[string]string) string {
	var b strings.Builder
	b.WriteString(app)
	sep := byte('?')
	for _, k := range slices.Sorted(maps.Keys(params)) {
		b.WriteByte(sep)
		b.WriteString(escape(k) + "=" + escape(params[k]))
		sep = '&'
	}
	return b.String()
}

// AppOf returns the application that a job class is of.
func AppOf(class string) string {
	app, _, _ := strings.Cut(class, "?")
	return app
}

// escape writes a text as in the query of a URL (application/x-www-form-urlencoded).
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.~", c) >= 0:
			b = append(b, c)
		case c == ' ':
			b = append(b, '+')
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// RunName returns the name of a run for which nobody chose one.
func RunName(app string, id RunID) string { return app + "-" + strconv.FormatInt(int64(id), 10) }

// Expected returns the runtime at full scale that the description hints at, or 0 when it says nothing.
func (r *Run) Expected() time.Duration {
	if r.App.Expected > 0 {
		return time.Duration(r.App.Expected)
	}
	return time.Duration(r.App.Size * float64(time.Minute))
}

// Node is a machine, or a part of one, that can hold replicas.
type Node struct {
	Name     string            `json:"name"`
	Address  string            `json:"address,omitempty"`
	Capacity Resources         `json:"capacity"`
	Labels   map[string]string `json:"labels,omitempty"`
}

// Replica names one process or container. Index is unique among the living replicas of a component: core replicas have the
// indices below the component's Count, elastic ones those from Count on. Attempt tells successive replicas with the same
// index apart; it grows.
type Replica struct {
	Run       RunID `json:"run"`
	Component int   `json:"component"` // index into Application.Components
	Index     int   `json:"index"`
	Attempt   int64 `json:"attempt"`
}

// Exit is how a replica ended.
type Exit struct {
	Code   int    `json:"code"`             // exit code, or 128 + signal
	Signal string `json:"signal,omitempty"` // SIGKILL, …
	OOM    bool   `json:"oom,omitempty"`    // killed for exceeding its memory
	Asked  bool   `json:"asked,omitempty"`  // it was told to stop
	Lost   bool   `json:"lost,omitempty"`   // nobody knows: its node or its record disappeared
	Why    string `json:"why,omitempty"`    // for people
}

// OK reports whether the replica ended by itself and successfully.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == "" && !e.OOM && !e.Lost && !e.Asked }

// Usage is what a replica consumed during its life so far.
type Usage struct {
	CPU        time.Duration `json:"cpu,omitempty"`        // CPU time
	MemoryPeak int64         `json:"memoryPeak,omitempty"` // bytes
	Read       int64         `json:"read,omitempty"`       // bytes read from devices
	Written    int64         `json:"written,omitempty"`    // bytes written to devices
}

// Config is what can be switched while the system runs; every change is an event.
type Config struct {
	Policy           string   `json:"policy"`                     // name of a policy.Order
	Alloc            string   `json:"alloc"`                      // rigid, malleable, flexible or eager
	Reclaim          string   `json:"reclaim"`                    // any (Algorithm 1) or lower
	Preempt          bool     `json:"preempt,omitempty"`          // an arrival of higher rank may jump the serving order
	InteractiveFirst bool     `json:"interactiveFirst,omitempty"` // interactive runs rank before all others of their priority
	MaxWait          Duration `json:"maxWait,omitempty"`          // a run that waited longer goes first; 0 means never
	Regrow           Duration `json:"regrow,omitempty"`           // after a reclaim, or a death, a run gets no new elastic replica for so long
	Replan           Duration `json:"replan,omitempty"`           // the scale-out of a run with a target is reconsidered at most once in so long; 0 means 30s
	Place            string   `json:"place"`                      // name of a place.Order: zoe, pack or spread

	Colocation Colocation `json:"colocation,omitzero"`
}

// DefaultConfig is strict FIFO with the flexible allocator and Zoe's placement.
func DefaultConfig() Config {
	return Config{Policy: "fifo", Alloc: "flexible", Reclaim: "any", InteractiveFirst: true, Place: "zoe"}
}
