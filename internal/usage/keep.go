package usage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// keptVersion is that of what Snapshot writes.
const keptVersion = 1

// kept is what a judge has learned.
type kept struct {
	Version  int           `json:"version"`
	Machines []keptMachine `json:"machines"` // by name
}

type keptMachine struct {
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
	Read    keptPeak  `json:"read"`
	Write   keptPeak  `json:"write"`
	Receive keptPeak  `json:"receive"`
	Send    keptPeak  `json:"send"`
}

type keptPeak struct {
	At      time.Time    `json:"at,omitzero"`
	Seen    int          `json:"seen,omitempty"`
	Highest float64      `json:"highest,omitempty"`
	Buckets [][3]float64 `json:"buckets,omitempty"` // index, weight and mean rate
}

// Snapshot returns what was learned of limits, for Restore.
func (j *Judge) Snapshot() ([]byte, error) {
	k := kept{Version: keptVersion, Machines: []keptMachine{}}
	for _, name := range slices.Sorted(maps.Keys(j.peaks)) {
		p := j.peaks[name]
		k.Machines = append(k.Machines, keptMachine{
			Name: name, At: p.at.Round(0), Read: p.read.keep(), Write: p.write.keep(), Receive: p.receive.keep(), Send: p.send.keep(),
		})
	}
	return json.Marshal(k)
}

func (p *peak) keep() keptPeak {
	k := keptPeak{At: p.at.Round(0), Seen: p.seen, Highest: math.Round(p.highest)}
	for _, b := range p.buckets {
		k.Buckets = append(k.Buckets, [3]float64{float64(b.index), math.Round(1e7*b.weight) / 1e7, math.Round(b.sum / b.weight)})
	}
	return k
}

// Restore takes over what another judge had learned. An error says what is wrong with it; then nothing has changed.
func (j *Judge) Restore(data []byte) error {
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	if k.Version != keptVersion {
		return fmt.Errorf("version %d; this program reads version %d", k.Version, keptVersion)
	}
	all := make(map[string]*peaks, len(k.Machines))
	for _, m := range k.Machines {
		p := &peaks{at: m.At}
		for _, d := range []struct {
			from *keptPeak
			to   *peak
		}{{&m.Read, &p.read}, {&m.Write, &p.write}, {&m.Receive, &p.receive}, {&m.Send, &p.send}} {
			if err := d.to.restore(d.from); err != nil {
				return fmt.Errorf("machine %q: %w", m.Name, err)
			}
		}
		all[m.Name] = p
	}
	j.peaks = all
	return nil
}

func (p *peak) restore(k *keptPeak) error {
	if k.Seen < 0 || !(k.Highest >= 0 && k.Highest <= most) || (k.Seen > 0) != (len(k.Buckets) > 0) {
		return fmt.Errorf("%d periods, at most %g bytes a second, in %d buckets", k.Seen, k.Highest, len(k.Buckets))
	}
	*p = peak{at: k.At, seen: k.Seen, highest: k.Highest}
	for _, x := range k.Buckets {
		b := bucket{index: int(x[0]), weight: x[1], sum: x[1] * x[2]}
		if !(math.Abs(x[0]) <= 1000 && x[1] > 0 && x[1] <= 1e12 && x[2] > 0 && x[2] <= most) {
			return fmt.Errorf("bucket %v", x)
		}
		p.buckets = append(p.buckets, b)
	}
	if !slices.IsSortedFunc(p.buckets, func(a, b bucket) int { return cmp.Compare(a.index, b.index) }) {
		return fmt.Errorf("buckets are not in order")
	}
	return nil
}
