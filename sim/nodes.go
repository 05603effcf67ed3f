package sim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// maxNodes bounds a cluster.
const maxNodes = 100_000

var group = regexp.MustCompile(`^(?:([0-9]+)\s*[x×*]\s*)?\(([^()]*)\)$`)

// Nodes reads a cluster such as "100x(32cpu,128GiB)" or "10x(40cpu,56GiB)+2x(16cpu,64GiB,4gpu)": groups of equal nodes, each with
// cpu (cores, or 500m), memory (MiB, GiB, TiB, or Mi, Gi, …) and, if it has them, gpu and disk ("1TiB disk"). A kind may be
// written behind its quantity.
func Nodes(text string) ([]dovetail.Node, error) {
	bad := func(part, why string) ([]dovetail.Node, error) {
		return nil, dovetail.Errorf(dovetail.Invalid, "cluster %q: %s; expected groups such as 100x(32cpu,128GiB) with + between them, or the name of a file", part, why)
	}
	var nodes []dovetail.Node
	for _, part := range strings.Split(text, "+") {
		part = strings.TrimSpace(part)
		m := group.FindStringSubmatch(part)
		if m == nil {
			return bad(part, "is not a group of nodes")
		}
		n := 1
		if m[1] != "" {
			var err error
			if n, err = strconv.Atoi(m[1]); err != nil || n < 1 || n > maxNodes || len(nodes)+n > maxNodes {
				return bad(part, fmt.Sprintf("the number of nodes must be between 1 and %d", maxNodes))
			}
		}
		var room dovetail.Resources
		for _, q := range strings.Split(m[2], ",") {
			k, v, err := quantity(strings.TrimSpace(q))
			if err != nil {
				return bad(part, err.Error())
			}
			if room[k] != 0 {
				return bad(part, k.String()+" is given twice")
			}
			room[k] = v
		}
		if room[dovetail.CPU] <= 0 || room[dovetail.Memory] <= 0 {
			return bad(part, "a node needs cpu and memory")
		}
		for range n {
			nodes = append(nodes, dovetail.Node{Name: fmt.Sprintf("node-%03d", len(nodes)+1), Capacity: room})
		}
	}
	return nodes, nil
}

// quantity reads "32cpu", "128GiB", "128GiB memory", "4gpu" or "1TiB disk".
func quantity(s string) (dovetail.ResourceKind, int64, error) {
	kind, number := dovetail.Memory, s
	for _, word := range []struct {
		suffix string
		kind   dovetail.ResourceKind
	}{
		{"cpus", dovetail.CPU},
		{"cpu", dovetail.CPU},
		{"cores", dovetail.CPU},
		{"core", dovetail.CPU},
		{"gpus", dovetail.GPU},
		{"gpu", dovetail.GPU},
		{"disk", dovetail.Disk},
		{"memory", dovetail.Memory},
	} {
		if before, ok := strings.CutSuffix(s, word.suffix); ok {
			kind, number = word.kind, strings.TrimSpace(before)
			break
		}
	}
	if kind == dovetail.Memory || kind == dovetail.Disk {
		number = strings.TrimSuffix(number, "B")
		if number == "" || strings.Trim(number[len(number)-1:], "0123456789.") == "" {
			return kind, 0, fmt.Errorf("%q has no unit; write 32cpu, 128GiB or 4gpu", s)
		}
	}
	v, err := dovetail.ParseQuantity(kind, number)
	if err == nil && v <= 0 {
		err = fmt.Errorf("%q must be more than 0", s)
	}
	return kind, v, err
}
