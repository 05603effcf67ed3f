package proc

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dovetail-sched/dovetail"
)

// hook is a removal hook at work: a request or a command that hands the replica's work over before the replica is stopped.
// A nil hook does nothing.
type hook struct {
	done   chan struct{} // closed when it is over
	failed string        // what went wrong; may be read when done is closed
	cancel context.CancelFunc
	pid    int        // of the command
	ended  chan death // of the command
	seen   bool       // over or result was acted upon
}

// hookGrace returns how long a hook may take.
func hookGrace(r *dovetail.Remove) time.Duration {
	if r.Grace == 0 {
		return 30 * time.Second
	}
	return time.Duration(r.Grace)
}

// startHook starts the hook of a replica. What a command writes goes to stderr of the replica.
func startHook(s spec, stderr *output) *hook {
	limit := hookGrace(s.Remove)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	h := &hook{done: make(chan struct{}), cancel: cancel, ended: make(chan death, 1)}
	run := func() string { return callHTTP(ctx, s.Remove.HTTP) }
	if s.Remove.HTTP == nil {
		if err := h.spawn(s, stderr); err != nil {
			h.failed = fmt.Sprintf("removal hook %s: %v", s.Remove.Command[0], err)
			close(h.done)
			return h
		}
		run = func() string { return h.await(ctx, s.Remove.Command[0]) }
	}
	go func() {
		h.failed = run()
		if ctx.Err() == context.DeadlineExceeded {
			h.failed = fmt.Sprintf("removal hook: not done after %v", limit)
		}
		close(h.done)
	}()
	return h
}

// callHTTP makes the request of a hook and says what went wrong.
func callHTTP(ctx context.Context, call *dovetail.HTTPCall) string {
	req, err := http.NewRequestWithContext(ctx, orElse(call.Method, http.MethodPost), call.URL, strings.NewReader(call.Body))
	if err != nil {
		return "removal hook: " + err.Error()
	}
	if strings.HasPrefix(strings.TrimSpace(call.Body), "{") {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "removal hook: " + err.Error()
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	if resp.StatusCode/100 != 2 {
		return fmt.Sprintf("removal hook: %s answered %s: %s", call.URL, resp.Status, answer)
	}
	return ""
}

// spawn starts the command of a hook in the replica's directory and environment, outside of its limits.
func (h *hook) spawn(s spec, stderr *output) error {
	path, exit := findCommand(s.Remove.Command[0], s.WorkDir, s.Env)
	if exit != nil {
		return fmt.Errorf("%s", exit.Why)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		r.Close()
		return err
	}
	defer null.Close()
	h.pid, err = startProcess(path, s.Remove.Command, &os.ProcAttr{
		Dir: s.WorkDir, Env: s.Env, Files: []*os.File{null, w, w},
		Sys: &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		r.Close()
		return err
	}
	go stderr.drain(r)
	return nil
}

// await waits for the command of a hook, which is killed when its time is over, and says what went wrong.
func (h *hook) await(ctx context.Context, name string) string {
	select {
	case d := <-h.ended:
		if code := d.status.ExitStatus(); d.status.Signaled() || code != 0 {
			return fmt.Sprintf("removal hook: %s ended with code %d", name, code)
		}
	case <-ctx.Done():
		signalAll([]int{-h.pid}, unix.SIGKILL) // its process group
		return "removal hook: cut short"
	}
	return ""
}

// over returns a channel that is closed when the hook is over, until that was seen.
func (h *hook) over() <-chan struct{} {
	if h == nil || h.seen {
		return nil
	}
	return h.done
}

// result returns what went wrong with a hook that is over, "" if nothing did.
func (h *hook) result() string {
	h.seen = true
	h.cancel()
	return h.failed
}

// cut ends the hook, if it still runs, and returns what went wrong.
func (h *hook) cut() string {
	if h == nil || h.seen {
		return ""
	}
	h.cancel()
	<-h.done
	return h.result()
}

// took reports whether the process that died was the hook's command.
func (h *hook) took(d death) bool {
	if h == nil || h.pid == 0 || d.pid != h.pid {
		return false
	}
	h.ended <- d
	return true
}
