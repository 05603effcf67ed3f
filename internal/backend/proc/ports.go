package proc

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/dovetail-sched/dovetail"
)

// ports hands out TCP ports of this host, none of them twice at a time. A port that is handed out is reserved by a name that
// only one process of the network namespace can have (an abstract Unix socket), so that two daemons on one host do not hand out
// the same port before their replicas listen on it.
type ports struct {
	mu    sync.Mutex
	taken map[int]net.Listener // nil: the reservation is somebody else's
	next  int
	low   int // ports that are not asked for by number come from [low, high)
	high  int
}

// newPorts chooses from ports below the range from which the kernel serves outgoing connections, which could take a port
// between its being handed out and its use. The start depends on the seed, so that daemons rarely meet.
func newPorts(seed uint32) *ports {
	p := &ports{taken: make(map[int]net.Listener), low: 20000, high: 32768}
	var from, to int
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if n, _ := fmt.Sscan(string(text), &from, &to); n == 2 {
			p.high = from
			if from-p.low < 1000 {
				p.low, p.high = to+1, 65536
			}
			if p.high-p.low < 1000 { // the kernel takes nearly all: share with it
				p.low, p.high = 20000, 65536
			}
		}
	}
	p.next = p.low + int(seed)%(p.high-p.low)
	return p
}

// allocate returns a port for every request: the wanted one if it is free, else another. Requests are served in the order of
// their names.
func (p *ports) allocate(requests map[string]dovetail.Port) (map[string]int, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	got := make(map[string]int, len(requests))
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		port := requests[name].Port
		if port <= 0 || !p.take(port) {
			port = p.any()
		}
		if port == 0 {
			for _, taken := range got {
				p.free(taken)
			}
			return nil, dovetail.Errorf(dovetail.Unavailable, "no free port for %s between %d and %d on %s", name, p.low, p.high-1, host)
		}
		got[name] = port
	}
	return got, nil
}

// any takes the next free port, 0 if there is none.
func (p *ports) any() int {
	for range p.high - p.low {
		port := p.next
		if p.next++; p.next == p.high {
			p.next = p.low
		}
		if p.take(port) {
			return port
		}
	}
	return 0
}

// take reserves a port if nobody has it and nobody listens on it.
func (p *ports) take(port int) bool {
	if _, ok := p.taken[port]; ok || port > 65535 {
		return false
	}
	reservation, err := reserve(port)
	if err != nil {
		return false
	}
	probe, err := listen("tcp4", fmt.Sprintf("0.0.0.0:%d", port)) // fails if anybody listens on any address
	if err == nil {
		err = probe.Close()
	}
	if err != nil {
		_ = reservation.Close()
		return false
	}
	p.taken[port] = reservation
	return true
}

// keep notes the ports of a replica that was started before.
func (p *ports) keep(have map[string]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range have {
		if p.taken[port] == nil {
			p.taken[port], _ = reserve(port)
		}
	}
}

// release gives ports back.
func (p *ports) release(have map[string]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range have {
		p.free(port)
	}
}

func (p *ports) free(port int) {
	if l := p.taken[port]; l != nil {
		_ = l.Close() // a name that nobody can connect to has nothing to flush
	}
	delete(p.taken, port)
}

// close gives every reservation back.
func (p *ports) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for port := range p.taken {
		p.free(port)
	}
}

// reserve takes the name of a port.
func reserve(port int) (net.Listener, error) {
	return listen("unix", fmt.Sprintf("@dovetail/port/%d", port))
}

// listen listens at once or not at all: on addresses of this host there is nothing to wait for.
func listen(network, address string) (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(context.Background(), network, address)
}
