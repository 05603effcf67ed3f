package trace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dovetail-sched/dovetail"
)

// podLines reads the pods of Alibaba's GPU clusters (Weng et al., ATC 2023; openb_pod_list of clusterdata). A pod becomes one
// rigid component of one replica. It runs from when it was scheduled, or else from its creation, until it was deleted. A share
// of a GPU counts as a whole one. The number of a job is that in the names of the published file: its row, from 0.
type podLines struct {
	apps    apps
	fields  [][]byte
	columns []int // where the fields of podColumns are; nil before the header
	width   int   // how many fields the header has
	rows    int64
	shared  int // pods with a share of a GPU
	never   int // pods that never ran
	short   int // pods that were there for 0 s
}

// podColumns are the columns that are read. Files may have others, and in any order.
func podColumns() []string {
	return []string{"cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "qos", "creation_time", "deletion_time", "scheduled_time"}
}

func startOpenb() decoder { return &podLines{apps: newApps()} }

func (p *podLines) notices() []string {
	var all []string
	if p.shared > 0 {
		all = append(all, fmt.Sprintf("pods with a share of a GPU, which is counted as a whole one: %d", p.shared))
	}
	if p.never > 0 {
		all = append(all, fmt.Sprintf("pods that were never scheduled, so that their runtime is that from creation to deletion: %d", p.never))
	}
	if p.short > 0 {
		all = append(all, fmt.Sprintf("%d %s there for 0 s and counted as 1 s, the resolution of the format", p.short, were(p.short, "pod")))
	}
	return all
}

func (p *podLines) line(text []byte) (j Job, ok bool, err error) {
	err = p.split(text)
	if p.columns == nil {
		if err == nil {
			err = p.header()
		}
		return j, false, err
	}
	j.ID = p.rows
	p.rows++
	if err != nil {
		return j, false, err
	}
	if len(p.fields) != p.width {
		return j, false, faultf("line", "it has %d fields; expected %d, as many as the first line", len(p.fields), p.width)
	}
	f := make([][]byte, len(p.columns))
	for i, c := range p.columns {
		f[i] = p.fields[c]
	}
	a, shared, err := podShape(f)
	if err != nil {
		return j, false, err
	}
	if j.Submit, err = seconds("creation_time", f[5]); err != nil {
		return j, false, err
	}
	deleted, err := seconds("deletion_time", f[6])
	if err != nil {
		return j, false, err
	}
	begun := j.Submit
	if len(f[7]) > 0 {
		if begun, err = seconds("scheduled_time", f[7]); err != nil {
			return j, false, err
		}
	}
	if deleted < begun {
		return j, false, faultf("deletion_time", "%s is before the pod began; expected %s", shown(f[6]), wantSeconds)
	}
	if len(f[7]) == 0 {
		p.never++
	}
	if shared {
		p.shared++
	}
	if j.Runtime = deleted - begun; j.Runtime == 0 {
		p.short++
		j.Runtime = time.Second
	}
	j.App = p.apps.of(&a)
	return j, true, nil
}

// split finds the fields of a line. Only a line with a quote needs a CSV reader.
func (p *podLines) split(text []byte) error {
	p.fields = p.fields[:0]
	if bytes.IndexByte(text, '"') < 0 {
		for f := range bytes.SplitSeq(text, []byte(",")) {
			p.fields = append(p.fields, bytes.TrimSpace(f))
		}
		return nil
	}
	in := csv.NewReader(bytes.NewReader(text))
	in.TrimLeadingSpace = true
	record, err := in.Read()
	var broken *csv.ParseError
	if errors.As(err, &broken) {
		return faultf("line", "%v, at character %d; expected fields with a comma between them, and quotes in pairs",
			broken.Err, utf8.RuneCount(text[:broken.Column-1])+1)
	}
	for _, f := range record {
		p.fields = append(p.fields, []byte(strings.TrimSpace(f)))
	}
	return err
}

// header reads which column is where.
func (p *podLines) header() error {
	p.width = len(p.fields)
	for _, name := range podColumns() {
		i := slices.IndexFunc(p.fields, func(f []byte) bool { return string(f) == name })
		if i < 0 {
			p.columns = nil
			return faultf(name, "there is no such column in the first line; expected %s", strings.Join(podColumns(), ","))
		}
		p.columns = append(p.columns, i)
	}
	return nil
}

// podShape reads the fields that make the application, and whether the pod has only a share of a GPU.
func podShape(f [][]byte) (a shape, shared bool, err error) {
	var n [4]int64
	for i, name := range podColumns()[:4] {
		if i == 3 && len(f[i]) == 0 {
			break
		}
		if n[i], err = count(name, f[i], 0, maxAmount>>20); err != nil {
			return a, false, err
		}
	}
	a.name, a.kind, a.core, a.full = podName(f[4]), dovetail.Batch, 1, 1
	a.each = dovetail.Resources{dovetail.CPU: n[0], dovetail.Memory: n[1] << 20, dovetail.GPU: n[2]}
	if a.each.IsZero() {
		return a, false, faultf("cpu_milli", "the pod asks for nothing; expected cpu, memory or a GPU")
	}
	return a, n[2] == 1 && n[3] < 1000, nil
}

// podName names the application of a pod after its quality of service.
func podName(qos []byte) string {
	switch string(qos) {
	case "LS":
		return "pod-ls"
	case "BE":
		return "pod-be"
	case "Burstable":
		return "pod-burstable"
	case "Guaranteed":
		return "pod-guaranteed"
	}
	return "pod"
}
