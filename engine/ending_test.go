package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// The sentence that a run has ended belongs to the record that ended it, not to whatever else the turn recorded last: who
// reads the submissions must not meet the ends of other runs there.
func TestEndBelongsToItsRecord(t *testing.T) {
	cancel := dovetail.Cancelled{Run: 1}
	down := dovetail.ReplicasDown{Replica: dovetail.Replica{Run: 1, Attempt: 1}, N: 1, Exit: dovetail.Exit{Asked: true}}
	for _, tc := range []struct {
		reason string
		before []dovetail.Event // one turn
		turn   []dovetail.Event // the one in which run 1 ends
		want   string           // number of the record in the turn, and type
	}{
		{"its last replica went down, then another run came and waits", []dovetail.Event{cancel}, []dovetail.Event{down, held(2)}, "1 down"},
		{"its last replica went down after another run came", []dovetail.Event{cancel}, []dovetail.Event{held(2), down}, "2 down"},
		{"its node went down", []dovetail.Event{cancel}, []dovetail.Event{dovetail.NodeDown{Node: "n1"}, held(2)}, "1 node_down"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			store := newAppends()
			turner := newTurner(t, store, true)
			app := wordcount(0, 0)
			app.Components = app.Components[:1] // one replica, the master
			now := noon
			for _, events := range [][]dovetail.Event{{dovetail.NodeUp{Node: machine("n1", 4000)}, submitted(1, app)}, tc.before, tc.turn} {
				now = now.Add(time.Second)
				if _, err := turner.Turn(t.Context(), now, events...); err != nil {
					t.Fatal(err)
				}
			}
			changes := store.all[len(store.all)-1]
			i := slices.IndexFunc(changes.Events, func(e dovetail.EventRecord) bool { return strings.HasPrefix(e.Text, "run 1 has ended") })
			if i < 0 {
				t.Fatalf("run 1 did not end in the last turn: %+v", changes.Events)
			}
			e := changes.Events[i]
			if got := fmt.Sprint(e.Seq-changes.Records[0].Seq+1, " ", e.Type); got != tc.want {
				t.Errorf("the end is told of record %s of the turn, want %s", got, tc.want)
			}
			if !slices.IsSortedFunc(changes.Events, func(x, y dovetail.EventRecord) int { return int(x.Seq - y.Seq) }) {
				t.Errorf("events are out of order: %+v", changes.Events)
			}
		})
	}
}

func held(id dovetail.RunID) dovetail.Event {
	s, _ := submitted(id, wordcount(0, 0)).(dovetail.Submitted)
	run := *s.Run
	run.Hold = true
	return dovetail.Submitted{Run: &run}
}
