package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dovetail-sched/dovetail"
)

// limits is what a replica may use; 0 means no limit.
type limits struct {
	CPU    int64 `json:"cpu,omitempty"`    // millicores
	Memory int64 `json:"memory,omitempty"` // bytes
}

// cpuPeriod is the period over which the kernel enforces the CPU quota, in microseconds.
const cpuPeriod = 100_000

// group is the control group of one replica: a directory in the unified tree, or in v1 trees, or in both. An empty path
// means that it is not used. Everything it can do, it does with the newest interface there is.
type group struct {
	Unified       string `json:"unified,omitempty"`
	UnifiedCPU    bool   `json:"unifiedCPU,omitempty"`    // the v2 group has the cpu controller
	UnifiedMemory bool   `json:"unifiedMemory,omitempty"` // the v2 group has the memory controller
	CPU           string `json:"cpu,omitempty"`
	CPUAcct       string `json:"cpuacct,omitempty"`
	Memory        string `json:"memory,omitempty"`
	Freezer       string `json:"freezer,omitempty"`
}

// dirs returns the group's directories in a fixed order, each once.
func (g group) dirs() []string {
	var dirs []string
	for _, d := range []string{g.Unified, g.CPU, g.CPUAcct, g.Memory, g.Freezer} {
		if d != "" && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

func (g group) limitsCPU() bool    { return g.UnifiedCPU || g.CPU != "" }
func (g group) limitsMemory() bool { return g.UnifiedMemory || g.Memory != "" }

// create makes the group and sets its limits. On failure nothing is left of it.
func (g group) create(l limits) error {
	err := g.make(l)
	if err != nil {
		return errors.Join(fmt.Errorf("make a control group: %w", err), g.remove())
	}
	return nil
}

func (g group) make(l limits) error {
	for _, d := range g.dirs() {
		if err := makeGroup(d); err != nil {
			return err
		}
	}
	if err := g.handDown(); err != nil {
		return err
	}
	if quota := max(l.CPU*cpuPeriod/1000, 1000); l.CPU > 0 {
		switch {
		case g.UnifiedCPU:
			if err := set(g.Unified, "cpu.max", fmt.Sprintf("%d %d", quota, cpuPeriod)); err != nil {
				return err
			}
		case g.CPU != "":
			if err := set(g.CPU, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)); err != nil {
				return err
			}
			if err := set(g.CPU, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)); err != nil {
				return err
			}
		}
	}
	if l.Memory > 0 {
		return g.limitMemory(strconv.FormatInt(l.Memory, 10))
	}
	return nil
}

// handDown lets the group use the controllers of the v2 tree, in case its parents are as new as it is.
func (g group) handDown() error {
	parent := filepath.Dir(g.Unified)
	var cpu, memory error
	if g.UnifiedCPU {
		cpu = enable("cpu", filepath.Dir(parent), parent)
	}
	if g.UnifiedMemory {
		memory = enable("memory", filepath.Dir(parent), parent)
	}
	return errors.Join(cpu, memory)
}

// limitMemory limits memory, and keeps the replica from using swap beyond it where the kernel counts swap.
func (g group) limitMemory(bytes string) error {
	switch {
	case g.UnifiedMemory:
		if err := set(g.Unified, "memory.max", bytes); err != nil {
			return err
		}
		return errors.Join(setIfThere(g.Unified, "memory.swap.max", "0"), setIfThere(g.Unified, "memory.oom.group", "1"))
	case g.Memory != "":
		if err := set(g.Memory, "memory.limit_in_bytes", bytes); err != nil {
			return err
		}
		return setIfThere(g.Memory, "memory.memsw.limit_in_bytes", bytes)
	}
	return nil
}

func set(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0)
}

func setIfThere(dir, file, value string) error {
	if !exists(filepath.Join(dir, file)) {
		return nil
	}
	return set(dir, file, value)
}

// join moves the calling process into the group.
func (g group) join() error {
	for _, d := range g.dirs() {
		if err := set(d, "cgroup.procs", "0"); err != nil {
			return fmt.Errorf("join a control group: %w", err)
		}
	}
	return nil
}

// pids returns the processes in the group and in those that the replica itself made below it.
func (g group) pids() []int {
	var pids []int
	for _, top := range g.dirs() {
		for _, dir := range tree(top) {
			data, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			for _, f := range strings.Fields(string(data)) {
				if pid, err := strconv.Atoi(f); err == nil && pid > 0 && !slices.Contains(pids, pid) {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}

// tree returns a group and all below it, parents first.
func tree(dir string) []string {
	all := []string{dir}
	for i := 0; i < len(all); i++ {
		entries, _ := os.ReadDir(all[i])
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, filepath.Join(all[i], e.Name()))
			}
		}
	}
	return all
}

// kill kills every process in the group.
func (g group) kill() {
	if g.Unified != "" && set(g.Unified, "cgroup.kill", "1") == nil {
		return
	}
	signalAll(g.pids(), unix.SIGKILL)
	g.freeze(false) // v1: frozen processes die only when they are thawed
}

// freeze lets the group stand still, or go on; false if the group cannot.
func (g group) freeze(on bool) bool {
	if g.Unified != "" {
		value := "0"
		if on {
			value = "1"
		}
		if set(g.Unified, "cgroup.freeze", value) == nil {
			return true
		}
	}
	if g.Freezer == "" {
		return false
	}
	value := "THAWED"
	if on {
		value = "FROZEN"
	}
	return set(g.Freezer, "freezer.state", value) == nil
}

// usage returns CPU time and peak memory of the group; false if a quantity is not metered by groups here.
func (g group) usage() (u dovetail.Usage, cpu, memory bool) {
	switch {
	case g.Unified != "":
		data, err := os.ReadFile(filepath.Join(g.Unified, "cpu.stat"))
		var usec int64
		usec, cpu = parseFlat(string(data), "")["usage_usec"]
		cpu = cpu && err == nil
		u.CPU = time.Duration(usec) * time.Microsecond
	case g.CPUAcct != "":
		var nsec int64
		nsec, cpu = readInt(filepath.Join(g.CPUAcct, "cpuacct.usage"))
		u.CPU = time.Duration(nsec)
	}
	switch {
	case g.UnifiedMemory:
		u.MemoryPeak, memory = readInt(filepath.Join(g.Unified, "memory.peak")) // Linux 5.19
	case g.Memory != "":
		u.MemoryPeak, memory = readInt(filepath.Join(g.Memory, "memory.max_usage_in_bytes"))
	}
	return u, cpu, memory
}

// oomKills returns how many processes of the group the kernel killed because the group exceeded its memory.
func (g group) oomKills() int64 {
	path := filepath.Join(g.Memory, "memory.oom_control")
	if g.UnifiedMemory {
		path = filepath.Join(g.Unified, "memory.events")
	} else if g.Memory == "" {
		return 0
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return parseFlat(string(data), "")["oom_kill"]
}

// remove removes the group, which must hold no process, and its parents if it was the last one in them. A process that was
// just reaped may keep it busy for a moment.
func (g group) remove() error {
	var failed error
	for _, top := range g.dirs() {
		dirs := tree(top)
		slices.Reverse(dirs)
		for _, d := range dirs {
			failed = errors.Join(failed, removeSoon(d))
		}
		dropParents(filepath.Dir(top))
	}
	return failed
}

func removeSoon(dir string) error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || wait > 500*time.Millisecond {
			return err
		}
		time.Sleep(wait)
	}
}

func readInt(path string) (int64, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}
