package engine

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// builder collects what one turn makes durable: the records, and what follows from them for the read side.
type builder struct {
	t       *Turner
	at      time.Time
	changes Changes
	touched []dovetail.Slot // whose number of replicas may have changed, in order
	known   map[dovetail.Slot]bool
	spec    *dovetail.Run                         // before the event, of the run that it is about: afterwards the core may have forgotten it
	prior   map[dovetail.RunID]dovetail.RunStatus // before the plan, of the runs that it is about
}

func (t *Turner) begin(at time.Time) *builder {
	b := &builder{t: t, at: at}
	if t.reads {
		b.known = make(map[dovetail.Slot]bool)
	} else {
		b.changes.Records = t.records[:0]
	}
	return b
}

// before looks at what an event is going to change.
func (b *builder) before(e dovetail.Event) {
	if !b.t.reads {
		return
	}
	b.spec = b.t.core.Describe(dovetail.RunOf(e))
	switch e := e.(type) {
	case dovetail.NodeDown:
		for _, d := range b.t.core.Desired() {
			if d.Node == e.Node {
				b.touch(d.Slot)
			}
		}
	case dovetail.Decided:
		b.prior = make(map[dovetail.RunID]dovetail.RunStatus)
		for _, a := range e.Plan.Assign {
			if _, ok := b.prior[a.Run]; !ok {
				b.prior[a.Run], _ = b.t.core.Status(a.Run)
			}
		}
	}
}

// add notes an event that the core has accepted.
func (b *builder) add(e dovetail.Event) {
	r := Record{Seq: b.t.seq + int64(len(b.changes.Records)) + 1, At: b.at, Event: e}
	b.changes.Records = append(b.changes.Records, r)
	if s, ok := e.(dovetail.Submitted); ok {
		b.changes.Submitted = append(b.changes.Submitted, s.Run)
	}
	if !b.t.reads {
		return
	}
	switch e := e.(type) {
	case dovetail.ReplicasDown:
		b.touch(e.Slot)
	case dovetail.Refused:
		b.touch(e.Slot)
	case dovetail.Decided:
		for _, a := range e.Plan.Actions {
			if a, ok := a.(dovetail.RunReplicas); ok {
				b.touch(a.Slot)
			}
		}
	}
	b.tell(r)
}

func (b *builder) touch(s dovetail.Slot) {
	if !b.known[s] {
		b.known[s] = true
		b.touched = append(b.touched, s)
	}
}

// finish adds what is known only after the last event.
func (b *builder) finish() {
	if !b.t.reads {
		b.t.forget()
		b.t.records = b.changes.Records
		clear(b.t.away)
		return
	}
	changed := b.t.core.Changed()
	var replicas []dovetail.ReplicaStatus
	if b.t.roster != nil {
		replicas = b.t.roster.Changed()
	}
	b.changes.Runs, b.changes.Replicas = changed, replicas
	for i := range replicas {
		if replicas[i].Down != nil {
			r := &replicas[i]
			b.touch(dovetail.Slot{Run: r.Run, Component: r.Replica.Component, Elastic: r.Elastic, Node: r.Node})
		}
	}
	for _, s := range b.touched {
		b.changes.Placements = append(b.changes.Placements, dovetail.Placement{At: b.at, Slot: s, N: b.t.core.Occupied(s)})
	}
	if len(b.changes.Records) == 0 {
		return
	}
	b.changes.PutAway = b.t.away.Classes()
	clear(b.t.away)
	for i := range changed {
		if s := &changed[i]; s.State == dovetail.Ended {
			b.say(b.ending(s.ID), s.ID, endedText(s), nil)
		}
	}
	slices.SortStableFunc(b.changes.Events, func(x, y dovetail.EventRecord) int { return cmp.Compare(x.Seq, y.Seq) })
}

// ending returns the record that ended a run: the last one that can have done so. There is at least one record.
func (b *builder) ending(run dovetail.RunID) Record {
	for _, r := range slices.Backward(b.changes.Records) {
		switch e := r.Event.(type) {
		case dovetail.Submitted: // no run ends by that
		case dovetail.NodeDown:
			return r
		case dovetail.Decided:
			if slices.ContainsFunc(e.Plan.Ends, func(end dovetail.End) bool { return end.Run == run }) {
				return r
			}
		default:
			if dovetail.RunOf(e) == run {
				return r
			}
		}
	}
	return b.changes.Records[len(b.changes.Records)-1]
}

// tell adds what people read about a record.
func (b *builder) tell(r Record) {
	switch e := r.Event.(type) {
	case dovetail.Tick, dovetail.Used: // one a period: the journal has them
	case dovetail.Decided:
		for _, end := range e.Plan.Ends {
			b.say(r, end.Run, stopText(end), nil)
		}
		var told dovetail.RunID // assignments come in order of run
		for _, a := range e.Plan.Assign {
			if a.Run == told {
				continue
			}
			told = a.Run
			after, _ := b.t.core.Status(a.Run)
			b.say(r, a.Run, grantText(b.prior[a.Run], after), nil)
		}
	case dovetail.Submitted: // its description is kept once, with the run
		b.say(r, e.Run.ID, submittedText(e.Run), nil)
	case dovetail.Fitted, dovetail.Imported, dovetail.Paired: // tables: the journal has them
		b.say(r, 0, eventText(e, nil), nil)
	case dovetail.Recalled: // likewise; but that it forgets all else is to be found again
		var data json.RawMessage
		if e.All {
			data = encoded(dovetail.Recalled{All: true})
		}
		b.say(r, 0, eventText(e, nil), data)
	default:
		b.say(r, dovetail.RunOf(e), eventText(e, b.spec), encoded(e))
	}
}

// encoded returns an event as JSON; nothing if it has none, for the sentence stands without it.
func encoded(e dovetail.Event) json.RawMessage {
	data, err := dovetail.EncodeEvent(e)
	if err != nil {
		return nil
	}
	return data
}

func (b *builder) say(r Record, run dovetail.RunID, text string, data json.RawMessage) {
	b.changes.Events = append(b.changes.Events, dovetail.EventRecord{
		Seq: r.Seq, At: r.At, Type: dovetail.EventType(r.Event), Run: run, Text: text, Data: data,
	})
}
