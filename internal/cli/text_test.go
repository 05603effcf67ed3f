package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s changed (-want +got):\n%s", name, diff)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                             "0.0s",
		949 * time.Millisecond:        "0.9s",
		59949 * time.Millisecond:      "59.9s",
		59951 * time.Millisecond:      "1m00s",
		125 * time.Second:             "2m05s",
		3599600 * time.Millisecond:    "1h00m",
		47*time.Hour + 59*time.Minute: "47h59m",
		100 * time.Hour:               "4d4h",
		-5 * time.Second:              "-5.0s",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestAgo(t *testing.T) {
	for _, tc := range []struct {
		reason string
		t      time.Time
		want   string
	}{
		{"never", time.Time{}, ""},
		{"now", now.Add(-300 * time.Millisecond), "just now"},
		{"a clock that is ahead", now.Add(time.Hour), "just now"},
		{"a while", now.Add(-90500 * time.Millisecond), "1m30s ago"},
		{"long ago", now.Add(-30 * 24 * time.Hour), now.Add(-30 * 24 * time.Hour).Local().Format("2006-01-02 15:04")},
	} {
		if got := ago(tc.t, now); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
		}
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 200 << 20: "200 MiB", 3 << 50: "3072 TiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestTableAlignsWhatIsSeen(t *testing.T) {
	tab := newTable("NAME", "STATE", "WHY")
	tab.add("a", painted(green, "running"), "")
	tab.add("größer", "queued", "its core")
	var b strings.Builder
	if err := tab.write(&b, unpainted); err != nil {
		t.Fatal(err)
	}
	want := "NAME    STATE    WHY\n" +
		"a       \x1b[32mrunning\x1b[0m  -\n" +
		"größer  queued   its core\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever is clipped is as wide as asked for, and loses no escape sequence: colours must end where the text does.
func TestClipLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(rt, "parts") {
			s := rapid.StringMatching(`[a-zäß█▒ ]{0,12}`).Draw(rt, "text")
			b.WriteString(painted(rapid.SampledFrom([]style{plain, red, runStyles[0]}).Draw(rt, "style"), s))
		}
		line, width := b.String(), rapid.IntRange(1, 40).Draw(rt, "width")
		got := clipLine(line, width)
		if n := visible(got); n != min(visible(line), width) {
			rt.Fatalf("%q is %d wide, want %d", got, n, min(visible(line), width))
		}
		if strings.Count(got, "\x1b[") != strings.Count(line, "\x1b[") {
			rt.Fatalf("%q lost an escape sequence of %q", got, line)
		}
	})
}

func TestPrintableKeepsNoControl(t *testing.T) {
	if got := printable("a\x1b[2Jb\u009bc\td"); strings.ContainsAny(got, "\x1b\u009b\t") || !strings.Contains(got, "a") {
		t.Errorf("got %q", got)
	}
}

func sampleSnapshot() *snapshot {
	node := func(name string, cpu int64, cordoned bool) dovetail.NodeStatus {
		return dovetail.NodeStatus{
			Node: dovetail.Node{Name: name, Capacity: dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 1 << 30}},
			Up:   true, Cordoned: cordoned, Granted: dovetail.Resources{dovetail.CPU: cpu},
		}
	}
	cell := func(name string, elastic bool, cpu int64) onCells {
		return onCells{name, elastic, dovetail.Resources{dovetail.CPU: cpu}}
	}
	started, ended := now.Add(-20*time.Second), now.Add(-time.Second)
	return &snapshot{
		At: now, Title: "Pass 1 of 2 · flexible",
		Nodes: []dovetail.NodeStatus{node("node-1", 900, false), node("node-2", 1000, true)},
		Runs: []viewRun{
			{dovetail.RunStatus{
				ID: 1, Name: "wordcount-1", State: dovetail.Running, Submitted: started, Started: &started,
				Core: 2, CoreUp: 2, Elastic: 5, ElasticUp: 4, ElasticMax: 7,
			}, []onCells{cell("node-1", false, 400), cell("node-1", true, 200), cell("node-2", true, 500)}},
			{dovetail.RunStatus{
				ID: 2, Name: "kmeans-2", State: dovetail.Starting, Submitted: started, Started: &ended, Core: 1, ElasticMax: 3,
			}, []onCells{cell("node-1", false, 300), cell("node-2", true, 500)}},
			{dovetail.RunStatus{
				ID: 3, Name: "sort-3", State: dovetail.Ended, Outcome: dovetail.OutcomeFailed, Submitted: started, Started: &started, Ended: &ended,
			}, nil},
			{dovetail.RunStatus{ID: 4, Name: "notebook-4", State: dovetail.Queued, Reason: dovetail.NoCapacity, Submitted: ended}, nil},
			{dovetail.RunStatus{ID: 5, Name: "pagerank-5", State: dovetail.Queued, Reason: dovetail.Behind, Submitted: now}, nil},
		},
	}
}

func TestLiveView(t *testing.T) {
	golden(t, "view.txt", strings.Join(sampleSnapshot().lines(unpainted, 100), "\n")+"\n")
}

// The coloured view is the plain one, and more.
func TestLiveViewColours(t *testing.T) {
	plainLines, coloured := sampleSnapshot().lines(unpainted, 100), sampleSnapshot().lines(painted, 100)
	for i := range coloured {
		stripped := coloured[i]
		for j := strings.Index(stripped, "\x1b["); j >= 0; j = strings.Index(stripped, "\x1b[") {
			stripped = stripped[:j] + stripped[j+escape(stripped[j:]):]
		}
		if stripped != plainLines[i] {
			t.Errorf("line %d: %q, want %q", i, stripped, plainLines[i])
		}
	}
	if !strings.Contains(coloured[2], painted(runStyle(0), strings.Repeat("█", 24))) {
		t.Errorf("the core of run 1 is not in its colour: %q", coloured[2])
	}
}

func TestScreenRedrawsInPlace(t *testing.T) {
	var b strings.Builder
	s := &screen{out: &b}
	for _, lines := range [][]string{{"one", "two"}, {"three"}} {
		if err := s.draw(lines); err != nil {
			t.Fatal(err)
		}
	}
	s.leave()
	want := "\x1b[?25l\rone\x1b[K\n\rtwo\x1b[K\n\x1b[J" + "\x1b[2A\rthree\x1b[K\n\x1b[J" + "\x1b[?25h"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestFitKeepsToTheScreen(t *testing.T) {
	e, _, _ := testEnvironment(nil)
	lines := e.fit(strings.Split(strings.Repeat(strings.Repeat("x", 200)+"\n", 60), "\n"))
	if len(lines) > 23 {
		t.Errorf("%d lines on a screen of 24: the first would scroll away", len(lines))
	}
	for _, l := range lines {
		if visible(l) > 80 {
			t.Errorf("a line of %d columns on a screen of 80", visible(l))
		}
	}
	if !strings.Contains(lines[len(lines)-1], "more lines") {
		t.Errorf("nothing says that lines are hidden: %q", lines[len(lines)-1])
	}
}

func TestMostElastic(t *testing.T) {
	p := func(sec int, node string, elastic bool, n int) dovetail.Placement {
		return dovetail.Placement{At: now.Add(time.Duration(sec) * time.Second), Slot: dovetail.Slot{Node: node, Elastic: elastic}, N: n}
	}
	for _, tc := range []struct {
		reason     string
		placements []dovetail.Placement
		want       int
	}{
		{"none", nil, 0},
		{"core does not count", []dovetail.Placement{p(0, "a", false, 5)}, 0},
		{"nodes add up", []dovetail.Placement{p(0, "a", true, 2), p(1, "b", true, 3), p(2, "a", true, 0)}, 5},
		{"a move at one time is no peak", []dovetail.Placement{p(0, "a", true, 2), p(1, "b", true, 2), p(1, "a", true, 0)}, 2},
	} {
		if got := mostElastic(tc.placements); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
		}
	}
}

func TestNewestReplicas(t *testing.T) {
	r := func(component, index int, attempt int64) dovetail.ReplicaStatus {
		return dovetail.ReplicaStatus{
			Replica:   dovetail.Replica{Run: 1, Component: component, Index: index, Attempt: attempt},
			Component: []string{"master", "worker"}[component],
		}
	}
	d := &client.RunDetail{Replicas: []dovetail.ReplicaStatus{r(0, 0, 1), r(0, 0, 4), r(1, 0, 1), r(1, 1, 2), r(1, 1, 3)}}
	for _, tc := range []struct {
		reason string
		o      logsOptions
		want   []dovetail.Replica
	}{
		{"the newest of each", logsOptions{Index: -1}, []dovetail.Replica{d.Replicas[1].Replica, d.Replicas[2].Replica, d.Replicas[4].Replica}},
		{"of a component", logsOptions{Component: "master", Index: -1}, []dovetail.Replica{d.Replicas[1].Replica}},
		{"an older attempt", logsOptions{Component: "worker", Index: 1, Attempt: 2}, []dovetail.Replica{d.Replicas[3].Replica}},
		{"none", logsOptions{Component: "worker", Index: 9}, nil},
	} {
		var got []dovetail.Replica
		for _, r := range tc.o.newest(d) {
			got = append(got, r.Replica)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestStateOf(t *testing.T) {
	for _, tc := range []struct {
		s    dovetail.RunStatus
		want string
	}{
		{dovetail.RunStatus{State: dovetail.Queued}, "queued"},
		{dovetail.RunStatus{State: dovetail.Queued, Held: true}, "held"},
		{dovetail.RunStatus{State: dovetail.Running, Suspended: true}, "suspended"},
		{dovetail.RunStatus{State: dovetail.Stopping, Suspended: true}, "stopping"},
		{dovetail.RunStatus{State: dovetail.Ended, Outcome: dovetail.OutcomeCancelled, Suspended: true}, "cancelled"},
	} {
		if got := stateOf(&tc.s); got != tc.want {
			t.Errorf("%+v is %s, want %s", tc.s, got, tc.want)
		}
	}
}

// TestNeighbours counts a run once that was met on two nodes, and on one of them twice.
func TestNeighbours(t *testing.T) {
	met := []dovetail.Neighbour{{Run: 1, Node: "a"}, {Run: 2, Node: "a"}, {Run: 1, Node: "b"}, {Run: 1, Node: "b"}}
	if got := neighbours(met); got != 2 {
		t.Errorf("%d neighbours, expected 2", got)
	}
}
