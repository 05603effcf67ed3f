package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/dovetail-sched/dovetail"
)

// mostNodes is into how many virtual nodes a machine can be split.
const mostNodes = 1000

// Machine returns what this machine has: the CPUs this process may use, memory and the size of the root file system, and
// NVIDIA devices. A limit of the control group that the daemon runs in counts as the machine's.
func Machine() (dovetail.Resources, error) {
	var r dovetail.Resources
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		return r, fmt.Errorf("count the CPUs: %w", err)
	}
	r[dovetail.CPU] = int64(cpus.Count()) * 1000
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return r, fmt.Errorf("measure the memory: %w", err)
	}
	r[dovetail.Memory] = parseFlat(string(info), ":")["MemTotal"] * 1024
	if limit, ok := ownMemoryLimit(); ok {
		r[dovetail.Memory] = min(r[dovetail.Memory], limit)
	}
	var root unix.Statfs_t
	if err := unix.Statfs("/", &root); err != nil {
		return r, fmt.Errorf("measure the disk: %w", err)
	}
	r[dovetail.Disk] = int64(root.Blocks) * root.Bsize
	r[dovetail.GPU] = int64(len(gpus()))
	return r, nil
}

// ownMemoryLimit returns the memory limit of this process's own control group.
func ownMemoryLimit() (int64, bool) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0, false
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	own := ownGroups(string(self))
	for _, m := range parseMounts(string(info)) {
		path, file := own["memory"], "memory.limit_in_bytes"
		if m.unified {
			path, file = own[""], "memory.max"
		}
		rel, err := filepath.Rel(m.root, path)
		if err != nil {
			continue
		}
		if n, ok := readInt(filepath.Join(m.point, rel, file)); ok && n > 0 {
			return n, true
		}
	}
	return 0, false
}

// gpus returns the names of NVIDIA devices.
func gpus() []string {
	entries, _ := os.ReadDir("/dev")
	var found []string
	for _, e := range entries {
		if n, ok := strings.CutPrefix(e.Name(), "nvidia"); ok && n != "" && strings.Trim(n, "0123456789") == "" {
			found = append(found, e.Name())
		}
	}
	return found
}

// Split splits the machine into n virtual nodes of equal size, node-1 to node-n, labelled with the name of the host. What
// cannot be divided goes to the first ones (GPUs) or is left over (less than n units). Any n that leaves a node less than
// a millicore or a MiB is a dovetail.Invalid error.
func Split(n int) ([]dovetail.Node, error) {
	whole, err := Machine()
	if err != nil {
		return nil, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if n < 1 || n > mostNodes || whole[dovetail.CPU] < int64(n) || whole[dovetail.Memory]>>20 < int64(n) {
		return nil, dovetail.Errorf(dovetail.Invalid, "cannot split this machine (%v) into %d nodes; choose between 1 and %d", whole, n, mostNodes)
	}
	nodes := make([]dovetail.Node, n)
	for i := range nodes {
		var part dovetail.Resources
		for k := range part {
			part[k] = whole[k] / int64(n)
		}
		part[dovetail.Memory] = part[dovetail.Memory] >> 20 << 20
		part[dovetail.Disk] = part[dovetail.Disk] >> 20 << 20
		if int64(i) < whole[dovetail.GPU]%int64(n) {
			part[dovetail.GPU]++
		}
		nodes[i] = dovetail.Node{
			Name:     fmt.Sprintf("node-%d", i+1),
			Address:  host,
			Capacity: part,
			Labels:   map[string]string{"host": hostname, "virtual": "true"},
		}
	}
	return nodes, nil
}
