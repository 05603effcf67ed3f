package proc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dovetail-sched/dovetail"
)

// Check is one thing that Doctor looked at.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was found
	Means  string `json:"means"`  // what that means for replicas, and what to do about it
}

// What this back-end would like to have.
const (
	wantDisk  = 1 << 30 // bytes free in the state directory
	wantFiles = 1024    // file descriptors
	wantPids  = 4096    // processes
)

// Doctor looks at what works on this machine for a daemon with this state directory, which need not exist. It makes a
// control group and a few files, and removes them again.
func Doctor(dir string) []Check {
	var random [4]byte
	rand.Read(random[:])
	tree, groupErr := findHierarchies("dovetail/doctor-" + hex.EncodeToString(random[:]))
	return []Check{
		checkGroups(tree, groupErr),
		checkMemoryLimit(tree),
		checkFreezer(tree),
		checkPressure(),
		checkDisk(dir),
		checkPorts(),
		checkClock(),
		checkFiles(),
		checkPids(),
		checkInotify(),
	}
}

// result fills in what a check means.
func result(name string, ok bool, detail, good, bad string) Check {
	c := Check{Name: name, OK: ok, Detail: detail, Means: bad}
	if ok {
		c.Means = good
	}
	return c
}

func checkGroups(tree hierarchies, err error) Check {
	g := tree.group("x")
	detail := tree.describe()
	if err != nil {
		detail += ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return result("cgroups", g.limitsCPU() && g.limitsMemory(), detail,
		"each replica gets the CPU and memory that its component asks for, and no more",
		"replicas are not held to their CPU, and their memory is looked at once a second only; run the daemon as root, or in a service with Delegate=cpu memory")
}

// checkMemoryLimit lets a process exceed the limit of a group.
func checkMemoryLimit(tree hierarchies) Check {
	g := tree.group("memory")
	var kills int64
	detail := "no control group can limit memory"
	if g.limitsMemory() {
		detail = "a process that takes more than 16Mi is killed"
		if err := exceed(g); err != nil {
			detail = err.Error()
		}
		kills = g.oomKills()
		g.kill()
		if err := g.remove(); err != nil {
			detail += "; " + err.Error()
		}
	}
	return result("memory limit", kills > 0, detail,
		"a replica that needs more memory than it asked for ends as out of memory and harms nobody else",
		"a replica that needs too much memory is found by polling, up to a second late")
}

// exceed runs a process that needs more and more memory in a group with 16 MiB.
func exceed(g group) error {
	if err := g.create(limits{Memory: 16 << 20}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	script := `set -e; for d; do echo 0 > "$d/cgroup.procs"; done; exec tail /dev/zero` // tail looks for the end of the line
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, g.dirs()...)...)
	if out, err := cmd.CombinedOutput(); err != nil && g.oomKills() == 0 {
		return fmt.Errorf("the test process was not killed for its memory: %w %s", err, out)
	}
	return nil
}

func checkFreezer(tree hierarchies) Check {
	g := tree.group("freezer")
	ok := false
	if err := g.create(limits{}); err == nil {
		ok = g.freeze(true) && g.freeze(false)
		if err := g.remove(); err != nil {
			ok = false
		}
	}
	return result("freezer", ok, "freezing a control group: "+yes(ok),
		"suspended runs stand still as a whole",
		"suspended runs are stopped process by process (SIGSTOP), which the processes can see")
}

func checkPressure() Check {
	_, err := os.ReadFile("/proc/pressure/cpu")
	detail := "/proc/pressure can be read"
	if err != nil {
		detail = err.Error()
	}
	return result("pressure", err == nil, detail,
		"the kernel says how much neighbours hinder each other",
		"how much neighbours hinder each other can only be seen from runtimes; boot with psi=1")
}

func checkDisk(dir string) Check {
	dir, err := filepath.Abs(dir)
	for err == nil && !exists(dir) {
		dir = filepath.Dir(dir)
	}
	var fs unix.Statfs_t
	if err == nil {
		err = unix.Statfs(dir, &fs)
	}
	free := int64(fs.Bavail) * fs.Bsize
	var took time.Duration
	if err == nil {
		took, err = timeSync(dir)
	}
	detail := fmt.Sprintf("%s: %s free, a durable write takes %v", dir,
		dovetail.FormatQuantity(dovetail.Disk, free>>20<<20), took.Round(10*time.Microsecond))
	if err != nil {
		detail = err.Error()
	}
	return result("disk", err == nil && free >= wantDisk, detail,
		"there is room for the journal and for the output of replicas",
		"less than 1Gi is free, or the directory cannot be written to: the daemon stops accepting work when it cannot record it; free some space, or choose another --state-dir")
}

// timeSync measures how long it takes to put one file on disk.
func timeSync(dir string) (time.Duration, error) {
	tmp, err := os.MkdirTemp(dir, ".doctor")
	if err != nil {
		return 0, err
	}
	from := time.Now()
	err = writeJSON(filepath.Join(tmp, "x"), "x", true)
	return time.Since(from), errors.Join(err, os.RemoveAll(tmp))
}

func checkPorts() Check {
	p := newPorts(uint32(os.Getpid()))
	defer p.close()
	requests := make(map[string]dovetail.Port)
	for i := range 20 {
		requests[fmt.Sprint(i)] = dovetail.Port{}
	}
	_, err := p.allocate(requests)
	detail := fmt.Sprintf("20 ports from %d to %d are free on %s", p.low, p.high-1, host)
	if err != nil {
		detail = err.Error()
	}
	return result("ports", err == nil, detail,
		"replicas get the ports that they ask for, or others if these are taken",
		"replicas that ask for ports are refused; see what listens with `ss -ltn`")
}

// checkClock looks at the year, and at whether the wall clock is being moved while it looks.
func checkClock() Check {
	from := time.Now()
	time.Sleep(20 * time.Millisecond)
	to := time.Now()
	drift := (to.Round(0).Sub(from.Round(0)) - to.Sub(from)).Abs()
	sane := from.Year() >= 2024 && from.Year() < 2100
	return result("clock", sane && drift < 5*time.Millisecond,
		fmt.Sprintf("it is %s; wall and monotonic clock differ by %v in 20ms", from.UTC().Format(time.RFC3339), drift.Round(time.Microsecond)),
		"times on record can be trusted",
		"times on record are wrong or jump; durations are not affected within one life of the daemon; set the clock")
}

func checkFiles() Check {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return result("open files", err == nil && l.Max >= wantFiles, fmt.Sprintf("at most %d (hard limit)", l.Max),
		"the daemon can serve as many clients and ports as it will meet",
		"the daemon keeps a file for each client, port and log that is followed; raise the limit (ulimit -Hn, LimitNOFILE=)")
}

func checkPids() Check {
	most, _ := readInt("/proc/sys/kernel/pid_max")
	if threads, ok := readInt("/proc/sys/kernel/threads-max"); ok {
		most = min(most, threads)
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err == nil && l.Cur < uint64(most) {
		most = int64(l.Cur)
	}
	return result("processes", most >= wantPids, fmt.Sprintf("at most %d", most),
		"each replica takes its own processes and about 6 threads of a shim",
		"each replica takes its own processes and about 6 threads of a shim: few replicas fit; raise kernel.pid_max or ulimit -u")
}

func checkInotify() Check {
	w := newWatcher()
	defer w.close()
	return result("inotify", w.file != nil, "watching files: "+yes(w.file != nil),
		"the daemon hears of the end of a replica at once",
		"the daemon hears of the end of a replica up to a second late; raise fs.inotify.max_user_instances")
}
