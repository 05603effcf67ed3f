package alloc

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// request is a run of the seed's model: C core units, E elastic ones, G of them granted.
type request struct {
	id, c, e, g int
	placed      bool
}

// units is a cluster of one kind of unit.
type units struct {
	free int
	log  []func()
}

func (u *units) do(f, undo func()) {
	f()
	u.log = append(u.log, undo)
}

func (u *units) take(r *request, n int) {
	u.do(func() { r.g += n; u.free -= n }, func() { r.g -= n; u.free += n })
}

func (u *units) Core(r *request) bool {
	if r.placed || r.c > u.free {
		return r.placed
	}
	u.do(func() { r.placed = true; u.free -= r.c }, func() { r.placed = false; u.free += r.c })
	return true
}

func (u *units) CoreBy(r, victim *request) bool {
	lack := r.c - u.free
	if victim.g == 0 || lack > victim.g {
		return false
	}
	u.take(victim, -max(0, lack))
	return u.Core(r)
}

func (u *units) Grow(r *request) bool {
	u.take(r, min(r.e-r.g, u.free))
	return r.g == r.e
}

func (u *units) Strip(victim *request) func() {
	n := victim.g
	if n == 0 {
		return nil
	}
	u.take(victim, -n)
	return func() { u.take(victim, min(n, u.free)) }
}

func (u *units) Try(f func() bool) bool {
	mark := len(u.log)
	if f() {
		return true
	}
	for len(u.log) > mark {
		u.log[len(u.log)-1]()
		u.log = u.log[:len(u.log)-1]
	}
	return false
}

// share runs an allocator on requests that all wait, in order, with a strict policy.
func share(alloc Func[*request], total int, requests []*request) {
	u := &units{free: total}
	var serving []*request
	started := func(w *request) { serving = append(serving, w) }
	alloc(u, Line[*request]{
		Serving: slices.Values(serving),
		Waiting: slices.Values(requests),
		Victims: func(*request) iter.Seq[*request] {
			return func(yield func(*request) bool) {
				for _, v := range slices.Backward(serving) {
					if !yield(v) {
						return
					}
				}
			}
		},
		Jumps:   func(*request) bool { return false },
		Idle:    func(*request) bool { return u.free > 0 },
		Started: started,
		Blocked: func(*request) bool { return false },
	})
}

// algorithm1 is REBALANCE of seed 004, Algorithm 1, from an empty cluster, with ≤ where it prints < for a core.
func algorithm1(total int, waiting []*request) {
	var serving []*request
	cores, all := 0, 0
	for len(waiting) > 0 && all < total {
		w := waiting[0]
		if w.c+cores > total {
			break
		}
		serving, waiting = append(serving, w), waiting[1:]
		cores, all = cores+w.c, all+w.c+w.e
		w.placed = true
	}
	avail := total - cores
	for _, r := range serving {
		r.g = min(r.e, avail)
		avail -= r.g
	}
}

func genRequests(t *rapid.T) []*request {
	var all []*request
	for i := range rapid.IntRange(1, 12).Draw(t, "n") {
		all = append(all, &request{id: i, c: rapid.IntRange(1, 12).Draw(t, "core"), e: rapid.IntRange(0, 12).Draw(t, "elastic")})
	}
	return all
}

func grants(rs []*request) string {
	s := ""
	for _, r := range rs {
		s += fmt.Sprintf("(%d,%d):%t+%d ", r.c, r.e, r.placed, r.g)
	}
	return s
}

// TestFlexibleIsAlgorithm1: on one kind of unit, from an empty cluster, the generalisation gives what the seed's algorithm gives.
func TestFlexibleIsAlgorithm1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, ours := rapid.IntRange(1, 40).Draw(t, "total"), genRequests(t)
		var theirs []*request
		for _, r := range ours {
			twin := *r
			theirs = append(theirs, &twin)
		}
		share(Flexible[*request], total, ours)
		algorithm1(total, theirs)
		if got, want := grants(ours), grants(theirs); got != want {
			t.Fatalf("%d units:\n  ours %s\nseed's %s", total, got, want)
		}
	})
}

// TestAllocators is the conformance suite of allocators: nothing beyond the total, no elastic replica without its core, no one
// overtaken when the policy is strict, and nothing left over that the next run's core could use.
func TestAllocators(t *testing.T) {
	for _, a := range All[*request]() {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				total, rs := rapid.IntRange(1, 40).Draw(t, "total"), genRequests(t)
				share(a.Share, total, rs)
				used, cores, waits := 0, 0, false
				for _, r := range rs {
					switch {
					case !r.placed && !waits && a.Name == "eager" && total-cores >= r.c:
						t.Fatalf("request %d waits although all but %d units could be reclaimed: %s", r.id, cores, grants(rs))
					case r.placed && waits:
						t.Fatalf("request %d overtook another: %s", r.id, grants(rs))
					case !r.placed && r.g > 0, r.g < 0, r.g > r.e:
						t.Fatalf("request %d has %d elastic units: %s", r.id, r.g, grants(rs))
					case r.placed:
						used += r.c + r.g
						cores += r.c
					case !waits && a.Name != "rigid" && total-used >= r.c:
						t.Fatalf("request %d waits although %d units are free: %s", r.id, total-used, grants(rs))
					}
					waits = waits || !r.placed
					if r.placed && a.Name == "rigid" && r.g != r.e {
						t.Fatalf("request %d started without all it asks for: %s", r.id, grants(rs))
					}
				}
				if used > total {
					t.Fatalf("%d of %d units are used: %s", used, total, grants(rs))
				}
			})
		})
	}
}

func TestFindNamesTheAllocators(t *testing.T) {
	if _, err := Find[*request]("flexible"); err != nil {
		t.Error(err)
	}
	if _, err := Find[*request]("elastic"); err == nil {
		t.Error("an allocator that is not there was found")
	}
}
