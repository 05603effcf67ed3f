package proc

import (
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// Usage returns what a replica consumed so far, or in all if it ended; false if nothing is known of it. While it lives, I/O is
// that of the processes that live, and of those that they waited for. Without control groups the same holds for CPU time, and
// MemoryPeak is the memory in use now.
func (b *Backend) Usage(id dovetail.Replica) (dovetail.Usage, bool) {
	r := b.find(id)
	if r == nil {
		return dovetail.Usage{}, false
	}
	r.mu.Lock()
	s, end := r.spec, r.end
	r.mu.Unlock()
	if end != nil {
		return end.Usage, true
	}
	shim, ok := lockHolder(r.dir)
	if !ok || !shim.is(b.boot) {
		return dovetail.Usage{}, false
	}
	u, cpu, memory := s.Group.usage()
	pids := s.Group.pids()
	for _, pid := range descendants(shim.Pid) {
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		read, written := readIO(pid)
		u.Read += read
		u.Written += written
		st, err := readStat(pid)
		if err != nil {
			continue
		}
		if !cpu {
			u.CPU += st.CPU
		}
		if !memory {
			u.MemoryPeak += st.RSS
		}
	}
	return u, true
}
