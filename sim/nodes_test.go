package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
)

func TestNodes(t *testing.T) {
	const gib = 1 << 30
	for _, tc := range []struct {
		reason, text string
		want         []dovetail.Resources // nil: refused
		word         string               // of the message
	}{
		{"a group", "2x(32cpu,128GiB)", []dovetail.Resources{{32000, 128 * gib}, {32000, 128 * gib}}, ""},
		{"one node", "(500m cpu,512MiB memory)", []dovetail.Resources{{500, gib / 2}}, ""},
		{"groups, words behind quantities, spaces", "1 × (2 cores, 1Gi) + 1*(16cpus,64GiB,4gpu,1TiB disk)",
			[]dovetail.Resources{{2000, gib}, {dovetail.CPU: 16000, dovetail.Memory: 64 * gib, dovetail.GPU: 4, dovetail.Disk: 1024 * gib}}, ""},
		{"nothing", "", nil, "is not a group"},
		{"no parentheses", "4x32cpu", nil, "is not a group"},
		{"no nodes", "0x(1cpu,1GiB)", nil, "between 1 and"},
		{"too many", "100001x(1cpu,1GiB)", nil, "between 1 and"},
		{"too many in all", "100000x(1cpu,1GiB)+1x(1cpu,1GiB)", nil, "between 1 and"},
		{"a number beyond all", "99999999999999999999x(1cpu,1GiB)", nil, "between 1 and"},
		{"no memory", "(4cpu)", nil, "needs cpu and memory"},
		{"twice", "(4cpu,1GiB,2cpu)", nil, "cpu is given twice"},
		{"memory without a unit", "(4cpu,128)", nil, "no unit"},
		{"nothing of it", "(0cpu,1GiB)", nil, "more than 0"},
		{"negative", "(-1cpu,1GiB)", nil, "-1"},
		{"no number", "(xcpu,1GiB)", nil, "x"},
	} {
		nodes, err := Nodes(tc.text)
		if tc.want == nil {
			if err == nil || !strings.Contains(err.Error(), tc.word) || !strings.Contains(err.Error(), "expected groups such as") {
				t.Errorf("%s: %q: error %v; expected one with %q", tc.reason, tc.text, err, tc.word)
			}
			continue
		}
		var got []dovetail.Resources
		names := map[string]bool{}
		for _, n := range nodes {
			got = append(got, n.Capacity)
			names[n.Name] = true
		}
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" || len(names) != len(nodes) {
			t.Errorf("%s: %q: error %v, %d names (-want +got):\n%s", tc.reason, tc.text, err, len(names), diff)
		}
	}
}

func FuzzNodes(f *testing.F) {
	f.Add("100x(32cpu,128GiB)+(1cpu,1Gi,2gpu)")
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := Nodes(text)
		if (err == nil) != (len(nodes) > 0) {
			t.Fatalf("%d nodes, error %v", len(nodes), err)
		}
		for _, n := range nodes {
			for k, v := range n.Capacity {
				if v < 0 {
					t.Fatalf("node %s has %d of kind %d", n.Name, v, k)
				}
			}
		}
	})
}
