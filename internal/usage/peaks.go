package usage

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Limits is how much the disks and the network interfaces of a machine can move, in bytes a second; 0: that is learned.
type Limits struct{ Read, Write, Receive, Send float64 }

// How limits are learned.
const (
	quantile = 0.99               // of the rates seen, weighted
	fading   = 7 * 24 * time.Hour // in which a weight is halved
	least    = 10e6               // bytes a second: no limit is below. What moves less than a tenth of that says nothing of limits
	enough   = 30                 // periods that say something; until then a limit is at least what is assumed
	diskTo   = 200e6              // bytes a second, assumed of disks
	netTo    = 125e6              // … of networks: 1 Gbit/s
)

// peak learns the limit of one direction: the 99th percentile of the rates in the periods that moved something, where a period counts half
// as much a week later. Until 30 of them were seen, it is what is assumed, or the highest rate if that is more.
type peak struct {
	buckets []bucket // in order of rate, those seen
	at      time.Time
	seen    int
	highest float64
}

// bucket holds rates that differ by at most 9 %.
type bucket struct {
	index       int // ⌊8 log₂ rate⌋
	weight, sum float64
}

// note takes in the rate of a period that ended at this time.
func (p *peak) note(at time.Time, rate float64) {
	if rate < least/10 {
		return
	}
	if p.seen > 0 {
		keep := math.Exp2(-max(0, at.Sub(p.at)).Hours() / fading.Hours())
		for i := range p.buckets {
			p.buckets[i].weight *= keep
			p.buckets[i].sum *= keep
		}
		p.buckets = slices.DeleteFunc(p.buckets, func(b bucket) bool { return b.weight < 1e-6 })
	}
	p.at = at
	p.seen++
	p.highest = max(p.highest, rate)
	index := int(math.Floor(8 * math.Log2(rate)))
	i, found := slices.BinarySearchFunc(p.buckets, index, func(b bucket, x int) int { return cmp.Compare(b.index, x) })
	if !found {
		p.buckets = slices.Insert(p.buckets, i, bucket{index: index})
	}
	p.buckets[i].weight++
	p.buckets[i].sum += rate
}

// limit returns the limit as far as it is known.
func (p *peak) limit(assumed float64) float64 {
	if p.seen < enough {
		return max(assumed, p.highest)
	}
	total := 0.0
	for _, b := range p.buckets {
		total += b.weight
	}
	below, at := 0.0, 0.0
	for _, b := range p.buckets {
		below, at = below+b.weight, b.sum/b.weight
		if below >= quantile*total {
			break
		}
	}
	return max(least, at)
}

// peaks is what was learned of one machine.
type peaks struct {
	read, write, receive, send peak
	at                         time.Time // of the last reading
}

func (p *peaks) note(r *Reading) {
	p.at = r.To
	p.read.note(r.To, r.Read)
	p.write.note(r.To, r.Written)
	p.receive.note(r.To, r.Received)
	p.send.note(r.To, r.Sent)
}

// limits returns what was configured, else what was learned.
func (p *peaks) limits(configured Limits) Limits {
	return Limits{
		Read:    cmp.Or(configured.Read, p.read.limit(diskTo)),
		Write:   cmp.Or(configured.Write, p.write.limit(diskTo)),
		Receive: cmp.Or(configured.Receive, p.receive.limit(netTo)),
		Send:    cmp.Or(configured.Send, p.send.limit(netTo)),
	}
}
