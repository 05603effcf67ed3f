package describe

import (
	"fmt"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

const (
	nodesText = "the list of nodes"
	maxNodes  = 10_000
)

// Nodes reads the list of nodes under the field `nodes` of a YAML or JSON text. Faults come all at once, as those of
// Application do.
func Nodes(data []byte, file string) ([]dovetail.Node, error) {
	n, fault := parse(data, nodesText, DefaultMaxBytes)
	if fault != nil {
		return nil, invalid(nodesText, file, *fault)
	}
	var f struct {
		Nodes []dovetail.Node `json:"nodes"`
	}
	d := newDecoder()
	d.decode(n, &f)
	v := validator{report: d.report}
	v.nodes(f.Nodes)
	if err := d.err(nodesText, file); err != nil {
		return nil, err
	}
	return f.Nodes, nil
}

func (v *validator) nodes(nodes []dovetail.Node) {
	if len(nodes) == 0 {
		v.wrong("nodes", "must list at least one node")
	}
	if len(nodes) > maxNodes {
		v.wrong("nodes", "%d nodes are too many; the limit is %d", len(nodes), maxNodes)
		return
	}
	first := make(map[string]int, len(nodes))
	for i, n := range nodes {
		field := fmt.Sprintf("nodes[%d]", i)
		if !isHostName(n.Name) {
			v.wrong(field+".name", "%q must be at most 253 lower-case letters, digits, dashes and dots, with a letter or digit at either end", clip(n.Name))
		}
		if before, twice := first[n.Name]; twice && n.Name != "" {
			v.wrong(field+".name", "%s is the name of nodes[%d] already", clip(n.Name), before)
		}
		first[n.Name] = i
		for _, k := range []dovetail.ResourceKind{dovetail.CPU, dovetail.Memory} {
			if n.Capacity[k] <= 0 {
				v.wrong(fmt.Sprintf("%s.capacity.%s", field, k), "must be given and be more than 0")
			}
		}
		v.labels(field+".labels", n.Labels)
	}
}

// isHostName reports whether s is a sequence of names joined by dots, as hosts have them.
func isHostName(s string) bool {
	if len(s) > 253 {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if !isName(part) {
			return false
		}
	}
	return true
}
