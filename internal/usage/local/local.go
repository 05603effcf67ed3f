// Package local answers: how was this machine used? It reads /proc, which any user may.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/usage"
)

// Source measures the machine that it runs on. It is not safe for concurrent use.
type Source struct {
	root string
	last *usage.Counters // nil: there is none to compare with
}

// New returns a source that reads below a directory, "/" on a real machine.
func New(root string) *Source { return &Source{root: cmp.Or(root, "/")} }

// machine is the name of the only machine.
const machine = "local"

// Machine returns the name of this machine: every node of the local back-end is a part of it.
func (s *Source) Machine(*dovetail.Node) string { return machine }

// Shortest returns 0: counters can be read at any time.
func (s *Source) Shortest() time.Duration { return 0 }

// Measure returns how the machine was used since the call before. An error says that a file cannot be read or understood; then the next
// period begins anew.
func (s *Source) Measure(_ context.Context, period time.Duration) ([]usage.Reading, error) {
	before := s.last
	s.last = nil
	now, err := s.Read()
	if err != nil {
		return nil, err
	}
	s.last = now
	r := usage.Reading{Machine: machine, To: now.At}
	if before == nil {
		r.Fault = usage.Beginning
		return []usage.Reading{r}, nil
	}
	r.Over = now.At.Sub(before.At)
	r.Rates, r.Fault, r.Detail = usage.Between(before, now, period)
	return []usage.Reading{r}, nil
}

// Read returns the counters as they are now. Pressure is left out if the kernel does not say it (CONFIG_PSI, psi=1); everything else must
// be there.
func (s *Source) Read() (*usage.Counters, error) {
	c := &usage.Counters{At: time.Now(), Pressure: s.pressure()} // of all counters, pressure is the one that is compared with the time
	boot, err := s.file("sys/kernel/random/boot_id")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c.Boot = string(boot)
	for _, f := range []struct {
		name  string
		parse func([]byte) error
	}{
		{"stat", func(b []byte) (err error) { c.CPU, err = parseStat(b); return err }},
		{"diskstats", func(b []byte) (err error) { c.Disks, err = parseDisks(b); return err }},
		{"net/dev", func(b []byte) (err error) { c.Nets, err = parseNets(b); return err }},
	} {
		text, err := s.file(f.name)
		if err != nil {
			return nil, err
		}
		if err := f.parse(text); err != nil {
			return nil, fmt.Errorf("/proc/%s: %w", f.name, err)
		}
	}
	return c, nil
}

// pressure returns the totals of /proc/pressure; nil if one of them is missing. A kernel that was started without psi=1 has the files, and
// refuses to read them.
func (s *Source) pressure() *usage.Stalls {
	var p usage.Stalls
	for _, f := range []struct {
		name       string
		some, full *uint64
	}{
		{"cpu", &p.CPU, nil}, {"io", &p.IO, &p.IOFull}, {"memory", &p.Memory, &p.MemoryFull},
	} {
		text, err := s.file("pressure/" + f.name)
		if err != nil {
			return nil
		}
		some, full, err := parsePressure(text)
		if err != nil {
			return nil
		}
		*f.some = some
		if f.full != nil {
			*f.full = full
		}
	}
	return &p
}

func (s *Source) file(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.root, "proc", name))
}
