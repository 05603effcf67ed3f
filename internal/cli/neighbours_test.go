package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
)

// acquainted is what is known of three job classes.
func acquainted() *dovetail.Neighbours {
	slow := func(times, low, high float64, runs int) *dovetail.Slowdown {
		return &dovetail.Slowdown{Times: times, Low: low, High: high, Runs: runs, Against: 20, Seconds: 90 * float64(runs)}
	}
	return &dovetail.Neighbours{Version: 1, Rows: []dovetail.NeighbourRow{
		{Class: "kmeans", Rest: 0.2, Pairs: []dovetail.PairKnown{
			{Newcomer: "sort", Likes: 0.6, Goodness: 4.25, Updates: 40, Slowdown: slow(1.02, 0.9, 1.2, 5)},
		}},
		{Class: "sort", Rest: 0.3, Pairs: []dovetail.PairKnown{
			{Newcomer: "kmeans", Likes: 0.05, Goodness: 3.5, Updates: 40, Slowdown: slow(1.4, 1.2, 1.7, 12)},
			{Newcomer: "tpch", Likes: 0.35, Slowdown: slow(0.8, 0.7, 0.9, 6)},
		}},
		{Class: "forgotten", Pairs: []dovetail.PairKnown{}},
	}}
}

func TestNeighboursText(t *testing.T) {
	e, _, _ := testEnvironment(nil)
	var b strings.Builder
	if err := e.writeNeighbours(&b, acquainted(), &dovetail.Colocation{Choose: "bandit"}); err != nil {
		t.Fatal(err)
	}
	if err := e.writeHeat(&b, matrixOf(acquainted())); err != nil {
		t.Fatal(err)
	}
	golden(t, "neighbours.txt", b.String())
}

func TestNeighboursTextOfNothing(t *testing.T) {
	e, _, _ := testEnvironment(nil)
	for reason, n := range map[string]*dovetail.Neighbours{
		"nothing":                    {},
		"only that it was forgotten": {Rows: []dovetail.NeighbourRow{{Class: "sort"}}},
	} {
		var b strings.Builder
		if err := e.writeNeighbours(&b, n, &dovetail.Colocation{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), "Nothing is known") {
			t.Errorf("%s: %q", reason, b.String())
		}
	}
}

// A matrix that is too wide for the screen keeps those classes of which the most is known.
func TestMatrixKeepsWhatIsKnownBest(t *testing.T) {
	m := matrixOf(acquainted())
	if diff := cmp.Diff([]string{"kmeans", "sort", "tpch"}, m.names); diff != "" {
		t.Fatalf("classes (-want +got):\n%s", diff)
	}
	two := m.most(2)
	if diff := cmp.Diff([]string{"kmeans", "sort"}, two.names); diff != "" || two.more != 1 {
		t.Errorf("kept, and %d more (-want +got):\n%s", two.more, diff)
	}
	if two.pairs[1][0] == nil || two.pairs[1][0].Newcomer != "kmeans" || two.pairs[0][0] != nil {
		t.Errorf("the pairs are not where they belong: %v", two.pairs)
	}
}

// Names that are too long to stand above a column stand once, beside their rows.
func TestLongClassesAreNumbered(t *testing.T) {
	n := acquainted()
	n.Rows[1].Pairs[1].Newcomer = "wordcount?input=large&top=10"
	e, _, _ := testEnvironment(nil)
	var b strings.Builder
	if err := e.writePreferences(&b, matrixOf(n)); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Count(s, "wordcount?input=large&top=10") != 1 || strings.Count(s, "[3]") != 2 {
		t.Errorf("got:\n%s", s)
	}
}

func TestPlotTakesItsFile(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		plot       string
		args       []string
		want, rest string
		fails      bool
	}{
		{"no picture", "", []string{"sort"}, "", "sort", false},
		{"in the terminal", plotTerminal, []string{"sort"}, plotTerminal, "sort", false},
		{"--plot FILE", plotTerminal, []string{"a.svg"}, "a.svg", "", false},
		{"--plot FILE APP", plotTerminal, []string{"a.PNG", "sort"}, "a.PNG", "sort", false},
		{"--plot=FILE", "dir/a.svg", []string{"sort"}, "dir/a.svg", "sort", false},
		{"--plot=FILE of another kind", "a.jpg", nil, "", "", true},
	} {
		o := neighboursOptions{Plot: tc.plot}
		for range 2 { // the parser asks twice
			rest, err := o.readPlot(tc.args)
			if (err != nil) != tc.fails || !tc.fails && (o.Plot != tc.want || strings.Join(rest, " ") != tc.rest) {
				t.Errorf("%s: plot %q, rest %v, error %v", tc.reason, o.Plot, rest, err)
			}
		}
	}
}

func TestConfirm(t *testing.T) {
	for _, tc := range []struct {
		reason, typed string
		screens       bool
		fails         bool
	}{
		{"yes", "y\n", true, false},
		{"in full", " Yes \n", true, false},
		{"no", "n\n", true, true},
		{"nothing", "\n", true, true},
		{"the end of what is typed", "", true, true},
		{"nobody is there", "y\n", false, true},
	} {
		e, _, _ := testEnvironment(nil)
		e.in, e.inScreen, e.errScreen = strings.NewReader(tc.typed), tc.screens, tc.screens
		if err := e.confirm("Forget all"); (err != nil) != tc.fails {
			t.Errorf("%s: %v", tc.reason, err)
		}
	}
}

func TestInflate(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(`{"version": 1}`)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for reason, data := range map[string][]byte{"plain": []byte(`{"version": 1}`), "compressed": b.Bytes()} {
		if got, err := inflate(data, "f"); err != nil || string(got) != `{"version": 1}` {
			t.Errorf("%s: %q, %v", reason, got, err)
		}
	}
	if _, err := inflate(b.Bytes()[:12], "f"); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("cut off: %v, want an invalid error", err)
	}
}

// However much is known, what people are shown ends, and says so.
func TestNeighboursTextEnds(t *testing.T) {
	n := &dovetail.Neighbours{}
	for i := range 30 {
		row := dovetail.NeighbourRow{Class: fmt.Sprintf("c%02d", i)}
		for j := range 30 {
			if i != j {
				row.Pairs = append(row.Pairs, dovetail.PairKnown{
					Newcomer: fmt.Sprintf("c%02d", j), Likes: 0.03, Updates: 5, Goodness: 4, Slowdown: &dovetail.Slowdown{Times: 2, Low: 1.5, High: 3, Runs: 9, Seconds: 90},
				})
			}
		}
		n.Rows = append(n.Rows, row)
	}
	e, _, _ := testEnvironment(nil)
	var b strings.Builder
	if err := e.writeNeighbours(&b, n, &dovetail.Colocation{Choose: "price"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"job classes are not shown", "830 pairs are not shown"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
	if lines := strings.Count(b.String(), "\n"); lines > 90 {
		t.Errorf("%d lines", lines)
	}
}
