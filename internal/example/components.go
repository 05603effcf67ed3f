package example

import "fmt"

const (
	households    = 1024
	householdSize = 8
	vertices      = households * householdSize
	spread        = 2654435761 % vertices // odd: v → v·spread mod vertices is a permutation, as vertices is a power of two
)

// components finds the connected components of a graph: who can reach whom in a log of calls. Most calls are between
// members of a household and occur everywhere. But what holds a component together, the bridge between two of its
// households, occurs once, in one partition: whoever loses a partition gets another result.
type components struct {
	spec  Spec
	label forest
}

func newComponents(s Spec) job {
	return &components{spec: s, label: newForest()}
}

func (j *components) records() int { return 62000 * j.spec.Grain }

func (j *components) round(n int) (int, []byte) {
	if n > 0 {
		return 0, nil
	}
	return j.spec.Parts, nil
}

func (j *components) task(_, part int, _ []byte) ([]byte, error) {
	f := newForest()
	draws(j.spec, part, j.records(), vertices*householdSize, func(call int) {
		h, from, to := call/(householdSize*householdSize), call/householdSize%householdSize, call%householdSize
		f.join(vertex(h, from), vertex(h, to))
	})
	j.planted(func(home int, a, b int64) {
		if home == part {
			f.join(a, b)
		}
	})
	return pack(f.labels()), nil
}

func (j *components) reduce(_ int, results [][]byte) error {
	for part, data := range results {
		labels, err := unpack(data, vertices)
		if err != nil {
			return fmt.Errorf("labels of part %d: %w", part, err)
		}
		for v, l := range labels {
			if l < 0 || l >= vertices {
				return fmt.Errorf("labels of part %d: vertex %d has label %d", part, v, l)
			}
			j.label.join(int64(v), l)
		}
	}
	return nil
}

// planted yields the calls that occur once, each with the partition that it occurs in.
func (j *components) planted(yield func(home int, a, b int64)) {
	r := newStream(j.spec.Seed, forBridge)
	first := 0
	for h := range households {
		for i := 1; i < householdSize; i++ {
			yield(r.below(j.spec.Parts), vertex(h, i-1), vertex(h, i))
		}
		if j.begins(h) {
			first = h
			continue
		}
		peer := first + r.below(h-first)
		yield(r.below(j.spec.Parts), vertex(h, r.below(householdSize)), vertex(peer, r.below(householdSize)))
	}
}

// begins reports whether a component begins with this household: it has no bridge to one before it.
func (j *components) begins(household int) bool {
	r := newStream(j.spec.Seed, forLibrary, uint64(household))
	return household == 0 || r.below(16) == 0
}

func (j *components) digest() string { return digest(pack(j.label.labels())) }

// expected looks at no call: it knows where components begin and end.
func (j *components) expected() string {
	labels := make([]int64, vertices)
	for h := 0; h < households; {
		end := h + 1
		for end < households && !j.begins(end) {
			end++
		}
		least := int64(vertices)
		for v := h * householdSize; v < end*householdSize; v++ {
			least = min(least, vertex(0, v))
		}
		for v := h * householdSize; v < end*householdSize; v++ {
			labels[vertex(0, v)] = least
		}
		h = end
	}
	return digest(pack(labels))
}

// vertex returns the vertex of a member of a household; households are scattered over the numbers.
func vertex(household, member int) int64 {
	return int64(household*householdSize+member) * spread % vertices
}

// forest is a union-find structure: each vertex points to one that is connected with it and not greater; roots to themselves.
type forest []int64

func newForest() forest {
	f := make(forest, vertices)
	for v := range f {
		f[v] = int64(v)
	}
	return f
}

// root returns the least vertex known to be connected with v.
func (f forest) root(v int64) int64 {
	for f[v] != v {
		f[v] = f[f[v]]
		v = f[v]
	}
	return v
}

func (f forest) join(a, b int64) {
	a, b = f.root(a), f.root(b)
	f[max(a, b)] = min(a, b)
}

// labels returns the root of every vertex.
func (f forest) labels() []int64 {
	all := make([]int64, len(f))
	for v := range f {
		all[v] = f.root(int64(v))
	}
	return all
}
