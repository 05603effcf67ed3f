package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// snapshot is what a live view shows.
type snapshot struct {
	At    time.Time
	Title string
	Nodes []dovetail.NodeStatus
	Runs  []viewRun // in order of ID
}

// viewRun is a run in a live view.
type viewRun struct {
	dovetail.RunStatus
	On []onCells // where its replicas are
}

// onCells is what a run has on a node, of one class.
type onCells struct {
	Node    string
	Elastic bool
	Used    dovetail.Resources
}

// maxDetailed is how many runs in service are shown on their nodes: each takes a request.
const maxDetailed = 40

// look gathers a snapshot of the runs that have not ended, or of all.
func look(ctx context.Context, c *client.Client, now time.Time, ended bool) (*snapshot, error) {
	s := &snapshot{At: now}
	var err error
	if s.Nodes, err = c.Nodes(ctx); err != nil {
		return nil, err
	}
	q := client.RunQuery{States: living, Limit: 1000}
	if ended {
		q.States = nil
	}
	p, err := c.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	slices.Reverse(p.Runs)
	detailed := 0
	for _, st := range p.Runs {
		r := viewRun{RunStatus: st}
		if st.State != dovetail.Queued && st.State != dovetail.Ended && detailed < maxDetailed {
			detailed++
			d, err := c.Run(ctx, fmt.Sprint(st.ID))
			if err != nil {
				return nil, err
			}
			r.RunStatus, r.On = d.Status, cells(&d)
		}
		s.Runs = append(s.Runs, r)
	}
	return s, nil
}

// cells sums the living replicas of a run by node and class.
func cells(d *client.RunDetail) []onCells {
	var all []onCells
	for i := range d.Replicas {
		r := &d.Replicas[i]
		if r.Down != nil || d.Run == nil || r.Replica.Component >= len(d.Run.App.Components) {
			continue
		}
		at := slices.IndexFunc(all, func(o onCells) bool { return o.Node == r.Node && o.Elastic == r.Elastic })
		if at < 0 {
			at = len(all)
			all = append(all, onCells{Node: r.Node, Elastic: r.Elastic})
		}
		all[at].Used = all[at].Used.Plus(d.Run.App.Components[r.Replica.Component].Resources)
	}
	return all
}

// lines draws the snapshot: a bar a node, a line a run in service, and the waiting line.
func (s *snapshot) lines(paint painter, width int) []string {
	out := []string{s.head(paint), ""}
	label := 0
	for i := range s.Nodes {
		label = max(label, visible(s.Nodes[i].Name))
	}
	columns := min(max(width-label-26, 16), 60)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		state, st := nodeState(n)
		if state == "up" {
			state = ""
		}
		out = append(out, fmt.Sprintf("%-*s %s %3.0f%% %s", label, n.Name, s.bar(n, columns, paint), 100*granted(n), paint(st, state)))
	}
	out = append(out, paint(dim, strings.Repeat(" ", label)+" █ core   ▒ elastic   · free"), "")
	out = append(out, s.runLines(paint)...)
	return append(out, s.queueLines(paint)...)
}

func (s *snapshot) head(paint painter) string {
	serving, waiting := 0, 0
	for i := range s.Runs {
		switch s.Runs[i].State {
		case dovetail.Queued:
			waiting++
		case dovetail.Ended:
		default:
			serving++
		}
	}
	return fmt.Sprintf("%s   %s, %s in service, %s",
		paint(bold, s.Title), plural(len(s.Nodes), "node", "nodes"), plural(serving, "run", "runs"), plural(waiting, "waits", "wait"))
}

// bar draws what runs have on a node: core first, then elastic, then what is free.
func (s *snapshot) bar(n *dovetail.NodeStatus, columns int, paint painter) string {
	kind := fullest(n)
	room := float64(n.Capacity[kind])
	var b strings.Builder
	used, drawn := 0.0, 0
	for _, elastic := range []bool{false, true} {
		glyph := "█"
		if elastic {
			glyph = "▒"
		}
		for i := range s.Runs {
			for _, c := range s.Runs[i].On {
				if c.Node != n.Name || c.Elastic != elastic || room <= 0 {
					continue
				}
				used += float64(c.Used[kind]) / room
				end := min(int(math.Round(used*float64(columns))), columns)
				b.WriteString(paint(runStyle(int(s.Runs[i].ID)-1), strings.Repeat(glyph, max(end-drawn, 0))))
				drawn = max(drawn, end)
			}
		}
	}
	return b.String() + paint(dim, strings.Repeat("·", columns-drawn))
}

// fullest returns the kind of resource of which the largest share is granted.
func fullest(n *dovetail.NodeStatus) dovetail.ResourceKind {
	best, most := dovetail.CPU, -1.0
	for k := range dovetail.NumResources {
		if n.Capacity[k] <= 0 {
			continue
		}
		if share := float64(n.Granted[k]) / float64(n.Capacity[k]); share > most {
			best, most = k, share
		}
	}
	return best
}

// runLines lists the runs that have left the waiting line.
func (s *snapshot) runLines(paint painter) []string {
	t := newTable("", "RUN", "STATE", "CORE", "ELASTIC", "WAITED", "RAN")
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.State == dovetail.Queued {
			continue
		}
		state := stateOf(&r.RunStatus)
		core, elastic := fmt.Sprintf("%d/%d", r.CoreUp, r.Core), fmt.Sprintf("%d/%d", r.ElasticUp, r.ElasticMax)
		if r.State == dovetail.Ended {
			core, elastic = "", ""
		}
		t.add(paint(runStyle(int(r.ID)-1), "█▒"), printable(r.Name), paint(stateStyle(state), state), core, elastic,
			span(waitedFor(&r.RunStatus, s.At)), ranFor(&r.RunStatus, s.At))
	}
	if len(t.rows) == 0 {
		return []string{paint(dim, "Nothing runs.")}
	}
	var b strings.Builder
	_ = t.write(&b, paint) // a strings.Builder takes everything
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// queueLines lists the runs that wait.
func (s *snapshot) queueLines(paint painter) []string {
	var out []string
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.State != dovetail.Queued {
			continue
		}
		if len(out) == 0 {
			out = append(out, "", paint(dim, "WAITING"))
		}
		line := fmt.Sprintf("%s  %s for %s", paint(yellow, fmt.Sprintf("%3d", r.ID)), printable(r.Name), span(waitedFor(&r.RunStatus, s.At)))
		if why := reasonText(r.Reason); why != "" {
			line += ": " + why
		}
		out = append(out, line)
	}
	return out
}
