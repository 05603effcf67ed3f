package sched

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// A run that starts in the decision that reconsiders another one is a neighbour that the other did not know of. That is for the next period: a core that was
// saved and restored right then does not look again.
func TestRestoredCoreReconsidersNothingTwice(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Replan = dovetail.Duration(10 * time.Second)
	s := newStage(t, cfg, 0)
	s.apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n", Capacity: unit(20)}})
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("a", aiming(1, 15, 250, .9))
	s.turn()
	s.holds("1.1·1000/250", 5)
	s.now = epoch.Add(10 * time.Second)
	s.submit("noisy", oneComponent(1, 1, 4))
	s.turn()
	data, err := s.core.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if s.core, err = Restore(data); err != nil {
		t.Fatal(err)
	}
	if plan := s.core.Decide(s.now); !plan.Empty() {
		t.Errorf("after a restore at the same time: %+v", plan)
	}
	s.at(20)
	s.holds("in the next period", 14)
}

// A run that goes on behind its deadline with all that it can use has nothing to wake for.
func TestNothingToReconsiderBehindTheDeadline(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Replan = dovetail.Duration(10 * time.Second)
	s := newStage(t, cfg, 2)
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("a", aiming(1, 8, 250, .5))
	s.turn()
	s.holds("1000/250", 4)
	s.now = epoch.Add(100 * time.Second)
	s.apply(dovetail.Fitted{Outlook: outlookOf("a", 0, 20, func(x int) float64 { return 4000 / float64(x) })}) // it is slower than anybody thought
	var said []string
	for wakes := 0; ; wakes++ {
		wake := s.core.Wake()
		if wake.IsZero() {
			break
		}
		if wakes == 30 {
			t.Fatalf("it still wants to be woken at %s", wake)
		}
		s.at(wake.Sub(epoch).Seconds())
		for _, x := range s.said {
			said = append(said, fmt.Sprint(x.ScaleOut, x.Missed))
		}
	}
	if wake := s.now.Sub(epoch); wake > 250*time.Second {
		t.Errorf("it was woken last after %s", wake)
	}
	if len(said) == 0 || said[len(said)-1] != "8 true" {
		t.Errorf("it said %v", said)
	}
}

// What is said of a run that keeps its scale-out is corrected when it is no longer true.
func TestSaysWhenATargetComesIntoReach(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Replan = dovetail.Duration(10 * time.Second)
	s := newStage(t, cfg, 2)
	fitted := func(work float64) {
		s.apply(dovetail.Fitted{Outlook: outlookOf("a", 0, 20, func(x int) float64 { return work / float64(x) })})
	}
	fitted(4000)
	s.submit("a", aiming(1, 8, 250, .5))
	s.turn()
	for i, want := range []struct {
		work   float64
		missed bool
		said   int
		reason string
	}{
		{4000, true, 0, "500 s at 8: nothing new"},
		{1880, false, 1, "0.96 of 235 s at 8 are left, and of 269 s at 7 too much"},
		{1880, false, 0, "nothing new"},
		{4000, true, 1, "out of reach again"},
	} {
		s.now = epoch.Add(time.Duration(10*i+5) * time.Second)
		fitted(want.work)
		s.at(float64(10*i + 10))
		x := s.choice(1)
		if x.ScaleOut != 8 || x.Missed != want.missed || isSure(&x) == want.missed || len(s.said) != want.said {
			t.Errorf("%s: %+v, said %+v", want.reason, x, s.said)
		}
	}
}

// The rigid allocator needs room for a ceiling, and says so.
func TestExplainAsksForTheCeiling(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Alloc = "rigid"
	s := newStage(t, cfg, 2)
	s.apply(dovetail.Fitted{Outlook: spread("a")})
	s.submit("b", oneComponent(5, 5, 1))
	s.turn()
	s.submit("a", aiming(1, 8, 250, .5))
	s.turn()
	for range 2 {
		x, _ := s.core.Explain(2, s.now)
		if len(x.Needs) != 1 || x.Needs[0].N != 4 || x.Needs[0].Fits != 3 || fmt.Sprint(x.Unblock) != "[run 1 (b) ends]" {
			t.Errorf("%+v", x)
		}
	}
	if st, _ := s.core.Status(2); st.Choice != nil {
		t.Errorf("a run that waits has the choice %+v", st.Choice)
	}
}

func TestPeriodsAreNotTooShort(t *testing.T) {
	cfg := dovetail.DefaultConfig()
	cfg.Replan = dovetail.Duration(time.Millisecond)
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "replan: is 1ms; expected 1s or more") {
		t.Errorf("error %v", err)
	}
}
