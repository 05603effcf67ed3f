package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

func TestSplit(t *testing.T) {
	whole := must(Machine())
	if whole[dovetail.CPU] < 1000 || whole[dovetail.Memory] < 64<<20 {
		t.Fatalf("this machine has %v", whole)
	}
	for n := 1; n <= 5; n++ {
		nodes := must(Split(n))
		var sum dovetail.Resources
		for i, node := range nodes {
			sum = sum.Plus(node.Capacity)
			if node.Name != fmt.Sprintf("node-%d", i+1) || node.Labels["virtual"] != "true" || node.Labels["host"] == "" || node.Address != host {
				t.Errorf("node %d of %d: %+v", i+1, n, node)
			}
		}
		if len(nodes) != n || !sum.Fits(whole) || whole[dovetail.CPU]-sum[dovetail.CPU] >= int64(n) {
			t.Errorf("%d nodes hold %v of %v", len(nodes), sum, whole)
		}
	}
	for _, n := range []int{0, -1, 1_000_000} {
		if _, err := Split(n); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("split into %d: %v", n, err)
		}
	}
}

func TestDoctor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	checks := Doctor(dir)
	seen := make(map[string]bool)
	for _, c := range checks {
		if c.Name == "" || c.Detail == "" || c.Means == "" || seen[c.Name] {
			t.Errorf("check %+v says too little, or twice", c)
		}
		seen[c.Name] = true
	}
	for _, name := range strings.Fields("cgroups freezer pressure disk ports clock processes inotify") {
		if !seen[name] {
			t.Errorf("there is no check of %s", name)
		}
	}
	if exists(dir) || exists(filepath.Dir(dir)) {
		t.Error("the state directory was made")
	}
}

// TestDoctorWithoutGroups asks where there are hierarchies, and none may be used.
func TestDoctorWithoutGroups(t *testing.T) {
	c := checkGroups(hierarchies{V1: map[string]string{"cpu": "", "memory": ""}}, errors.Join(errors.New("no cpu"), errors.New("no memory")))
	if want := "cgroups none: cpu limit no, memory limit no, freeze no: no cpu; no memory"; c.OK || c.Detail != want {
		t.Errorf("%v %q, expected %q", c.OK, c.Detail, want)
	}
}

func TestPorts(t *testing.T) {
	p := newPorts(1)
	defer p.close()
	busy := must(net.Listen("tcp4", "127.0.0.1:0"))
	defer busy.Close()
	taken := busy.Addr().(*net.TCPAddr).Port
	free := must(p.allocate(map[string]dovetail.Port{"a": {}}))["a"]
	p.release(map[string]int{"a": free})

	wanted := func(n int) map[string]dovetail.Port { return map[string]dovetail.Port{"a": {Port: n}} }
	if got := must(p.allocate(wanted(free))); got["a"] != free {
		t.Errorf("a free port %d was asked for, %d was given", free, got["a"])
	}
	if got := must(p.allocate(wanted(free))); got["a"] == free || got["a"] == 0 {
		t.Errorf("port %d was given twice", free)
	}
	if got := must(p.allocate(wanted(taken))); got["a"] == taken {
		t.Errorf("port %d was given although somebody listens on it", taken)
	}
	if got := must(p.allocate(wanted(70000))); got["a"] == 0 || got["a"] > 65535 {
		t.Errorf("asked for port 70000, %d was given", got["a"])
	}
	other := newPorts(1) // another daemon on the same host
	defer other.close()
	if got := must(other.allocate(wanted(free))); got["a"] == free {
		t.Errorf("two daemons gave away port %d", free)
	}
	p.close()
	if got := must(other.allocate(wanted(free))); got["a"] != free {
		t.Errorf("port %d was given back, and then not given to who asked for it", free)
	}
}

// TestPortsProperty allocates and releases at random: no port is ever given twice at a time.
func TestPortsProperty(t *testing.T) {
	p := newPorts(7)
	defer p.close()
	rapid.Check(t, func(t *rapid.T) {
		var living []map[string]int
		used := make(map[int]bool)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if len(living) > 0 && rapid.Bool().Draw(t, "release") {
				for _, port := range living[0] {
					delete(used, port)
				}
				p.release(living[0])
				living = living[1:]
				continue
			}
			requests := make(map[string]dovetail.Port)
			for i := range rapid.IntRange(0, 3).Draw(t, "ports") {
				requests[fmt.Sprint(i)] = dovetail.Port{Port: rapid.SampledFrom([]int{0, 21000, 21001}).Draw(t, "wanted")}
			}
			got, err := p.allocate(requests)
			if err != nil || len(got) != len(requests) {
				t.Fatalf("%v for %v: %v", got, requests, err)
			}
			for _, port := range got {
				if used[port] {
					t.Fatalf("port %d was given twice", port)
				}
				used[port] = true
			}
			living = append(living, got)
		}
		for _, l := range living {
			p.release(l)
		}
	})
}

func TestWatcher(t *testing.T) {
	w := newWatcher()
	defer w.close()
	if w.file == nil {
		t.Skip("no inotify here")
	}
	go w.serve()
	// Each step has a directory of its own: what one did may be reported for a while.
	watch := func(dir string) (chan struct{}, func()) {
		c := make(chan struct{}, 1)
		return c, w.add(dir, c)
	}
	woken := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		case <-time.After(patience):
			return false
		}
	}
	written := t.TempDir()
	one, dropOne := watch(written)
	defer dropOne()
	two, dropTwo := watch(written)
	defer dropTwo()
	if err := writeJSON(filepath.Join(written, "x"), 1, false); err != nil {
		t.Fatal(err)
	}
	if !woken(one) || !woken(two) {
		t.Fatal("a file was written, and not all who watch were woken")
	}
	locked := t.TempDir()
	three, dropThree := watch(locked)
	defer dropThree()
	lock := must(takeLock(locked))
	lock.Close()
	if !woken(three) {
		t.Error("a lock was released, and nobody was woken")
	}
	shared := t.TempDir()
	gone, dropGone := watch(shared)
	stays, dropStays := watch(shared)
	defer dropStays()
	dropGone()
	if err := writeJSON(filepath.Join(shared, "y"), 1, false); err != nil {
		t.Fatal(err)
	}
	if !woken(stays) {
		t.Error("who still watches was not woken")
	}
	if len(gone) > 0 {
		t.Error("who watches no longer was woken")
	}
}

//nolint:dupword // this is how the kernel writes it
const (
	hybridMounts = `30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
31 25 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory
32 25 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
33 25 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
34 25 0:30 / /proc rw - proc proc rw
`
	unifiedMounts = "35 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
	coMounted     = "35 25 0:26 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)

func TestParseMounts(t *testing.T) {
	for _, test := range []struct {
		reason, text string
		points       []string
		unified      []bool
	}{
		{"hybrid", hybridMounts, []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}, []bool{false, false, false, true}},
		{"unified", unifiedMounts, []string{"/sys/fs/cgroup"}, []bool{true}},
		{"two controllers in one hierarchy", coMounted, []string{"/sys/fs/cgroup/cpu,cpuacct"}, []bool{false}},
		{"nothing", "", nil, nil},
		{"garbage", "x\n1 2 3 - cgroup\n - - -\n", nil, nil},
	} {
		var points []string
		var unified []bool
		for _, m := range parseMounts(test.text) {
			points, unified = append(points, m.point), append(unified, m.unified)
		}
		if !reflect.DeepEqual(points, test.points) || !reflect.DeepEqual(unified, test.unified) {
			t.Errorf("%s: %v %v", test.reason, points, unified)
		}
	}
}

func TestCandidates(t *testing.T) {
	for _, test := range []struct {
		reason    string
		root, own string
		want      []string
	}{
		{"a process in the root group", "/", "/", []string{"/cg"}},
		{"a service: first the root, then beside, then below its own group", "/", "/system.slice/d.service/main",
			[]string{"/cg", "/cg/system.slice/d.service", "/cg/system.slice/d.service/main"}},
		{"a container that sees a part of the tree", "/docker/1", "/docker/1/x", []string{"/cg", "/cg/x"}},
		{"a group outside of what is visible", "/docker/1", "/", []string{"/cg"}},
	} {
		if got := candidates(mount{point: "/cg", root: test.root}, test.own); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, expected %v", test.reason, got, test.want)
		}
	}
}

// TestGroupPerHierarchy says which files a group uses on machines that this one is not.
func TestGroupPerHierarchy(t *testing.T) {
	for _, test := range []struct {
		reason string
		tree   hierarchies
		want   group
	}{
		{"unified with both controllers", hierarchies{Unified: "/u", Controllers: []string{"cpu", "memory"}},
			group{Unified: "/u/x", UnifiedCPU: true, UnifiedMemory: true}},
		{"hybrid: limits in v1, the rest in v2", hierarchies{Unified: "/u", V1: map[string]string{"cpu": "/c", "memory": "/m", "freezer": "/f", "cpuacct": "/a"}},
			group{Unified: "/u/x", CPU: "/c/x", Memory: "/m/x"}},
		{"v1 alone", hierarchies{V1: map[string]string{"cpu": "/c", "cpuacct": "/c", "memory": "/m", "freezer": "/f"}},
			group{CPU: "/c/x", CPUAcct: "/c/x", Memory: "/m/x", Freezer: "/f/x"}},
		{"nothing", hierarchies{}, group{}},
	} {
		if got := test.tree.group("x"); got != test.want {
			t.Errorf("%s: %+v, expected %+v", test.reason, got, test.want)
		}
	}
}

// TestUnifiedFiles drives a v2 group on ordinary files, since not every machine has one with controllers.
func TestUnifiedFiles(t *testing.T) {
	place := t.TempDir()
	dir := filepath.Join(place, "dovetail", "id", "x")
	g := group{Unified: dir, UnifiedCPU: true, UnifiedMemory: true}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, parent := range []string{"dovetail", "dovetail/id"} {
		if err := os.WriteFile(filepath.Join(place, parent, "cgroup.subtree_control"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"cpu.max": "", "memory.max": "", "memory.swap.max": "", "memory.oom.group": "", "cgroup.freeze": "",
		"cpu.stat": "usage_usec 1500\nuser_usec 1000\n", "memory.peak": "4096\n", "memory.events": "low 0\noom 2\noom_kill 1\n", "cgroup.procs": "12\n0\n34\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.make(limits{CPU: 1500, Memory: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	for _, parent := range []string{"dovetail", "dovetail/id"} {
		if got := string(must(os.ReadFile(filepath.Join(place, parent, "cgroup.subtree_control")))); got != "+memory" {
			t.Errorf("the last controller handed down in %s is %q, expected +memory", parent, got)
		}
	}
	g.freeze(true)
	for name, want := range map[string]string{
		"cpu.max": "150000 100000", "memory.max": "67108864", "memory.swap.max": "0", "memory.oom.group": "1", "cgroup.freeze": "1",
	} {
		if got := string(must(os.ReadFile(filepath.Join(dir, name)))); got != want {
			t.Errorf("%s is %q, expected %q", name, got, want)
		}
	}
	u, cpu, memory := g.usage()
	if !cpu || !memory || u.CPU != 1500*time.Microsecond || u.MemoryPeak != 4096 || g.oomKills() != 1 {
		t.Errorf("usage %+v %v %v, %d kills", u, cpu, memory, g.oomKills())
	}
	if pids := g.pids(); !reflect.DeepEqual(pids, []int{12, 34}) {
		t.Errorf("processes %v; 0 stands for one of another namespace", pids)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 987654 1000 5 0"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseStat(data)
		if err == nil && s.State == 0 {
			t.Errorf("%q is taken for a process without a state", data)
		}
	})
}

func TestParseStat(t *testing.T) {
	s, err := parseStat([]byte("42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 987654 1000 5 0"))
	want := stat{State: 'S', Parent: 1, CPU: time.Second, Start: 987654, RSS: 5 * int64(os.Getpagesize())}
	if err != nil || s != want {
		t.Errorf("%+v %v, expected %+v", s, err, want)
	}
}

func FuzzRecordName(f *testing.F) {
	f.Add("1-0-3-42")
	f.Add("../../etc")
	f.Add("1-0-0-1/..")
	f.Fuzz(func(t *testing.T, name string) {
		r, ok := parseRecordName(name)
		if ok && (recordName(r) != name || strings.ContainsAny(name, "/\\ ")) {
			t.Errorf("%q is taken for %+v", name, r)
		}
	})
}
