package example

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
)

const (
	sortRounds = 3
	recordSize = 96 // bytes; the first 8 are the key
)

// sorting sorts records on disk, as TeraSort does: round 0 generates parts, sorts each and writes it as one compressed run
// a range of keys; round 1 merges the runs of a range; round 2 reads the sorted ranges again and validates them as valsort
// does: by order, number, and the sum of the records' CRCs.
type sorting struct {
	spec    Spec
	offsets []int64 // of the runs in the parts' files, parts × (parts + 1)
	total   validation
}

// validation sums up records that were read in order.
type validation struct {
	Records int64  `json:"records"`
	Sum     uint64 `json:"sum"` // of the CRC-32C of the records
}

func newSorting(s Spec) job { return &sorting{spec: s} }

func (j *sorting) records() int { return 620 * j.spec.Grain }

func (j *sorting) round(n int) (int, []byte) {
	switch n {
	case 0, 2:
		return j.spec.Parts, nil
	case 1:
		return j.spec.Parts, pack(j.offsets)
	}
	return 0, nil
}

func (j *sorting) task(round, part int, state []byte) ([]byte, error) {
	switch round {
	case 0:
		return j.split(part)
	case 1:
		return nil, j.merge(part, state)
	}
	return j.validate(part)
}

func (j *sorting) reduce(round int, results [][]byte) error {
	for part, data := range results {
		switch round {
		case 0:
			offsets, err := unpack(data, j.spec.Parts+1)
			if err != nil {
				return fmt.Errorf("runs of part %d: %w", part, err)
			}
			j.offsets = append(j.offsets, offsets...)
		case 2:
			var v validation
			if err := json.Unmarshal(data, &v); err != nil {
				return fmt.Errorf("validation of range %d: %w", part, err)
			}
			j.total.Records += v.Records
			j.total.Sum += v.Sum
		}
	}
	return nil
}

func (j *sorting) digest() string {
	return digest(fmt.Appendf(nil, "%d %x", j.total.Records, j.total.Sum))
}

// expected generates all records, and sorts nothing.
func (j *sorting) expected() string {
	var total validation
	record := make([]byte, recordSize)
	for part := range j.spec.Parts {
		r := newStream(j.spec.Seed, forPart, uint64(part))
		for range j.records() {
			generate(&r, record)
			total.add(record)
		}
	}
	return digest(fmt.Appendf(nil, "%d %x", total.Records, total.Sum))
}

func (v *validation) add(record []byte) {
	v.Records++
	v.Sum += uint64(crc32.Checksum(record, crc32.MakeTable(crc32.Castagnoli)))
}

// generate writes the next record: a random key, and letters that can be compressed.
func generate(r *stream, record []byte) {
	binary.BigEndian.PutUint64(record, r.next())
	for at := 8; at < len(record); at += 8 {
		binary.BigEndian.PutUint64(record[at:], r.next()&0x0f0f0f0f0f0f0f0f+0x6161616161616161)
	}
}

func (j *sorting) runFile(part int) string {
	return filepath.Join(j.spec.Scratch, fmt.Sprintf("part-%d", part))
}

func (j *sorting) sortedFile(rng int) string {
	return filepath.Join(j.spec.Scratch, fmt.Sprintf("sorted-%d", rng))
}

// rangeOf returns the number of the range that a key belongs to; ranges are in the order of keys.
func (j *sorting) rangeOf(key uint64) int {
	hi, _ := bits.Mul64(key, uint64(j.spec.Parts))
	return int(hi)
}

// split writes one sorted run a range, one after the other, and returns where they begin and end.
func (j *sorting) split(part int) ([]byte, error) {
	r := newStream(j.spec.Seed, forPart, uint64(part))
	data := make([]byte, j.records()*recordSize)
	type ref struct {
		key uint64
		at  int
	}
	refs := make([]ref, j.records())
	for i := range refs {
		at := i * recordSize
		generate(&r, data[at:at+recordSize])
		refs[i] = ref{binary.BigEndian.Uint64(data[at:]), at}
	}
	slices.SortFunc(refs, func(a, b ref) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })

	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	offsets := make([]int64, 0, j.spec.Parts+1)
	for rng := range j.spec.Parts {
		offsets = append(offsets, int64(out.Len()))
		z.Reset(&out)
		for len(refs) > 0 && j.rangeOf(refs[0].key) == rng {
			if _, err := z.Write(data[refs[0].at : refs[0].at+recordSize]); err != nil {
				return nil, err
			}
			refs = refs[1:]
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
	}
	offsets = append(offsets, int64(out.Len()))
	return pack(offsets), writeFile(j.runFile(part), out.Bytes())
}

// merge reads the runs of a range side by side and writes one sorted file.
func (j *sorting) merge(rng int, state []byte) error {
	width := j.spec.Parts + 1
	offsets, err := unpack(state, j.spec.Parts*width)
	if err != nil {
		return fmt.Errorf("offsets: %w", err)
	}
	var runs mergeHeap
	defer func() {
		for _, r := range runs {
			r.file.Close()
		}
	}()
	for part := range j.spec.Parts {
		r, err := j.openRun(part, offsets[part*width+rng], offsets[part*width+rng+1])
		if err != nil {
			return fmt.Errorf("run %d of part %d: %w", rng, part, err)
		}
		if r != nil {
			runs = append(runs, r)
		}
	}
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return err
	}
	heap.Init(&runs)
	for len(runs) > 0 {
		if _, err := z.Write(runs[0].record[:]); err != nil {
			return err
		}
		more, err := runs[0].advance()
		switch {
		case err != nil:
			return fmt.Errorf("run %d of part %d: %w", rng, runs[0].part, err)
		case more:
			heap.Fix(&runs, 0)
		default:
			heap.Pop(&runs).(*run).file.Close()
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return writeFile(j.sortedFile(rng), out.Bytes())
}

// openRun opens a run in a part's file at its first record. It is nil if the run has none.
func (j *sorting) openRun(part int, from, to int64) (*run, error) {
	f, err := os.Open(j.runFile(part))
	if err != nil {
		return nil, err
	}
	r := &run{part: part, file: f, in: flate.NewReader(bufio.NewReader(io.NewSectionReader(f, from, to-from)))}
	if more, err := r.advance(); err != nil || !more {
		f.Close()
		return nil, err
	}
	return r, nil
}

// validate reads a sorted range again.
func (j *sorting) validate(rng int) ([]byte, error) {
	f, err := os.Open(j.sortedFile(rng))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := run{in: flate.NewReader(bufio.NewReader(f))}
	var v validation
	for last := uint64(0); ; last = in.key() {
		more, err := in.advance()
		switch {
		case err != nil:
			return nil, fmt.Errorf("range %d: %w", rng, err)
		case !more:
			return json.Marshal(v)
		case in.key() < last || j.rangeOf(in.key()) != rng:
			return nil, fmt.Errorf("range %d: record %d is out of order", rng, v.Records)
		}
		v.add(in.record[:])
	}
}

// run is a sorted sequence of records and the first one that was not used yet.
type run struct {
	part   int
	file   *os.File
	in     io.Reader // of its records
	record [recordSize]byte
}

// advance reads the next record; false means that there is none.
func (r *run) advance() (more bool, err error) {
	_, err = io.ReadFull(r.in, r.record[:])
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

func (r *run) key() uint64 { return binary.BigEndian.Uint64(r.record[:]) }

// mergeHeap holds runs, that with the least key first.
type mergeHeap []*run

func (h mergeHeap) Len() int { return len(h) }
func (h mergeHeap) Less(a, b int) bool {
	ka, kb := h[a].key(), h[b].key()
	return ka < kb || ka == kb && h[a].part < h[b].part
}
func (h mergeHeap) Swap(a, b int) { h[a], h[b] = h[b], h[a] }

// Push adds a *run.
func (h *mergeHeap) Push(x any) { *h = append(*h, x.(*run)) }

// Pop removes the last run.
func (h *mergeHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
