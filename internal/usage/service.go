package usage

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// Source measures machines.
type Source interface {
	// Measure returns how machines were used in a period that ends now, in any order. It is called once a period, and once when the first
	// one begins. An error says that nothing is known of any.
	Measure(ctx context.Context, period time.Duration) ([]Reading, error)
	// Machine returns the name of the machine that a node is, or is a part of; "" if it has none.
	Machine(n *dovetail.Node) string
	// Shortest returns the shortest period that readings can be of: in a shorter one the same time would be told of twice.
	Shortest() time.Duration
}

// Engine is what a service needs of a running engine; *engine.Engine is one.
type Engine interface {
	// Tell puts an event on record.
	Tell(ctx context.Context, e dovetail.Event) error
	// Inspect calls f inside the engine's loop. f must be quick, change nothing and keep nothing of c.
	Inspect(ctx context.Context, f func(c *sched.Core, now time.Time)) error
}

// Periods of measuring.
const (
	defaultPeriod = time.Minute      // if the configuration has none
	longestLook   = 10 * time.Second // a source that takes longer is not waited for
	skew          = 0.1              // of a period by which the clock may be set in it
	saving        = 10 * time.Minute // between two times that what was learned is kept
)

// Service measures, once in Colocation.Period or in the shortest period of the source if that is longer, and tells the engine how the nodes were
// used that two or more job classes shared. A node that is a part of a machine is said to be used as the machine is: its parts contend for the
// same processors and devices.
type Service struct {
	source Source
	judge  *Judge
	shared func(c *sched.Core) []string
	keep   func(data []byte) error
	log    *slog.Logger
	wake   chan struct{} // holds a value when the configuration has changed

	mu    sync.Mutex
	stats Stats
	stale bool // the nodes are to be asked for anew

	// Owned by Run.
	nodes  map[string]dovetail.Node
	logged map[Fault]bool
	last   time.Time // begin of the period
	saved  time.Time
}

// NewService returns a service, which has the source and the judge for itself from then on. Shared returns the names of the nodes that two
// or more job classes share, in order; keep keeps what Judge.Snapshot returned.
func NewService(source Source, judge *Judge, shared func(c *sched.Core) []string, keep func(data []byte) error, log *slog.Logger) *Service {
	return &Service{
		source: source, judge: judge, shared: shared, keep: keep, log: log, wake: make(chan struct{}, 1), stale: true,
		logged: make(map[Fault]bool), stats: Stats{Left: make(map[Fault]int64)},
	}
}

// Stats counts what a service did.
type Stats struct {
	Periods  int64           // measured
	Told     int64           // readings that the engine was told, a node and period each
	Left     map[Fault]int64 // shared nodes that were left out of a period
	Failures int64           // periods of which the source knew nothing
	Working  bool            // it knew something of the last one
	Signal   Signal          // by which the last readings were made; "" if there were none
	Took     time.Duration   // to measure and to tell, the last time
}

// Stats returns what the service did so far.
func (s *Service) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := s.stats
	copied.Left = make(map[Fault]int64, len(s.stats.Left))
	for f, n := range s.stats.Left {
		copied.Left[f] = n
	}
	return copied
}

// Recorded takes notice of what a turn has put on record: it is for engine.Options.Recorded.
func (s *Service) Recorded(c *engine.Changes) {
	for _, r := range c.Records {
		switch r.Event.(type) {
		case dovetail.Configured:
			select {
			case s.wake <- struct{}{}:
			default:
			}
		case dovetail.NodeUp:
			s.mu.Lock()
			s.stale = true
			s.mu.Unlock()
		}
	}
}

// Run works until the context ends. What fails is counted, and logged when it begins to. What was learned of limits is kept every ten minutes,
// and in the end.
func (s *Service) Run(ctx context.Context, e Engine) {
	s.saved = time.Now()
	defer s.save(ctx)
	var period time.Duration
	for {
		if now := s.period(ctx, e); now != period {
			period = now
			s.begin(ctx, period)
		}
		timer := time.NewTimer(period - time.Since(s.last))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.wake:
			timer.Stop()
		case <-timer.C:
			s.round(ctx, e, period)
			if time.Since(s.saved) >= saving {
				s.save(ctx)
			}
		}
	}
}

// save keeps what was learned of limits.
func (s *Service) save(ctx context.Context) {
	s.saved = time.Now()
	data, err := s.judge.Snapshot()
	if err == nil {
		err = s.keep(data)
	}
	if err != nil {
		s.log.WarnContext(ctx, "cannot keep what disks and networks can do; it is learned anew after a restart", "error", err)
	}
}

// period returns how long a period is now.
func (s *Service) period(ctx context.Context, e Engine) time.Duration {
	var d dovetail.Duration
	if err := e.Inspect(ctx, func(c *sched.Core, _ time.Time) { d = c.Config().Colocation.Period }); err != nil {
		return defaultPeriod // the engine ends, or answers nobody
	}
	return max(cmp.Or(time.Duration(d), defaultPeriod), s.source.Shortest())
}

// begin begins a period with nothing before it.
func (s *Service) begin(ctx context.Context, period time.Duration) {
	s.last = time.Now()
	if _, err := s.look(ctx, period); err != nil {
		s.failed(ctx, err)
	}
}

// look asks the source.
func (s *Service) look(ctx context.Context, period time.Duration) ([]Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, min(period, longestLook))
	defer cancel()
	return s.source.Measure(ctx, period)
}

// round ends a period.
func (s *Service) round(ctx context.Context, e Engine, period time.Duration) {
	now := time.Now()
	moved := clockMoved(now.Round(0).Sub(s.last.Round(0)), now.Sub(s.last), period)
	s.last = now
	readings, err := s.look(ctx, period)
	if err != nil {
		s.failed(ctx, err)
		return
	}
	s.worked(ctx)
	machines := s.judgeAll(ctx, readings)
	nodes, err := s.ask(ctx, e)
	if err != nil {
		return // the engine ends, or is too busy
	}
	used := dovetail.Used{}
	var since time.Time
	for i := range nodes {
		m, ok := machines[s.source.Machine(&nodes[i])]
		switch {
		case !ok:
			m.fault = Unknown
		case m.fault == None && moved:
			m.fault, m.detail = Clock, "the clock was set"
		}
		if m.fault != None {
			s.leave(ctx, nodes[i].Name, m)
			continue
		}
		m.use.Node = nodes[i].Name
		used.Nodes = append(used.Nodes, m.use)
		if since.IsZero() || m.since.Before(since) {
			since = m.since
		}
	}
	if len(used.Nodes) > 0 {
		used.Period = dovetail.Duration(time.Since(since).Truncate(time.Microsecond) + time.Microsecond)
		s.tell(ctx, e, used)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Took = time.Since(now)
}

// clockMoved reports whether the clock was set in a period: by the wall so much time passed, and really another.
func clockMoved(wall, really, period time.Duration) bool {
	return (wall - really).Abs() > time.Duration(skew*float64(period))
}

// judged is what became of a reading.
type judged struct {
	use    dovetail.NodeUse
	since  time.Time
	fault  Fault
	detail string
}

// judgeAll judges the readings of all machines, shared or not: limits are learned from every one.
func (s *Service) judgeAll(ctx context.Context, readings []Reading) map[string]judged {
	machines := make(map[string]judged, len(readings))
	signal := Signal("")
	for i := range readings {
		r := &readings[i]
		use, by, fault := s.judge.Use(r)
		machines[r.Machine] = judged{use: use, since: r.To.Add(-r.Over), fault: fault, detail: r.Detail}
		signal = cmp.Or(by, signal)
	}
	s.judge.Tidy(s.last)
	s.mu.Lock()
	s.stats.Periods++
	changed := signal != "" && signal != s.stats.Signal
	s.stats.Signal = cmp.Or(signal, s.stats.Signal)
	s.mu.Unlock()
	switch {
	case changed && signal != IOWait:
		s.log.DebugContext(ctx, "by pressure stall information is told that work stands still for I/O", "signal", string(signal))
	case changed:
		s.log.InfoContext(ctx, "by I/O wait is told that work stands still for I/O; busy processors hide it. Pressure stall information is better where the kernel has it (psi=1)")
	}
	return machines
}

// ask returns the nodes that two or more job classes share.
func (s *Service) ask(ctx context.Context, e Engine) ([]dovetail.Node, error) {
	var names []string
	var all []dovetail.NodeStatus
	s.mu.Lock()
	stale := s.stale
	s.stale = false
	s.mu.Unlock()
	err := e.Inspect(ctx, func(c *sched.Core, _ time.Time) {
		names = s.shared(c)
		if stale {
			all = c.Nodes()
		}
	})
	if err != nil {
		s.mu.Lock()
		s.stale = s.stale || stale
		s.mu.Unlock()
		return nil, err
	}
	if stale {
		s.nodes = make(map[string]dovetail.Node, len(all))
		for i := range all {
			s.nodes[all[i].Name] = all[i].Node
		}
	}
	nodes := make([]dovetail.Node, len(names))
	for i, name := range names {
		nodes[i] = s.nodes[name]
		nodes[i].Name = name
	}
	return nodes, nil
}

func (s *Service) tell(ctx context.Context, e Engine, used dovetail.Used) {
	if err := e.Tell(ctx, used); err != nil {
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot record how nodes were used", "error", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Told += int64(len(used.Nodes))
}

// leave counts a shared node that is left out, and logs the first one with each fault.
func (s *Service) leave(ctx context.Context, node string, m judged) {
	s.mu.Lock()
	s.stats.Left[m.fault]++
	s.mu.Unlock()
	if s.logged[m.fault] || m.fault == Beginning {
		return
	}
	s.logged[m.fault] = true
	s.log.WarnContext(ctx, "the use of a node that job classes share could not be measured; nothing is learned from it. Further cases are counted in dovetail_usage_left_out_total",
		"node", node, "reason", string(m.fault), "detail", m.detail)
}

// failed counts a period of which the source knows nothing, and logs the first one in a row.
func (s *Service) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	first := s.stats.Working || s.stats.Failures == 0
	s.stats.Working = false
	s.stats.Failures++
	s.mu.Unlock()
	if first {
		s.log.WarnContext(ctx, "the use of nodes cannot be measured; nothing is learned from it until that works again", "error", err)
	}
}

// worked takes notice that the source knows something.
func (s *Service) worked(ctx context.Context) {
	s.mu.Lock()
	again := !s.stats.Working && s.stats.Failures > 0
	s.stats.Working = true
	s.mu.Unlock()
	if again {
		s.log.InfoContext(ctx, "the use of nodes can be measured again")
	}
}
