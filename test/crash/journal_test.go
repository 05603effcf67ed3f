package crash_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

// chronicle is the journal of all lives, collected while the daemon is dead.
type chronicle struct {
	whole     history
	seq       int64 // of the last record
	snapshots int   // how often a snapshot had replaced records that were not collected yet: whole begins there anew
}

// history is a store to load from: every record after the base.
type history struct {
	engine.Store // nil: nothing is written
	base         *engine.Snapshot
	records      []engine.Record
}

// Load returns the base.
func (h *history) Load(context.Context) (*engine.Snapshot, error) { return h.base, nil }

// Replay yields all records.
func (h *history) Replay(context.Context, int64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for _, r := range h.records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// read reads on in the store of a dead daemon, and compares the state that the next daemon will find (newest snapshot, and the
// records behind it) with the one that all records together lead to. It works on a copy: the files that the daemon left,
// write-ahead log and all, are for the next daemon to recover.
func (c *chronicle) read(ctx context.Context, p *place) error {
	return p.inspect(ctx, func(store *sqlite.Store) error {
		if err := c.collect(ctx, store); err != nil {
			return err
		}
		return c.compare(ctx, store)
	})
}

// inspect opens a copy of the store of a dead daemon.
func (p *place) inspect(ctx context.Context, look func(*sqlite.Store) error) error {
	dir := filepath.Join(p.dir, "copy")
	if err := copyStore(p.state, dir); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("open a copy of the store: %w", err)
	}
	defer store.Close()
	return look(store)
}

// collect adds the records that are new.
func (c *chronicle) collect(ctx context.Context, store engine.Store) error {
	snap, err := store.Load(ctx)
	if err != nil {
		return fmt.Errorf("load the snapshot: %w", err)
	}
	if snap != nil && snap.Seq > c.seq {
		c.whole, c.seq = history{base: snap}, snap.Seq
		c.snapshots++
	}
	for r, err := range store.Replay(ctx, c.seq) {
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		if r.Seq != c.seq+1 {
			return fmt.Errorf("the journal after record %d goes on with record %d", c.seq, r.Seq)
		}
		c.whole.records, c.seq = append(c.whole.records, r), r.Seq
	}
	return nil
}

// compare demands that both ways to the present state lead to the same bytes, and that no invariant is broken there.
func (c *chronicle) compare(ctx context.Context, store engine.Store) error {
	short, err := state(ctx, store)
	if err != nil {
		return err
	}
	long, err := state(ctx, &c.whole)
	if err != nil {
		return err
	}
	if !bytes.Equal(short, long) {
		return fmt.Errorf("at record %d the snapshot and the records behind it lead to\n%s\nand all records to\n%s", c.seq, short, long)
	}
	return nil
}

// state returns what a store leads to. It is an error if that breaks an invariant.
func state(ctx context.Context, store engine.Store) ([]byte, error) {
	turner, err := engine.Load(ctx, store, true)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	snap, err := turner.Snapshot()
	return snap.State, err
}

// copyStore copies the files of the store.
func copyStore(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "dovetail.db*"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(f)), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// annals counts what must happen once, in the events that the store keeps for people. They are written together with the
// journal, and no snapshot replaces them.
type annals struct {
	submitted map[dovetail.RunID][]string
	verdicts  map[dovetail.RunID][]string
	downs     map[dovetail.Replica]int
	reclaimed int // how often a run gave elastic replicas back
}

// readAnnals reads all events.
func readAnnals(ctx context.Context, store engine.Reader) (*annals, error) {
	a := &annals{
		submitted: make(map[dovetail.RunID][]string),
		verdicts:  make(map[dovetail.RunID][]string),
		downs:     make(map[dovetail.Replica]int),
	}
	for after := int64(0); ; {
		// All events of a record come together, or a page would end between them.
		page, err := store.Events(ctx, engine.EventFilter{After: after, Limit: 10_000})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return a, nil
		}
		for _, e := range page {
			if err := a.note(e); err != nil {
				return nil, fmt.Errorf("event of record %d: %w", e.Seq, err)
			}
		}
		after = page[len(page)-1].Seq
	}
}

func (a *annals) note(e dovetail.EventRecord) error {
	switch e.Type {
	case "submitted":
		a.submitted[e.Run] = append(a.submitted[e.Run], fmt.Sprintf("%d: %s", e.Seq, e.Text))
	case "decided":
		if _, verdict, ok := strings.Cut(e.Text, " is ended: "); ok {
			a.verdicts[e.Run] = append(a.verdicts[e.Run], verdict)
		}
		if strings.Contains(e.Text, " gives back ") {
			a.reclaimed++
		}
	case "down", "refused":
		if len(e.Data) == 0 { // what followed from it
			return nil
		}
		event, err := dovetail.DecodeEvent(e.Type, e.Data)
		if err != nil {
			return err
		}
		switch event := event.(type) {
		case dovetail.ReplicasDown:
			a.downs[event.Replica]++
		case dovetail.Refused:
			a.downs[event.Replica]++
		}
	}
	return nil
}
