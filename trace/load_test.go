package trace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLoadFirst: the first jobs are first by submission, wherever they stand in the file, and nothing else is kept.
func TestLoadFirst(t *testing.T) {
	const n = 500
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "%d %d 1 1 1 1 1\n", i+1, rng.IntN(100))
	}
	path := filepath.Join(t.TempDir(), "trace.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Load(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []int{1, 7, n - 1, n, n + 1} {
		w, err := Load(t.Context(), path, Options{First: first})
		if err != nil {
			t.Fatal(err)
		}
		want := all.Jobs[:min(first, n)]
		same := slices.EqualFunc(w.Jobs, want, func(a, b Job) bool { return a.ID == b.ID && a.Submit == b.Submit })
		said := slices.Contains(w.Notices, fmt.Sprintf("of its %d jobs only the first %d are taken", n, first))
		if !same || said != (first < n) {
			t.Errorf("first %d: the same jobs: %t; notices %q", first, same, w.Notices)
		}
	}
}
