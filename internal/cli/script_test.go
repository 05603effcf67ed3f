package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/internal/backend/proc"
	"github.com/dovetail-sched/dovetail/internal/cli"
)

// The test binary is the dovetail command: in scripts by its name, as the shim of a replica by its first argument.
func TestMain(m *testing.M) {
	command := func() { os.Exit(cli.Main(os.Args[1:], nil)) }
	if len(os.Args) > 1 && os.Args[1] == "__shim" {
		command()
	}
	if signal.Ignored(syscall.SIGINT) { // as where a shell started the tests in the background: programs under test would never hear of it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT)
	}
	testscript.Main(m, map[string]func(){"dovetail": command})
}

// deadline bounds whatever a script waits for.
const deadline = 2 * time.Minute

func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("the scripts start daemons")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"asked":      asked,
			"counted":    counted,
			"serving":    serving,
			"eventually": eventually,
			"terminate":  terminate,
			"noprocess":  noProcess,
		},
	})
}

// setup gives each script a home of its own.
func setup(env *testscript.Env) error {
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "xdg-state"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "xdg-config"))
	env.Setenv("USER", "tester")
	return nil
}

// serving waits until the daemon of a state directory is ready, which it is when it knows its nodes, and makes it the one that
// commands talk to.
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serving STATE-DIR")
	}
	dir := ts.MkAbs(args[0])
	until(ts, "the daemon writes its url", func() bool {
		url, err := os.ReadFile(filepath.Join(dir, "url"))
		if err != nil {
			return false
		}
		ts.Setenv("DOVETAIL_URL", strings.TrimSpace(string(url)))
		c, err := client.New(ts.Getenv("DOVETAIL_URL"), ts.Getenv("DOVETAIL_TOKEN"))
		ts.Check(err)
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		health, err := c.Health(ctx)
		return err == nil && health.Ready
	})
	ts.Defer(func() { sweep(ts, dir) })
}

// asked waits until the daemon has carried out a request of an operation: whoever made it has come that far.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked OPERATION")
	}
	counter := fmt.Sprintf(`dovetail_http_requests_total{operation=%q,status="200"}`, args[0])
	until(ts, "somebody asks for "+args[0], func() bool { return strings.Contains(metrics(ts), counter) })
}

// counted waits until a line of what the daemon counts matches, or says that none does now.
func counted(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] counted REGEXP")
	}
	line := regexp.MustCompile("(?m)^" + args[0] + "$")
	if !neg {
		until(ts, "the daemon counts "+args[0], func() bool { return line.MatchString(metrics(ts)) })
	} else if found := line.FindString(metrics(ts)); found != "" {
		ts.Fatalf("the daemon counts %s", found)
	}
}

// metrics returns what the daemon counts.
func metrics(ts *testscript.TestScript) string {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ts.Getenv("DOVETAIL_URL")+"/metrics", nil)
	ts.Check(err)
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return string(text)
}

// sweep ends what the daemon of a script left behind, and the daemon itself, should the script have failed on its way.
func sweep(ts *testscript.TestScript, dir string) {
	owner, _, _ := strings.Cut(ts.ReadFile(filepath.Join(dir, "dovetail.lock")), "\n")
	if home, err := os.Readlink("/proc/" + owner + "/cwd"); err == nil && home == ts.MkAbs(".") { // else it has ended
		pid, err := strconv.Atoi(owner)
		ts.Check(err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); time.Now().Before(end); <-tick.C {
		left := shims(dir)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it stops its replica
		}
		found, err := proc.Orphans(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			ts.Logf("%v", err)
		}
		for _, o := range found {
			if o.Pid > 0 {
				left = append(left, o.Pid)
				_ = syscall.Kill(o.Pid, syscall.SIGKILL)
			}
		}
		if len(left) == 0 {
			return
		}
	}
}

// shims returns the living shims of the replicas of a state directory.
func shims(dir string) []int {
	var pids []int
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil || !strings.Contains(string(text), "\x00__shim\x00"+dir+"/") { // it may have ended meanwhile
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// terminate asks the daemon of a state directory to end, as an init system does.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: terminate STATE-DIR")
	}
	owner, _, _ := strings.Cut(ts.ReadFile(filepath.Join(args[0], "dovetail.lock")), "\n")
	pid, err := strconv.Atoi(owner)
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGTERM))
}

// eventually repeats a dovetail command until its output has a text.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] eventually TEXT COMMAND…")
	}
	until(ts, strings.Join(args[1:], " ")+" says "+args[0], func() bool {
		err := ts.Exec(args[1], args[2:]...)
		return err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) != neg
	})
}

// noProcess says that no process is left of the replicas of a state directory, with a shim or without.
func noProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: noprocess STATE-DIR")
	}
	until(ts, "no process is left", func() bool {
		found, err := proc.Orphans(ts.MkAbs(args[0]))
		return err == nil && len(found) == 0 && len(shims(ts.MkAbs(args[0]))) == 0
	})
}

// until waits for a condition.
func until(ts *testscript.TestScript, what string, ok func() bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	end := time.After(deadline)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			ts.Fatalf("not within %v: %s", deadline, what)
		}
	}
}
