package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/internal/example"
)

// demoOptions is what `dovetail demo` was asked to do.
type demoOptions struct {
	Quick bool
	Keep  bool
	Out   string // directory for the timelines; empty: a temporary one
}

func newDemo(e *environment, run func(context.Context, *demoOptions) error) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work: five elastic applications, flexible against rigid",
		Long: `See it work, with nothing to prepare: a daemon with four small nodes of this machine, five elastic applications
that do real work, and an interactive one that arrives late. They run twice, under the flexible allocator and
under the rigid one; every result is checked, and the figures are put side by side, with a timeline of each.

It takes about two minutes and two cores. Ctrl-C ends it and leaves nothing behind.`,
		Example: "  dovetail demo\n  dovetail demo --quick --out pictures",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return orDefault(run, e.demo)(cmd.Context(), &o)
		},
	}
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "an eighth of the work")
	cmd.Flags().BoolVar(&o.Keep, "keep", false, "keep the daemons' state directories")
	cmd.Flags().StringVar(&o.Out, "out", "", "`directory` for the timelines (default: a temporary one)")
	return cmd
}

// The stage of the demo: four nodes of half a core each, whatever the machine.
const (
	demoNodes  = 4
	nodeMillis = 500
	nodeBytes  = 640 << 20
)

// script is how long things take in the demo.
type script struct {
	work, notebook, late time.Duration
}

func (o *demoOptions) script() script {
	if o.Quick {
		return script{work: 5 * time.Second, notebook: 2 * time.Second, late: 2 * time.Second}
	}
	return script{work: 36 * time.Second, notebook: 10 * time.Second, late: 4 * time.Second}
}

// demoStage is a demo that is being given.
type demoStage struct {
	e      *environment
	script script
	dir    string // of everything
	binary string
	quick  bool
}

func (e *environment) demo(ctx context.Context, o *demoOptions) (err error) {
	stage, err := e.newStage(o)
	if err != nil {
		return err
	}
	out := cmp.Or(o.Out, filepath.Join(stage.dir, "timelines"))
	defer func() { err = errors.Join(err, stage.leave(o)) }()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return dovetail.Errorf(dovetail.Invalid, "cannot make the directory for the timelines: %v; choose another one with --out", err)
	}
	e.say("Five elastic applications and a late notebook share four nodes of half a core each. First flexible, then rigid.")
	busy := busyText()
	if busy != "" {
		e.say("%s", busy)
	}
	var passes []*pass
	for _, allocator := range []string{"flexible", "rigid"} {
		p, err := stage.play(ctx, allocator, len(passes)+1)
		if err != nil {
			return stage.interrupted(ctx, err)
		}
		passes = append(passes, p)
	}
	if err := drawPasses(out, passes); err != nil {
		return err
	}
	return e.show(demoAnswer(passes), func(w io.Writer) error {
		if err := e.writeComparison(w, passes); err != nil || busy == "" {
			return err
		}
		_, err := fmt.Fprintln(w, busy)
		return err
	})
}

// newStage copies the program, which `go run` would delete, to where replicas can start it.
func (e *environment) newStage(o *demoOptions) (*demoStage, error) {
	dir, err := os.MkdirTemp("", "dovetail-demo-")
	if err != nil {
		return nil, dovetail.Errorf(dovetail.Unavailable, "cannot make a temporary directory: %v; TMPDIR names another place", err)
	}
	s := &demoStage{e: e, script: o.script(), dir: dir, binary: filepath.Join(dir, "dovetail"), quick: o.Quick}
	if err := copySelf(s.binary); err != nil {
		return nil, errors.Join(dovetail.Errorf(dovetail.Unavailable, "cannot copy this program: %v", err), os.RemoveAll(dir))
	}
	return s, nil
}

// copySelf copies the running program.
func copySelf(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// interrupted says that the demo was broken off, unless cleaning up failed too.
func (s *demoStage) interrupted(ctx context.Context, err error) error {
	var why signalled
	var left sweepError
	if errors.As(context.Cause(ctx), &why) && !errors.As(err, &left) {
		s.e.say("The demo was interrupted; nothing of it is left running.")
		return exit(why.code())
	}
	return err
}

// leave removes what the demo made, but for the timelines and what is to be kept.
func (s *demoStage) leave(o *demoOptions) error {
	if o.Keep {
		s.e.say("The state directories are kept in %s; `dovetail serve --state-dir %s` looks at one.", s.dir, filepath.Join(s.dir, "flexible"))
		return nil
	}
	var failed error
	for _, name := range []string{"dovetail", "flexible", "rigid"} {
		failed = errors.Join(failed, os.RemoveAll(filepath.Join(s.dir, name)))
	}
	// What is left are the timelines; without any the directory is empty and goes too.
	_ = os.Remove(filepath.Join(s.dir, "timelines"))
	_ = os.Remove(s.dir)
	return failed
}

// nodes returns the four nodes.
func (s *demoStage) nodes() []dovetail.Node {
	var nodes []dovetail.Node
	for i := range demoNodes {
		nodes = append(nodes, dovetail.Node{
			Name: fmt.Sprintf("node-%d", i+1), Address: "127.0.0.1",
			Capacity: dovetail.Resources{dovetail.CPU: nodeMillis, dovetail.Memory: nodeBytes},
			Labels:   map[string]string{"virtual": "true"},
		})
	}
	return nodes
}

// play runs the workload once, on a daemon of its own.
func (s *demoStage) play(ctx context.Context, allocator string, number int) (_ *pass, err error) {
	dir := filepath.Join(s.dir, allocator)
	results := filepath.Join(dir, "results")
	if err := os.MkdirAll(results, 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	config := dovetail.DefaultConfig()
	config.Alloc, config.Preempt = allocator, true
	d, err := startDaemon(context.WithoutCancel(ctx), daemonOptions{
		Dir: dir, Listen: "127.0.0.1:0", Nodes: s.nodes(), Config: config, Self: s.binary, Log: logTo(log),
	})
	if err != nil {
		return nil, err
	}
	c, err := client.New(d.url, "")
	if err != nil {
		return nil, errors.Join(err, d.stop())
	}
	defer func() { err = errors.Join(err, s.sweep(ctx, c, d, dir)) }()
	p := &pass{
		alloc: allocator, number: number, dir: dir, client: c,
		mix: example.Mix{
			Binary: s.binary, Node: s.nodes()[0].Capacity, Results: results,
			Work: s.script.work, Notebook: s.script.notebook, Seed: 1,
		},
	}
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.submit(ctx, p, p.mix.Batch()...); err != nil {
		return nil, err
	}
	if err := s.watch(ctx, p); err != nil {
		return nil, err
	}
	if err := p.collect(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// submit asks for runs of applications.
func (s *demoStage) submit(ctx context.Context, p *pass, apps ...*dovetail.Application) error {
	for _, app := range apps {
		spec, err := describe.Marshal(app)
		if err != nil {
			return err
		}
		run, err := p.client.Submit(ctx, client.SubmitRequest{Spec: spec, User: "demo"})
		if err != nil {
			return fmt.Errorf("submit %s: %w", app.Name, err)
		}
		p.runs = append(p.runs, run.ID)
	}
	return nil
}

// watch shows the pass until all of its runs have ended, and submits the notebook when its time has come.
func (s *demoStage) watch(ctx context.Context, p *pass) error {
	var show viewer = &logView{e: s.e, began: s.e.now()}
	if s.e.errScreen && s.e.format == text {
		show = &liveView{e: s.e, screen: screen{out: s.e.err}}
	}
	defer show.leave()
	began := s.e.now()
	arrived := false
	finished := errors.New("all runs have ended")
	err := s.e.whenever(ctx, p.client, func() error {
		if !arrived && s.e.now().Sub(began) >= s.script.late {
			arrived = true
			if err := s.submit(ctx, p, p.mix.NotebookApp()); err != nil {
				return err
			}
		}
		look, err := look(ctx, p.client, s.e.now(), true)
		if err != nil {
			return err
		}
		look.Title = fmt.Sprintf("Pass %d of 2 · %s · %s", p.number, p.alloc, span(s.e.now().Sub(began)))
		if err := show.show(look); err != nil {
			return err
		}
		if arrived && look.over() {
			return finished
		}
		return nil
	})
	if errors.Is(err, finished) {
		return nil
	}
	return err
}

// over reports whether every run has ended.
func (s *snapshot) over() bool {
	for i := range s.Runs {
		if s.Runs[i].State != dovetail.Ended {
			return false
		}
	}
	return true
}
