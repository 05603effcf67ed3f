package example

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
)

// stream is a sequence of pseudo-random numbers: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, OOPSLA 2014). It is the same on every machine and in every version.
type stream uint64

// newStream returns the stream that belongs to a seed and a purpose.
func newStream(seed uint64, purpose ...uint64) stream {
	s := stream(seed)
	for _, p := range purpose {
		s = stream(s.next() ^ p*0x9e3779b97f4a7c15)
	}
	return s
}

func (s *stream) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n).
func (s *stream) below(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}

// Purposes of streams.
const (
	forLibrary uint64 = iota
	forPart
	forBridge
)

// A partition of wordcount, kmeans and pagerank is a sequence of records, each drawn from a small library. A task goes
// through all of them; who only wants to know the right result needs no more than how often each entry was drawn.

// draws yields the library entries, numbered below size, of which a partition consists.
func draws(s Spec, part, n, size int, yield func(entry int)) {
	r := newStream(s.Seed, forPart, uint64(part))
	for range n {
		yield(r.below(size))
	}
}

// tally returns how often each library entry occurs in all partitions, each of n records.
func tally(s Spec, n, size int) []int64 {
	times := make([]int64, size)
	for part := range s.Parts {
		r := newStream(s.Seed, forPart, uint64(part))
		for range n {
			times[r.below(size)]++
		}
	}
	return times
}

// digest returns a short name for a text: equal names mean equal texts.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// pack writes numbers for the wire.
func pack(v []int64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// unpack reads n numbers that pack wrote.
func unpack(b []byte, n int) ([]int64, error) {
	if len(b) != 8*n {
		return nil, fmt.Errorf("got %d bytes, expected %d numbers", len(b), n)
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v, nil
}
