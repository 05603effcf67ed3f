package usage

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

// before and after are a minute of a machine with two processors, in ticks of 10 ms: 40 % of them at work, a tenth waiting for I/O.
func before() *Counters {
	return &Counters{
		At: noon, Boot: "b", CPU: CPUTime{Total: 100_000, Idle: 50_000, Wait: 1000},
		Pressure: &Stalls{CPU: 5e6, IO: 1e6, IOFull: 1e6, Memory: 0, MemoryFull: 0},
		Disks:    []Device{{"sda", 1000, 2000}, {"sdb", 10, 20}},
		Nets:     []Device{{"eth0", 1e6, 2e6}},
	}
}

func after() *Counters {
	return &Counters{
		At: noon.Add(time.Minute), Boot: "b", CPU: CPUTime{Total: 112_000, Idle: 56_000, Wait: 2200},
		Pressure: &Stalls{CPU: 35e6, IO: 7e6, IOFull: 4e6, Memory: 600_000, MemoryFull: 60},
		Disks:    []Device{{"sda", 1000 + 120_000, 2000 + 60}, {"sdb", 10 + 120_000, 20}},
		Nets:     []Device{{"eth0", 1e6 + 600e6, 2e6 + 60}},
	}
}

func TestBetween(t *testing.T) {
	r, fault, what := Between(before(), after(), time.Minute)
	if fault != None {
		t.Fatal(fault, what)
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*max(1, want) {
			t.Errorf("%s %g, want %g", name, got, want)
		}
	}
	near("cpu", r.CPU, .4)
	near("I/O wait", r.IOWait, .1)
	near("cpu pressure", r.Pressure.CPU, .5)
	near("I/O pressure", r.Pressure.IO, .1)
	near("full I/O pressure", r.Pressure.IOFull, .05)
	near("memory pressure", r.Pressure.Memory, .01)
	near("full memory pressure", r.Pressure.MemoryFull, 1e-6)
	near("read", r.Read, 240_000*512/60)
	near("written", r.Written, 512)
	near("received", r.Received, 10e6)
	near("sent", r.Sent, 1)
}

func TestBetweenFaults(t *testing.T) {
	for _, tc := range []struct {
		reason string
		change func(a, b *Counters)
		fault  Fault
		says   string
	}{
		{"the clock was set back", func(_, b *Counters) { b.At = noon.Add(-time.Hour) }, Clock, "-1h"},
		{"the clock stood still", func(_, b *Counters) { b.At = noon }, Clock, ""},
		{"too short to say anything", func(_, b *Counters) { b.At = noon.Add(29 * time.Second) }, Clock, "29s"},
		{"one and a half periods are just enough", func(_, b *Counters) { b.At = noon.Add(90 * time.Second) }, None, ""},
		{"the clock was set forward, or the sample before is old", func(_, b *Counters) { b.At = noon.Add(91 * time.Second) }, Stale, "1m31s"},
		{"another boot", func(_, b *Counters) { b.Boot = "c" }, Reset, "booted"},
		{"processor time fell", func(_, b *Counters) { b.CPU.Total = 5 }, Reset, "processor"},
		{"processor time stands still", func(a, b *Counters) { b.CPU = a.CPU }, Stale, "still"},
		{"idle time fell a little, as it does", func(a, b *Counters) { b.CPU.Wait = a.CPU.Wait - 7 }, None, ""},
		{"idle time fell much", func(_, b *Counters) { b.CPU.Idle = 40_000 }, Reset, "idle"},
		{"more idle than there was time", func(_, b *Counters) { b.CPU.Idle = 200_000 }, Range, ""},
		{"pressure fell", func(_, b *Counters) { b.Pressure.IO = 0 }, Reset, "pressure"},
		{"pressure of more than the time there was", func(_, b *Counters) { b.Pressure.IO += 60e6 }, Range, ""},
		{"pressure is gone", func(_, b *Counters) { b.Pressure = nil }, None, ""},
		{"pressure was not there", func(a, _ *Counters) { a.Pressure = nil }, None, ""},
		{"a disk began anew", func(_, b *Counters) { b.Disks[1].Out = 3 }, Reset, "sdb"},
		{"an interface began anew", func(_, b *Counters) { b.Nets[0].In = 3 }, Reset, "eth0"},
		{"more bytes than any machine moves", func(_, b *Counters) { b.Nets[0].In = 1 << 60 }, Range, ""},
		{"no disk and no network", func(_, b *Counters) { b.Disks, b.Nets = nil, nil }, None, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			a, b := before(), after()
			tc.change(a, b)
			_, fault, what := Between(a, b, time.Minute)
			if fault != tc.fault || !strings.Contains(what, tc.says) {
				t.Errorf("fault %q: %s; want %q", fault, what, tc.fault)
			}
		})
	}
}

// TestDevicesThatComeAndGo protects against what a new disk moved before anybody looked: it would count as moved in this period.
func TestDevicesThatComeAndGo(t *testing.T) {
	a, b := before(), after()
	a.Disks = []Device{{"sda", 0, 0}, {"sdc", 50, 60}}
	b.Disks = []Device{{"sda", 60, 120}, {"sdb", 1 << 40, 1 << 40}}
	r, fault, what := Between(a, b, time.Minute)
	if fault != None || r.Read != 512 || r.Written != 1024 {
		t.Errorf("%g read and %g written a second, %s %s; want those of sda: 512 and 1024", r.Read, r.Written, fault, what)
	}
}

// TestCountersWrap counts in the width that a kernel has, and compares with what really happened.
func TestCountersWrap(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		from, to uint64
		want     uint64
		ok       bool
	}{
		{"64 bits wrap", math.MaxUint64 - 9, 90, 100, true},
		{"32 bits wrap", math.MaxUint32 - 9, 90, 100, true},
		{"a long way past the end of 32 bits", math.MaxUint32 - 9, 1 << 31, 0, false},
		{"a small counter began anew", 1000, 10, 0, false},
		{"a large one of 64 bits began anew", 1 << 40, 10, 0, false},
		{"nothing happened", 7, 7, 0, true},
	} {
		if got, ok := advance(tc.from, tc.to); got != tc.want || ok != tc.ok {
			t.Errorf("%s: %d, %t; want %d, %t", tc.reason, got, ok, tc.want, tc.ok)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		wide := rapid.Bool().Draw(rt, "64 bits")
		from := rapid.Uint64().Draw(rt, "from")
		step := rapid.Uint64Range(0, 1<<31-1).Draw(rt, "step")
		to := from + step
		if !wide {
			from, to = uint64(uint32(from)), uint64(uint32(from)+uint32(step))
		}
		got, ok := advance(from, to)
		upper := from >= 1<<31
		if wide {
			upper = from >= 1<<63
		}
		if ok && got != step || !ok && (to >= from || upper) {
			rt.Fatalf("from %d to %d: %d, %t; want %d", from, to, got, ok, step)
		}
	})
}

// TestBetweenNeverPasses feeds counters that mean nothing: what comes out is a fault, or shares that a bandit can learn from.
func TestBetweenNeverPasses(t *testing.T) {
	counters := func(rt *rapid.T, at time.Time, n *rapid.Generator[uint64]) *Counters {
		c := &Counters{At: at, CPU: CPUTime{n.Draw(rt, "total"), n.Draw(rt, "idle"), n.Draw(rt, "wait")}}
		if rapid.Bool().Draw(rt, "pressure") {
			c.Pressure = &Stalls{n.Draw(rt, "cpu"), n.Draw(rt, "io"), n.Draw(rt, "ioFull"), n.Draw(rt, "memory"), n.Draw(rt, "memoryFull")}
		}
		for _, name := range []string{"sda", "sdb"} {
			if rapid.Bool().Draw(rt, name) {
				c.Disks = append(c.Disks, Device{name, n.Draw(rt, "in"), n.Draw(rt, "out")})
			}
		}
		return c
	}
	value := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 20_000))
	passed := 0
	rapid.Check(t, func(rt *rapid.T) {
		a := counters(rt, noon, rapid.OneOf(value, rapid.Just[uint64](0)))
		b := counters(rt, noon.Add(time.Duration(rapid.Int64Range(-1e10, 1e11).Draw(rt, "elapsed"))), value)
		if rapid.Bool().Draw(rt, "plausible") {
			b.CPU = CPUTime{a.CPU.Total + 12_000, a.CPU.Idle + value.Draw(rt, "idle")%12_000, a.CPU.Wait}
			b.Pressure = a.Pressure
			b.Disks = nil
			for _, d := range a.Disks {
				b.Disks = append(b.Disks, Device{d.Name, d.In + value.Draw(rt, "read")%(1<<24), d.Out})
			}
			b.At = noon.Add(time.Duration(rapid.Int64Range(3e10, 9e10).Draw(rt, "plausible time")))
		}
		rates, fault, what := Between(a, b, time.Minute)
		if fault != None {
			if what == "" {
				rt.Fatalf("fault %s without a reason", fault)
			}
			return
		}
		passed++
		j := NewJudge(Auto, Limits{})
		use, _, fault := j.Use(&Reading{Rates: rates, To: b.At, Over: time.Minute})
		if fault != None {
			rt.Fatalf("fault %s of rates that were checked", fault)
		}
		for _, x := range []float64{use.CPU, use.Wait} {
			if !(x >= 0 && x <= 1) {
				rt.Fatalf("%+v", use)
			}
		}
		if !(use.Disk >= 0 && use.Disk <= 4 && use.Net >= 0 && use.Net <= 4) {
			rt.Fatalf("%+v", use)
		}
	})
	if passed == 0 {
		t.Error("no case passed: this test shows nothing")
	}
}
