package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Orphan is something that a replica left behind although no shim looks after it any more.
type Orphan struct {
	Pid     int    // 0: a control group without processes
	Replica string // name of the record
	Command string // of the process, or the directory of the group
}

// Orphans looks for what is left of replicas of a state directory that have no living shim: processes in their control groups,
// processes that carry their marker in the environment, and groups nobody removed. It looks whether or not a daemon runs;
// between the death of a shim and the daemon's clean-up an orphan is nothing unusual.
func Orphans(dir string) ([]Orphan, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "id"))
	if err != nil {
		return nil, fmt.Errorf("%s is no state directory: %w", dir, err)
	}
	prefix := strings.TrimSpace(string(data)) + "/"
	guarded := func(name string) bool { return lockHeld(filepath.Join(dir, "replicas", name)) }

	var found []Orphan
	seen := make(map[int]bool)
	add := func(pid int, name string) {
		if !seen[pid] && !guarded(name) {
			seen[pid] = true
			found = append(found, Orphan{Pid: pid, Replica: name, Command: commandOf(pid)})
		}
	}
	for _, g := range groupsNamed(strings.TrimSuffix(prefix, "/")) {
		name := filepath.Base(g)
		pids := group{Unified: g}.pids()
		for _, pid := range pids {
			add(pid, name)
		}
		if len(pids) == 0 && !guarded(name) && exists(g) {
			found = append(found, Orphan{Replica: name, Command: g})
		}
	}
	for _, pid := range marked(func(m string) bool { return strings.HasPrefix(m, prefix) }) {
		add(pid, strings.TrimPrefix(markerOf(pid), prefix))
	}
	return found, nil
}

// groupsNamed returns the groups of replicas below every group with the name of a state directory, in every hierarchy and at
// any depth.
func groupsNamed(id string) []string {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var found []string
	for _, m := range parseMounts(string(info)) {
		for _, dir := range tree(m.point) {
			if filepath.Base(filepath.Dir(dir)) == id && !slices.Contains(found, dir) {
				found = append(found, dir)
			}
		}
	}
	return found
}

// marked returns the living processes whose marker is chosen.
func marked(chosen func(marker string) bool) []int {
	var pids []int
	for _, pid := range allPids() {
		if m := markerOf(pid); m != "" && pid != os.Getpid() && chosen(m) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// commandOf returns the command line of a process.
func commandOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString([]byte(strings.ReplaceAll(strings.TrimRight(string(data), "\x00"), "\x00", " ")))
}
