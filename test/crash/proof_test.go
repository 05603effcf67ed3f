package crash_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
)

// The proofs of TestCrash must be able to fail: here is what they are there to find.

func TestLedgerFindsFaults(t *testing.T) {
	one := dovetail.Replica{Run: 7, Component: 1, Index: 2, Attempt: 30}
	for _, tc := range []struct {
		reason, text  string
		starts, stops int
		faults        int
		broken        bool
	}{
		{reason: "one life", text: "start 7-1-2-30\nstop 7-1-2-30 0\n", starts: 1, stops: 1},
		{reason: "still alive, or killed", text: "start 7-1-2-30\n", starts: 1},
		{reason: "started twice", text: "start 7-1-2-30\nstop 7-1-2-30 0\nstart 7-1-2-30\n", starts: 2, stops: 1},
		{reason: "two of one slot at once", text: "start 7-1-2-29\ndouble 7-1-2-30\nstart 7-1-2-30\n", starts: 1, faults: 1},
		{reason: "a torn line", text: "start 7-1-2-30\nsto", starts: 1, broken: true},
		{reason: "not a replica", text: "start 7-1-2\n", broken: true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "ledger"), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := readLedger(dir)
			if (err != nil) != tc.broken {
				t.Fatalf("error %v, want one: %t", err, tc.broken)
			}
			if err == nil && (l.starts[one] != tc.starts || len(l.stops[one]) != tc.stops || len(l.faults) != tc.faults) {
				t.Errorf("%d starts, stops %q, faults %q", l.starts[one], l.stops[one], l.faults)
			}
		})
	}
}

func TestCompareFindsDivergence(t *testing.T) {
	record := func(node string) engine.Record {
		return engine.Record{Seq: 1, At: time.Unix(1, 0).UTC(), Event: dovetail.NodeUp{Node: dovetail.Node{Name: node}}}
	}
	for _, tc := range []struct {
		reason string
		node   string // in the daemon's store; all records together have a
		want   string
	}{
		{"the same records lead to the same state", "a", ""},
		{"another history leads elsewhere", "b", "and all records to"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			store := mem.New()
			if err := store.Append(t.Context(), engine.Changes{Records: []engine.Record{record(tc.node)}}); err != nil {
				t.Fatal(err)
			}
			c := &chronicle{}
			c.whole.records, c.seq = []engine.Record{record("a")}, 1
			err := c.compare(t.Context(), store)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestWorkloadIsRepeatable(t *testing.T) {
	kinds := make(map[string]bool)
	for n := range 200 {
		a, b := makeJob(3, n, "d"), makeJob(3, n, "d")
		if *a != *b {
			t.Fatalf("job %d differs: %+v and %+v", n, a, b)
		}
		kinds[a.kind] = true
	}
	for _, kind := range []string{"elastic", "ordered", "failing", "flaky", "cancelled", "late", "held"} {
		if !kinds[kind] {
			t.Errorf("no %s job among 200", kind)
		}
	}
}
