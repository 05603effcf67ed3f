package usage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/usage"
	"github.com/dovetail-sched/dovetail/sched"
)

// cluster is an engine without a loop, and a source of one machine for each node, which does what a test says.
type cluster struct {
	t    *testing.T
	mu   sync.Mutex
	core *sched.Core
	told []dovetail.Used
	at   []time.Duration // when each was told, since the begin
	from time.Time

	shared  []string
	looks   []time.Duration // when the source was asked
	err     error
	faults  map[string]usage.Fault
	takes   time.Duration // to measure
	foreign bool          // the source knows other machines only
	least   time.Duration // its shortest period
	kept    []time.Duration
}

func (c *cluster) keep([]byte) error {
	c.kept = append(c.kept, time.Since(c.from))
	return nil
}

func newCluster(t *testing.T, period time.Duration, shared ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, from: time.Now(), shared: shared, faults: make(map[string]usage.Fault)}
	c.core = c.with(period)
	return c
}

// with returns a core with this period and three nodes.
func (c *cluster) with(period time.Duration) *sched.Core {
	c.t.Helper()
	cfg := dovetail.DefaultConfig()
	cfg.Colocation.Period = dovetail.Duration(period)
	core, err := sched.New(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := core.Apply(time.Now(), dovetail.NodeUp{Node: dovetail.Node{Name: name, Labels: map[string]string{"machine": "m-" + name}}}); err != nil {
			c.t.Fatal(err)
		}
	}
	return core
}

func (c *cluster) Tell(_ context.Context, e dovetail.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, e.(dovetail.Used))
	c.at = append(c.at, time.Since(c.from))
	return nil
}

func (c *cluster) Inspect(_ context.Context, f func(*sched.Core, time.Time)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.core, time.Now())
	return nil
}

func (c *cluster) Machine(n *dovetail.Node) string { return n.Labels["machine"] }

func (c *cluster) Shortest() time.Duration { return c.least }

func (c *cluster) Measure(_ context.Context, period time.Duration) ([]usage.Reading, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks = append(c.looks, time.Since(c.from))
	<-time.After(c.takes) // in synthetic time
	if c.err != nil {
		return nil, c.err
	}
	var all []usage.Reading
	for i, name := range []string{"a", "b", "c"} {
		name = "m-" + name
		if c.foreign {
			name = "x" + name
		}
		r := usage.Reading{Machine: name, To: time.Now(), Over: period, Rates: usage.Rates{CPU: float64(i) / 4, IOWait: .1, Pressure: usage.NoPressure(), Read: 50e6}}
		if r.Fault = c.faults[name]; r.Fault != usage.None {
			r.Detail = "as the test says"
		}
		all = append(all, r)
	}
	return all, nil
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// run lets a service work until the test ends, in a bubble of synthetic time.
func run(t *testing.T, c *cluster, play func(s *usage.Service, log *bytes.Buffer)) {
	t.Helper()
	var log bytes.Buffer
	limits := usage.Limits{Read: 100e6, Write: 100e6, Receive: 100e6, Send: 100e6}
	s := usage.NewService(c, usage.NewJudge(usage.Auto, limits), func(*sched.Core) []string { return c.shared }, c.keep, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, c)
	}()
	synctest.Wait()
	play(s, &log)
	cancel()
	<-done
}

func pass(d time.Duration) {
	<-time.After(d) // synthetic
	synctest.Wait()
}

func TestEveryPeriodIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 20*time.Second, "a", "c")
		run(t, c, func(s *usage.Service, _ *bytes.Buffer) {
			pass(61 * time.Second)
			want := []time.Duration{20 * time.Second, 40 * time.Second, time.Minute}
			if diff := cmp.Diff(want, c.at); diff != "" {
				t.Errorf("told at (-want +got):\n%s", diff)
			}
			period := dovetail.Duration(20*time.Second + time.Microsecond) // begins before the first counter is read
			first := dovetail.Used{Period: period, Nodes: []dovetail.NodeUse{{Node: "a", Wait: .1, Disk: .5}, {Node: "c", CPU: .5, Wait: .1, Disk: .5}}}
			if diff := cmp.Diff(first, c.told[0]); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if st := s.Stats(); st.Periods != 3 || st.Told != 6 || !st.Working || st.Failures != 0 || len(st.Left) != 0 || st.Signal != usage.IOWait {
				t.Errorf("stats %+v", st)
			}
		})
	})
}

func TestNothingIsToldOfNodesOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 0) // the default, a minute
		run(t, c, func(s *usage.Service, _ *bytes.Buffer) {
			pass(5*time.Minute + time.Second)
			if st := s.Stats(); len(c.told) != 0 || st.Periods != 5 {
				t.Errorf("told %v in %d periods; want none in 5", c.told, st.Periods)
			}
		})
	})
}

// No time is told of twice: the source says for how long readings are at least, whatever is configured.
func TestPeriodIsAsLongAsReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2*time.Second, "a")
		c.least = time.Minute
		run(t, c, func(*usage.Service, *bytes.Buffer) {
			pass(2*time.Minute + time.Second)
			if diff := cmp.Diff([]time.Duration{time.Minute, 2 * time.Minute}, c.at); diff != "" {
				t.Errorf("told at (-want +got):\n%s", diff)
			}
		})
	})
}

// TestPeriodFollowsTheConfiguration: a period that was begun under another length says nothing, and is begun anew at once.
func TestPeriodFollowsTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, time.Hour, "a")
		run(t, c, func(s *usage.Service, _ *bytes.Buffer) {
			pass(90 * time.Second)
			c.set(func() { c.core = c.with(10 * time.Second) })
			s.Recorded(&engine.Changes{Records: []engine.Record{{Event: dovetail.Tick{}}, {Event: dovetail.Configured{}}}})
			s.Recorded(&engine.Changes{Records: []engine.Record{{Event: dovetail.Configured{}}}})
			pass(21 * time.Second)
			if diff := cmp.Diff([]time.Duration{100 * time.Second, 110 * time.Second}, c.at); diff != "" {
				t.Errorf("told at (-want +got):\n%s", diff)
			}
		})
	})
}

// TestAnotherSettingLeavesThePeriod: a change of something else neither shortens a period nor begins one.
func TestAnotherSettingLeavesThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 20*time.Second, "a")
		run(t, c, func(s *usage.Service, _ *bytes.Buffer) {
			pass(15 * time.Second)
			s.Recorded(&engine.Changes{Records: []engine.Record{{Event: dovetail.Configured{}}}})
			pass(6 * time.Second)
			if diff := cmp.Diff([]time.Duration{0, 20 * time.Second}, c.looks); diff != "" {
				t.Errorf("asked the source at (-want +got):\n%s", diff)
			}
		})
	})
}

func TestFaultsLeaveANodeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 20*time.Second, "a", "b")
		c.faults["m-a"] = usage.Reset
		run(t, c, func(s *usage.Service, log *bytes.Buffer) {
			pass(41 * time.Second)
			if len(c.told) != 2 || len(c.told[0].Nodes) != 1 || c.told[0].Nodes[0].Node != "b" {
				t.Errorf("told %+v; want b alone, twice", c.told)
			}
			if n := s.Stats().Left[usage.Reset]; n != 2 {
				t.Errorf("left out for a reset: %d, want 2", n)
			}
			if n := strings.Count(log.String(), "reason=reset"); n != 1 || !strings.Contains(log.String(), "as the test says") {
				t.Errorf("logged %d times: %s", n, log)
			}
			c.set(func() { c.foreign = true })
			pass(20 * time.Second)
			if n := s.Stats().Left[usage.Unknown]; n != 2 || len(c.told) != 2 {
				t.Errorf("left out as unknown: %d of 2; told %d times", n, len(c.told))
			}
		})
	})
}

func TestSourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 20*time.Second, "a")
		c.err = errors.New("no route to host")
		run(t, c, func(s *usage.Service, log *bytes.Buffer) {
			pass(61 * time.Second)
			if st := s.Stats(); st.Working || st.Failures != 4 || st.Periods != 0 || len(c.told) != 0 {
				t.Errorf("stats %+v, told %d", st, len(c.told))
			}
			if n := strings.Count(log.String(), "no route to host"); n != 1 {
				t.Errorf("logged %d times: %s", n, log)
			}
			c.set(func() { c.err = nil })
			pass(20 * time.Second)
			if st := s.Stats(); !st.Working || len(c.told) != 1 || !strings.Contains(log.String(), "again") {
				t.Errorf("stats %+v, told %d, log %s", st, len(c.told), log)
			}
		})
	})
}

// TestSlowSource: what a source takes to answer is a part of the time that a reading is of, so that neighbours that came meanwhile are not
// held responsible.
func TestSlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 20*time.Second, "a")
		run(t, c, func(_ *usage.Service, _ *bytes.Buffer) {
			c.set(func() { c.takes = 3 * time.Second })
			pass(24 * time.Second)
			if len(c.told) != 1 || time.Duration(c.told[0].Period) < 20*time.Second {
				t.Errorf("told %+v", c.told)
			}
		})
	})
}

func TestLimitsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4*time.Minute)
		run(t, c, func(*usage.Service, *bytes.Buffer) { pass(25 * time.Minute) })
		if diff := cmp.Diff([]time.Duration{12 * time.Minute, 24 * time.Minute, 25 * time.Minute}, c.kept); diff != "" {
			t.Errorf("kept at (-want +got):\n%s", diff)
		}
	})
}

// BenchmarkRound is what a period costs with 10,000 machines that are all shared.
func BenchmarkRound(b *testing.B) {
	j := usage.NewJudge(usage.Auto, usage.Limits{})
	all := make([]usage.Reading, 10_000)
	for i := range all {
		all[i] = usage.Reading{Machine: fmt.Sprint("m", i), Over: time.Minute, Rates: usage.Rates{CPU: .5, Read: 50e6, Written: 5e6, Sent: 3e6}}
	}
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	for b.Loop() {
		now = now.Add(time.Minute)
		for i := range all {
			all[i].To = now
			all[i].Read = float64(20e6 + (i*7919+now.Minute()*104729)%100_000_000)
			if _, _, fault := j.Use(&all[i]); fault != usage.None {
				b.Fatal(fault)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all)), "ns/node")
}
