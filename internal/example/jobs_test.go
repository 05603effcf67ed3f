package example

import (
	"fmt"
	"testing"
	"time"
)

// testSpec is a job with tiny tasks.
func testSpec(t testing.TB, name string, seed uint64) Spec {
	t.Helper()
	s, err := NewSpec(name, 500*time.Millisecond, seed)
	if err != nil {
		t.Fatal(err)
	}
	s.Parts, s.Grain = 7, 1
	if name == "sort" {
		s.Scratch = t.TempDir()
	}
	return s
}

// sequential does a job in one place, task by task; skip leaves the result of a task out, as if it had been lost.
func sequential(t testing.TB, s Spec, skip func(round, part int) bool) (string, error) {
	t.Helper()
	j, err := newJob(s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newJob(s) // a worker's own copy: all that it learns comes through state
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		tasks, state := j.round(n)
		if tasks == 0 {
			return j.digest(), nil
		}
		var results [][]byte
		for part := range tasks {
			data, err := w.task(n, part, state)
			if err != nil {
				return "", fmt.Errorf("round %d, part %d: %w", n, part, err)
			}
			if !skip(n, part) {
				results = append(results, data)
			}
		}
		if err := j.reduce(n, results); err != nil {
			return "", err
		}
	}
}

func TestExpected(t *testing.T) {
	for _, name := range Jobs() {
		t.Run(name, func(t *testing.T) {
			digests := make(map[string]uint64)
			for seed := range uint64(2) {
				s := testSpec(t, name, seed)
				got, err := sequential(t, s, func(int, int) bool { return false })
				if err != nil {
					t.Fatal(err)
				}
				j, err := newJob(s)
				if err != nil {
					t.Fatal(err)
				}
				if want := j.expected(); got != want {
					t.Errorf("seed %d: task by task %s, in another way %s", seed, got, want)
				}
				if other, ok := digests[got]; ok {
					t.Errorf("seeds %d and %d have the same digest: it says nothing", seed, other)
				}
				digests[got] = seed
			}
		})
	}
}

// TestLossIsNoticed leaves out one task after the other: the digest, or an error, must tell.
func TestLossIsNoticed(t *testing.T) {
	for _, name := range Jobs() {
		t.Run(name, func(t *testing.T) {
			s := testSpec(t, name, 5)
			j, err := newJob(s)
			if err != nil {
				t.Fatal(err)
			}
			want := j.expected()
			for lost := range s.Parts {
				got, err := sequential(t, s, func(_, part int) bool { return part == lost })
				if err == nil && got == want {
					t.Errorf("without task %d the result is still %s", lost, got)
				}
			}
		})
	}
}

// BenchmarkTask measures a task: Grain milliseconds of CPU time, roughly.
func BenchmarkTask(b *testing.B) {
	for _, name := range Jobs() {
		b.Run(name, func(b *testing.B) {
			s := testSpec(b, name, 1)
			s.Grain = defaultGrain
			j, err := newJob(s)
			if err != nil {
				b.Fatal(err)
			}
			// The second round is like all later ones; some jobs have none.
			if err := doRound(j, 0); err != nil {
				b.Fatal(err)
			}
			n := 1
			tasks, state := j.round(n)
			if tasks == 0 {
				n, state = 0, nil
			}
			for b.Loop() {
				if _, err := j.task(n, 0, state); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// doRound does a whole round in one place.
func doRound(j job, n int) error {
	tasks, state := j.round(n)
	results := make([][]byte, tasks)
	for part := range tasks {
		var err error
		if results[part], err = j.task(n, part, state); err != nil {
			return err
		}
	}
	return j.reduce(n, results)
}
