package dovetail

import (
	"encoding/json"
	"fmt"
)

// EventType returns the name under which an event is recorded, such as "submitted".
func EventType(e Event) string {
	switch e.(type) {
	case Submitted:
		return "submitted"
	case Cancelled:
		return "cancelled"
	case Held:
		return "held"
	case Released:
		return "released"
	case Suspended:
		return "suspended"
	case Resumed:
		return "resumed"
	case Reprioritised:
		return "reprioritised"
	case Configured:
		return "configured"
	case ReplicasUp:
		return "up"
	case ReplicasReady:
		return "ready"
	case ReplicasDown:
		return "down"
	case Refused:
		return "refused"
	case NodeUp:
		return "node_up"
	case NodeDown:
		return "node_down"
	case Cordoned:
		return "cordoned"
	case Decided:
		return "decided"
	case Fitted:
		return "fitted"
	case Imported:
		return "imported"
	case Used:
		return "used"
	case Paired:
		return "paired"
	case Recalled:
		return "recalled"
	case Forgotten:
		return "forgotten"
	case Tick:
		return "tick"
	}
	panic(fmt.Sprintf("dovetail: event %T is not in the closed set", e))
}

// RunOf returns the run that an event is about, or 0 if there is no single one.
func RunOf(e Event) RunID {
	switch e := e.(type) {
	case Submitted:
		if e.Run != nil {
			return e.Run.ID
		}
	case Cancelled:
		return e.Run
	case Held:
		return e.Run
	case Released:
		return e.Run
	case Suspended:
		return e.Run
	case Resumed:
		return e.Run
	case Reprioritised:
		return e.Run
	case ReplicasUp:
		return e.Run
	case ReplicasReady:
		return e.Run
	case ReplicasDown:
		return e.Run
	case Refused:
		return e.Run
	}
	return 0
}

// EncodeEvent writes the fields of an event as JSON; EventType tells which event it is.
func EncodeEvent(e Event) ([]byte, error) { return json.Marshal(e) }

// DecodeEvent reads what EncodeEvent wrote for an event of this type.
func DecodeEvent(typ string, data []byte) (Event, error) {
	switch typ {
	case "submitted":
		return decode[Submitted](data)
	case "cancelled":
		return decode[Cancelled](data)
	case "held":
		return decode[Held](data)
	case "released":
		return decode[Released](data)
	case "suspended":
		return decode[Suspended](data)
	case "resumed":
		return decode[Resumed](data)
	case "reprioritised":
		return decode[Reprioritised](data)
	case "configured":
		return decode[Configured](data)
	case "up":
		return decode[ReplicasUp](data)
	case "ready":
		return decode[ReplicasReady](data)
	case "down":
		return decode[ReplicasDown](data)
	case "refused":
		return decode[Refused](data)
	case "node_up":
		return decode[NodeUp](data)
	case "node_down":
		return decode[NodeDown](data)
	case "cordoned":
		return decode[Cordoned](data)
	case "decided":
		return decode[Decided](data)
	case "fitted":
		return decode[Fitted](data)
	case "imported":
		return decode[Imported](data)
	case "used":
		return decode[Used](data)
	case "paired":
		return decode[Paired](data)
	case "recalled":
		return decode[Recalled](data)
	case "forgotten":
		return decode[Forgotten](data)
	case "tick":
		return decode[Tick](data)
	}
	return nil, fmt.Errorf("unknown event type %q", typ)
}

func decode[E Event](data []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("%s event: %w", EventType(e), err)
	}
	return e, nil
}

// Actions is a list of actions that can be written as JSON: each becomes an object with one field that names it.
type Actions []Action

type taggedAction struct {
	Run  *RunReplicas `json:"run,omitempty"`
	Stop *StopRun     `json:"stop,omitempty"`
}

// MarshalJSON writes [{"run":{…}},{"stop":{…}}].
func (as Actions) MarshalJSON() ([]byte, error) {
	tagged := make([]taggedAction, len(as))
	for i, a := range as {
		switch a := a.(type) {
		case RunReplicas:
			tagged[i].Run = &a
		case StopRun:
			tagged[i].Stop = &a
		}
	}
	return json.Marshal(tagged)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (as *Actions) UnmarshalJSON(data []byte) error {
	var tagged []taggedAction
	if err := json.Unmarshal(data, &tagged); err != nil {
		return err
	}
	*as = make(Actions, len(tagged))
	for i, t := range tagged {
		switch {
		case t.Run != nil:
			(*as)[i] = *t.Run
		case t.Stop != nil:
			(*as)[i] = *t.Stop
		default:
			return fmt.Errorf("action %d: expected run or stop", i)
		}
	}
	return nil
}
