package local

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail/internal/usage"
)

// parseStat reads the time of all processors from the text of /proc/stat (proc_stat(5)). Time of guests is part of that of user.
func parseStat(text []byte) (usage.CPUTime, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	f := strings.Fields(string(line))
	const idle, wait, steal = 4, 5, 8
	if len(f) <= steal || f[0] != "cpu" {
		return usage.CPUTime{}, errors.New("the first line is not the time of all processors")
	}
	n, err := numbers(f[1 : steal+1])
	if err != nil {
		return usage.CPUTime{}, err
	}
	t := usage.CPUTime{Idle: n[idle-1], Wait: n[wait-1]}
	for _, v := range n {
		t.Total += v
	}
	return t, nil
}

func numbers(fields []string) ([]uint64, error) {
	n := make([]uint64, len(fields))
	for i, s := range fields {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, err
		}
		n[i] = v
	}
	return n, nil
}

// parsePressure reads the totals from the text of a file of /proc/pressure: "some avg10=0.00 avg60=0.00 avg300=0.00 total=48263" and "full …",
// in microseconds.
func parsePressure(text []byte) (some, full uint64, err error) {
	found := false
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		total, ok := strings.CutPrefix(f[len(f)-1], "total=")
		if !ok {
			return 0, 0, fmt.Errorf("no total in %q", line)
		}
		v, err := strconv.ParseUint(total, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		switch f[0] {
		case "some":
			some, found = v, true
		case "full":
			full = v
		}
	}
	if !found {
		return 0, 0, errors.New("no line begins with some")
	}
	return some, full, nil
}

// notDisks are the devices that keep nothing themselves: memory, files, media that come and go, and what is stacked on other devices, which
// would count twice.
func notDisks() []string { return []string{"loop", "ram", "zram", "dm-", "md", "sr"} }

// parseDisks reads the sectors that whole disks moved from the text of /proc/diskstats (Documentation/admin-guide/iostats.rst).
func parseDisks(text []byte) ([]usage.Device, error) {
	var all []usage.Device
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		const name, read, written = 2, 5, 9
		if len(f) <= written {
			return nil, fmt.Errorf("too few numbers in %q", line)
		}
		n, err := numbers([]string{f[read], f[written]})
		if err != nil {
			return nil, err
		}
		all = append(all, usage.Device{Name: f[name], In: n[0], Out: n[1]})
	}
	names := make(map[string]bool, len(all))
	for _, d := range all {
		names[d.Name] = true
	}
	return sorted(slices.DeleteFunc(all, func(d usage.Device) bool { return begins(d.Name, notDisks()) || isPartition(d.Name, names) })), nil
}

// isPartition reports whether a device is a part of one of the others: sda1 of sda, nvme0n1p2 of nvme0n1.
func isPartition(name string, names map[string]bool) bool {
	whole := strings.TrimRight(name, "0123456789")
	if whole == name || whole == "" {
		return false
	}
	if names[whole] {
		return true
	}
	disk, ok := strings.CutSuffix(whole, "p")
	return ok && disk != "" && disk[len(disk)-1] >= '0' && disk[len(disk)-1] <= '9' && names[disk]
}

// notNets are the interfaces that lead nowhere, and those of containers, whose traffic passes another one when it leaves the machine.
func notNets() []string {
	return []string{"veth", "docker", "br-", "cni", "flannel", "cali", "cilium", "lxc", "ifb"}
}

// parseNets reads the bytes that interfaces moved from the text of /proc/net/dev (proc_pid_net(5)).
func parseNets(text []byte) ([]usage.Device, error) {
	var all []usage.Device
	for line := range strings.Lines(string(text)) {
		name, counts, ok := strings.Cut(line, ":")
		if !ok {
			continue // a heading
		}
		name = strings.TrimSpace(name)
		f := strings.Fields(counts)
		const received, sent = 0, 8
		if len(f) <= sent {
			return nil, fmt.Errorf("too few numbers in %q", line)
		}
		n, err := numbers([]string{f[received], f[sent]})
		if err != nil {
			return nil, err
		}
		if name != "lo" && !begins(name, notNets()) {
			all = append(all, usage.Device{Name: name, In: n[0], Out: n[1]})
		}
	}
	return sorted(all), nil
}

func begins(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

func sorted(devices []usage.Device) []usage.Device {
	slices.SortFunc(devices, func(a, b usage.Device) int { return strings.Compare(a.Name, b.Name) })
	return devices
}
