package backendtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// tests is the suite. Each name says what a Runner promises.
var tests = []struct {
	name string
	run  func(t *testing.T, s *session)
	logs bool // it looks at what replicas print
}{
	{"nodes come first", nodesFirst, false},
	{"exits are told apart", exits, false},
	{"started twice runs once", startedTwice, true},
	{"stopped twice ends once", stoppedTwice, false},
	{"stop of what never ran reports its end", stopUnknown, false},
	{"stop right after start ends it", stopAtOnce, false},
	{"a stop signal can be answered", stopSignal, true},
	{"a deaf replica is killed after the grace period", deaf, true},
	{"the removal hook runs before the stop signal", hookFirst, true},
	{"a second stop cuts the hook short", hookCut, true},
	{"the whole tree is stopped", wholeTree, true},
	{"ready comes after up", readyAfterUp, false},
	{"not ready in time is a failure", neverReady, false},
	{"much output is kept in order", bigOutput, true},
	{"frozen replicas stand still", frozen, true},
	{"a living replica is adopted", adopted, true},
	{"an end is reported until it is forgotten", reportedAgain, false},
	{"an end while nobody watches is reported", endedMeanwhile, true},
	{"a stop goes on after a restart", stopAcrossRestart, true},
	{"bad commands fail with a reason", badCommands, false},
}

func nodesFirst(t *testing.T, s *session) {
	s.open()
	found := false
	for i, e := range s.heard {
		n, ok := e.(dovetail.NodeUp)
		if !ok {
			t.Fatalf("event %d is %T; before observed, with nothing started, there are only nodes", i, e)
		}
		found = found || n.Node.Name == s.h.Node
	}
	if !found {
		t.Fatalf("node %s was not reported before observed: %s", s.h.Node, describe(s.heard))
	}
}

func exits(t *testing.T, s *session) {
	s.open()
	for _, test := range []struct {
		reason, script string
		want           dovetail.Exit
		ok             bool
	}{
		{"a script that succeeds", "exit 0", dovetail.Exit{}, true},
		{"a script that fails", "exit 7", dovetail.Exit{Code: 7}, false},
		{"a script that a signal ends", "kill -9 $$", dovetail.Exit{Code: 137, Signal: "SIGKILL"}, false},
		{"a script that ends with 137 by itself was not killed", "exit 137", dovetail.Exit{Code: 137}, false},
	} {
		r := s.shell(test.script)
		got := s.down(r).Exit
		got.Why = ""
		if got != test.want || got.OK() != test.ok {
			t.Errorf("%s: exit %+v, expected %+v", test.reason, got, test.want)
		}
	}
}

func startedTwice(t *testing.T, s *session) {
	s.open()
	l := s.launch(s.h.Shell("echo begun; exec sleep 1000"))
	s.started = append(s.started, l.Replica)
	s.runner.Start(l)
	s.runner.Start(l)
	s.up(l.Replica)
	s.runner.Start(l)
	s.printed(l.Replica, "begun")
	s.restart()
	s.runner.Start(l)
	s.up(l.Replica)
	s.runner.Stop(l.Replica, false)
	s.down(l.Replica)
	if out := s.output(l.Replica); out != "begun\n" {
		t.Errorf("started four times, it printed %q; expected one begun", out)
	}
}

func stoppedTwice(t *testing.T, s *session) {
	s.open()
	r := s.shell("exec sleep 1000")
	s.up(r)
	s.runner.Stop(r, false)
	s.runner.Stop(r, false)
	if d := s.down(r); !d.Exit.Asked || d.Exit.OK() {
		t.Errorf("exit %+v; a replica that was told to stop says so", d.Exit)
	}
	s.runner.Stop(r, false)
	again := s.awaitNew("a second ReplicasDown", overOf(r)).(dovetail.ReplicasDown)
	if !again.Exit.Asked {
		t.Errorf("stopped when it had ended, the report says %+v; expected the same end again", again.Exit)
	}
}

func stopUnknown(t *testing.T, s *session) {
	s.open()
	r := dovetail.Replica{Run: 4711, Component: 0, Index: 3, Attempt: 9}
	s.runner.Stop(r, true)
	if d := s.down(r); d.N != 1 || d.Run != r.Run {
		t.Errorf("report %+v; expected one replica of run %d", d, r.Run)
	}
}

func stopAtOnce(t *testing.T, s *session) {
	s.open()
	for i := range 5 {
		r := s.shell("exec sleep 1000")
		s.runner.Stop(r, i%2 == 0)
		if d := s.down(r); !d.Exit.Asked {
			t.Errorf("exit %+v; it was told to stop", d.Exit)
		}
	}
}

func stopSignal(t *testing.T, s *session) {
	s.open()
	c := s.h.Shell("trap 'echo got it; exit 3' INT; echo armed; while :; do sleep 0.05; done")
	c.Stop = dovetail.Stop{Signal: "SIGINT"}
	r := s.start(c)
	s.printed(r, "armed")
	s.runner.Stop(r, false)
	if d := s.down(r); d.Exit.Code != 3 || !d.Exit.Asked || !strings.Contains(s.output(r), "got it") {
		t.Errorf("exit %+v, output %q; expected code 3 from its own handler", d.Exit, s.output(r))
	}
}

func deaf(t *testing.T, s *session) {
	s.open()
	c := s.h.Shell("trap '' TERM; echo armed; while :; do sleep 0.05; done")
	c.Stop = dovetail.Stop{Grace: dovetail.Duration(300 * time.Millisecond)}
	r := s.start(c)
	s.printed(r, "armed")
	from := time.Now()
	s.runner.Stop(r, false)
	d := s.down(r)
	if d.Exit.Code != 137 || !d.Exit.Asked || d.Exit.OOM {
		t.Errorf("exit %+v; expected an asked end by SIGKILL, which is not for memory", d.Exit)
	}
	if took := time.Since(from); took < 250*time.Millisecond {
		t.Errorf("killed after %v; the grace period is 300ms", took)
	}
}

func hookFirst(t *testing.T, s *session) {
	s.open()
	for _, test := range []struct {
		reason string
		remove bool
		want   string
	}{
		{"removed while the run goes on: the hook hands its work over", true, "hook signal"},
		{"stopped with its run: there is nothing to hand over", false, "signal"},
	} {
		c := s.h.Shell("trap 'echo signal; exit 0' TERM; trap 'echo hook' USR1; echo $$ > pid; echo armed; while :; do sleep 0.05; done")
		c.Remove = &dovetail.Remove{Command: []string{"sh", "-c", "kill -USR1 $(cat pid); sleep 0.5"}}
		r := s.start(c)
		s.printed(r, "armed")
		s.runner.Stop(r, test.remove)
		s.down(r)
		if got := strings.Join(strings.Fields(s.output(r))[1:], " "); got != test.want {
			t.Errorf("%s: it saw %q, expected %q", test.reason, got, test.want)
		}
	}
}

func hookCut(t *testing.T, s *session) {
	s.open()
	c := s.h.Shell("echo armed; exec sleep 1000")
	c.Remove = &dovetail.Remove{Command: []string{"sleep", "1000"}, Grace: dovetail.Duration(time.Hour)}
	r := s.start(c)
	s.printed(r, "armed")
	s.runner.Stop(r, true)
	s.runner.Stop(r, true)
	s.runner.Stop(r, false)
	if d := s.down(r); !d.Exit.Asked {
		t.Errorf("exit %+v; it was told to stop", d.Exit)
	}
}

func wholeTree(t *testing.T, s *session) {
	s.open()
	for _, test := range []struct{ reason, script string }{
		{"children end when the command ends by itself", "(sh -c 'trap \"\" TERM HUP; while :; do echo alive; : >seen; sleep 0.05; done') & while [ ! -e seen ]; do sleep 0.05; done; exit 0"},
		{"children in sessions of their own end as well", "setsid sh -c 'trap \"\" TERM HUP; while :; do echo alive; : >seen; sleep 0.05; done' & while [ ! -e seen ]; do sleep 0.05; done; exit 0"},
	} {
		r := s.shell(test.script)
		s.down(r)
		before := s.output(r)
		if !strings.Contains(before, "alive") {
			t.Fatalf("%s: the child did not run: %q", test.reason, before)
		}
		<-time.After(200 * time.Millisecond)
		if after := s.output(r); after != before {
			t.Errorf("%s: the child still writes after the replica was reported down", test.reason)
		}
	}
}

func readyAfterUp(t *testing.T, s *session) {
	s.open()
	for _, test := range []struct {
		reason string
		script string
		ready  *dovetail.Ready
		want   int
	}{
		{"a line of the output", "echo starting; sleep 0.1; echo 'now serving on 80'; exec sleep 1000", &dovetail.Ready{Log: `^now serving`}, 1},
		{"a file", "sleep 0.1; touch here; exec sleep 1000", &dovetail.Ready{File: "here"}, 1},
		{"no condition: never reported", "exec sleep 1000", nil, 0},
	} {
		c := s.h.Shell(test.script)
		c.Ready = test.ready
		r := s.start(c)
		s.up(r)
		if test.want > 0 {
			s.ready(r)
		}
		s.runner.Stop(r, false)
		if d := s.down(r); d.WasReady != (test.want > 0) || !d.WasUp {
			t.Errorf("%s: wasUp %v wasReady %v", test.reason, d.WasUp, d.WasReady)
		}
		if got := s.count(readyOf(r)); (got > 0) != (test.want > 0) {
			t.Errorf("%s: ReplicasReady %d times, expected %d", test.reason, got, test.want)
		}
	}
}

func neverReady(t *testing.T, s *session) {
	s.open()
	c := s.h.Shell("exec sleep 1000")
	c.Ready = &dovetail.Ready{File: "nowhere", Timeout: dovetail.Duration(300 * time.Millisecond)}
	r := s.start(c)
	d := s.down(r)
	if d.Exit.Asked || d.Exit.OK() || !strings.Contains(d.Exit.Why, "not ready after 300ms") {
		t.Errorf("exit %+v; expected a failure that says not ready after 300ms", d.Exit)
	}
}

func bigOutput(t *testing.T, s *session) {
	s.open()
	const lines = 200_000
	r := s.shell(fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); done", lines))
	if d := s.down(r); !d.Exit.OK() {
		t.Fatalf("exit %+v", d.Exit)
	}
	got := strings.Split(strings.TrimSuffix(s.output(r), "\n"), "\n")
	if last := fmt.Sprintf("line %d", lines-1); got[len(got)-1] != last {
		t.Errorf("the last line is %q, expected %q", got[len(got)-1], last)
	}
	first := lines - len(got)
	for i, line := range got {
		if i > 0 && line != fmt.Sprintf("line %d", first+i) {
			t.Fatalf("line %d of the output is %q, expected line %d", i, line, first+i)
		}
	}
}

func frozen(t *testing.T, s *session) {
	s.open()
	const ticking = "while :; do echo tick; sleep 0.02; done"
	r, other := s.shell(ticking), s.shell(ticking)
	s.printed(r, "tick")
	s.printed(other, "tick")
	s.runner.Freeze(r, true)
	still := func() bool { // while another one, which is not frozen, ticks: on a busy machine that may take a while
		before := len(s.output(r))
		s.writes(other, 10*len("tick\n"))
		return len(s.output(r)) == before
	}
	until := func(want bool, complaint string) {
		t.Helper()
		for deadline := time.Now().Add(s.h.Patience); still() != want; {
			if time.Now().After(deadline) {
				t.Fatal(complaint)
			}
		}
	}
	until(true, "frozen, it goes on writing")
	s.restart()
	if !still() {
		t.Error("a frozen replica moves after a restart of the daemon")
	}
	s.runner.Freeze(r, false)
	until(false, "thawed, it does not go on")
	s.runner.Freeze(r, true)
	until(true, "frozen again, it goes on writing")
	s.runner.Stop(r, false)
	if d := s.down(r); d.Exit.Code != 143 {
		t.Errorf("exit %+v; a frozen replica gets the stop signal, and can act on it", d.Exit)
	}
}

func adopted(t *testing.T, s *session) {
	s.open()
	c := s.h.Shell("echo begun; while [ ! -e finish ]; do sleep 0.05; done; echo ended; exit 5")
	c.Ready = &dovetail.Ready{Log: "begun"}
	c.Remove = &dovetail.Remove{Command: []string{"sh", "-c", "touch finish; sleep 1000"}}
	c.Ports = map[string]dovetail.Port{"a": {Port: 17171}, "b": {}}
	r := s.start(c)
	first := s.up(r)
	s.ready(r)
	s.restart()
	if s.count(upOf(r)) == 0 || s.count(readyOf(r)) == 0 {
		t.Fatalf("a living replica that was ready was not reported before observed: %s", describe(s.heard[:s.before]))
	}
	again := s.up(r)
	if again.Host != first.Host || fmt.Sprint(again.Ports) != fmt.Sprint(first.Ports) || again.Slot != first.Slot {
		t.Errorf("adopted as %+v, started as %+v", again, first)
	}
	s.runner.Stop(r, true) // its hook makes it end by itself
	if d := s.down(r); d.Exit.Code != 5 {
		t.Errorf("exit %+v; expected code 5, although the daemon that started it is gone", d.Exit)
	}
	if out := s.output(r); out != "begun\nended\n" {
		t.Errorf("output %q; expected all of it", out)
	}
}

func reportedAgain(t *testing.T, s *session) {
	s.open()
	r := s.shell("exit 4")
	s.down(r)
	s.restart()
	if d := s.down(r); d.Exit.Code != 4 || s.count(overOf(r)) != 1 {
		t.Errorf("after a restart: %+v; expected the end once more", d)
	}
	s.runner.Forget(r)
	s.restart()
	if s.count(overOf(r)) != 0 {
		t.Error("a forgotten replica was reported")
	}
}

func endedMeanwhile(t *testing.T, s *session) {
	s.open()
	r := s.shell("echo begun; sleep 0.3; exit 6")
	s.printed(r, "begun")
	s.end()
	poll := time.NewTicker(600 * time.Millisecond)
	defer poll.Stop()
	<-poll.C
	s.open()
	for deadline := time.Now().Add(s.h.Patience); s.count(overOf(r)) == 0 && time.Now().Before(deadline); s.open() {
		s.end() // it had not ended yet on a slow machine; nobody is to watch when it does
		<-poll.C
	}
	if s.count(overOf(r)) != 1 {
		t.Fatalf("the end was not reported before observed: %s", describe(s.heard))
	}
	if d := s.down(r); d.Exit.Code != 6 || !d.WasUp {
		t.Errorf("report %+v; expected code 6 of a replica that was up", d)
	}
}

func stopAcrossRestart(t *testing.T, s *session) {
	s.open()
	c := s.h.Shell("trap '' TERM; echo armed; while :; do sleep 0.05; done")
	c.Stop = dovetail.Stop{Grace: dovetail.Duration(500 * time.Millisecond)}
	r := s.start(c)
	s.printed(r, "armed")
	s.runner.Stop(r, false)
	s.restart()
	s.runner.Stop(r, false)
	if d := s.down(r); !d.Exit.Asked {
		t.Errorf("exit %+v; it was told to stop", d.Exit)
	}
}

func badCommands(t *testing.T, s *session) {
	s.open()
	for _, test := range []struct {
		reason  string
		command []string
		code    int
		why     string
	}{
		{"a command that is nowhere", []string{"no-such-command-anywhere"}, 127, "no-such-command-anywhere"},
		{"a file that cannot be run", []string{"/etc/passwd"}, 126, "/etc/passwd"},
	} {
		c := s.h.Shell("")
		c.Command, c.Args = test.command, nil
		r := s.start(c)
		switch e := s.await("an end", overOf(r)).(type) {
		case dovetail.Refused:
			if !strings.Contains(e.Why, test.why) {
				t.Errorf("%s: refused with %q, which does not name it", test.reason, e.Why)
			}
		case dovetail.ReplicasDown:
			if e.Exit.Code != test.code || !strings.Contains(e.Exit.Why, test.why) {
				t.Errorf("%s: exit %+v; expected code %d and a reason that names it", test.reason, e.Exit, test.code)
			}
		}
	}
}
