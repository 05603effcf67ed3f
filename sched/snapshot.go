package sched

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/place"
)

// snapshotVersion is the version of the format that Snapshot writes. Restore reads it and all before it.
const snapshotVersion = 1

// The snapshot holds facts only; everything that can be derived is derived anew.
type (
	snapshot struct {
		Version int                     `json:"version"`
		Now     time.Time               `json:"now"`
		Before  time.Time               `json:"before,omitzero"`
		Settled time.Time               `json:"settled,omitzero"`
		Stale   bool                    `json:"stale,omitempty"`
		Seq     int64                   `json:"seq"`
		Next    dovetail.RunID          `json:"next"`
		Config  dovetail.Config         `json:"config"`
		Nodes   []nodeState             `json:"nodes"`
		Apps    []*dovetail.Application `json:"apps"`
		Runs    []runState              `json:"runs"`
		Outlook []*dovetail.Outlook     `json:"outlooks,omitempty"`

		Neighbours []dovetail.KnownClass `json:"neighbours,omitempty"`
		Strangers  []string              `json:"strangers,omitempty"` // classes in service for which the book had no room
	}
	nodeState struct {
		dovetail.Node
		Down     bool      `json:"down,omitempty"`
		Cordoned bool      `json:"cordoned,omitempty"`
		Draining bool      `json:"draining,omitempty"`
		Since    time.Time `json:"since,omitzero"`
	}
	runState struct {
		Spec      dovetail.Run         `json:"spec"` // without its application
		App       int                  `json:"appIndex"`
		State     dovetail.State       `json:"state"`
		Reason    dovetail.ReasonCode  `json:"reason,omitempty"`
		Priority  int                  `json:"priority,omitempty"`
		Verdict   *dovetail.End        `json:"verdict,omitempty"`
		Submitted time.Time            `json:"submitted"`
		Waiting   time.Time            `json:"waiting"`
		Started   time.Time            `json:"started,omitzero"`
		Held      bool                 `json:"held,omitempty"`
		Suspended bool                 `json:"suspended,omitempty"`
		Frozen    bool                 `json:"frozen,omitempty"`
		Retries   int                  `json:"retries,omitempty"`
		Deaths    int                  `json:"deaths,omitempty"`
		LastDeath time.Time            `json:"lastDeath,omitzero"`
		Regrow    time.Time            `json:"regrow,omitzero"`
		Work      int64                `json:"work,omitempty"`
		WorkedAt  time.Time            `json:"workedAt,omitzero"`
		Ready     time.Time            `json:"ready,omitzero"`
		Done      float64              `json:"done,omitempty"`
		DoneAt    time.Time            `json:"doneAt,omitzero"`
		Beside    []dovetail.Overlap   `json:"beside,omitempty"`
		Machines  []string             `json:"nodeClasses,omitempty"`
		Choice    *dovetail.Choice     `json:"choice,omitempty"`
		Forecast  *dovetail.Prediction `json:"prediction,omitempty"`
		Draw      *dovetail.Draw       `json:"draw,omitempty"`
		Passes    int                  `json:"passes,omitempty"`
		Passed    *pass                `json:"passed,omitempty"`
		Comps     []compState          `json:"components,omitempty"`
	}
	compState struct {
		Done  [numClasses]int `json:"done"`
		Cells []cellState     `json:"cells"`
	}
	cellState struct {
		Node    int  `json:"node"`
		Elastic bool `json:"elastic,omitempty"`
		Want    int  `json:"want,omitempty"`
		Told    int  `json:"told,omitempty"`
		Live    int  `json:"live,omitempty"`
		Up      int  `json:"up,omitempty"`
		Ready   int  `json:"ready,omitempty"`
	}
)

// Snapshot writes the state; its format carries a version.
func (c *Core) Snapshot() (json.RawMessage, error) {
	s := snapshot{
		Version: snapshotVersion, Now: c.now, Before: c.before, Settled: c.settled, Stale: c.stale, Seq: c.seq, Next: c.next, Config: c.cfg,
	}
	for i := range c.nodes {
		n := c.space.Node(i)
		s.Nodes = append(s.Nodes, nodeState{Node: c.nodes[i].Node, Down: !n.Up, Cordoned: n.Cordoned, Draining: c.nodes[i].draining, Since: c.nodes[i].since})
	}
	ids := make([]dovetail.RunID, 0, len(c.runs))
	for id := range c.runs { //dovetail:anyorder sorted below
		ids = append(ids, id)
	}
	slices.Sort(ids)
	apps := make(map[*app]int)
	for _, id := range ids {
		r := c.runs[id]
		i, ok := apps[r.app]
		if !ok {
			i = len(s.Apps)
			apps[r.app] = i
			s.Apps = append(s.Apps, r.app.spec)
		}
		s.Runs = append(s.Runs, r.save(i))
	}
	for _, class := range c.learned {
		s.Outlook = append(s.Outlook, c.outlooks[class]...)
	}
	s.Neighbours = c.book.Known()
	for _, k := range c.kinds {
		if k.serving > 0 && k.id == coloc.Stranger {
			s.Strangers = append(s.Strangers, k.name)
		}
	}
	return json.Marshal(s)
}

func (r *run) save(app int) runState {
	spec := *r.spec
	spec.App = nil
	s := runState{
		Spec: spec, App: app, State: r.state, Reason: r.reason, Priority: r.priority, Verdict: r.verdict,
		Submitted: r.submitted, Waiting: r.waiting, Started: r.started, Held: r.held, Suspended: r.suspended, Frozen: r.frozen,
		Retries: r.retries, Deaths: r.deaths, LastDeath: r.lastDeath, Regrow: r.regrow, Work: r.work, WorkedAt: r.workedAt,
		Ready: r.ready, Done: r.done, DoneAt: r.doneAt, Beside: r.beside, Machines: r.machines, Choice: r.choice, Forecast: r.forecast,
		Draw: r.draw, Passes: r.passes, Passed: r.passed,
	}
	for ci := range r.comps {
		p := compState{Done: r.comps[ci].done}
		for _, k := range r.comps[ci].cells {
			p.Cells = append(p.Cells, cellState{k.node, k.class == elastic, k.want, k.told, k.live, k.up, k.ready})
		}
		s.Comps = append(s.Comps, p)
	}
	return s
}

// Restore returns the core that Snapshot wrote. Runs whose applications are the same object share it.
func Restore(data json.RawMessage) (*Core, error) {
	var s snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("snapshot of the core: %w", err)
	}
	if s.Version < 1 || s.Version > snapshotVersion {
		return nil, fmt.Errorf("snapshot of the core has version %d; this program reads 1 to %d", s.Version, snapshotVersion)
	}
	c, err := New(s.Config)
	if err != nil {
		return nil, fmt.Errorf("snapshot of the core: %w", err)
	}
	c.now, c.before, c.seq, c.next = s.Now, s.Before, s.Seq, s.Next
	for _, o := range s.Outlook {
		if err := c.fitted(o, s.Now); err != nil {
			return nil, fmt.Errorf("snapshot of the core: %w", err)
		}
	}
	for _, n := range s.Nodes {
		if err := c.nodeUp(n.Node); err != nil {
			return nil, fmt.Errorf("snapshot of the core: %w", err)
		}
		i := c.nodeByID[n.Name]
		c.nodes[i].draining = n.Draining
		c.space.Update(i, func(p *place.Node) { p.Up, p.Cordoned = !n.Down, n.Cordoned })
		c.strained = append(c.strained, i)
	}
	for i := range s.Runs {
		if err := c.load(&s.Runs[i], s.Apps); err != nil {
			return nil, fmt.Errorf("snapshot of the core: run %d of %d: %w", i+1, len(s.Runs), err)
		}
	}
	if err := c.remember(&s); err != nil {
		return nil, fmt.Errorf("snapshot of the core: %w", err)
	}
	c.arrange()
	c.settled, c.stale = s.Settled, s.Stale
	c.touched = nil
	for id := range c.runs { //dovetail:anyorder every run gets the same
		c.runs[id].touched = false
	}
	return c, nil
}

// remember brings back what is known of neighbours.
func (c *Core) remember(s *snapshot) error {
	for i := range s.Nodes {
		if n := &c.nodes[i]; !s.Nodes[i].Since.IsZero() {
			n.since = s.Nodes[i].Since
		}
	}
	roomy := s.Config.Colocation
	roomy.Classes = mostClasses // there may be more of them than there may be by now
	c.book.Configure(roomy)
	if err := c.book.Recall(c.now, s.Neighbours); err != nil {
		return err
	}
	for _, k := range c.kinds {
		if k.serving > 0 && !slices.Contains(s.Strangers, k.name) {
			k.id = c.book.Hold(k.name)
		}
	}
	c.taught++
	c.book.Configure(s.Config.Colocation)
	return nil
}

// load brings one run back.
func (c *Core) load(s *runState, apps []*dovetail.Application) error {
	if s.App < 0 || s.App >= len(apps) || apps[s.App] == nil || len(apps[s.App].Components) == 0 {
		return fmt.Errorf("it has no application")
	}
	if c.runs[s.Spec.ID] != nil || s.Spec.ID >= c.next {
		return fmt.Errorf("its number %d is not free", s.Spec.ID)
	}
	spec := s.Spec
	spec.App = apps[s.App]
	a := c.apps[spec.App]
	if a == nil {
		a = c.newApp(spec.App)
		c.apps[spec.App] = a
	}
	a.runs++
	r := &run{
		id: spec.ID, spec: &spec, app: a, state: s.State, reason: s.Reason, priority: s.Priority, verdict: s.Verdict,
		submitted: s.Submitted, waiting: s.Waiting, started: s.Started, held: s.Held, suspended: s.Suspended, frozen: s.Frozen,
		retries: s.Retries, deaths: s.Deaths, lastDeath: s.LastDeath, regrow: s.Regrow, work: s.Work, workedAt: s.WorkedAt,
		ready: s.Ready, done: s.Done, doneAt: s.DoneAt, beside: s.Beside, machines: s.Machines, choice: s.Choice, forecast: s.Forecast,
		draw: s.Draw, passes: s.Passes, passed: s.Passed,
	}
	c.runs[r.id] = r
	c.join(r)
	c.size(r)
	r.weigh()
	if r.verdict != nil && r.state != dovetail.Stopping {
		c.verdicts = append(c.verdicts, r)
	}
	switch r.state {
	case dovetail.Queued:
		return nil
	case dovetail.Starting, dovetail.Running, dovetail.Stopping:
	default:
		return fmt.Errorf("its state %q is not known", r.state)
	}
	if len(s.Comps) != len(a.shapes) {
		return fmt.Errorf("it has %d components and its application %d", len(s.Comps), len(a.shapes))
	}
	c.serving = append(c.serving, r)
	c.meet(r)
	r.kind.serving++
	if r.choice != nil {
		c.aimed = append(c.aimed, r)
	}
	if a.spec.MaxRuntime > 0 {
		c.limited = append(c.limited, r)
	}
	if !r.regrow.IsZero() {
		c.cooling = append(c.cooling, r)
	}
	r.comps = make([]comp, len(s.Comps))
	for ci := range s.Comps {
		if err := c.loadComp(r, ci, &s.Comps[ci]); err != nil {
			return err
		}
	}
	r.kind.done += r.workBy(c.now)
	c.crave(r)
	c.await(r)
	return nil
}

func (c *Core) loadComp(r *run, ci int, s *compState) error {
	r.comps[ci].done = s.Done
	for _, k := range s.Cells {
		if k.Node < 0 || k.Node >= len(c.nodes) || k.Want < 0 || k.Live < 0 {
			return fmt.Errorf("component %d is on a node that is not there", ci)
		}
		cl := classOf(k.Elastic)
		c.shift(r, ci, cl, k.Node, k.Want)
		cell := r.comps[ci].cell(cl, k.Node)
		cell.told, cell.live, cell.up, cell.ready = k.Told, k.Live, k.Up, k.Ready
		r.live += k.Live
		r.comps[ci].up[cl] += k.Up
		r.comps[ci].ready[cl] += k.Ready
		c.room[k.Node] = c.room[k.Node].Minus(r.app.shapes[ci].Each.Times(k.Live))
		c.dwell(r, k.Node, k.Live, k.Up, c.now)
	}
	return nil
}

// arrange puts the waiting runs in line, by the time they began to wait.
func (c *Core) arrange() {
	var waiting []*run
	for _, r := range c.runs { //dovetail:anyorder sorted below
		if r.state == dovetail.Queued {
			waiting = append(waiting, r)
		}
	}
	slices.SortFunc(waiting, func(a, b *run) int {
		if n := a.waiting.Compare(b.waiting); n != 0 {
			return n
		}
		return int(a.id - b.id)
	})
	for _, r := range waiting {
		c.enter(r, c.now)
		if r.reason == dovetail.NoReason {
			c.mute = append(c.mute, r)
		}
	}
}
