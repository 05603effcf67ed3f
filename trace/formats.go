package trace

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// The names of formats, for Options.Format.
const (
	Own   = "dovetail" // what Write writes: JSON lines
	SWF   = "swf"      // Standard Workload Format, version 2 (Parallel Workloads Archive)
	Tasks = "tr"       // tasks of jobs, as Hawk's and Eagle's simulators read them
	Zoe   = "zoe"      // seven columns, as Zoe's simulator reads them
	Openb = "openb"    // pods of Alibaba's GPU clusters, 2023
)

// Format is a way to write a trace.
type Format struct {
	Name string
	Doc  string // one line for people

	suffix string                 // of names of files, without .gz
	looks  func(line []byte) bool // whether a line may be one of this format
	start  func() decoder         // of a file
}

// decoder reads the lines of a file.
type decoder interface {
	// line reads a line that is not empty and has no white space at its ends. Without an error and without ok, it holds no
	// job. The job must not refer to the line, which is used again.
	line(text []byte) (j Job, ok bool, err error)
	// notices returns what people should know, after the last line.
	notices() []string
}

// Formats returns the formats that can be read, in the order in which people are shown them.
func Formats() []Format {
	return []Format{
		{Own, "Dovetail's own: JSON lines, the first of them {\"version\":\"" + version + "\"}", ".jsonl", looksOwn, startOwn},
		{SWF, "Standard Workload Format: 18 fields a line, comments after ;", ".swf", looksSWF, startSWF},
		{Tasks, "Hawk and Eagle: arrival, number of tasks, their mean duration, and the duration of each", ".tr", looksTasks, startTasks},
		{Zoe, "Zoe's simulator: id, submit, core, elastic or -1, runtime, cpu, memory", ".txt", looksZoe, startZoe},
		{Openb, "Alibaba's GPU clusters, 2023: the CSV file of pods", ".csv", looksOpenb, startOpenb},
	}
}

// formatNamed returns the format of this name.
func formatNamed(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, dovetail.Errorf(dovetail.Invalid, "there is no trace format %q; choose one of %s", name, strings.Join(names, ", "))
}

// formatOf returns the format that most lines of the beginning of a file look like. The name decides between equals.
func formatOf(name string, beginning []byte) (Format, error) {
	lines := sample(beginning)
	if len(lines) == 0 {
		return Format{}, dovetail.Errorf(dovetail.Invalid, "%s: there are no jobs in it; expected a trace with one job a line", name)
	}
	if bytes.HasPrefix(lines[0], []byte("sn,cpu_milli,memory_mib")) {
		return Format{}, dovetail.Errorf(dovetail.Invalid,
			"%s lists the nodes of a cluster, not what was submitted to it; give the file of pods instead", name)
	}
	var best []Format
	most := 1
	for _, f := range Formats() {
		votes := 0
		for _, l := range lines {
			if f.looks(l) {
				votes++
			}
		}
		if votes > most {
			best, most = nil, votes
		}
		if votes == most {
			best = append(best, f)
		}
	}
	if len(best) == 1 {
		return best[0], nil
	}
	suffix := filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ".gz"))
	if i := slices.IndexFunc(best, func(f Format) bool { return f.suffix == suffix }); i >= 0 {
		return best[i], nil
	}
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return Format{}, dovetail.Errorf(dovetail.Invalid, "%s: its first lines do not tell its format, such as %s; choose one of %s",
		name, shown(lines[0]), strings.Join(names, ", "))
}

// sample returns the first lines of a file that are complete and not empty, or its beginning if none is complete.
func sample(beginning []byte) [][]byte {
	end := bytes.LastIndexByte(beginning, '\n')
	if end < 0 || len(bytes.TrimSpace(beginning[:end])) == 0 {
		end = len(beginning)
	}
	lines := bytes.SplitN(beginning[:end], []byte("\n"), sampled+1)
	lines = lines[:min(len(lines), sampled)]
	for i := range lines {
		lines[i] = bytes.TrimSpace(lines[i])
	}
	return slices.DeleteFunc(lines, func(l []byte) bool { return len(l) == 0 })
}

// sampled is how many lines are looked at to tell the format.
const sampled = 200

// fields splits a line at white space into a slice that is used again.
func fields(line []byte, into [][]byte) [][]byte {
	into = into[:0]
	for f := range bytes.FieldsSeq(line) {
		into = append(into, f)
	}
	return into
}

func looksOwn(line []byte) bool { return line[0] == '{' }
func looksSWF(line []byte) bool { return line[0] == ';' || len(bytes.Fields(line)) == 18 }
func looksZoe(line []byte) bool { return len(bytes.Fields(line)) == 7 }
func looksOpenb(line []byte) bool {
	return bytes.HasPrefix(bytes.ReplaceAll(line, []byte{'"'}, nil), []byte("name,cpu_milli,"))
}

// looksTasks accepts a line that was cut off: it may be longer than what is looked at.
func looksTasks(line []byte) bool {
	f := bytes.Fields(line)
	if len(f) < 4 {
		return false
	}
	n, err := strconv.Atoi(string(f[1]))
	return err == nil && (len(f)-3 == n || len(line) > peeked/2 && len(f)-3 < n)
}
