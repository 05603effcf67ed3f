package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

const horizon = 20 // seconds

func at(sec int) time.Time { return time.Unix(int64(sec), 0).UTC() }

// seconds says of every second whether one of the spans covers it.
func seconds(spans []Span) (covered [horizon]bool) {
	for sec := range covered {
		covered[sec] = slices.ContainsFunc(spans, func(s Span) bool { return !s.From.After(at(sec)) && s.To.After(at(sec)) })
	}
	return covered
}

func drawSpans(rt *rapid.T, label string) []Span {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Span {
		return Span{From: at(rapid.IntRange(0, horizon).Draw(rt, "from")), To: at(rapid.IntRange(0, horizon).Draw(rt, "to"))}
	}), 0, 6).Draw(rt, label)
}

func TestMergeAndCommonCoverTheRightSeconds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawSpans(rt, "a"), drawSpans(rt, "b")
		inA, inB := seconds(a), seconds(b)
		mergedA, mergedB := Merge(a), Merge(b)
		if seconds(mergedA) != inA {
			rt.Fatalf("Merge covers other seconds: %v", mergedA)
		}
		for i, s := range mergedA {
			if !s.From.Before(s.To) || i > 0 && !mergedA[i-1].To.Before(s.From) {
				rt.Fatalf("Merge left spans that are empty, touch or overlap: %v", mergedA)
			}
		}
		both := seconds(Common(mergedA, mergedB))
		for sec := range both {
			if both[sec] != (inA[sec] && inB[sec]) {
				rt.Fatalf("second %d: in a %v, in b %v, in both %v", sec, inA[sec], inB[sec], both[sec])
			}
		}
	})
}

func TestPresence(t *testing.T) {
	slot := func(component int, node string) dovetail.Slot {
		return dovetail.Slot{Run: 1, Component: component, Node: node}
	}
	for _, test := range []struct {
		reason     string
		placements []dovetail.Placement
		want       map[string][]Span
	}{
		{"what is not ended lasts until the end of the run", []dovetail.Placement{{At: at(1), Slot: slot(0, "a"), N: 2}},
			map[string][]Span{"a": {{at(1), at(9)}}}},
		{"growing and shrinking is staying", []dovetail.Placement{
			{At: at(1), Slot: slot(0, "a"), N: 2}, {At: at(2), Slot: slot(0, "a"), N: 5}, {At: at(3), Slot: slot(0, "a"), N: 1}, {At: at(4), Slot: slot(0, "a")},
		}, map[string][]Span{"a": {{at(1), at(4)}}}},
		{"components on one node are together one presence", []dovetail.Placement{
			{At: at(1), Slot: slot(0, "a"), N: 1}, {At: at(2), Slot: slot(1, "a"), N: 1}, {At: at(3), Slot: slot(0, "a")}, {At: at(5), Slot: slot(1, "a")},
		}, map[string][]Span{"a": {{at(1), at(5)}}}},
		{"nothing outlasts the run", []dovetail.Placement{{At: at(1), Slot: slot(0, "a"), N: 1}, {At: at(12), Slot: slot(0, "a")}},
			map[string][]Span{"a": {{at(1), at(9)}}}},
		{"nothing that never began", []dovetail.Placement{{At: at(1), Slot: slot(0, "a")}}, map[string][]Span{}},
	} {
		if diff := cmp.Diff(test.want, Presence(test.placements, at(9))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestPage(t *testing.T) {
	for _, test := range []struct {
		reason string
		seqs   []int64
		limit  int
		want   int
	}{
		{"all fit", []int64{1, 2, 3}, 3, 3},
		{"cut between two Seqs", []int64{1, 2, 3}, 2, 2},
		{"a Seq that does not fit waits for the next page", []int64{1, 2, 2, 2}, 3, 1},
		{"a Seq that fits exactly stays", []int64{1, 2, 2, 3}, 3, 3},
		{"the first Seq comes whole", []int64{5, 5, 5, 6}, 1, 3},
		{"the only Seq comes whole", []int64{5, 5, 5}, 2, 3},
	} {
		var events []dovetail.EventRecord
		for _, seq := range test.seqs {
			events = append(events, dovetail.EventRecord{Seq: seq})
		}
		if got := len(Page(events, test.limit)); got != test.want {
			t.Errorf("%s: got %d of %v, want %d", test.reason, got, test.seqs, test.want)
		}
	}
}
