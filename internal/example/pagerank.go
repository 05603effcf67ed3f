package example

import (
	"encoding/binary"
	"fmt"
)

const (
	pages            = 2000
	distinctSessions = 2048
	sessionLength    = 64 // pages
	rankRounds       = 6
	rankSum          = int64(1) << 60 // the ranks of all pages together
)

// pagerank ranks pages by how a random visitor would meet them (Page, Brin, Motwani, Winograd: The PageRank citation
// ranking, 1999), where links weigh as often as they were followed in a log of visits. Round 0 counts how often visitors
// went on from each page, each further round is an iteration. Ranks are integers, so that sums are exact and the result does
// not depend on who added what in which order.
type pagerank struct {
	spec     Spec
	sessions [][]int32
	degree   []int64
	rank     []int64
}

func newPagerank(s Spec) job {
	j := &pagerank{spec: s, rank: make([]int64, pages), degree: make([]int64, pages)}
	r := newStream(s.Seed, forLibrary)
	for range distinctSessions {
		visit := make([]int32, sessionLength)
		for i := range visit {
			visit[i] = int32(zipf(&r, pages))
		}
		j.sessions = append(j.sessions, visit)
	}
	for p := range j.rank {
		j.rank[p] = rankSum / pages
	}
	return j
}

func (j *pagerank) records() int { return 14000 * j.spec.Grain }

func (j *pagerank) round(n int) (int, []byte) {
	switch {
	case n > rankRounds:
		return 0, nil
	case n == 0:
		return j.spec.Parts, nil
	}
	return j.spec.Parts, pack(shares(j.rank, j.degree))
}

// shares returns what each page passes on by each of its links.
func shares(rank, degree []int64) []int64 {
	v := make([]int64, pages)
	for p := range v {
		if degree[p] > 0 {
			v[p] = rank[p] / degree[p]
		}
	}
	return v
}

func (j *pagerank) task(round, part int, state []byte) ([]byte, error) {
	sum := make([]int64, pages)
	if round == 0 {
		draws(j.spec, part, j.records(), len(j.sessions), func(entry int) {
			visit := j.sessions[entry]
			for _, from := range visit[:len(visit)-1] {
				sum[from]++
			}
		})
		return pack(sum), nil
	}
	share, err := unpack(state, pages)
	if err != nil {
		return nil, fmt.Errorf("shares: %w", err)
	}
	draws(j.spec, part, j.records(), len(j.sessions), func(entry int) {
		visit := j.sessions[entry]
		from := visit[0]
		for _, to := range visit[1:] {
			sum[to] += share[from]
			from = to
		}
	})
	return pack(sum), nil
}

func (j *pagerank) reduce(round int, results [][]byte) error {
	sum := make([]int64, pages)
	for part, data := range results {
		if len(data) != 8*pages {
			return fmt.Errorf("sums of part %d: got %d bytes, expected %d", part, len(data), 8*pages)
		}
		for p := range sum {
			sum[p] += int64(binary.LittleEndian.Uint64(data[8*p:]))
		}
	}
	if round == 0 {
		j.degree = sum
	} else {
		j.rank = damped(sum)
	}
	return nil
}

// damped returns the new ranks: 85 % of what came in by links, and the rest in equal parts, also of what was lost at pages
// without links and in rounding.
func damped(sum []int64) []int64 {
	rank, rest := make([]int64, pages), rankSum
	for p, in := range sum {
		rank[p] = in / 100 * 85
		rest -= rank[p]
	}
	for p := range rank {
		rank[p] += rest / pages
	}
	return rank
}

func (j *pagerank) digest() string { return digest(pack(j.rank)) }

// expected adds the visits up to a matrix of weighted links first, and iterates on that.
func (j *pagerank) expected() string {
	weight := make([]map[int32]int64, pages)
	degree := make([]int64, pages)
	for entry, times := range tally(j.spec, j.records(), len(j.sessions)) {
		visit := j.sessions[entry]
		for i, from := range visit[:len(visit)-1] {
			if weight[from] == nil {
				weight[from] = make(map[int32]int64)
			}
			weight[from][visit[i+1]] += times
			degree[from] += times
		}
	}
	rank := newPagerank(j.spec).(*pagerank).rank
	for range rankRounds {
		share, sum := shares(rank, degree), make([]int64, pages)
		for from, links := range weight {
			for to, times := range links {
				sum[to] += times * share[from]
			}
		}
		rank = damped(sum)
	}
	return digest(pack(rank))
}
