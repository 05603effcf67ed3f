package crash_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/internal/backend/proc"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

var (
	killsFlag = flag.Int("kills", 10, "how often the daemon is killed")
	seedFlag  = flag.Uint64("seed", 1, "what the workload and the points of the kills are drawn from")
	keepFlag  = flag.Bool("keep", false, "keep the directory of the test for a look")
)

// Bounds of one life, and of the end.
const (
	lifeLimit  = 3 * time.Minute // a daemon with work to do reaches its point before
	drainLimit = 5 * time.Minute
	readEvery  = 10 // the journal is compared after every so many kills, and at the end

	seldom = 1_000_000 // records between two snapshots
	often  = 100
)

// campaign is one run of the test.
type campaign struct {
	t     *testing.T
	place *place
	feed  *feeder
	chron *chronicle
	kills int
	seed  uint64
}

func TestCrash(t *testing.T) {
	dir, err := os.MkdirTemp("", "dovetail-crash-") //nolint:usetesting // -keep keeps it
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d, %d kills, in %s; repeat with: go test ./test/crash -run '^TestCrash$' -v -args -kills=%d -seed=%d -keep",
		*seedFlag, *killsFlag, dir, *killsFlag, *seedFlag)
	t.Cleanup(func() {
		if *keepFlag {
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	c := &campaign{t: t, place: newPlace(t, dir), chron: &chronicle{}, kills: *killsFlag, seed: *seedFlag}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cl, err := c.place.client()
	if err != nil {
		t.Fatal(err)
	}
	c.feed = &feeder{client: cl, seed: c.seed, dir: dir, fail: func(err error) { cancel(err) }}
	if err := c.run(ctx); err != nil {
		c.sweep()
		t.Fatalf("seed %d: %v", c.seed, err)
	}
	c.verify()
}

// run kills the daemon as often as it is told to, then lets the last one finish all work and end.
func (c *campaign) run(ctx context.Context) error {
	began := time.Now()
	stop, fed := make(chan struct{}), make(chan struct{})
	go func() {
		c.feed.feed(ctx, stop)
		close(fed)
	}()
	err := c.lives(ctx)
	close(stop)
	if ctx.Err() != nil {
		return context.Cause(ctx) // a job failed
	}
	if err != nil {
		return err
	}
	c.t.Logf("%d kills in %s", c.kills, time.Since(began).Round(time.Second))
	last, err := c.place.start(0, seldom)
	if err != nil {
		return err
	}
	defer last.stop(c.t)
	select {
	case <-fed:
	case <-last.ended:
		return fmt.Errorf("the last daemon ended by itself: %s\n%s", last.cmd.ProcessState, last.output())
	case <-time.After(drainLimit):
		return fmt.Errorf("not all runs ended within %s after the last kill\n%s", drainLimit, last.output())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.agree(ctx)
}

// lives starts the daemon and lets it die, again and again. In the first lives there are no snapshots, so that whatever the
// state is compared with has been folded from every record since the beginning; in the later ones there are many.
func (c *campaign) lives(ctx context.Context) error {
	r := rand.New(rand.NewPCG(c.seed, 0))
	for life := 1; life <= c.kills; life++ {
		how := drawDeath(r)
		every := seldom
		if life > c.kills*6/10 {
			every = often
		}
		if err := c.live(ctx, how, every); err != nil {
			return fmt.Errorf("life %d (%s): %w", life, how, err)
		}
		if life%readEvery == 0 || life == c.kills {
			if err := c.chron.read(ctx, c.place); err != nil {
				return fmt.Errorf("after life %d (%s): %w", life, how, err)
			}
		}
	}
	return nil
}

// live is one life of a daemon, from its start to its violent death.
func (c *campaign) live(ctx context.Context, how death, every int) error {
	d, err := c.place.start(how.point, every)
	if err != nil {
		return err
	}
	limit, cancel := context.WithTimeoutCause(ctx, lifeLimit, fmt.Errorf("nothing happened within %s that it could be killed at", lifeLimit))
	defer cancel()
	if how.point == 0 {
		if err := pause(limit, how.after); err != nil {
			d.end()
			return err
		}
		note(filepath.Join(c.place.dir, "deaths"), "clock")
		d.end()
	}
	return d.killed(limit)
}

// death says how a daemon is to die.
type death struct {
	point int           // at this call of the hook, counted from 1
	after time.Duration // without a point: so long after its start, wherever it is then
}

func (d death) String() string {
	if d.point == 0 {
		return "killed after " + d.after.String()
	}
	return fmt.Sprintf("killed at point %d", d.point)
}

// drawDeath draws a death: early in the recovery, later at work, or at any moment, between the points.
func drawDeath(r *rand.Rand) death {
	switch r.IntN(4) {
	case 0:
		return death{point: 1 + r.IntN(8)}
	case 1:
		return death{after: time.Duration(r.IntN(800)) * time.Millisecond}
	}
	return death{point: 1 + r.IntN(120)}
}

// agree asks the last daemon, which has nothing left to do, what it knows of all jobs.
func (c *campaign) agree(ctx context.Context) error {
	known := make(map[dovetail.RunID]dovetail.RunStatus)
	query := client.RunQuery{Limit: 1000}
	for {
		page, err := c.feed.client.Runs(ctx, query)
		if err != nil {
			return err
		}
		for _, r := range page.Runs {
			known[r.ID] = r
		}
		if page.Next == "" {
			break
		}
		query.Before = page.Next
	}
	if len(known) != len(c.feed.jobs) {
		return fmt.Errorf("the daemon knows %d runs, and %d were submitted", len(known), len(c.feed.jobs))
	}
	for _, j := range c.feed.jobs {
		if r := known[j.run]; r.State != dovetail.Ended || r.Outcome != j.outcome || r.Key != j.key {
			return fmt.Errorf("job %s (%s): the daemon lists %+v, want it ended as %s", j.key, j.kind, r, j.outcome)
		}
	}
	occupied, err := c.feed.client.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range occupied {
		if n.Replicas != 0 || n.Occupied != (dovetail.Resources{}) || !n.Up {
			return fmt.Errorf("nothing runs any more, but node %+v", n)
		}
	}
	return nil
}

// verify looks at what the daemons left behind: processes, the ledger of the replicas, and the journal.
func (c *campaign) verify() {
	t := c.t
	if err := c.chron.read(t.Context(), c.place); err != nil {
		t.Errorf("after the end: %v", err)
	}
	var events *annals
	err := c.place.inspect(t.Context(), func(store *sqlite.Store) (err error) {
		events, err = readAnnals(t.Context(), store)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.verifyProcesses()
	l, err := readLedger(c.place.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range l.faults {
		t.Error(fault)
	}
	for r, n := range l.starts {
		if n != 1 || len(l.stops[r]) > 1 || events.downs[r] != 1 {
			t.Errorf("replica %+v was started %d times, wrote %q, and %d ends of it are on record", r, n, l.stops[r], events.downs[r])
		}
	}
	for _, j := range c.feed.jobs {
		c.verifyJob(j, l, events)
	}
	t.Logf("%d runs, %d replicas, %d times some were reclaimed, %d records, %d snapshots seen; the daemon died %s",
		len(c.feed.jobs), len(l.starts), events.reclaimed, c.chron.seq, c.chron.snapshots, c.deaths())
}

// verifyJob compares a job with the ledger and the record.
func (c *campaign) verifyJob(j *job, l *ledger, events *annals) {
	if s := events.submitted[j.run]; len(s) != 1 {
		c.t.Errorf("job %s (%s, run %d): the submissions on record are %q, want one", j.key, j.kind, j.run, s)
	}
	if v := events.verdicts[j.run]; len(v) != 1 || !strings.HasPrefix(v[0], string(j.outcome)) {
		c.t.Errorf("job %s (%s, run %d): the decisions on record are %q, want one, %s", j.key, j.kind, j.run, v, j.outcome)
	}
	if j.kind != "failing" && j.kind != "flaky" {
		return
	}
	attempts := 0
	for r := range l.starts {
		if r.Run == j.run {
			attempts++
		}
	}
	if attempts != 1+j.deaths {
		c.t.Errorf("job %s (%s, run %d): %d attempts, want %d", j.key, j.kind, j.run, attempts, 1+j.deaths)
	}
}

// verifyProcesses demands that nothing of any replica lives on, shims and control groups included.
func (c *campaign) verifyProcesses() {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for {
		left, err := leftovers(c.place.dir)
		if err != nil {
			c.t.Fatal(err)
		}
		orphans, err := proc.Orphans(c.place.state)
		if err != nil {
			c.t.Fatal(err)
		}
		if len(left) == 0 && len(orphans) == 0 {
			return
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			for _, p := range left {
				c.t.Errorf("still alive after the end: %s", p)
			}
			for _, o := range orphans {
				c.t.Errorf("left over after the end: %+v", o)
			}
			c.sweep()
			return
		}
	}
}

// sweep ends what a failed test leaves running.
func (c *campaign) sweep() {
	left, err := leftovers(c.place.dir)
	if err != nil {
		c.t.Error(err)
	}
	for _, p := range left {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// deaths says how often the daemon died at which point.
func (c *campaign) deaths() string {
	text, err := os.ReadFile(filepath.Join(c.place.dir, "deaths"))
	if err != nil {
		return err.Error()
	}
	count := make(map[string]int)
	for _, point := range strings.Fields(string(text)) {
		count[point]++
	}
	var parts []string
	for _, point := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d times at %s", count[point], point))
	}
	return strings.Join(parts, ", ")
}
