package crash_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// ledger is what the replicas themselves wrote down.
type ledger struct {
	starts map[dovetail.Replica]int
	stops  map[dovetail.Replica][]string // the lines
	faults []string                      // replicas that found another one of their slot alive
}

// readLedger reads the ledger below dir.
func readLedger(dir string) (*ledger, error) {
	l := &ledger{starts: make(map[dovetail.Replica]int), stops: make(map[dovetail.Replica][]string)}
	f, err := os.Open(filepath.Join(dir, "ledger"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if err := l.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
	}
	return l, lines.Err()
}

func (l *ledger) line(text string) error {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return fmt.Errorf("torn line %q", text)
	}
	r, err := parseReplica(fields[1])
	if err != nil {
		return err
	}
	switch fields[0] {
	case "start":
		l.starts[r]++
	case "stop":
		l.stops[r] = append(l.stops[r], text)
	case "double":
		l.faults = append(l.faults, fmt.Sprintf("replica %s started while another one of its slot lived", fields[1]))
	default:
		return fmt.Errorf("line %q", text)
	}
	return nil
}

// parseReplica reads the name of a replica's record: run-component-index-attempt.
func parseReplica(name string) (dovetail.Replica, error) {
	parts := strings.Split(name, "-")
	if len(parts) != 4 {
		return dovetail.Replica{}, fmt.Errorf("%q is not the name of a replica", name)
	}
	var n [4]int64
	for i, p := range parts {
		var err error
		if n[i], err = strconv.ParseInt(p, 10, 64); err != nil {
			return dovetail.Replica{}, fmt.Errorf("%q is not the name of a replica: %w", name, err)
		}
	}
	return dovetail.Replica{Run: dovetail.RunID(n[0]), Component: int(n[1]), Index: int(n[2]), Attempt: n[3]}, nil
}

// process is a process of a replica.
type process struct {
	pid     int
	replica string
	command string
}

func (p process) String() string {
	return fmt.Sprintf("pid %d of replica %s: %s", p.pid, p.replica, p.command)
}

// leftovers returns the processes of this test's replicas that live, found by their environment.
func leftovers(dir string) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil { // it is gone, or not ours to look at
			continue
		}
		vars := strings.Split(string(env), "\x00")
		if !slices.Contains(vars, "CRASH_DIR="+dir) {
			continue
		}
		p := process{pid: pid}
		for _, v := range vars {
			if name, ok := strings.CutPrefix(v, "DOVETAIL_REPLICA="); ok {
				p.replica = name
			}
		}
		if cmd, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")); err == nil {
			p.command = strings.ReplaceAll(string(cmd), "\x00", " ")
		}
		found = append(found, p)
	}
	return found, nil
}
