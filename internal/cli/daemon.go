package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/backend/proc"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/study"
)

// urlFile, in the state directory, says where the daemon listens.
const urlFile = "url"

// daemonOptions says what a daemon is made of.
type daemonOptions struct {
	Dir    string // state directory; made if it is missing
	Listen string
	Token  string
	Nodes  []dovetail.Node
	Config dovetail.Config // zero: what is in force
	Fresh  dovetail.Config // what is in force in a new state directory
	Self   string          // program that is the shim of replicas; empty: the running one
	Log    *slog.Logger
	Hook   func(point string)
	Usage  usageOptions // zero: the use of nodes is not measured

	SnapshotEvery int // records between two snapshots; 0 means the engine's default
}

// daemon is a running daemon.
type daemon struct {
	url    string
	engine *engine.Engine
	done   chan struct{}      // closed when all of it has ended
	end    context.CancelFunc // begins its end
	err    error              // why it ended; read after done
}

// startDaemon starts a daemon, which runs until the context ends or stop is called. It has the state directory for itself:
// a second one is a dovetail.Conflict error.
func startDaemon(ctx context.Context, o daemonOptions) (_ *daemon, err error) {
	if err := httpapi.CheckListen(o.Listen, o.Token); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, dovetail.Errorf(dovetail.Invalid, "cannot make the state directory: %v; choose another one with --state-dir", err)
	}
	var undo []func() error
	defer func() {
		if err != nil {
			err = errors.Join(err, backwards(undo))
		}
	}()
	release, err := sqlite.Lock(o.Dir)
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() error { release(); return nil })
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, dovetail.Errorf(dovetail.Conflict, "cannot listen on %s: %v; choose another address with --listen", o.Listen, err)
	}
	undo = append(undo, func() error {
		_ = listener.Close() // Serve has closed it, unless the daemon never came to that
		return nil
	})
	store, err := sqlite.Open(ctx, o.Dir, o.Log)
	if err != nil {
		return nil, err
	}
	undo = append(undo, store.Close)
	runner, err := proc.New(proc.Options{ //nolint:contextcheck // it works until its Run ends
		Dir: o.Dir, Nodes: o.Nodes, Self: o.Self, ShimArg: shimArg, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	beside, err := newAides(store, &o)
	if err != nil {
		return nil, err
	}
	eng, err := engine.Open(ctx, engine.Options{
		Config: o.Config, Fresh: o.Fresh, Store: store, Reader: store, Runner: runner, Log: o.Log, Hook: o.Hook,
		SnapshotEvery: o.SnapshotEvery, Recorded: beside.recorded,
	})
	if err != nil {
		return nil, err
	}
	handler, err := httpapi.New(httpapi.Options{
		Engine: eng, Reader: store, Logs: runner, Meter: runner, Forecasts: study.NewOracle(eng, store), Metrics: beside.meter.metrics, Token: o.Token, Log: o.Log, Version: version().Version,
	})
	if err != nil {
		return nil, err
	}
	d := &daemon{url: "http://" + reachable(listener.Addr()), engine: eng, done: make(chan struct{})}
	path := filepath.Join(o.Dir, urlFile)
	if err := writeWhole(path, d.url+"\n"); err != nil {
		return nil, dovetail.Errorf(dovetail.Unavailable, "cannot write to the state directory: %v", err)
	}
	undo = append(undo, func() error { return os.Remove(path) })
	serving, end := context.WithCancel(ctx)
	d.end = end
	go func() {
		defer close(d.done)
		d.err = errors.Join(runAll(serving, eng, beside, func(ctx context.Context) error {
			return httpapi.Serve(ctx, listener, handler, o.Log)
		}), backwards(undo))
	}()
	return d, nil
}

// aides work beside the engine: what they have to say they tell it.
type aides struct {
	lessons *learn.Service
	meter   meter
}

func newAides(store *sqlite.Store, o *daemonOptions) (aides, error) {
	learner, err := learn.New(store, learn.DefaultModel)
	if err != nil {
		return aides{}, err
	}
	m, err := newMeter(o.Usage, o.Dir, o.Log)
	return aides{learn.NewService(learner, store, o.Log), m}, err
}

// recorded lets them take notice of what a turn has put on record.
func (a aides) recorded(c *engine.Changes) {
	a.lessons.Recorded(c)
	a.meter.recorded(c)
}

// run lets them work until the context ends.
func (a aides) run(ctx context.Context, e *engine.Engine) {
	var working sync.WaitGroup
	working.Go(func() { a.lessons.Run(ctx, e) })
	working.Go(func() { a.meter.run(ctx, e) })
	working.Wait()
}

// ready waits until the daemon accepts work. Until it knows all of its nodes it refuses what does not fit those it knows.
func (d *daemon) ready(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !d.engine.Health().Ready {
		select {
		case <-tick.C:
		case <-d.done:
			return errors.Join(dovetail.Errorf(dovetail.Unavailable, "the daemon ended before it was ready"), d.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// runAll runs the engine, what works beside it, and the server until the context ends or one of them fails. The server ends first: what it
// still answers needs the engine.
func runAll(ctx context.Context, eng *engine.Engine, beside aides, serve func(context.Context) error) error {
	serving, endServing := context.WithCancel(ctx)
	defer endServing()
	deciding, endDeciding := context.WithCancel(context.WithoutCancel(ctx))
	defer endDeciding()
	decided := make(chan error, 1)
	go func() {
		err := eng.Run(deciding)
		endServing()
		decided <- err
	}()
	var working sync.WaitGroup
	working.Go(func() { beside.run(serving, eng) })
	served := serve(serving)
	endServing()
	working.Wait()
	endDeciding()
	err := <-decided
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(served, err)
}

// stop ends the daemon and waits until all of it has ended. Replicas go on.
func (d *daemon) stop() error {
	d.end()
	<-d.done
	return d.err
}

// backwards does the last things first.
func backwards(undo []func() error) error {
	var failed error
	for i := len(undo) - 1; i >= 0; i-- {
		failed = errors.Join(failed, undo[i]())
	}
	return failed
}

// reachable returns an address that clients on this machine can call.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
}

// writeWhole replaces a file, all of it or nothing.
func writeWhole(path, text string) error {
	next := path + ".new"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
