package local

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail/internal/usage"
)

// machineFiles are those of a machine with two disks, one of them with partitions and a volume on it, and two interfaces that lead anywhere.
func machineFiles() map[string]string {
	return map[string]string{
		"sys/kernel/random/boot_id": "0b4a\n",
		"stat":                      "cpu  100 20 30 4000 500 6 7 8 9 9\ncpu0 50 10 15 2000 250 3 3 4 4 4\nintr 1 2\n",
		"pressure/cpu":              "some avg10=1.09 avg60=1.78 avg300=4.09 total=8853\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"pressure/io":               "some avg10=0.00 avg60=0.07 avg300=0.16 total=589\nfull avg10=0.00 avg60=0.04 avg300=0.10 total=95\n",
		"pressure/memory":           "some avg10=0.00 avg60=0.00 avg300=0.00 total=48\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
		"diskstats": `   7       0 loop0 1 0 1000 0 0 0 1000 0 0 0 0
 259       0 nvme0n1 9 0 300 5 8 0 400 7 0 6 12 0 0 0 0 0 0
 259       1 nvme0n1p1 9 0 100 5 8 0 200 7 0 6 12 0 0 0 0 0 0
 259       2 nvme0n1p2 9 0 200 5 8 0 200 7 0 6 12 0 0 0 0 0 0
   8       0 sda 9 0 10 5 8 0 20 7 0 6 12
   8       1 sda1 9 0 10 5 8 0 20 7 0 6 12
 202       1 xvda1 9 0 1 5 8 0 2 7 0 6 12
 253       0 dm-0 9 0 300 5 8 0 400 7 0 6 12
   9       0 md127 9 0 300 5 8 0 400 7 0 6 12
 253       1 zram0 9 0 300 5 8 0 400 7 0 6 12
   1       0 ram0 9 0 300 5 8 0 400 7 0 6 12
  11       0 sr0 9 0 300 5 8 0 400 7 0 6 12
`,
		"net/dev": `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 782787857  721188    0    0    0     0          0         0 782787857  721188    0    0    0     0       0          0
  eth0: 235354777   13340    0    0    0     0          0         0   998569    9023    0    0    0     0       0          0
wlp3s0:5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0
docker0: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
veth12ab: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
br-3f: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
cilium_host: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
`,
	}
}

func lay(t *testing.T, files map[string]string) *Source {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "proc", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return New(root)
}

func TestRead(t *testing.T) {
	got, err := lay(t, machineFiles()).Read()
	if err != nil {
		t.Fatal(err)
	}
	want := &usage.Counters{
		At: got.At, Boot: "0b4a\n", CPU: usage.CPUTime{Total: 4671, Idle: 4000, Wait: 500},
		Pressure: &usage.Stalls{CPU: 8853, IO: 589, IOFull: 95, Memory: 48, MemoryFull: 12},
		Disks:    []usage.Device{{Name: "nvme0n1", In: 300, Out: 400}, {Name: "sda", In: 10, Out: 20}, {Name: "xvda1", In: 1, Out: 2}},
		Nets:     []usage.Device{{Name: "eth0", In: 235354777, Out: 998569}, {Name: "wlp3s0", In: 5, Out: 6}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadWithout(t *testing.T) {
	for _, tc := range []struct {
		reason, file, text string
		says               string // of the error; "" if there is none
		pressure           bool
	}{
		{"all is there", "stat", "", "", true},
		{"no processor time", "stat", "intr 5\n", "/proc/stat", false},
		{"a number that is none", "stat", "cpu 1 2 3 x 5 6 7 8\n", "/proc/stat", false},
		{"an old kernel", "stat", "cpu 1 2 3 4\n", "/proc/stat", false},
		{"a disk with too few numbers", "diskstats", "8 0 sda 1 2 3\n", "/proc/diskstats", false},
		{"a disk with a number that is none", "diskstats", "8 0 sda 1 0 -1 0 0 0 0 0 0 0 0\n", "/proc/diskstats", false},
		{"an interface with too few numbers", "net/dev", "eth0: 1 2 3\n", "/proc/net/dev", false},
		{"an interface with a number that is none", "net/dev", "eth0: ? 1 0 0 0 0 0 0 6 1\n", "/proc/net/dev", false},
		{"pressure of another form", "pressure/io", "some avg10=0.00\n", "", false},
		{"no pressure of some", "pressure/memory", "full avg10=0.00 total=5\n", "", false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			files := machineFiles()
			if tc.text != "" {
				files[tc.file] = tc.text
			}
			c, err := lay(t, files).Read()
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error %v; want one about %s", err, tc.says)
				}
				return
			}
			if err != nil || (c.Pressure != nil) != tc.pressure {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	for _, missing := range []string{"stat", "diskstats", "net/dev", "pressure/io", "sys/kernel/random/boot_id"} {
		files := machineFiles()
		delete(files, missing)
		c, err := lay(t, files).Read()
		optional := missing == "pressure/io" || missing == "sys/kernel/random/boot_id"
		if (err == nil) != optional || missing == "pressure/io" && c.Pressure != nil {
			t.Errorf("without %s: %+v, %v", missing, c, err)
		}
	}
}

func TestMeasure(t *testing.T) {
	s := lay(t, machineFiles())
	look := func() usage.Reading {
		t.Helper()
		all, err := s.Measure(t.Context(), time.Minute)
		if err != nil || len(all) != 1 || all[0].Machine != s.Machine(nil) {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0]
	}
	if r := look(); r.Fault != usage.Beginning {
		t.Errorf("the first reading: %+v", r)
	}
	s.last.At = s.last.At.Add(-time.Minute)
	s.last.CPU.Total -= 100
	s.last.Disks[0].In -= 1200
	r := look()
	if r.Fault != usage.None || r.CPU != 1 || r.Over < time.Minute || r.Read > 512*20 || r.Read < 512*19 {
		t.Errorf("a minute later: %+v", r)
	}
	path := filepath.Join(s.root, "proc", "diskstats")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Measure(t.Context(), time.Minute); err == nil {
		t.Errorf("without disks: %+v", all)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := look(); r.Fault != usage.Beginning {
		t.Errorf("after a period without a reading: %+v", r)
	}
}

// TestThisMachine reads the real files again and again, with some work in between, until they say how the machine was used. What passes while
// they are read is a large part of a short time.
func TestThisMachine(t *testing.T) {
	if _, err := os.Stat("/proc/diskstats"); err != nil {
		t.Skip("there is no /proc here: ", err)
	}
	s := New("/")
	if _, err := s.Measure(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	before := s.last
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		for time.Since(before.At) < wait {
			runtime.Gosched() // processor time passes
		}
		now, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		r, fault, what := usage.Between(before, now, now.At.Sub(before.At))
		if fault == usage.None && r.CPU > 0 {
			return
		}
		if wait > 10*time.Second {
			t.Fatalf("%s: %s %+v\n%+v\n%+v", fault, what, r, before, now)
		}
	}
}

func BenchmarkMeasure(b *testing.B) {
	s := New("/")
	for b.Loop() {
		if _, err := s.Measure(b.Context(), time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzParse feeds all readers garbage: they return errors and do not fall over, and names come in order.
func FuzzParse(f *testing.F) {
	for _, text := range machineFiles() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = parseStat(text)
		_, _, _ = parsePressure(text)
		disks, _ := parseDisks(text)
		nets, _ := parseNets(text)
		for _, all := range [][]usage.Device{disks, nets} {
			for i := 1; i < len(all); i++ {
				if all[i].Name < all[i-1].Name {
					t.Errorf("%q after %q", all[i].Name, all[i-1].Name)
				}
			}
		}
	})
}
