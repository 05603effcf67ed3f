package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hierarchies is where control groups can be made on this machine: in the unified tree (v2), in one tree a controller (v1),
// or, on hybrid machines, in both: the unified one then kills, freezes and counts CPU time, the others set limits.
type hierarchies struct {
	Unified     string            // parent directory in the v2 tree; empty: none
	Controllers []string          // v2 controllers that groups below Unified have
	V1          map[string]string // parent directory by v1 controller
}

// v1Controllers are the v1 controllers that are of use here.
var v1Controllers = []string{"cpu", "cpuacct", "memory", "freezer"}

// mount is one mounted cgroup file system.
type mount struct {
	point   string
	root    string // of the hierarchy, as far as it is visible here
	unified bool
	options []string // v1: the controllers, among others
}

// parseMounts finds the cgroup file systems in the text of /proc/self/mountinfo.
func parseMounts(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 || (r[0] != "cgroup" && r[0] != "cgroup2") {
			continue
		}
		mounts = append(mounts, mount{root: l[3], point: l[4], unified: r[0] == "cgroup2", options: strings.Split(r[2], ",")})
	}
	return mounts
}

// ownGroups returns the path of this process's group by controller, from the text of /proc/self/cgroup; "" is the unified tree.
func ownGroups(text string) map[string]string {
	own := make(map[string]string)
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			own[c] = f[2]
		}
	}
	return own
}

// findHierarchies finds the hierarchies in which this process may make the parent group name (such as dovetail/3f2a9c01): at
// the root of the hierarchy if that is allowed, so that replicas are not in the group of the daemon's service; else beside
// or below the daemon's own group (a service with Delegate=yes). It tries, and leaves nothing behind: the parent exists only
// while it holds replicas. The error says why a hierarchy cannot be used.
func findHierarchies(name string) (hierarchies, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchies{}, err
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return hierarchies{}, err
	}
	h := hierarchies{V1: make(map[string]string)}
	own := ownGroups(string(self))
	var problems error
	for _, m := range parseMounts(string(info)) {
		if m.unified {
			if h.Unified == "" {
				h.Unified, h.Controllers, err = unifiedParent(m, own[""], name)
				problems = errors.Join(problems, err)
			}
			continue
		}
		for _, c := range v1Controllers {
			if slices.Contains(m.options, c) && h.V1[c] == "" {
				h.V1[c], err = firstParent(m, own[c], name)
				problems = errors.Join(problems, err)
			}
		}
	}
	return h, problems
}

// candidates returns the groups in which name may be made, best first.
func candidates(m mount, own string) []string {
	places := []string{m.point}
	if rel, err := filepath.Rel(m.root, own); err == nil && rel != "." && !strings.HasPrefix(rel, "..") {
		places = append(places, filepath.Join(m.point, filepath.Dir(rel)), filepath.Join(m.point, rel))
	}
	return slices.Compact(places)
}

// firstParent finds the parent group in a v1 hierarchy.
func firstParent(m mount, own, name string) (string, error) {
	var problem error
	for _, place := range candidates(m, own) {
		dir := filepath.Join(place, name)
		if problem = makeGroup(dir); problem == nil {
			dropParents(dir)
			return dir, nil
		}
	}
	return "", problem
}

// unifiedParent finds the parent group in the v2 tree, to which the controllers for CPU and memory are handed down as far as
// that is possible. Of several places it takes the one with most controllers.
func unifiedParent(m mount, own, name string) (dir string, controllers []string, problem error) {
	for _, place := range candidates(m, own) {
		d := filepath.Join(place, name)
		if err := makeGroup(d); err != nil {
			problem = errors.Join(problem, err)
			continue
		}
		got := handDown(place, name)
		dropParents(d)
		if dir == "" || len(got) > len(controllers) {
			dir, controllers = d, got
		}
		if len(controllers) == 2 {
			break
		}
	}
	if dir != "" {
		problem = nil
	}
	return dir, controllers, problem
}

// makeGroup makes a group and the parents that it lacks. Somebody else may remove an empty parent in between: once more then.
func makeGroup(dir string) error {
	var err error
	for range 100 {
		if err = os.MkdirAll(dir, 0o755); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// dropParents removes a parent group and the group above it, which all daemons share, unless something is in them.
func dropParents(dir string) {
	if os.Remove(dir) == nil || !exists(dir) {
		_ = os.Remove(filepath.Dir(dir))
	}
}

// handDown enables the cpu and memory controllers in every group from place to place/name, and returns those that groups
// below can use. Failures are not errors: a hybrid machine has its controllers in v1.
func handDown(place, name string) []string {
	dirs := []string{place}
	for part := range strings.SplitSeq(name, "/") {
		dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], part))
	}
	var got []string
	for _, c := range []string{"cpu", "memory"} {
		if enable(c, dirs...) == nil {
			got = append(got, c)
		}
	}
	return got
}

// enable lets the groups below each of some v2 groups use a controller.
func enable(controller string, dirs ...string) error {
	for _, dir := range dirs {
		if err := set(dir, "cgroup.subtree_control", "+"+controller); err != nil {
			return err
		}
	}
	return nil
}

// group returns the group of a replica, which need not exist.
func (h hierarchies) group(name string) group {
	var g group
	in := func(dir string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(dir, name)
	}
	g.Unified = in(h.Unified)
	g.UnifiedCPU = slices.Contains(h.Controllers, "cpu")
	g.UnifiedMemory = slices.Contains(h.Controllers, "memory")
	if !g.UnifiedCPU {
		g.CPU = in(h.V1["cpu"])
	}
	if !g.UnifiedMemory {
		g.Memory = in(h.V1["memory"])
	}
	if g.Unified == "" {
		g.CPUAcct, g.Freezer = in(h.V1["cpuacct"]), in(h.V1["freezer"])
	}
	return g
}

// names returns the groups that exist below the parents, each once.
func (h hierarchies) names() []string {
	var names []string
	for _, dir := range h.parents() {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.IsDir() && !slices.Contains(names, e.Name()) {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	return names
}

// parents returns the parent directories in a fixed order.
func (h hierarchies) parents() []string {
	var dirs []string
	for _, dir := range []string{h.Unified, h.V1["cpu"], h.V1["cpuacct"], h.V1["memory"], h.V1["freezer"]} {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// describe says for people what groups can do here.
func (h hierarchies) describe() string {
	g := h.group("x")
	kind := "none"
	switch {
	case g.Unified != "" && (g.CPU != "" || g.Memory != ""):
		kind = "hybrid v1 and v2"
	case g.Unified != "":
		kind = "v2"
	case len(h.parents()) > 0:
		kind = "v1"
	}
	return fmt.Sprintf("cgroups %s: cpu limit %s, memory limit %s, freeze %s", kind,
		yes(g.limitsCPU()), yes(g.limitsMemory()), yes(g.Unified != "" || g.Freezer != ""))
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}
