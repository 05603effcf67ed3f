package zoe

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/trace"
)

const (
	shared = "../../../shared/data"
	gib    = 1 << 30
)

// testbed is the machine of the measured schedules.
func testbed() dovetail.Resources {
	return dovetail.Resources{dovetail.CPU: 1000 * 1000, dovetail.Memory: 1400 * gib}
}

// ourNames returns the policy and the allocator that Zoe calls by this name, such as hSRPT2D1.
func ourNames(theirs string) (policy, alloc string) {
	alloc, name := "rigid", theirs
	switch theirs[0] {
	case 'e':
		alloc, name = "malleable", theirs[1:]
	case 'h':
		alloc, name = "flexible", theirs[1:]
	}
	for _, family := range []struct{ theirs, ours string }{{"Fifo", "fifo"}, {"PSJF", "sjf"}, {"SRPT", "srpt"}, {"HRRN", "hrrn"}} {
		if size, ok := strings.CutPrefix(name, family.theirs); ok {
			policy = family.ours
			if size != "" {
				policy += "-" + strings.ToLower(size)
			}
		}
	}
	return policy, alloc
}

// row is one application of a measured schedule.
type row struct{ start, finish time.Duration }

func readExpected(tb testing.TB, path string) map[int64]row {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	rows := make(map[int64]row)
	lines := bufio.NewScanner(plain)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) != 7 {
			tb.Fatalf("%s: %q has not seven fields", path, lines.Text())
		}
		id, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		rows[id] = row{seconds(tb, fields[2]), seconds(tb, fields[3])}
	}
	if err := lines.Err(); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return rows
}

func seconds(tb testing.TB, s string) time.Duration {
	tb.Helper()
	d, err := time.ParseDuration(s + "s")
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// TestZoeOracles compares with what Zoe's own program did, application by application.
func TestZoeOracles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared, "expected", "zoe_q_1000x1400_*.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("SKIPPED: no measured schedules in %s/expected: the model is compared with the literal reading of its rules only", shared)
	}
	jobs := readJobs(t, "zoe_apps_1000_q.txt")
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "zoe_q_1000x1400_"), ".txt.gz")
		t.Run(name, func(t *testing.T) {
			want := readExpected(t, file)
			policy, alloc := ourNames(name)
			s, err := Run(t.Context(), Options{Policy: policy, Alloc: alloc, Capacity: testbed()}, jobs)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Jobs) != len(want) {
				t.Errorf("%d applications, want %d", len(s.Jobs), len(want))
			}
			var worst time.Duration
			wrong := 0
			for i := range s.Jobs {
				j := &s.Jobs[i]
				w, ok := want[j.ID]
				if !ok {
					t.Fatalf("application %d is not in %s", j.ID, file)
				}
				d := max((j.Start - w.start).Abs(), (j.Finish - w.finish).Abs())
				worst = max(worst, d)
				if d > 2*time.Microsecond {
					if wrong++; wrong <= 3 {
						t.Errorf("application %d runs from %s to %s, want %s to %s", j.ID, j.Start, j.Finish, w.start, w.finish)
					}
				}
			}
			t.Logf("%s, %s: %d applications, %d wrong, worst difference %s", policy, alloc, len(want), wrong, worst)
		})
	}
}

func readJobs(tb testing.TB, name string) []trace.Job {
	tb.Helper()
	path := filepath.Join(shared, "traces", name)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("SKIPPED: %v", err)
	}
	w, err := trace.Load(tb.Context(), path, trace.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return w.Jobs
}

// TestInelastic: without elastic components both passes start the same applications at the same times (seed 004, table 10.4a), even
// though one starts several at a time.
func TestInelastic(t *testing.T) {
	jobs := readJobs(t, "zoe_apps_1000_q_inelastic.txt")
	for _, policy := range Policies() {
		var runs [2][]report.Job
		for i, alloc := range []string{"rigid", "flexible"} {
			s, err := Run(t.Context(), Options{Policy: policy, Alloc: alloc, Capacity: testbed()}, jobs)
			if err != nil {
				t.Fatal(err)
			}
			runs[i] = s.Jobs
		}
		if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
			t.Errorf("%s: -rigid +flexible:\n%s", policy, diff)
		}
	}
}
