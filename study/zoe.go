package study

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/trace"
)

// The scales of the evaluation: how many applications, batch and interactive, and how many seeds.
const (
	ZoeFull       = 80_000 // seed 004 §10.1
	ZoeFullSeeds  = 10     // "all results shown here include 10 simulation runs"
	ZoeSmall      = 4000
	ZoeSmallSeeds = 3
	ZoeFewest     = 500 // fewer show nothing
)

// zoeTestbedSeeds is on how many workloads of the testbed the evaluation looks at any scale: they are small, and differ much.
const zoeTestbedSeeds = 10

// Zoe reruns the evaluation of Zoe (seed 004 §10.2 to §10.5, and §11), and judges its statements.
type Zoe struct {
	Applications int         // of the workload of §10.1; ZoeFull is the workload as published, fewer are a small picture of it
	Seeds        int         // from 1 on
	Only         []string    // IDs of claims; empty: all
	Trace        []trace.Job // for the comparison with Zoe's simulator; nil: on the generated workload only

	Hash     bool             // ZoeCell.JournalHash is wanted
	Digests  bool             // pictures are wanted
	Workers  int              // cells that run at once; 0: as many as Go runs threads
	Progress func(p Progress) // called now and then, one call at a time; may be nil
}

// ZoeEvaluation is what came out.
type ZoeEvaluation struct {
	Applications int       `json:"applications"`
	Seeds        int       `json:"seeds"`
	ReasonsOf    string    `json:"reasonsOf"` // the run that Claim.Why is about
	Claims       []Claim   `json:"claims"`
	Rules        []ZoeRule `json:"rules,omitempty"`   // what our own rules gain or lose against Zoe's simulator
	Notices      []string  `json:"notices,omitempty"` // what people should know: that it was interrupted, jobs of the trace that were left out, or never started
	Cells        []ZoeCell `json:"cells"`
}

// Run simulates what the claims need, and judges them. When the context ends, or a part fails, claims whose cells are missing are not
// judged; the evaluation is returned together with the context's cause, or why the part failed. Before anything is simulated it fails
// with dovetail.Invalid if there is no such claim, the scale is too small, or Zoe's simulator could not play the trace.
func (z *Zoe) Run(ctx context.Context) (*ZoeEvaluation, error) { return z.run(ctx, zoeParts()) }

func (z *Zoe) run(ctx context.Context, parts []zoePart) (*ZoeEvaluation, error) {
	if z.Applications < ZoeFewest || z.Applications > ZoeFull || z.Seeds < 1 {
		return nil, dovetail.Errorf(dovetail.Invalid,
			"%d applications and %d seeds; expected %d to %d applications, and one seed or more",
			z.Applications, z.Seeds, ZoeFewest, ZoeFull)
	}
	claims, err := z.claims()
	if err != nil {
		return nil, err
	}
	e := &ZoeEvaluation{Applications: z.Applications, Seeds: z.Seeds, ReasonsOf: zoeReasonsOf + " described in " + zoeReasonsIn, Claims: claims}
	known := *z // with what can be played of the trace
	if z.traced() {
		if known.Trace, e.Notices, err = playable(z.Trace); err != nil {
			return nil, err
		}
	}
	failed, err := known.simulate(ctx, e, parts)
	found := newEvidence(e.Cells)
	found.failed, found.seeds = failed, make(map[string]int)
	for i := range parts {
		found.seeds[parts[i].name] = len(z.seeds(&parts[i]))
	}
	for i := range claims {
		claims[i].judge(found, z.Applications == ZoeFull)
		claims[i].reason()
	}
	if z.wants(rulesID) {
		e.Rules = zoeRules(found, z.traced())
		e.Notices = append(e.Notices, unstarted(e.Cells)...)
	}
	return e, err
}

// simulate plays what the claims of an evaluation need, part by part, until the context ends. A part that fails does not keep the
// others from being played: failed says why, by name, and the error is about the first one.
func (z *Zoe) simulate(ctx context.Context, e *ZoeEvaluation, parts []zoePart) (failed map[string]string, first error) {
	wanted := z.settings(e.Claims)
	done := newZoeProgress(z, wanted)
	failed = make(map[string]string)
	for _, p := range parts {
		settings := wanted[p.name]
		if len(settings) == 0 {
			continue
		}
		cells, err := p.run(ctx, z, settings, done.of(p.name))
		e.Cells = append(e.Cells, cells...)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			e.Notices = append(e.Notices, fmt.Sprintf("interrupted: %d of %d cells were simulated", len(e.Cells), done.total))
			return failed, err
		}
		err = fmt.Errorf("%s: %w", p.title, err)
		failed[p.name] = err.Error()
		if first == nil {
			first = err
		}
	}
	return failed, first
}

// rulesID asks, in Only, for the table of what our own rules gain or lose.
const rulesID = "rules"

// ZoeIDs returns what Only may ask for.
func ZoeIDs() []string {
	var ids []string
	for _, c := range zoeClaims() {
		ids = append(ids, c.ID)
	}
	return append(ids, rulesID)
}

func (z *Zoe) wants(id string) bool { return len(z.Only) == 0 || slices.Contains(z.Only, id) }

// traced reports whether rules are compared on a trace as well.
func (z *Zoe) traced() bool { return z.wants(rulesID) && z.Trace != nil }

// claims returns the claims that are wanted.
func (z *Zoe) claims() ([]Claim, error) {
	for _, id := range z.Only {
		if !slices.Contains(ZoeIDs(), id) {
			return nil, dovetail.Errorf(dovetail.Invalid, "there is no claim %q; choose from %s", id, strings.Join(ZoeIDs(), ", "))
		}
	}
	return slices.DeleteFunc(zoeClaims(), func(c Claim) bool { return !z.wants(c.ID) }), nil
}

// settings returns what has to be simulated for the claims, and for the table of rules, by part.
func (z *Zoe) settings(claims []Claim) map[string][]at {
	wanted := make(map[string][]at)
	add := func(all []at) {
		for _, a := range all {
			if !slices.Contains(wanted[a.part], a) {
				wanted[a.part] = append(wanted[a.part], a)
			}
		}
	}
	for i := range claims {
		for _, c := range claims[i].Checks {
			add(c.needs)
		}
	}
	if z.wants(rulesID) {
		add(ruleSettings(z.traced()))
	}
	for _, settings := range wanted {
		slices.SortStableFunc(settings, at.compare)
	}
	return wanted
}

// seeds returns the seeds of a part.
func (z *Zoe) seeds(p *zoePart) []uint64 {
	n := z.Seeds
	switch p.name {
	case zoeTestbed:
		n = max(n, zoeTestbedSeeds)
	case zoeTraceNodes, zoeTraceOne, zoeTracePeer:
		n = 1
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	return seeds
}

// zoeProgress makes one progress of those of the parts.
type zoeProgress struct {
	tell  func(Progress)
	cells map[string]int
	total int
	done  int // cells of the parts before
}

func newZoeProgress(z *Zoe, wanted map[string][]at) *zoeProgress {
	d := &zoeProgress{tell: z.Progress, cells: make(map[string]int)}
	for _, p := range zoeParts() {
		d.cells[p.name] = len(wanted[p.name]) * len(z.seeds(&p))
		d.total += d.cells[p.name]
	}
	return d
}

// of returns what hears of the progress of a part.
func (d *zoeProgress) of(part string) func(Progress) {
	if d.tell == nil {
		return nil
	}
	before, cells := d.done, d.cells[part]
	d.done += cells
	return func(p Progress) {
		share := (float64(before) + float64(p.Share*float64(cells))) / float64(d.total)
		d.tell(Progress{Done: before + p.Done, Total: d.total, Share: share})
	}
}

// Figures returns the pictures of the evaluation, one group for each of the seed's comparisons. Titles say which of the seed's figures they
// are like: there is none of its turnaround ratios (30, right), nor of what is not simulated (17, 22, 23; 31 to 33 in two and three dimensions).
func (e *ZoeEvaluation) Figures() []report.Figure {
	var all []report.Figure
	for _, g := range zoePictures() {
		var digests []*report.Digest
		for i := range e.Cells {
			if c := &e.Cells[i]; c.digest != nil && g.shows(c) {
				digests = append(digests, c.digest)
			}
		}
		for _, f := range report.Figures(digests) {
			f.Name, f.Title = g.name+"-"+f.Name, g.title+": "+f.Title
			all = append(all, f)
		}
	}
	return all
}

// zoePicture is a group of pictures.
type zoePicture struct {
	name, title string
	part        string
	policies    []string // empty: all
	alloc       string   // empty: all
}

func (g *zoePicture) shows(c *ZoeCell) bool {
	return c.Part == g.part && (g.alloc == "" || g.alloc == c.Alloc) &&
		(len(g.policies) == 0 || slices.Contains(g.policies, c.Policy))
}

func zoePictures() []zoePicture {
	all := []zoePicture{{"policies", "Figures 4 to 14", zoeBatch, zoePolicies(), ""}}
	for _, sizes := range []struct{ alloc, like string }{
		{"rigid", "Figures 15 and 16"}, {"malleable", "Figures 18 to 21"}, {"flexible", "Figures 24 to 29"},
	} {
		all = append(all, zoePicture{"sizes-" + sizes.alloc, sizes.like + ", " + sizes.alloc, zoeBatch, nil, sizes.alloc})
	}
	return append(all,
		zoePicture{"preemption", "Figures 30 (left) to 33, sizes of one dimension", zoeMixed, nil, ""},
		zoePicture{"testbed", "Figure 34", zoeTestbed, nil, ""})
}
