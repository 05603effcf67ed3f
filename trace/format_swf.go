package trace

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// swfLines reads the Standard Workload Format (Chapin et al., JSSPP 1999; version 2.2,
// www.cs.huji.ac.il/labs/parallel/workload/swf.html): 18 fields a line, −1 where nothing is known, and comments after a
// semicolon. A job becomes one rigid component with a replica of one processor for each processor that it was given (field 5),
// or asked for (8) if that is not known. What it asked for as time (9) is what policies are told, and its memory for each
// processor (10, else 7, in KiB) the memory of a replica.
type swfLines struct {
	apps   apps
	fields [][]byte
	header []string // what the comments say of the machine
	short  int      // jobs of 0 s
	never  int      // jobs that were cancelled before they ran
	parts  int      // lines about parts of jobs
}

// Where fields are, from 0.
const (
	swfID            = 0
	swfSubmit        = 1
	swfRuntime       = 3
	swfGiven         = 4
	swfMemory        = 6
	swfAsked         = 7
	swfAskedTime     = 8
	swfAskedMemory   = 9
	swfStatus        = 10
	swfUser          = 11
	swfExecutable    = 13
	swfFields        = 18
	swfPartContinued = 2 // status: a part of a job that goes on in another line
	swfPartFailed    = 4 // … the last part
	swfCancelled     = 5
)

// swfNames names the fields for messages.
func swfNames() [swfFields]string {
	return [swfFields]string{
		"job number", "submit time", "wait time", "run time", "processors", "cpu time", "memory", "requested processors", "requested time",
		"requested memory", "status", "user", "group", "executable number", "queue", "partition", "preceding job", "think time",
	}
}

func startSWF() decoder { return &swfLines{apps: newApps()} }

func (s *swfLines) notices() []string {
	var all []string
	if len(s.header) > 0 {
		all = append(all, "the header says "+strings.Join(s.header, ", "))
	}
	if s.short > 0 {
		all = append(all, fmt.Sprintf("%d %s there for 0 s and counted as 1 s, the resolution of the format", s.short, were(s.short, "job")))
	}
	if s.never > 0 {
		all = append(all, fmt.Sprintf("%d %s left out: cancelled before it ran", s.never, were(s.never, "job")))
	}
	if s.parts > 0 {
		all = append(all, fmt.Sprintf("%d %s left out: parts of jobs that have a line of their own", s.parts, were(s.parts, "line")))
	}
	return all
}

func (s *swfLines) line(text []byte) (j Job, ok bool, err error) {
	if text[0] == ';' {
		s.comment(text)
		return j, false, nil
	}
	s.fields = fields(text, s.fields)
	f := s.fields
	if len(f) != swfFields {
		return j, false, faultf("line", "it has %d fields; expected %d", len(f), swfFields)
	}
	for i := range f { // those that are not used too: a line with a word in it is not what it seems
		if string(f[i]) != "-1" && !isNumber(f[i]) {
			return j, false, faultf(swfNames()[i], "%s is not a number; expected one, or -1 if it is not known", shown(f[i]))
		}
	}
	status, err := count("status", f[swfStatus], -1, 9)
	switch {
	case err != nil:
		return j, false, err
	case status >= swfPartContinued && status <= swfPartFailed:
		s.parts++
		return j, false, nil
	case status == swfCancelled && (unknown(f[swfRuntime]) || zero(f[swfRuntime])):
		s.never++
		return j, false, nil
	}
	if j.ID, err = count("job number", f[swfID], 0, maxID); err != nil {
		return j, false, err
	}
	if j.Submit, err = seconds("submit time", f[swfSubmit]); err != nil {
		return j, false, err
	}
	if j.Runtime, err = seconds("run time", f[swfRuntime]); err != nil {
		return j, false, err
	}
	if !unknown(f[swfUser]) {
		user, err := count("user", f[swfUser], 0, maxID)
		if err != nil {
			return j, false, err
		}
		j.User = "user-" + strconv.FormatInt(user, 10)
	}
	a, err := swfShape(f)
	if err != nil {
		return j, false, err
	}
	if j.Runtime == 0 {
		s.short++
		j.Runtime = time.Second
	}
	j.App = s.apps.of(&a)
	return j, true, nil
}

// swfShape reads the fields that make the application.
func swfShape(f [][]byte) (a shape, err error) {
	given := swfGiven
	if unknown(f[given]) || zero(f[given]) {
		given = swfAsked
	}
	n, err := count("processors", f[given], 1, MaxReplicas)
	if err != nil {
		return a, err
	}
	a.core, a.full = int(n), int(n)
	a.name, a.kind = "job", dovetail.Batch
	if !unknown(f[swfExecutable]) {
		executable, err := count("executable number", f[swfExecutable], 0, maxID)
		if err != nil {
			return a, err
		}
		a.name = fmt.Sprintf("app-%d", executable)
	}
	if !unknown(f[swfAskedTime]) {
		if a.runtime, err = seconds("requested time", f[swfAskedTime]); err != nil {
			return a, err
		}
	}
	a.each[dovetail.CPU] = 1000
	memory := swfAskedMemory
	if unknown(f[memory]) || zero(f[memory]) {
		memory = swfMemory
	}
	if !unknown(f[memory]) {
		kib, exact, ok := decimal(f[memory], 0)
		if !ok || kib < 0 || kib > maxAmount>>10 {
			return a, faultf("memory", "%s is out of range; expected kibibytes for each processor, such as 2048", shown(f[memory]))
		}
		if !exact {
			kib++
		}
		a.each[dovetail.Memory] = kib << 10
	}
	return a, nil
}

// comment keeps what a comment says of the machine.
func (s *swfLines) comment(text []byte) {
	name, value, ok := bytes.Cut(bytes.TrimSpace(bytes.TrimLeft(text, ";")), []byte(":"))
	if !ok || len(value) > 200 || len(s.header) >= 8 {
		return
	}
	switch string(name) {
	case "Computer", "MaxJobs", "MaxNodes", "MaxProcs", "StartTime":
		s.header = append(s.header, string(name)+" "+string(bytes.TrimSpace(value)))
	}
}

// unknown reports whether a field is −1.
func unknown(field []byte) bool {
	n, exact, ok := decimal(field, 0)
	return ok && exact && n == -1
}

func zero(field []byte) bool {
	n, exact, ok := decimal(field, 0)
	return ok && exact && n == 0
}
