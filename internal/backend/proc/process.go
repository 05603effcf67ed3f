package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of times in /proc/PID/stat; user space always sees 100 a second (USER_HZ).
const clockTick = time.Second / 100

// bootID returns the kernel's name for the present boot.
func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("cannot tell this boot from earlier ones: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// stat is what /proc/PID/stat says of a process.
type stat struct {
	State  byte
	Parent int
	CPU    time.Duration // with the children that were waited for
	Start  uint64
	RSS    int64 // bytes
}

// readStat reads /proc/PID/stat.
func readStat(pid int) (stat, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(data)
}

// parseStat reads the text of /proc/PID/stat. The second field may hold blanks and parentheses.
func parseStat(data []byte) (stat, error) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return stat{}, errors.New("stat: no command name")
	}
	f := strings.Fields(string(data[end+1:])) // f[0] is field 3 of proc(5)
	if len(f) < 22 || len(f[0]) != 1 {
		return stat{}, errors.New("stat: too few fields")
	}
	var wrong error
	number := func(field int) uint64 {
		n, err := strconv.ParseUint(f[field-3], 10, 64)
		wrong = errors.Join(wrong, err)
		return n
	}
	s := stat{State: f[0][0], Parent: int(number(4)), Start: number(22), RSS: int64(number(24)) * int64(os.Getpagesize())}
	for field := 14; field <= 17; field++ {
		s.CPU += time.Duration(number(field)) * clockTick
	}
	return s, wrong
}

// identify returns the identity of a living process.
func identify(pid int, boot string) (identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return identity{}, err
	}
	return identity{Pid: pid, Start: s.Start, Boot: boot}, nil
}

// is reports whether the process that now has the pid is the one that was identified; a zombie still is.
func (id identity) is(boot string) bool {
	if id.Boot != boot || id.Pid <= 0 {
		return false
	}
	s, err := readStat(id.Pid)
	return err == nil && s.Start == id.Start
}

// signal sends a signal to the identified process, and to no other.
func (id identity) signal(boot string, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(id.Pid, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if !id.is(boot) { // from here on fd is the identified process, or a process that is already gone
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// reap waits for an ending process if it is a child of this one, so that no zombie is left.
func (id identity) reap(boot string) {
	if id.is(boot) {
		waitFor(id.Pid, 0)
	}
}

// waitFor waits for one child, through interruptions, and reports whether it is over; with WNOHANG it may not be. A process that
// is no child, or was waited for before, is over.
func waitFor(pid, options int) bool {
	for {
		got, err := unix.Wait4(pid, nil, options, nil)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || got == pid
		}
	}
}

// signalAll sends a signal to each process. Those that ended meanwhile are passed over.
func signalAll(pids []int, sig unix.Signal) {
	for _, pid := range pids {
		_ = unix.Kill(pid, sig)
	}
}

// startProcess starts a program, and leaves it to whoever waits for its pid.
func startProcess(path string, argv []string, attr *os.ProcAttr) (int, error) {
	p, err := os.StartProcess(path, argv, attr) //nolint:gosec // G702: starting what people submit is what this package is for
	if err != nil {
		return 0, err
	}
	pid := p.Pid
	return pid, p.Release()
}

// descendants returns the living processes below a process, parents before children. Processes that are born meanwhile may
// be missed: who wants all must freeze, or look again.
func descendants(root int) []int {
	found := childrenOf(root)
	for i := 0; i < len(found); i++ {
		for _, c := range childrenOf(found[i]) {
			if !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
	}
	return found
}

// childrenOf returns the children of a process, from /proc/PID/task/TID/children, or, on kernels without that, from the
// parent that every process names.
func childrenOf(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var pids []int
	if len(files) == 0 && !exists("/proc/thread-self/children") {
		for _, p := range allPids() {
			if s, err := readStat(p); err == nil && s.Parent == pid {
				pids = append(pids, p)
			}
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread is gone
		}
		for _, f := range strings.Fields(string(data)) {
			if c, err := strconv.Atoi(f); err == nil {
				pids = append(pids, c)
			}
		}
	}
	return pids
}

// allPids returns every process of the machine.
func allPids() []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// markerOf returns the value of DOVETAIL_REPLICA in the environment that a process was started with, "" if there is none or
// it is not ours to read.
func markerOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if v, ok := bytes.CutPrefix(entry, []byte(markerVariable+"=")); ok {
			return string(v)
		}
	}
	return ""
}

// readIO returns the bytes that a process, and the children it waited for, read from and wrote to devices.
func readIO(pid int) (read, written int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, 0
	}
	values := parseFlat(string(data), ":")
	return values["read_bytes"], values["write_bytes"]
}

// parseFlat reads lines of a name and an integer, as many files of the kernel have them; sep may follow the name.
func parseFlat(text, sep string) map[string]int64 {
	values := make(map[string]int64)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			values[strings.TrimSuffix(f[0], sep)] = n
		}
	}
	return values
}
