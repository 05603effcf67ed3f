package policy

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestRank compares two jobs under every order: a is to be served before b.
func TestRank(t *testing.T) {
	small, big := Extent{2, 4}, Extent{20, 40}
	for _, tc := range []struct {
		order, reason string
		a, b          Job
	}{
		{"sjf", "the shorter one", Job{Expected: time.Minute, All: big}, Job{Expected: 2 * time.Minute, All: small}},
		{"sjf-2d", "the smaller one, although it is longer", Job{Expected: 2 * time.Minute, All: small}, Job{Expected: time.Minute, All: big}},
		{"sjf-3d", "the smaller area, although it has more replicas", Job{Expected: time.Minute, All: Extent{9, 1}}, Job{Expected: time.Minute, All: Extent{1, 9}}},
		{"srpt", "the one that is nearly done", Job{Expected: time.Hour, Done: 0.99}, Job{Expected: time.Minute}},
		{"srpt-2d1", "2d1 counts all replicas", Job{Expected: time.Minute, All: small, Missing: big}, Job{Expected: time.Minute, All: big, Missing: small}},
		{"srpt-2d", "2d is 2d1", Job{Expected: time.Minute, All: small, Missing: big}, Job{Expected: time.Minute, All: big, Missing: small}},
		{"srpt-2d2", "2d2 counts those still to be scheduled", Job{Expected: time.Minute, All: big, Missing: small}, Job{Expected: time.Minute, All: small, Missing: big}},
		{"srpt-3d2", "3d2 likewise, by area", Job{Expected: time.Minute, All: big, Missing: small}, Job{Expected: time.Minute, All: small, Missing: big}},
		{"hrrn", "the one that waited longer for its size", Job{Submitted: t0, Expected: time.Minute}, Job{Submitted: t0, Expected: time.Hour}},
		{"hrrn", "the long one, once it has waited long enough", Job{Submitted: t0.Add(-100 * time.Hour), Expected: time.Hour}, Job{Submitted: t0, Expected: time.Minute}},
		{"hrrn-2d", "the small one: size divides the wait", Job{Submitted: t0, Expected: time.Minute, All: small}, Job{Submitted: t0, Expected: time.Minute, All: big}},
		{"edf", "the earlier deadline", Job{Deadline: t0}, Job{Deadline: t0.Add(time.Second)}},
		{"edf", "any deadline before none", Job{Deadline: t0.Add(1000 * time.Hour)}, Job{}},
		{"edf-2d", "among equal deadlines the smaller", Job{Deadline: t0, Expected: time.Minute, All: small}, Job{Deadline: t0, Expected: time.Minute, All: big}},
	} {
		o, err := Find(tc.order)
		if err != nil {
			t.Fatal(err)
		}
		now := t0.Add(time.Minute)
		if a, b := o.Rank(&tc.a, now), o.Rank(&tc.b, now); !a.Less(b) || b.Less(a) {
			t.Errorf("%s: %s: ranks %v and %v", tc.order, tc.reason, a, b)
		}
	}
}

func TestFindNamesTheOrders(t *testing.T) {
	for _, name := range []string{"fifo", "fifo-backfill", "sjf", "sjf-2d", "sjf-3d", "srpt", "srpt-2d", "srpt-3d", "srpt-2d1", "srpt-2d2",
		"srpt-3d1", "srpt-3d2", "hrrn", "hrrn-2d", "hrrn-3d", "edf", "edf-2d", "edf-3d"} {
		if o, err := Find(name); err != nil || o.Name != name {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	if _, err := Find("lifo"); err == nil {
		t.Error("lifo was found")
	}
}

// TestOrders is the conformance suite of orders: finite, pure, and moving only if they say so.
func TestOrders(t *testing.T) {
	for _, o := range Orders() {
		t.Run(o.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				extent := func(label string) Extent {
					return Extent{rapid.IntRange(0, 100_000).Draw(t, label), rapid.Float64Range(0, 1e9).Draw(t, label)}
				}
				j := Job{
					Submitted: t0, Expected: time.Duration(rapid.Int64Range(-1, 1<<55).Draw(t, "expected")),
					Done: rapid.Float64Range(0, 1).Draw(t, "done"), All: extent("all"), Missing: extent("missing"),
				}
				if rapid.Bool().Draw(t, "deadline") {
					j.Deadline = t0.Add(time.Duration(rapid.Int64Range(0, 1<<55).Draw(t, "deadline")))
				}
				now := t0.Add(time.Duration(rapid.Int64Range(0, 1<<55).Draw(t, "now")))
				before := j
				r := o.Rank(&j, now)
				for _, f := range r {
					if math.IsNaN(f) || math.IsInf(f, 0) {
						t.Fatalf("rank %v of %+v is not finite", r, j)
					}
				}
				if j != before || o.Rank(&j, now) != r {
					t.Fatal("ranking is not pure")
				}
				if !o.Moves && o.Rank(&j, now.Add(time.Hour)) != r {
					t.Fatal("the rank moves with time, and the order does not say so")
				}
			})
		})
	}
}

// TestMovingRanksAreLinear holds what the core relies on: between two moments the rank of a waiting run is on the straight line.
func TestMovingRanksAreLinear(t *testing.T) {
	for _, o := range Orders() {
		if !o.Moves {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				j := Job{
					Submitted: t0.Add(-time.Duration(rapid.Int64Range(0, 1<<55).Draw(t, "waited"))),
					Expected:  time.Duration(rapid.Int64Range(-1, 1<<55).Draw(t, "expected")),
					All:       Extent{rapid.IntRange(0, 100_000).Draw(t, "replicas"), rapid.Float64Range(0, 1e9).Draw(t, "area")},
				}
				span := rapid.Int64Range(1, 1<<55).Draw(t, "span")
				at := rapid.Int64Range(0, span).Draw(t, "at")
				a, b := o.Rank(&j, t0), o.Rank(&j, t0.Add(time.Duration(span)))
				r := o.Rank(&j, t0.Add(time.Duration(at)))
				share := float64(at) / float64(span)
				line := a[0]*(1-share) + b[0]*share
				if math.Abs(r[0]-line) > 1e-13*max(math.Abs(a[0]), math.Abs(b[0])) {
					t.Fatalf("rank %g is not on the line between %g and %g: %g", r[0], a[0], b[0], line)
				}
				if r[1] != a[1] || r[1] != b[1] {
					t.Fatalf("the second entry moves: %g, %g, %g", a[1], r[1], b[1])
				}
			})
		})
	}
}
