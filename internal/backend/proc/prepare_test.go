package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/expand"
)

func TestRefused(t *testing.T) {
	d := openDaemon(t, t.TempDir(), NoCgroups)
	dir := t.TempDir()
	for _, test := range []struct {
		reason string
		change func(c *dovetail.Component)
		why    string
	}{
		{"images need a container back-end", func(c *dovetail.Component) { c.Image = "debian:12" }, "image debian:12"},
		{"nothing to run", func(c *dovetail.Component) { c.Command = nil }, "no command"},
		{"paths cannot be renamed", func(c *dovetail.Component) {
			c.Volumes = []dovetail.Volume{{Source: dir, Target: "/data"}}
		}, "make target the same as source"},
		{"nothing keeps a process from writing", func(c *dovetail.Component) {
			c.Volumes = []dovetail.Volume{{Source: dir, Target: dir, ReadOnly: true}}
		}, "remove `readOnly`"},
		{"a volume that is not there", func(c *dovetail.Component) {
			c.Volumes = []dovetail.Volume{{Source: "/nowhere", Target: "/nowhere"}}
		}, "no such file"},
		{"a working directory that is not there", func(c *dovetail.Component) { c.WorkDir = "/nowhere" }, "workDir /nowhere"},
		{"a signal that is none", func(c *dovetail.Component) { c.Stop.Signal = "SIGNIFICANT" }, "SIGNIFICANT"},
		{"a hook without anything", func(c *dovetail.Component) { c.Remove = &dovetail.Remove{} }, "remove needs"},
		{"a condition without anything", func(c *dovetail.Component) { c.Ready = &dovetail.Ready{} }, "ready needs"},
		{"a condition on a port that is not declared", func(c *dovetail.Component) { c.Ready = &dovetail.Ready{TCP: "rpc"} }, "no port rpc"},
		{"a bad regular expression", func(c *dovetail.Component) { c.Ready = &dovetail.Ready{Log: "("} }, "ready.log"},
		{"a reference to a replica that is not up", func(c *dovetail.Component) { c.Args = []string{"${it.5.address}"} }, "it.5"},
	} {
		c := shell("exit 0")
		test.change(&c)
		r := d.start(c)
		e, ok := d.await(t, r, "refused", "down").(dovetail.Refused)
		if !ok || !strings.Contains(e.Why, test.why) || e.Node != "node-1" || e.N != 1 {
			t.Errorf("%s: %+v, expected a refusal that says %q", test.reason, e, test.why)
		}
		if exists(d.recordDir(r)) {
			t.Errorf("%s: there is a record of what was refused", test.reason)
		}
	}
}

// TestEnvironment asks a replica for all that it sees of its environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_DAEMON", "1")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("TMPDIR", t.TempDir())
	d := openDaemon(t, t.TempDir(), NoCgroups)
	c := dovetail.Component{
		Command: []string{"env"},
		Env:     map[string]string{"HOME": "/declared", "GREETING": "hello ${replica.name} on ${node}", "DOVETAIL_RUN": "forged"},
	}
	r := d.start(c)
	d.down(t, r)
	got := strings.Split(strings.TrimSpace(d.output(t, r, "stdout")), "\n")
	slices.Sort(got)
	want := []string{
		"DOVETAIL_ATTEMPT=1", "DOVETAIL_COMPONENT=it", "DOVETAIL_INDEX=0", "DOVETAIL_NODE=node-1",
		"DOVETAIL_REPLICA=" + d.id + "/1-0-0-1", "DOVETAIL_RUN=1", "DOVETAIL_RUN_NAME=a-run",
		"GREETING=hello it.0 on node-1", "HOME=/declared", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestWorkDir(t *testing.T) {
	d := openDaemon(t, t.TempDir(), NoCgroups)
	declared := must(filepath.EvalSymlinks(t.TempDir()))
	c := shell("pwd")
	scratch := d.start(c)
	c.WorkDir = declared
	named := d.start(c)
	c.Volumes = []dovetail.Volume{{Source: declared, Target: declared + "/"}}
	mounted := d.start(c)
	for r, want := range map[dovetail.Replica]string{
		scratch: filepath.Join(d.recordDir(scratch), workDir), named: declared, mounted: declared,
	} {
		d.down(t, r)
		if got := strings.TrimSpace(d.output(t, r, "stdout")); got != want {
			t.Errorf("working directory %s, expected %s", got, want)
		}
	}
}

func TestCommandAndArgs(t *testing.T) {
	d := openDaemon(t, t.TempDir(), NoCgroups)
	l := d.launch(dovetail.Component{Command: []string{"echo", "a"}, Args: []string{"${run.name}", "${port.p}", "${other.2.port.q}"},
		Ports: map[string]dovetail.Port{"p": {}}})
	l.Run.App.Components = append(l.Run.App.Components, dovetail.Component{Name: "other", Count: 3, Ports: map[string]dovetail.Port{"q": {}}})
	l.Peers = []expand.Peer{{Component: "other", Index: 2, Host: host, Ports: map[string]int{"q": 4321}}}
	d.Start(l)
	up := d.up(t, l.Replica)
	d.down(t, l.Replica)
	fields := strings.Fields(d.output(t, l.Replica, "stdout"))
	if len(fields) != 4 || fields[1] != "a-run" || fields[3] != "4321" || up.Ports["p"] == 0 {
		t.Errorf("printed %q with ports %v", fields, up.Ports)
	}
}

func TestBadLaunch(t *testing.T) {
	d := openDaemon(t, t.TempDir(), NoCgroups)
	r := dovetail.Replica{Run: 1, Component: 7, Attempt: 1}
	d.Start(engine.Launch{Replica: r, Node: "node-1", Run: &dovetail.Run{ID: 1, App: &dovetail.Application{}}})
	if e, ok := d.await(t, r, "refused", "down").(dovetail.Refused); !ok || !strings.Contains(e.Why, "no component number 7") {
		t.Errorf("%+v", e)
	}
}

func TestFindCommand(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"run": 0o755, "data": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		reason, name, path string
		want               string
		code               int
	}{
		{"in PATH", "run", "/nowhere:" + dir, dir + "/run", 0},
		{"an empty PATH entry is the working directory", "run", ":/nowhere", dir + "/run", 0},
		{"relative to the working directory", "./run", "", dir + "/run", 0},
		{"absolute", dir + "/run", "", dir + "/run", 0},
		{"not in PATH", "run", "/nowhere", "", 127},
		{"not executable", "data", dir, "", 126},
		{"a directory", "./folder", dir, "", 126},
		{"absolute, and not there", "/nowhere/run", dir, "", 127},
	} {
		got, exit := findCommand(test.name, dir, []string{"PATH=" + test.path})
		switch {
		case got != test.want || (exit == nil) != (test.code == 0):
			t.Errorf("%s: %q, exit %+v", test.reason, got, exit)
		case exit != nil && (exit.Code != test.code || !strings.Contains(exit.Why, filepath.Base(test.name))):
			t.Errorf("%s: exit %+v, expected code %d and its name", test.reason, exit, test.code)
		}
	}
}
