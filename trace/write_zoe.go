package trace

import (
	"bufio"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// WriteZoe writes a trace in the seven columns of Zoe's simulator. What they cannot say is an error: see zoeLoss. Names of
// applications and components are left out, and so are images, commands and all else that no scheduler looks at.
func WriteZoe(w io.Writer, jobs iter.Seq2[Job, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var b []byte
	for j, err := range jobs {
		if err != nil {
			return err
		}
		if loss := zoeLoss(&j); loss != "" {
			return dovetail.Errorf(dovetail.Invalid, "job %d cannot be written in seven columns: %s; write Dovetail's own format instead", j.ID, loss)
		}
		c := &j.App.Components[0]
		b = append(strconv.AppendInt(b[:0], j.ID, 10), ' ')
		b = append(appendSeconds(b, j.Submit), ' ')
		b = append(strconv.AppendInt(b, int64(c.Count), 10), ' ')
		if c.Elastic() == 0 {
			b = append(b, "-1 "...)
		} else {
			b = append(strconv.AppendInt(b, int64(c.Elastic()), 10), ' ')
		}
		b = append(appendSeconds(b, j.Runtime), ' ')
		b = strconv.AppendInt(b, c.Resources[dovetail.CPU]/1000, 10)
		b = append(appendFraction(b, c.Resources[dovetail.CPU]%1000, 3), ' ')
		b = append(appendGibibytes(b, c.Resources[dovetail.Memory]), '\n')
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// zoeLoss says what of a job the seven columns have no place for, or "".
func zoeLoss(j *Job) string {
	app := j.App
	switch {
	case len(app.Components) != 1:
		return "it has several components"
	case app.Components[0].Count < 1:
		return "it has no core replica"
	case app.Kind != dovetail.Batch:
		return "its kind is " + string(app.Kind)
	case j.Tasks != nil:
		return "it has tasks of its own durations"
	case j.User != "":
		return "it has a user"
	case time.Duration(app.Expected) != j.Runtime:
		return "policies are told another runtime than it has (see --expect)"
	case app.Priority != 0 || app.FinishBy != nil || app.Target != nil || app.MaxRuntime != 0:
		return "it has a priority, a target or a bound on its runtime"
	case len(app.Components[0].Nodes) != 0:
		return "it asks for nodes with labels"
	case app.Components[0].Resources[dovetail.GPU] != 0 || app.Components[0].Resources[dovetail.Disk] != 0:
		return "it needs a GPU or disk"
	}
	return ""
}
