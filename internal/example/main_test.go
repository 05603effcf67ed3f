package example

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// actAsMain makes the test binary behave as `dovetail example` does.
const actAsMain = "DOVETAIL_TEST_EXAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(actAsMain) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		code := Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), actAsMain+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// TestProcesses runs a sort in real processes, kills a worker with SIGKILL in the middle and retires another one. Both happen as
// soon as the worker has joined: of seconds of work most is left then, however slow the machine.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "result.json")
	master := command(t, "sort", "master", "--size", "4s", "--out", out)
	stdout, err := master.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := master.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	address := waitFor(t, lines, `address=(\S+)`)

	start := func(name string) *exec.Cmd {
		w := command(t, "sort", "worker", "--join", address, "--name", name)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	victim := start("worker.1")
	waitFor(t, lines, `worker joined`)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	waitFor(t, lines, `worker lost`)
	leaver, stayer := start("worker.2"), start("worker.0")
	waitFor(t, lines, `worker joined`)
	waitFor(t, lines, `worker joined`)
	resp, err := http.Post("http://"+address+"/retire?worker=worker.2", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for name, w := range map[string]*exec.Cmd{"the retired worker": leaver, "the other worker": stayer} {
		if err := w.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _ = io.Copy(io.Discard, stdout)
	if err := master.Wait(); err != nil {
		t.Fatalf("master: %v", err)
	}
	r, err := Check(out)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Counters; n.Joined != 3 || n.Lost != 1 || n.Retired != 1 {
		t.Errorf("counters %+v", n)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the master left %v behind (%v), expected its result only", left, err)
	}
}

// waitFor reads lines until one matches, and returns its first group, or all of it.
func waitFor(t *testing.T, lines *bufio.Scanner, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for lines.Scan() {
		if m := re.FindStringSubmatch(lines.Text()); m != nil {
			return m[len(m)-1]
		}
	}
	t.Fatalf("the master ended without a line that matches %s", pattern)
	return ""
}

func TestMainRejects(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
		want   string // in the message
	}{
		{"nothing is asked for", nil, "which example"},
		{"an unknown job", []string{"raytrace", "master"}, "wordcount"},
		{"no role", []string{"sort"}, "master or worker"},
		{"an unknown role", []string{"sort", "spy"}, "master or worker"},
		{"an unknown flag", []string{"sort", "master", "--colour"}, "colour"},
		{"a stray argument", []string{"sort", "master", "fast"}, "fast"},
		{"a size that is none", []string{"sort", "master", "--size", "big"}, "small, medium"},
		{"a negative size", []string{"sort", "master", "--size", "-3s"}, "small, medium"},
		{"a worker without a master", []string{"sort", "worker", "--name", "w"}, "--join"},
		{"a worker without a name", []string{"sort", "worker", "--join", "localhost:1"}, "--name"},
		{"an unknown flag of the notebook", []string{"notebook", "--colour"}, "colour"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(t.Context(), c.args, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit code %d, message %q; expected %d and %q", c.reason, code, stderr.String(), exitUsage, c.want)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {"sort", "--help"}, {"sort", "master", "-h"}} {
		var stdout, stderr bytes.Buffer
		if code := Main(t.Context(), args, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), "pagerank") {
			t.Errorf("%v: exit code %d, stdout %q", args, code, stdout.String())
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{fmt.Errorf("the master does not answer"), 1},
		{context.Canceled, 1},
		{dovetail.Errorf(dovetail.Invalid, "no"), 2},
		{fmt.Errorf("wordcount: %w", &mismatch{"a", "b"}), 3},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, expected %d", c.err, got, c.want)
		}
	}
}

// TestNotebook opens the page of a notebook that is open for long, and then tells it to end.
func TestNotebook(t *testing.T) {
	cmd := command(t, "notebook")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := waitFor(t, bufio.NewScanner(stdout), `address=(\S+)`)
	resp, err := http.Get("http://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(page), "Notebook") {
		t.Errorf("page %q, %v", page, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the notebook was told to end, and ended with %v", err)
	}
}

// TestNotebookCloses waits until a notebook closes by itself.
func TestNotebookCloses(t *testing.T) {
	out, err := command(t, "notebook", "--for", "50ms").Output()
	if err != nil || !strings.Contains(string(out), "notebook is open") || !strings.Contains(string(out), "notebook is closed") {
		t.Errorf("the notebook ended with %v after it said %s", err, out)
	}
}

// TestNotebookIsOpenForItsTime asks for the page until the notebook does not answer any more.
func TestNotebookIsOpenForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const open = time.Second
		ctx, stop := context.WithTimeout(t.Context(), open)
		defer stop()
		network, ended := newMemoryNet(), make(chan error)
		go func() { ended <- notebook(ctx, network, slog.New(slog.DiscardHandler)) }()
		synctest.Wait()
		client := &http.Client{Transport: &http.Transport{DialContext: network.dial, DisableKeepAlives: true}}
		opened := time.Now()
		for page := ""; ; pass(100 * time.Millisecond) {
			resp, err := client.Get("http://notebook/")
			if err != nil {
				if took := time.Since(opened); took < open || !strings.Contains(page, "Notebook") {
					t.Errorf("the notebook closed after %v (%v), its last page was %q", took, err, page)
				}
				break
			}
			data, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if page = string(data); err != nil {
				t.Error(err)
			}
			if time.Since(opened) > 2*open {
				t.Fatal("the notebook does not close")
			}
		}
		if err := <-ended; err != nil {
			t.Errorf("the notebook ended with %v", err)
		}
	})
}

func TestCheck(t *testing.T) {
	s, err := NewSpec("components", time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	good, err := Expected("components", time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		reason string
		result *Result // nil: no file
		code   dovetail.ErrorCode
	}{
		{"a right result", &Result{Spec: s, Digest: good, OK: true}, ""},
		{"a wrong one, which claims to be right", &Result{Spec: s, Digest: "x", Expected: "x", OK: true}, dovetail.Conflict},
		{"one of an unknown job", &Result{Spec: Spec{Job: "x"}}, dovetail.Invalid},
		{"one of a job of no parts", &Result{Spec: Spec{Job: "sort"}}, dovetail.Invalid},
		{"none", nil, dovetail.Invalid},
	} {
		path := filepath.Join(dir, "missing.json")
		if c.result != nil {
			path = filepath.Join(dir, "result.json")
			if err := c.result.write(path); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Check(path)
		var e *dovetail.Error
		if c.code == "" && err != nil || c.code != "" && (!errors.As(err, &e) || e.Code != c.code) {
			t.Errorf("%s: got %v, expected code %q", c.reason, err, c.code)
		}
	}
}
