package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// The phases of a query, with the figures of models.md 5.2.
var (
	scan  = [3]float64{0.42, 1, 0.44}
	join  = [3]float64{0.75, 0.25, 0.3}
	query = []sim.Phase{{Share: 0.69, Demand: scan}, {Share: 0.31, Demand: join}}
)

// contended is the model of models.md 5.2 with phases by the class of the job: a query, one that only computes, one that waits half of its
// time, and others that are anything.
func contended(straggler float64) *sim.Contention {
	return &sim.Contention{
		Headroom: [3]float64{1.09, 1.58, 1.14}, Latency: 1.13, Disk: 0.92, Straggler: straggler,
		Phases: func(j *trace.Job) []sim.Phase {
			switch j.App.Name {
			case "query":
				return query
			case "compute":
				return []sim.Phase{{Share: 1, Demand: [3]float64{1, 0, 0}}}
			case "pause":
				return []sim.Phase{{Share: 0.5, Demand: [3]float64{1, 0, 0}}, {Share: 0.5}}
			case "nothing":
				return nil
			}
			h := fnv.New32()
			_, _ = h.Write([]byte(j.App.Name))
			n := h.Sum32()
			a, b, c := float64(n%7)/6, float64(n%11)/10, float64(n%5)/4
			return []sim.Phase{{Share: 0.25, Demand: [3]float64{a, b, c}}, {Share: 0.5, Demand: [3]float64{c, a, 0}}, {Share: 0.25, Demand: [3]float64{b, 0, a}}}
		},
	}
}

func TestSpeeds(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		demand  [][3]float64
		limits  []float64
		k       int
		effDisk float64
		want    []float64
	}{
		{"two halves of a disk that is less for two", [][3]float64{scan, scan}, []float64{1.58, 1.58}, 2, 0.92, []float64{0.92, 0.92}},
		{"one uses little of the disk: all of it is there", [][3]float64{scan, {0.5, 0.15, 0}}, []float64{1.58, 1.3}, 2, 0.92, []float64{1.58, 1.3}},
		{"the first is at its limit, the second takes what is left", [][3]float64{{1, 0, 0}, {1, 0, 0}}, []float64{0.5, 9}, 2, 1, []float64{0.5, 1.5}},
		{"who does not use what is used up goes on", [][3]float64{{1, 0, 0}, {1, 0, 0}, {0, 0, 1}}, []float64{9, 9, 2}, 2, 1, []float64{1, 1, 2}},
		{"nobody", nil, nil, 1, 1, []float64{}},
	} {
		got := sim.Speeds(tc.demand, tc.limits, tc.k, tc.effDisk)
		if len(got) != len(tc.want) {
			t.Fatalf("%s: %v", tc.reason, got)
		}
		for i := range got {
			if math.Abs(got[i]-tc.want[i]) > 1e-12 {
				t.Errorf("%s: speeds %v; want %v", tc.reason, got, tc.want)
			}
		}
	}
}

func TestSpeedsGolden(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "goldens", "fluid_speeds.json"))
	if err != nil {
		t.Skip("needs ../shared/data/goldens, which is not part of the project")
	}
	var golden struct {
		Cases []struct {
			Demand  [][3]float64
			Cap     []float64
			K       int
			EffDisk float64 `json:"eff_disk"`
			Speeds  []float64
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range golden.Cases {
		got := sim.Speeds(c.Demand, c.Cap, c.K, c.EffDisk)
		for k, want := range c.Speeds {
			if math.Abs(got[k]-want) > 1e-9*want {
				t.Errorf("case %d: speeds %v; want %v", i, got, c.Speeds)
			}
		}
	}
}

// TestSpeedsFair demands what makes speeds max–min fair: nothing is overfull, and nobody could be faster without somebody becoming slower
// who is no faster.
func TestSpeedsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		share := rapid.Float64Range(0, 1)
		demand, limits := make([][3]float64, n), make([]float64, n)
		users := 0
		for i := range demand {
			for r := range demand[i] {
				if rapid.Bool().Draw(t, "uses") {
					demand[i][r] = share.Draw(t, "demand")
				}
			}
			limits[i] = rapid.Float64Range(0.1, 3).Draw(t, "limit")
			if demand[i][1] > 0.15 {
				users++
			}
		}
		k := rapid.IntRange(1, 6).Draw(t, "k")
		room := [3]float64{1, 1, 1}
		if users >= 2 {
			room[1] = 0.9
		}
		speeds := sim.Speeds(demand, limits, k, 0.9)
		var used [3]float64
		for i, d := range demand {
			for r := range d {
				used[r] += speeds[i] * d[r] / float64(k)
			}
		}
		for r := range used {
			if used[r] > room[r]+1e-9 {
				t.Fatalf("resource %d: %g of %g is used", r, used[r], room[r])
			}
		}
		for i, d := range demand {
			if speeds[i] > limits[i] {
				t.Fatalf("job %d is at %g, beyond %g", i, speeds[i], limits[i])
			}
			bound := speeds[i] >= limits[i]-1e-9
			for r := range d { // no more of something, and nobody who uses it is faster
				full := d[r] > 0 && used[r] >= room[r]-1e-9
				for o := range demand {
					full = full && (demand[o][r] == 0 || speeds[o] <= speeds[i]+1e-9)
				}
				bound = bound || full
			}
			if !bound {
				t.Fatalf("job %d could be faster: %v of %v, %v", i, speeds, demand, limits)
			}
		}
	})
}

// halves are nodes of four cores; wide jobs of two have half of a node each.
func halves(n int) []dovetail.Node {
	var nodes []dovetail.Node
	for i := range n {
		nodes = append(nodes, dovetail.Node{Name: fmt.Sprintf("n%d", i), Capacity: dovetail.Resources{dovetail.CPU: 4000, dovetail.Memory: 16 << 30}})
	}
	return nodes
}

// TestContention plays cases that are worked out by hand.
func TestContention(t *testing.T) {
	const second = time.Second
	for _, tc := range []struct {
		reason    string
		nodes     int
		straggler float64
		jobs      []trace.Job
		want      []float64 // seconds
	}{
		{"all of its nodes: its runtime", 2, 0, []trace.Job{wide(1, 0, "query", 4000, 2, 100*second)}, []float64{100}},
		{"half of a node that is empty otherwise: 1.58 × the disk, then 1.09/0.75 × the processors", 1, 0,
			[]trace.Job{wide(1, 0, "query", 2000, 1, 100*second)}, []float64{69/1.58 + 31*0.75/1.09}},
		{"two queries have 0.92 of a disk, then all of the processors between them", 1, 0,
			[]trace.Job{wide(1, 0, "query", 2000, 1, 100*second), wide(2, 0, "query", 2000, 1, 100*second)},
			[]float64{69/0.92 + 31*0.75, 69/0.92 + 31*0.75}},
		{"a phase that waits is 1.13 as fast, and leaves the processors to the neighbour", 1, 0,
			[]trace.Job{wide(1, 0, "pause", 2000, 1, 100*second), wide(2, 0, "compute", 2000, 1, 200*second)},
			[]float64{50 + 50/1.13, 50 + 150/1.09}},
		{"compute on two nodes, another on one of them: 1 there and 1.09 here; mean", 2, 0,
			[]trace.Job{wide(1, 0, "compute", 2000, 1, 100*second), wide(2, 0, "compute", 2000, 2, 100*second)},
			[]float64{100/1.045 + (100-100/1.045)/1.09, 100 / 1.045}},
		{"as before, half waiting for the slower one", 2, 0.5,
			[]trace.Job{wide(1, 0, "compute", 2000, 1, 100*second), wide(2, 0, "compute", 2000, 2, 100*second)},
			[]float64{100/1.0225 + (100-100/1.0225)/1.09, 100 / 1.0225}},
		{"who demands nothing holds nobody up", 1, 0,
			[]trace.Job{wide(1, 0, "nothing", 2000, 1, 113*second), wide(2, 0, "compute", 2000, 1, 109*second)}, []float64{100, 100}},
		{"the second starts late: 50 s alone at 1.09, then at 1", 1, 0,
			[]trace.Job{wide(1, 0, "compute", 2000, 1, 100*second), wide(2, 50*second, "compute", 2000, 1, 100*second)},
			[]float64{50 + 45.5, 95.5 + (100-45.5)/1.09}},
	} {
		o := sim.Options{Config: dovetail.DefaultConfig(), Nodes: halves(tc.nodes), Contention: contended(tc.straggler), Validate: true}
		out, err := sim.Play(t.Context(), o, tc.jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range tc.want {
			if got := out.Jobs[i].Finish.Seconds(); math.Abs(got-want) > 1e-4 {
				t.Errorf("%s: job %d ends at %g s; want %g", tc.reason, i+1, got, want)
			}
		}
	}
}

// measured plays, and returns what the core was told of the use of nodes.
func measured(t rapid.TB, o sim.Options, jobs []trace.Job) (*report.Schedule, []engine.Record) {
	var uses []engine.Record
	o.Measure = true
	o.After = func(_ context.Context, c *engine.Changes) ([]dovetail.Event, error) {
		for _, r := range c.Records {
			if _, ok := r.Event.(dovetail.Used); ok {
				uses = append(uses, r)
			}
		}
		return nil, nil
	}
	out, err := sim.Play(context.Background(), o, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return out, uses
}

// TestMeasure compares what is told of the use of a node with what follows from the model.
func TestMeasure(t *testing.T) {
	jobs := []trace.Job{wide(1, 0, "query", 2000, 1, 10000*time.Second), wide(2, 90*time.Second, "query", 2000, 1, 10000*time.Second)}
	// Without the disk one would be held up by its limit on the network, and two by the network itself: a speed of 1/0.44.
	alone := [5]float64{0.42 * 1.58 / 2, 0.79, 0.44 * 1.58 / 2, (1 - 0.42*1.58/2) * 0.79, 1 - 1.58/(1.14/0.44)}
	both := [5]float64{0.42 * 0.92, 0.92, 0.44 * 0.92, 1 - 0.42*0.92, 1 - 0.92*0.44*0.92*0.44}
	var half [5]float64
	for i := range half {
		half[i] = (alone[i] + both[i]) / 2
	}
	for _, pressure := range []bool{false, true} {
		o := sim.Options{Config: dovetail.DefaultConfig(), Nodes: halves(2)[:1], Contention: contended(0)}
		o.Contention.Pressure = pressure
		_, uses := measured(t, o, jobs)
		for i, want := range [][5]float64{alone, half, both} {
			if pressure {
				want[3] = want[4]
			}
			at, u := uses[i].At.Sub(sim.Epoch()), uses[i].Event.(dovetail.Used)
			if at != time.Duration(i+1)*time.Minute || u.Period != dovetail.Duration(time.Minute) || len(u.Nodes) != 1 {
				t.Fatalf("use %d: at %s, %v", i, at, u)
			}
			got := u.Nodes[0]
			for k, pair := range [][2]float64{{got.CPU, want[0]}, {got.Disk, want[1]}, {got.Net, want[2]}, {got.Wait, want[3]}} {
				if math.Abs(pair[0]-pair[1]) > 1e-6 {
					t.Errorf("minute %d, pressure %v, figure %d: %g; want %g", i+1, pressure, k, pair[0], pair[1])
				}
			}
		}
	}
}

// TestUseIsWork plays rigid and elastic jobs with contention: what the nodes were used for adds up to what the jobs demand, at whatever speed
// they did it; measuring changes nothing; and the same play again is the same.
func TestUseIsWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := sim.Options{Config: dovetail.DefaultConfig(), Validate: true, Nodes: halves(rapid.IntRange(1, 4).Draw(t, "nodes"))}
		o.Config.Alloc = rapid.SampledFrom([]string{"rigid", "malleable", "flexible"}).Draw(t, "alloc")
		o.Config.Place = rapid.SampledFrom([]string{"zoe", "pack", "spread"}).Draw(t, "place")
		o.Contention = contended(rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "straggler"))
		o.Config.Colocation.Period = dovetail.Duration(rapid.SampledFrom([]time.Duration{7 * time.Second, time.Minute, time.Hour}).Draw(t, "period"))
		var jobs []trace.Job
		var want [3]float64 // of a node, in seconds
		var at time.Duration
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			at += rapid.SampledFrom([]time.Duration{0, time.Second, 20 * time.Second}).Draw(t, "gap")
			class := rapid.SampledFrom([]string{"query", "compute", "pause", "nothing", "some", "thing", "else"}).Draw(t, "class")
			cpu := rapid.SampledFrom([]int64{500, 1000, 2000, 4000}).Draw(t, "cpu")
			all := rapid.IntRange(1, min(6, len(o.Nodes)*int(4000/cpu))).Draw(t, "replicas")
			runtime := time.Duration(rapid.IntRange(1, 300).Draw(t, "runtime")) * time.Second
			j := wide(int64(i+1), at, class, cpu, rapid.IntRange(1, all).Draw(t, "core"), runtime)
			j.App.Components[0].Max = all
			for _, p := range o.Contention.Phases(&j) {
				for r, d := range p.Demand {
					want[r] += d * p.Share * j.Runtime.Seconds() * float64(cpu) / 4000 * float64(j.Full())
				}
			}
			jobs = append(jobs, j)
		}
		jobs = append(jobs, wide(100, at, "nothing", 500, 1, 4*time.Hour)) // outlasts the others, so that the last period ends
		without, err := sim.Play(context.Background(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		o.Store = sim.NewDigest()
		out, uses := measured(t, o, jobs)
		var got [3]float64
		for _, r := range uses {
			u := r.Event.(dovetail.Used)
			for _, n := range u.Nodes {
				for k, v := range []float64{n.CPU, n.Disk, n.Net} {
					got[k] += v * time.Duration(u.Period).Seconds()
				}
				if n.CPU > 1 || n.Disk > 1+1e-9 || n.Net > 1+1e-9 || n.Wait < 0 || n.Wait > 1-n.CPU+1e-9 {
					t.Fatalf("%s: use of %v", r.At, n)
				}
			}
		}
		for k := range want {
			if math.Abs(got[k]-want[k]) > 1e-4*want[k]+1e-4 {
				t.Errorf("resource %d: used for %g node-seconds, and the jobs demand %g", k, got[k], want[k])
			}
		}
		for i := range out.Jobs {
			if out.Jobs[i].Finish != without.Jobs[i].Finish || !out.Jobs[i].Ended() {
				t.Errorf("job %d ends at %s when nodes are measured, else at %s", i, out.Jobs[i].Finish, without.Jobs[i].Finish)
			}
		}
		o.Store = sim.NewDigest()
		if again, _ := measured(t, o, jobs); again.Hash != out.Hash {
			t.Errorf("the same play again has the journal %s instead of %s", again.Hash, out.Hash)
		}
	})
}

func TestContentionRefuses(t *testing.T) {
	phases := func(p ...sim.Phase) func(*trace.Job) []sim.Phase { return func(*trace.Job) []sim.Phase { return p } }
	none := phases()
	for _, tc := range []struct {
		reason string
		model  sim.Contention
	}{
		{"no phases", sim.Contention{}},
		{"a headroom below 1", sim.Contention{Phases: none, Headroom: [3]float64{0, 0.5, 0}}},
		{"an infinite headroom", sim.Contention{Phases: none, Headroom: [3]float64{math.Inf(1), 0, 0}}},
		{"no number", sim.Contention{Phases: none, Latency: math.NaN()}},
		{"a disk that does more for two", sim.Contention{Phases: none, Disk: 1.2}},
		{"stragglers beyond 1", sim.Contention{Phases: none, Straggler: 1.5}},
		{"shares that are too few", sim.Contention{Phases: phases(sim.Phase{Share: 0.5})}},
		{"a share of nothing", sim.Contention{Phases: phases(sim.Phase{Share: 1}, sim.Phase{})}},
		{"more than there is", sim.Contention{Phases: phases(sim.Phase{Share: 1, Demand: [3]float64{2, 0, 0}})}},
		{"a demand that is no number", sim.Contention{Phases: phases(sim.Phase{Share: 1, Demand: [3]float64{0, math.NaN(), 0}})}},
	} {
		o := sim.Options{Config: dovetail.DefaultConfig(), Nodes: halves(1), Contention: &tc.model}
		if _, err := sim.Play(t.Context(), o, []trace.Job{wide(1, 0, "a", 2000, 1, time.Second)}); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%s: error %v; want an invalid model", tc.reason, err)
		}
	}
}
