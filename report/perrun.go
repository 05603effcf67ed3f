package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// PerRun writes a line a run, schedule after schedule: policy,alloc,seed,id,submit,start,finish. Times are seconds with three
// decimals, half a millisecond rounded up; what has not happened is empty, and so is the finish of a run that failed, timed out or was
// lost, as its work was never done. An allocator that preempts is "flexible+preempt".
type PerRun struct {
	w      *bufio.Writer
	headed bool
}

// NewPerRun returns a writer of runs. Flush it at the end.
func NewPerRun(w io.Writer) *PerRun { return &PerRun{w: bufio.NewWriter(w)} }

// Write appends the runs of a schedule.
func (p *PerRun) Write(s *Schedule) error {
	if !p.headed {
		p.headed = true
		fmt.Fprintln(p.w, "policy,alloc,seed,id,submit,start,finish")
	}
	head := csvField(s.Cell.Policy) + "," + csvField(s.Cell.Variant()) + "," + strconv.FormatUint(s.Cell.Seed, 10) + ","
	line := make([]byte, 0, 128)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		finish := j.Finish
		if j.Failed() {
			finish = -1
		}
		line = strconv.AppendInt(append(line[:0], head...), j.ID, 10)
		for _, t := range [...]time.Duration{j.Submit, j.Start, finish} {
			line = appendMillis(append(line, ','), t)
		}
		if _, err := p.w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write the runs of %s: %w", s.Cell.Setting(), err)
		}
	}
	return nil
}

// Flush writes what is still held back.
func (p *PerRun) Flush() error {
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write the runs: %w", err)
	}
	return nil
}

// appendMillis writes a time as seconds with three decimals, and nothing if it is negative.
func appendMillis(b []byte, t time.Duration) []byte {
	if t < 0 {
		return b
	}
	ms := (t.Microseconds() + 500) / 1000
	b = strconv.AppendInt(b, ms/1000, 10)
	rest := ms % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// csvField quotes a field where CSV (RFC 4180) asks for it.
func csvField(s string) string {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
