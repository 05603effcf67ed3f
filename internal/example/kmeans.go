package example

import (
	"encoding/json"
	"fmt"
	"math"
)

const (
	clusters       = 12
	dimensions     = 8
	distinctPoints = 4096
	lloydRounds    = 8
	grid           = 1024 // coordinates are multiples of 1/grid
)

// kmeans finds clusters of points by Lloyd's algorithm (Least squares quantization in PCM, 1982), in a fixed number of
// iterations, a round each. Coordinates are integers, in units of 1/grid, so that sums are exact: the centroids do not
// depend on who added what in which order.
type kmeans struct {
	spec   Spec
	points [][dimensions]int64
	centre []centroid
}

type centroid [dimensions]float64

// cluster sums up the points nearest to a centroid.
type cluster struct {
	N   int64             `json:"n"`
	Sum [dimensions]int64 `json:"sum"`
}

func newKmeans(s Spec) job {
	j := &kmeans{spec: s}
	r := newStream(s.Seed, forLibrary)
	var truth [clusters][dimensions]int64
	for c := range truth {
		for d := range truth[c] {
			truth[c][d] = int64(r.below(200*grid)) - 100*grid
		}
	}
	for i := range distinctPoints {
		p := truth[i%clusters]
		for d := range p {
			p[d] += int64(r.below(60*grid)) - 30*grid
		}
		j.points = append(j.points, p)
	}
	j.centre = make([]centroid, clusters)
	for c := range j.centre {
		// Of the points numbered by squares several belong to one cluster and none to others: there is something to find.
		for d, x := range j.points[c*c] {
			j.centre[c][d] = float64(x) / grid
		}
	}
	return j
}

func (j *kmeans) records() int { return 7500 * j.spec.Grain }

func (j *kmeans) round(n int) (int, []byte) {
	if n == lloydRounds {
		return 0, nil
	}
	state, err := json.Marshal(j.centre)
	if err != nil {
		panic(fmt.Sprintf("example: centroids %v: %v", j.centre, err)) // only if one were not finite
	}
	return j.spec.Parts, state
}

func (j *kmeans) task(_, part int, state []byte) ([]byte, error) {
	var centre []centroid
	if err := json.Unmarshal(state, &centre); err != nil {
		return nil, fmt.Errorf("centroids: %w", err)
	}
	sums := make([]cluster, len(centre))
	draws(j.spec, part, j.records(), len(j.points), func(entry int) {
		p := &j.points[entry]
		s := &sums[nearest(centre, p)]
		s.N++
		for d, x := range p {
			s.Sum[d] += x
		}
	})
	return json.Marshal(sums)
}

func (j *kmeans) reduce(_ int, results [][]byte) error {
	total := make([]cluster, clusters)
	for part, data := range results {
		var sums []cluster
		if err := json.Unmarshal(data, &sums); err != nil {
			return fmt.Errorf("sums of part %d: %w", part, err)
		}
		if len(sums) != clusters {
			return fmt.Errorf("sums of part %d: got %d clusters, expected %d", part, len(sums), clusters)
		}
		for c := range total {
			total[c].add(&sums[c], 1)
		}
	}
	move(j.centre, total)
	return nil
}

func (j *kmeans) digest() string { return digestCentroids(j.centre) }

// expected computes on the distinct points, each weighted by its occurrences.
func (j *kmeans) expected() string {
	times := tally(j.spec, j.records(), len(j.points))
	centre := newKmeans(j.spec).(*kmeans).centre
	for range lloydRounds {
		total := make([]cluster, clusters)
		for i := range j.points {
			total[nearest(centre, &j.points[i])].add(&cluster{N: 1, Sum: j.points[i]}, times[i])
		}
		move(centre, total)
	}
	return digestCentroids(centre)
}

// nearest returns the number of the centroid with the least squared distance to p, the lowest one of equals.
func nearest(centre []centroid, p *[dimensions]int64) int {
	var at centroid
	for d, x := range p {
		at[d] = float64(x) / grid
	}
	best, least := 0, math.Inf(1)
	for c := range centre {
		sum := 0.0
		for d := range at {
			x := at[d] - centre[c][d]
			sum += float64(x * x) // rounded: the same on machines that could fuse
		}
		if sum < least {
			best, least = c, sum
		}
	}
	return best
}

func (c *cluster) add(o *cluster, times int64) {
	c.N += times * o.N
	for d := range c.Sum {
		c.Sum[d] += times * o.Sum[d]
	}
}

// move puts each centroid into the middle of its points; one without points stays where it is.
func move(centre []centroid, total []cluster) {
	for c := range centre {
		if total[c].N == 0 {
			continue
		}
		for d := range centre[c] {
			centre[c][d] = float64(total[c].Sum[d]) / float64(total[c].N) / grid
		}
	}
}

func digestCentroids(centre []centroid) string {
	return digest(fmt.Appendf(nil, "%v", centre)) // %v writes a float64 so that it can be read back exactly
}
