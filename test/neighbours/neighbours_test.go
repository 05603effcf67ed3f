// Package neighbours_test answers: does it pay on a real machine to choose who runs beside whom? A queue of recurring jobs that use processors,
// disk and memory runs two at a time, in the order of the queue, shuffled within a window, and chosen by what earlier passes taught.
//
// The proof takes half an hour and is not part of the other tests: `make neighbours-proof`. With -dir it can be made in parts: each call adds
// repetitions to those that are in the directory. It demands that all results are right, that decisions are on record, and
// that what was learned survives the daemon being killed; how fast the queue was it reports, and demands nothing of.
package neighbours_test

import (
	"flag"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	repetitionsFlag = flag.Int("repetitions", 0, "how often every arm plays the queue; 0: never, the proof is skipped")
	runsFlag        = flag.Int("runs", 24, "how many runs are in the queue")
	burstFlag       = flag.Int("burst", 4, "how many runs of a kind come in a row")
	windowFlag      = flag.Int("window", 8, "among how many of the first runs of the line is chosen")
	stepFlag        = flag.Float64("step", 0.05, "γ of the bandits; more than in the paper, whose queues gave thousands of updates and this one gives dozens")
	periodFlag      = flag.Duration("period", 500*time.Millisecond, "over which the use of the machine is measured")
	signalFlag      = flag.String("signal", "auto", "what tells that work stands still for I/O: see serve --usage-signal")
	secondsFlag     = flag.Float64("seconds", 2.5, "how long a run takes alone")
	armsFlag        = flag.String("arms", "fifo,random,bandit,price", "who plays; the first one is what the others are compared with")
	seedFlag        = flag.Uint64("seed", 1, "what the queues are drawn from")
	dirFlag         = flag.String("dir", "", "directory that keeps what was learned and measured from one call to the next; empty: one for this call")
	outFlag         = flag.String("out", "", "file that the report is written to, in Markdown; empty: the log")
)

// The test binary is also the program that the runs execute.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workArg {
		os.Exit(workMain(os.Args[2:]))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// TestNeighbours plays the queues and writes the report.
func TestNeighbours(t *testing.T) {
	switch {
	case *repetitionsFlag <= 0:
		t.Skip("SKIPPED: takes half an hour; make neighbours-proof")
	case runtime.NumCPU() != 2:
		t.Fatalf("this machine has %d processors: the loads are made for two, so run it under taskset -c 0,1", runtime.NumCPU())
	}
	p := newPlace(t, *dirFlag)
	arms := strings.Split(*armsFlag, ",")
	s := p.load(t, setting{
		Runs: *runsFlag, Burst: *burstFlag, Window: *windowFlag, Step: *stepFlag, Period: periodFlag.String(), Signal: *signalFlag, Seconds: *secondsFlag, Seed: *seedFlag, Arms: arms,
	})
	if s.Amounts == nil {
		s.Amounts = calibrate(t, p)
		p.save(t, s)
	}
	t.Logf("amounts of work: %v", s.Amounts)
	for range *repetitionsFlag {
		number := len(s.Repetitions)
		queue := draw(s.Setting.Seed, number, s.Setting.Runs, s.Setting.Burst)
		r := repetition{Passes: make([]pass, len(arms))}
		for i := range arms {
			k := (i + number) % len(arms) // whoever is first meets a cold machine: each is in turn
			r.Passes[k] = p.play(t, s, k, queue)
			x := &r.Passes[k]
			t.Logf("repetition %d %s: %.1f s, turnaround %.1f s, side by side %s, others %.2f processors",
				number+1, arms[k], x.Makespan, x.Turnaround, x.pairs(), x.Others)
		}
		s.Repetitions = append(s.Repetitions, r)
		p.save(t, s)
	}
	text := write(s)
	if *outFlag == "" {
		t.Log("\n" + text)
		return
	}
	if err := os.WriteFile(*outFlag, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// kinds returns the kinds of work.
func kinds() []string { return []string{"cpu", "disk", "memory"} }

// amount is how much work a run of a kind has to do.
type amount map[string]int

// calibrate finds out how much work of each kind takes as long as a run is to take alone, by doing a part of it.
func calibrate(t *testing.T, p *place) amount {
	t.Helper()
	amounts := make(amount)
	for _, kind := range kinds() {
		var speeds []float64
		for range 3 {
			begin := time.Now()
			p.work(t, kind, probe()[kind])
			speeds = append(speeds, float64(probe()[kind])/time.Since(begin).Seconds())
		}
		slices.Sort(speeds)
		amounts[kind] = max(1, int(speeds[1]**secondsFlag))
	}
	return amounts
}
