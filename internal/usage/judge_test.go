package usage

import (
	"math"
	"testing"
	"time"
)

func TestUse(t *testing.T) {
	rates := Rates{CPU: .5, IOWait: .1, Pressure: Pressure{IO: .3, IOFull: .2}, Read: 50e6, Written: 20e6, Received: 25e6, Sent: 5e6}
	silent := rates
	silent.Pressure = NoPressure()
	limits := Limits{Read: 100e6, Write: 40e6, Receive: 125e6, Send: 50e6}
	for _, tc := range []struct {
		reason string
		signal Signal
		rates  Rates
		wait   float64
		by     Signal
		fault  Fault
	}{
		{"pressure where the kernel says it", Auto, rates, .2, PSIFull, None},
		{"the kernel does not say pressure", Auto, silent, .1, IOWait, None},
		{"the signal of seed 000", IOWait, rates, .1, IOWait, None},
		{"pressure and nothing else", PSI, rates, .3, PSI, None},
		{"time in which nobody got on", PSIFull, rates, .2, PSIFull, None},
		{"time in which nobody got on, but nobody says", PSIFull, silent, 0, "", Missing},
		{"pressure and nothing else, but there is none", PSI, silent, 0, "", Missing},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			use, by, fault := NewJudge(tc.signal, limits).Use(&Reading{Machine: "m", Rates: tc.rates, To: noon, Over: time.Minute})
			if use.Wait != tc.wait || by != tc.by || fault != tc.fault {
				t.Fatalf("%+v by %q, fault %q", use, by, fault)
			}
			if fault == None && (use.CPU != .5 || math.Abs(use.Disk-1) > 1e-12 || math.Abs(use.Net-.3) > 1e-12) {
				t.Errorf("%+v; want cpu 0.5, disk 1 and net 0.3", use)
			}
		})
	}
}

func TestUseRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		reason string
		rates  Rates
		fault  Fault
	}{
		{"400 % of the processors", Rates{CPU: 4}, Range},
		{"per cent in place of shares", Rates{CPU: .5, IOWait: 12}, Range},
		{"a negative share", Rates{CPU: -.2}, Range},
		{"no number", Rates{CPU: nan}, Range},
		{"no number of bytes", Rates{Read: nan}, Range},
		{"endless bytes", Rates{Sent: inf}, Range},
		{"negative bytes", Rates{Written: -1}, Range},
		{"negative pressure", Rates{Pressure: Pressure{IO: -.1}}, Range},
		{"rounding", Rates{CPU: 1.02, IOWait: 1.01}, None},
	} {
		j := NewJudge(Auto, Limits{})
		use, _, fault := j.Use(&Reading{Machine: "m", Rates: tc.rates, To: noon, Over: time.Minute})
		if fault != tc.fault || use.CPU > 1 {
			t.Errorf("%s: %+v, fault %q; want %q", tc.reason, use, fault, tc.fault)
		}
		if fault != None && len(j.peaks) > 0 {
			t.Errorf("%s: limits are learned from it", tc.reason)
		}
	}
}

func TestSignals(t *testing.T) {
	for _, s := range []Signal{Auto, PSI, PSIFull, IOWait} {
		if got, err := ParseSignal(string(s)); got != s || err != nil {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	if _, err := ParseSignal("load"); err == nil {
		t.Error("load is a signal")
	}
}

// play notes a rate a minute and returns the limit.
func play(p *peak, from time.Time, rates ...float64) time.Time {
	for _, r := range rates {
		from = from.Add(time.Minute)
		p.note(from, r)
	}
	return from
}

func repeat(n int, rate float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = rate
	}
	return all
}

func TestLimitsAreLearned(t *testing.T) {
	near := func(reason string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > .05*want {
			t.Errorf("%s: limit %.3g, want %.3g", reason, got, want)
		}
	}
	var p peak
	near("nothing was seen", p.limit(diskTo), diskTo)
	now := play(&p, noon, repeat(29, 80e6)...)
	near("too little was seen to doubt what is assumed", p.limit(diskTo), diskTo)
	now = play(&p, now, 500e6)
	near("99 of 100 periods count: one of 30 may be the limit", p.limit(diskTo), 500e6)
	now = play(&p, now, repeat(200, 80e6)...)
	near("one of 230 is not", p.limit(diskTo), 80e6)
	now = play(&p, now, repeat(1000, 1000)...)
	near("periods that move next to nothing say nothing", p.limit(diskTo), 80e6)
	now = play(&p, now.Add(8*fading), repeat(200, 30e6)...)
	near("what was seen long ago fades: 230 periods weigh less than one", p.limit(diskTo), 30e6)
	play(&p, now.Add(10*fading), repeat(5000, 2e6)...)
	near("no limit is below the least", p.limit(diskTo), least)
}

func TestWarmUp(t *testing.T) {
	var p peak
	play(&p, noon, 900e6)
	if got := p.limit(diskTo); got != 900e6 {
		t.Errorf("more than assumed was seen: limit %g", got)
	}
}

func TestConfiguredLimits(t *testing.T) {
	j := NewJudge(Auto, Limits{Read: 300e6, Receive: 1e9})
	if got, want := j.Limits("m"), (Limits{300e6, diskTo, 1e9, netTo}); got != want {
		t.Errorf("limits %v, want %v", got, want)
	}
}

func TestClockMoved(t *testing.T) {
	for _, tc := range []struct {
		wall, really time.Duration
		moved        bool
	}{
		{time.Minute, time.Minute, false}, {63 * time.Second, time.Minute, false}, {67 * time.Second, time.Minute, true},
		{-time.Hour, time.Minute, true}, {53 * time.Second, time.Minute, true}, {90 * time.Second, 91 * time.Second, false},
	} {
		if clockMoved(tc.wall, tc.really, time.Minute) != tc.moved {
			t.Errorf("%v by the wall in %v: want %t", tc.wall, tc.really, tc.moved)
		}
	}
}

// TestRestore keeps and restores after every number of periods: what is learned later is the same as without.
func TestRestore(t *testing.T) {
	learn := func(j *Judge, i int) {
		for _, m := range []string{"a", "b"} {
			j.Use(&Reading{Machine: m, To: noon.Add(time.Duration(i) * time.Hour), Rates: Rates{Read: 5e6 * float64(i%37), Sent: 90e6, Received: 1e5}})
		}
	}
	whole := NewJudge(Auto, Limits{})
	for i := range 100 {
		learn(whole, i)
	}
	for _, cut := range []int{0, 1, 29, 30, 31, 80} {
		first := NewJudge(Auto, Limits{})
		for i := range cut {
			learn(first, i)
		}
		data, err := first.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		second := NewJudge(Auto, Limits{})
		if err := second.Restore(data); err != nil {
			t.Fatalf("%v of %s", err, data)
		}
		for i := cut; i < 100; i++ {
			learn(second, i)
		}
		got, want := second.Limits("b"), whole.Limits("b")
		if math.Abs(got.Read/want.Read-1) > 1e-6 || math.Abs(got.Send/want.Send-1) > 1e-6 || got.Write != want.Write || got.Receive != want.Receive {
			t.Errorf("kept after %d periods: %+v, want %+v", cut, got, want)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	peak := func(p string) string { return `{"version":1,"machines":[{"name":"m","read":` + p + `}]}` }
	for _, text := range []string{
		"", "[]", `{"version":2,"machines":[]}`, peak(`{"seen":-1}`), peak(`{"seen":3}`), peak(`{"seen":1,"highest":-5,"buckets":[[1,1,1]]}`),
		peak(`{"seen":1,"buckets":[[1,-1,1]]}`), peak(`{"seen":1,"buckets":[[1,1,1e99]]}`), peak(`{"seen":2,"buckets":[[2,1,4],[1,1,2]]}`),
		peak(`{"seen":1,"buckets":[[1e9,1,1]]}`), peak(`{"buckets":[[1,1,1]]}`),
	} {
		j := NewJudge(Auto, Limits{})
		j.Use(&Reading{Machine: "old", To: noon})
		if err := j.Restore([]byte(text)); err == nil || len(j.peaks) != 1 {
			t.Errorf("%s: %v, %v", text, err, j.peaks)
		}
	}
}

// FuzzRestore feeds garbage: what is taken can be kept again, and gives limits that can be divided by.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"version":1,"machines":[{"name":"m","at":"2026-03-29T12:00:00Z","read":{"at":"2026-03-29T12:00:00Z","seen":40,"highest":2e8,"buckets":[[200,3.5,4e7],[220,1,2e8]]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j := NewJudge(Auto, Limits{})
		if j.Restore(data) != nil {
			return
		}
		j.Use(&Reading{Machine: "m", To: noon, Rates: Rates{Read: 3e7}})
		if l := j.Limits("m"); !(l.Read >= least && l.Read <= most) {
			t.Errorf("limits %+v", l)
		}
		again, err := j.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := NewJudge(Auto, Limits{}).Restore(again); err != nil {
			t.Errorf("what was kept is refused: %v\n%s", err, again)
		}
	})
}

func TestTidy(t *testing.T) {
	j := NewJudge(Auto, Limits{})
	for i, name := range []string{"old", "new"} {
		j.Use(&Reading{Machine: name, To: noon.Add(time.Duration(i) * 20 * 24 * time.Hour)})
	}
	j.Tidy(noon.Add(31 * 24 * time.Hour))
	if len(j.peaks) != 1 || j.peaks["new"] == nil {
		t.Errorf("remembered: %v", j.peaks)
	}
}
