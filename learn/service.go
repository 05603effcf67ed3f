package learn

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// How a service works.
const (
	pause     = time.Second // between two rounds: what ends meanwhile is learned from at once
	longPause = time.Minute // at most, between two attempts to hear what was forgotten
	lookback  = 1000        // classes, and finished runs, that are looked at when it begins
)

// Engine is what a service needs of a running engine; *engine.Engine is one.
type Engine interface {
	// TellAsOf puts an event on record unless Resets has changed: then it returns a dovetail.Conflict error.
	TellAsOf(ctx context.Context, resets int64, e dovetail.Event) error
	// Resets returns how many events that forget or import knowledge of neighbours are on record, all of which the service was Recorded.
	Resets() int64
	// Inspect calls f inside the engine's loop. f must be quick, change nothing and keep nothing of c.
	Inspect(ctx context.Context, f func(c *sched.Core, now time.Time)) error
}

// Archive knows what is on record of job classes; the stores are archives.
type Archive interface {
	// Classes returns the job classes of which runs have ended, or were imported: those with the latest end, latest first and at most so many.
	Classes(ctx context.Context, limit int) ([]string, error)
	// PutAway returns what is known of these job classes, as far as it was put away.
	PutAway(ctx context.Context, classes ...string) ([]dovetail.KnownClass, error)
	// Events returns the event records that match, in order of Seq.
	Events(ctx context.Context, f engine.EventFilter) ([]dovetail.EventRecord, error)
}

// Service lets a learner work beside a running engine: whenever runs have ended, off the engine's loop, one fit a class however many
// they are. When a run of a class is submitted that had been put away, it tells the engine what was known of it.
type Service struct {
	learner *Learner // owned by Run
	resets  int64    // of the engine, all of which the learner has heard; owned by Run
	archive Archive
	log     *slog.Logger
	wake    chan struct{} // holds a value when something is due

	mu    sync.Mutex
	due   map[string]bool // classes to learn about, and whether their history is to be read anew
	heard []engine.Record // what the learner has not been told yet
	back  map[string]bool // classes of new runs
}

// NewService returns a service of a learner, which it has for itself from then on. The archive is of the same history.
func NewService(l *Learner, archive Archive, log *slog.Logger) *Service {
	return &Service{
		learner: l, archive: archive, log: log, wake: make(chan struct{}, 1), due: make(map[string]bool), back: make(map[string]bool),
	}
}

// Recorded takes notice of what a turn has put on record: it is for engine.Options.Recorded.
func (s *Service) Recorded(c *engine.Changes) {
	news := newsOf(c)
	s.mu.Lock()
	for name, anew := range news {
		s.due[name] = s.due[name] || anew
	}
	for i := range c.Records {
		if concerns(c.Records[i].Event) {
			s.heard = append(s.heard, c.Records[i])
		}
	}
	for _, r := range c.Submitted {
		s.back[r.Class] = true
	}
	some := len(s.due) > 0 || len(s.heard) > 0 || len(s.back) > 0
	s.mu.Unlock()
	if some {
		s.rouse()
	}
}

// rouse lets a round follow.
func (s *Service) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends. It begins with what was forgotten in the past: before it has heard of that it teaches nothing. Then comes what
// the engine may not have learned yet, because it was killed before it could or an older program kept the history: of the 1000 classes that ran
// last those that it knows nothing of, then those of the 1000 latest runs. What fails is logged, and tried again when the next run of the
// class has ended.
func (s *Service) Run(ctx context.Context, e Engine) {
	s.resets = e.Resets()
	if !s.hearPast(ctx) {
		return
	}
	if err := s.catchUp(ctx, e); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "cannot look at the history for something to learn", "error", err)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.round(ctx, e)
		if !sleep(ctx, pause) {
			return
		}
	}
}

// hearPast lets the learner hear what was forgotten in the past, however often it takes. It returns false when the context ends.
func (s *Service) hearPast(ctx context.Context) bool {
	for wait := pause; ; wait = min(2*wait, longPause) {
		err := s.remember(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "nothing is learned from finished runs until it is known what was forgotten", "error", err)
		}
		if !sleep(ctx, wait) {
			return false
		}
	}
}

// sleep waits. It returns false when the context ends.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// round does what is due.
func (s *Service) round(ctx context.Context, e Engine) {
	s.resets = e.Resets() // before what was heard is taken, which then has all of them
	s.mu.Lock()
	due, heard, back := s.due, s.heard, s.back
	s.due, s.heard, s.back = make(map[string]bool), nil, make(map[string]bool)
	s.mu.Unlock()
	for i := range heard {
		s.learner.hear(heard[i].At, heard[i].Event)
	}
	if err := s.recall(ctx, e, slices.Sorted(maps.Keys(back))); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "cannot bring back what was known of job classes", "error", err)
	}
	for _, name := range slices.Sorted(maps.Keys(due)) {
		if due[name] {
			s.learner.Forget(name)
		}
		s.teach(ctx, e, name, nil)
	}
}

// recall tells the engine what was known of these classes if it had been put away. The store has it until the engine has it on record; what the
// engine has learned of a class since stays if it says more (dovetail.Recalled). If some of it was forgotten after it was read, it is read again
// in the next round.
func (s *Service) recall(ctx context.Context, e Engine, classes []string) error {
	for part := range slices.Chunk(classes, page) {
		away, err := s.archive.PutAway(ctx, part...)
		if err == nil && len(away) > 0 {
			err = e.TellAsOf(ctx, s.resets, dovetail.Recalled{Classes: away, Back: true})
		}
		if dovetail.CodeOf(err) == dovetail.Conflict {
			s.mu.Lock()
			for _, class := range part {
				s.back[class] = true
			}
			s.mu.Unlock()
			s.rouse()
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// teach tells the engine what there is to know about a class, as far as it is not in known. If something was forgotten since the learner heard
// of it, that is what there is to know in the next round.
func (s *Service) teach(ctx context.Context, e Engine, name string, known map[key]*dovetail.Outlook) {
	fitted, err := s.learner.Fit(ctx, name)
	for _, f := range fitted {
		if o, ok := f.(dovetail.Fitted); ok && same(known[key{name, o.Outlook.InputSize}], &o.Outlook) {
			continue
		}
		if err == nil {
			err = e.TellAsOf(ctx, s.resets, f)
		}
	}
	switch {
	case dovetail.CodeOf(err) == dovetail.Conflict:
		s.mu.Lock()
		if _, already := s.due[name]; !already {
			s.due[name] = false // its history need not be read anew
		}
		s.mu.Unlock()
		s.rouse()
	case err != nil && ctx.Err() == nil:
		s.log.WarnContext(ctx, "cannot learn from finished runs", "class", name, "error", err)
	}
}

// key names an outlook.
type key struct {
	class string
	size  int64
}

func same(known, o *dovetail.Outlook) bool { return known != nil && reflect.DeepEqual(*known, *o) }

// catchUp teaches what the engine should have learned of the latest finished runs already.
func (s *Service) catchUp(ctx context.Context, e Engine) error {
	known := make(map[key]*dovetail.Outlook)
	sizes := make(map[string][]int64)
	var live []string
	var paired []dovetail.KnownClass
	err := e.Inspect(ctx, func(c *sched.Core, now time.Time) {
		for _, r := range c.Live(now) {
			live = append(live, r.Run.Class)
		}
		paired = c.Neighbours()
		for _, o := range c.Outlooks() { // nobody ever changes them
			known[key{o.Class, o.InputSize}] = o
			sizes[o.Class] = append(sizes[o.Class], o.InputSize)
		}
	})
	if err != nil {
		return fmt.Errorf("ask for what is known: %w", err)
	}
	for name, all := range sizes {
		s.learner.Remember(name, all)
	}
	if err := s.recall(ctx, e, live); err != nil {
		return fmt.Errorf("bring back what was known of the runs there are: %w", err)
	}
	names, err := s.archive.Classes(ctx, lookback)
	if err != nil {
		return fmt.Errorf("ask for the job classes on record: %w", err)
	}
	finished, err := s.learner.past.History(ctx, engine.HistoryFilter{Limit: lookback, Learn: true})
	if err != nil {
		return fmt.Errorf("look at the latest finished runs: %w", err)
	}
	classes := make(map[string]bool)
	for i := range finished {
		if h := &finished[i]; h.Status.Outcome == dovetail.OutcomeSucceeded && len(sizes[h.Status.Class]) > 0 {
			classes[h.Status.Class] = true
		}
	}
	if err := s.primeAway(ctx, append(slices.Collect(maps.Keys(classes)), names...)); err != nil {
		return err
	}
	s.learner.prime(paired)
	for _, name := range names {
		if len(sizes[name]) == 0 {
			s.teach(ctx, e, name, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		s.teach(ctx, e, name, known)
	}
	return nil
}

// primeAway lets the learner know the evidence of classes that were put away, so that it is not told again and they stay away.
func (s *Service) primeAway(ctx context.Context, classes []string) error {
	for part := range slices.Chunk(classes, page) {
		away, err := s.archive.PutAway(ctx, part...)
		if err != nil {
			return fmt.Errorf("look for what was put away: %w", err)
		}
		s.learner.prime(away)
	}
	return nil
}

// remember lets the learner hear what was forgotten in the past, to make room for what was imported or without.
func (s *Service) remember(ctx context.Context) error {
	types := []string{dovetail.EventType(dovetail.Forgotten{}), dovetail.EventType(dovetail.Recalled{})}
	f := engine.EventFilter{Types: types, Limit: page}
	for {
		found, err := s.archive.Events(ctx, f)
		if err != nil {
			return fmt.Errorf("look for what was forgotten: %w", err)
		}
		for i := range found {
			if found[i].Type == types[1] && len(found[i].Data) == 0 {
				continue // nothing was forgotten for it
			}
			e, err := dovetail.DecodeEvent(found[i].Type, found[i].Data)
			if err != nil {
				s.log.WarnContext(ctx, "what was forgotten at one time cannot be read, and may be learned again", "record", found[i].Seq, "error", err)
				continue
			}
			s.learner.hear(found[i].At, e)
		}
		if len(found) < page {
			return nil
		}
		f.After = found[len(found)-1].Seq
	}
}
