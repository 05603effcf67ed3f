package coloc

import (
	"math"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// TestPriceExplores demands that prices draw by weight as long as nothing is known of anybody in the window beside those that they would meet, and
// decide as soon as something is.
func TestPriceExplores(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b := New(dovetail.Colocation{})
	a, c, other := b.Hold("a"), b.Hold("c"), b.Hold("other")
	price, err := Find("price")
	if err != nil {
		t.Fatal(err)
	}
	s := Scene{
		Work:   []Share{{a, 100}, {c, 100}, {other, 100}},
		Window: []Candidate{{ID: a, Weight: 1, Nodes: [][]ID{{a}, {}}}, {ID: c, Weight: 3, Nodes: [][]ID{{a}, {}}}},
	}
	p := make([]float64, 2)
	learn := func(class string, rates ...dovetail.Rate) {
		t.Helper()
		if err := b.Pair(now, &dovetail.Evidence{Class: class, Runs: 4, Until: now, Rates: rates}); err != nil {
			t.Fatal(err)
		}
		price.Weigh(b, &s, p)
	}
	for _, know := range []func(){
		func() { price.Weigh(b, &s, p) },
		func() {
			learn("a", dovetail.Rate{Beside: "other", Rate: 2, Low: 1.9, High: 2.1, Runs: 4, Seconds: 400})
		}, // whom nobody would meet
	} {
		if know(); math.Abs(p[0]-0.25) > 1e-12 || math.Abs(p[1]-0.75) > 1e-12 {
			t.Errorf("nothing is known of who would meet: %v; want 0.25 and 0.75", p)
		}
	}
	if learn("a", dovetail.Rate{Beside: "a", Rate: 0.5, Low: 0.4, High: 0.6, Runs: 4, Seconds: 400}); p[0] != 0 || p[1] != 1 {
		t.Errorf("a is slow beside itself: %v; want c for sure", p)
	}
}
