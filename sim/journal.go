package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"iter"
	"strconv"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// discard is a store that keeps nothing.
type discard struct{}

func (discard) Append(context.Context, engine.Changes) error   { return nil }
func (discard) Load(context.Context) (*engine.Snapshot, error) { return nil, nil } //nolint:nilnil // no snapshot is not an error: engine.Store
func (discard) Replay(context.Context, int64) iter.Seq2[engine.Record, error] {
	return func(func(engine.Record, error) bool) {}
}
func (discard) Snapshot(context.Context, engine.Snapshot) error { return nil }
func (discard) Close() error                                    { return nil }
func (discard) Discards() bool                                  { return true }

// Digest is a store that keeps nothing but a hash of the journal: of the number, the time, the type and the content of every
// record. Two simulations with the same hash did the same.
type Digest struct {
	discard
	hash hash.Hash
	line []byte
}

// NewDigest returns a digest of an empty journal.
func NewDigest() *Digest { return &Digest{hash: sha256.New()} }

// Append adds the records of one turn.
func (d *Digest) Append(_ context.Context, c engine.Changes) error {
	for _, r := range c.Records {
		data, err := dovetail.EncodeEvent(r.Event)
		if err != nil {
			return err
		}
		d.line = strconv.AppendInt(d.line[:0], r.Seq, 10)
		d.line = append(d.line, ' ')
		d.line = strconv.AppendInt(d.line, r.At.UnixMicro(), 10)
		d.line = append(append(d.line, ' '), dovetail.EventType(r.Event)...)
		d.line = append(append(append(d.line, ' '), data...), '\n')
		d.hash.Write(d.line)
	}
	return nil
}

// Sum returns the hash so far, in hexadecimal digits.
func (d *Digest) Sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }
