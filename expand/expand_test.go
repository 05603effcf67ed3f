package expand_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/expand"
)

// masterWorker is an application with references of every form.
func masterWorker() *dovetail.Application {
	return &dovetail.Application{
		Name:   "wordcount",
		Params: map[string]dovetail.Param{"input": {Type: "string"}},
		Components: []dovetail.Component{
			{
				Name: "master", Count: 1, Command: []string{"serve", "0.0.0.0:${port.rpc}"},
				Ports: map[string]dovetail.Port{"rpc": {Port: 7000, URL: "http://${replica.address}:${port.rpc}/"}},
				Ready: &dovetail.Ready{Log: `ready on ${host}:\d+`},
			},
			{
				Name: "worker", Count: 1, Max: 8, After: []string{"master"},
				Command: []string{"work", "--join", "${master.0.address}:${master.0.port.rpc}"},
				Args:    []string{"${params.input}", "$${HOME}", "cost: 5$"},
				Env:     map[string]string{"ME": "${replica.name}/${replica.index}/${replica.component}@${node}"},
				WorkDir: "/runs/${run.id}",
				Volumes: []dovetail.Volume{{Source: "/data/${run.user}", Target: "/data/${run.name}"}},
				Ready:   &dovetail.Ready{HTTP: "http://${replica.host}/ok", File: "/up/${replica.node}"},
				Remove: &dovetail.Remove{
					Command: []string{"bye", "${run.class}"},
					HTTP:    &dovetail.HTTPCall{URL: "http://${master.0.host}/${master.0.node}", Body: "${replica.name}"},
				},
			},
		},
	}
}

func run(app *dovetail.Application) *dovetail.Run {
	return &dovetail.Run{
		ID: 7, Name: "wordcount-7", Class: "wordcount(small)", User: "ada", App: app,
		Params: map[string]string{"input": "${run.id}"},
	}
}

var (
	self  = expand.Self{Node: "n1", Host: "10.0.0.1", Ports: map[string]int{"rpc": 7001}}
	peers = []expand.Peer{{Component: "master", Index: 0, Node: "n9", Host: "10.0.0.9", Ports: map[string]int{"rpc": 7009}}}
)

func TestComponentReplacesEveryField(t *testing.T) {
	app := masterWorker()
	got, err := expand.Component(run(app), 1, dovetail.Replica{Run: 7, Component: 1, Index: 3}, self, peers)
	if err != nil {
		t.Fatal(err)
	}
	want := app.Components[1]
	want.Command = []string{"work", "--join", "10.0.0.9:7009"}
	want.Args = []string{"${run.id}", "${HOME}", "cost: 5$"} // a value is not expanded again
	want.Env = map[string]string{"ME": "worker.3/3/worker@n1"}
	want.WorkDir = "/runs/7"
	want.Volumes = []dovetail.Volume{{Source: "/data/ada", Target: "/data/wordcount-7"}}
	want.Ready = &dovetail.Ready{HTTP: "http://10.0.0.1/ok", File: "/up/n1"}
	want.Remove = &dovetail.Remove{
		Command: []string{"bye", "wordcount(small)"},
		HTTP:    &dovetail.HTTPCall{URL: "http://10.0.0.9/n9", Body: "worker.3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("worker (-want +got):\n%s", diff)
	}

	master, err := expand.Component(run(app), 0, dovetail.Replica{Run: 7}, self, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "http://10.0.0.1:7001/"; master.Ports["rpc"].URL != want {
		t.Errorf("url of port rpc = %q, want %q", master.Ports["rpc"].URL, want)
	}
	if want := `ready on 10\.0\.0\.1:\d+`; master.Ready.Log != want {
		t.Errorf("ready.log = %q, want %q: values in a regular expression are quoted", master.Ready.Log, want)
	}
	if diff := cmp.Diff(masterWorker(), app); diff != "" {
		t.Errorf("the description changed (-want +got):\n%s", diff)
	}
}

func TestComponentErrors(t *testing.T) {
	tests := []struct {
		reason string
		text   string
		peers  []expand.Peer
		code   dovetail.ErrorCode
		want   []string // parts of the message
	}{
		{"an unknown variable is named, and the known ones listed", "${rnu.id}", peers, dovetail.Invalid,
			[]string{"component worker, command[0]", "${rnu.id}", "run.id", "params.NAME with NAME one of input", "COMPONENT one of master", "$${rnu.id}"}},
		{"a peer that is not up may be so later", "${master.0.address}", nil, dovetail.Unavailable,
			[]string{"master.0 is not up", "after"}},
		{"only the peer with this index counts", "${master.1.address}", peers, dovetail.Unavailable, []string{"master.1 is not up"}},
		{"a component that does not exist will never be up", "${mister.0.address}", peers, dovetail.Invalid, []string{"unknown variable"}},
		{"a port that the peer does not have", "${master.0.port.ui}", peers, dovetail.Invalid, []string{"no port ui", "rpc"}},
		{"a port that the replica does not have", "${port.ui}", peers, dovetail.Invalid, []string{"unknown variable", "${port.ui}"}},
		{"a parameter without value", "${params.x}", peers, dovetail.Invalid, []string{"unknown variable", "one of input"}},
		{"no closing brace", "a ${run.id", peers, dovetail.Invalid, []string{"no closing brace"}},
		{"not a reference", "${a b}", peers, dovetail.Invalid, []string{"is not a reference"}},
		{"an index is written in one way only", "${master.00.address}", peers, dovetail.Invalid, []string{"unknown variable"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			app := masterWorker()
			app.Components[1].Command[0] = tt.text
			_, err := expand.Component(run(app), 1, dovetail.Replica{}, self, tt.peers)
			if err == nil || dovetail.CodeOf(err) != tt.code {
				t.Fatalf("err = %v, want code %s", err, tt.code)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("err = %q, want it to contain %q", err, part)
				}
			}
		})
	}
}

func TestCheck(t *testing.T) {
	if faults := expand.Check(masterWorker()); len(faults) > 0 {
		t.Fatalf("a correct application has faults: %v", faults)
	}
	tests := []struct {
		reason string
		change func(app *dovetail.Application)
		field  string
		want   string
	}{
		{"unknown component", command("${mister.0.host}"), "components[1].command[0]", "unknown component mister; there are master, worker"},
		{"no such core replica", command("${master.1.host}"), "components[1].command[0]", "master has 1 core replicas"},
		{"unknown port of a component", command("${master.0.port.ui}"), "components[1].command[0]", "master has no port ui; it has rpc"},
		{"unknown port of its own", command("${port.ui}"), "components[1].command[0]", "worker has no port ui; it has none"},
		{"unknown parameter", command("${params.inptu}"), "components[1].command[0]", "unknown parameter inptu; declared are input"},
		{"unknown variable", command("${HOME}"), "components[1].command[0]", "write $${HOME} for the text itself"},
		{"malformed reference", command("${}"), "components[1].command[0]", "is not a reference"},
		{"its own component", command("${worker.0.host}"), "components[1].command[0]", "cannot refer to its own replicas"},
		{"a component it does not come after", func(app *dovetail.Application) { app.Components[1].After = nil },
			"components[1].command[2]", "add master to `after` of worker"},
		{"a reference in a removal hook", func(app *dovetail.Application) { app.Components[1].Remove.HTTP.URL = "http://${x}" },
			"components[1].remove.http.url", "unknown variable"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			app := masterWorker()
			tt.change(app)
			faults := expand.Check(app)
			if len(faults) == 0 || faults[0].Field != tt.field || !strings.Contains(faults[0].Message, tt.want) {
				t.Errorf("faults = %v, want %s: …%s…", faults, tt.field, tt.want)
			}
		})
	}
}

// A start order of n(n-1)/2 edges in which everybody refers to the first component must not cost n times as much.
func TestCheckOfManyComponents(t *testing.T) {
	app := &dovetail.Application{}
	var names []string
	for i := range 400 {
		name := fmt.Sprintf("c%d", i)
		app.Components = append(app.Components, dovetail.Component{
			Name: name, Count: 1, After: slices.Clone(names), Command: []string{"${x}", "${c0.0.host}"},
		})
		names = append(names, name)
	}
	if faults := expand.Check(app); len(faults) != expand.MaxFaults {
		t.Errorf("%d faults, want the first %d only", len(faults), expand.MaxFaults)
	}
	for i := range app.Components {
		app.Components[i].Command = app.Components[i].Command[1:]
	}
	app.Components[0].Command = nil
	if faults := expand.Check(app); len(faults) > 0 {
		t.Errorf("a correct application has faults: %v", faults)
	}
}

func command(word string) func(*dovetail.Application) {
	return func(app *dovetail.Application) { app.Components[1].Command[0] = word }
}

func TestCheckFollowsStartOrder(t *testing.T) {
	app := masterWorker()
	app.Components = append(app.Components,
		dovetail.Component{Name: "ui", Count: 1, After: []string{"worker"}, Command: []string{"${master.0.host}"}})
	if faults := expand.Check(app); len(faults) > 0 {
		t.Errorf("ui comes after master through worker, but: %v", faults)
	}
	app.Components[0].After = []string{"ui"} // a cycle is somebody else's fault to report, but must not hang
	if faults := expand.Check(app); len(faults) > 0 {
		t.Errorf("faults in a cyclic order: %v", faults)
	}
}

func TestCheckReportsEveryReference(t *testing.T) {
	app := masterWorker()
	app.Components[1].Command = []string{"${a}", "${b} ${c} ${b}"}
	var got []string
	for _, f := range expand.Check(app) {
		text, _, _ := strings.Cut(f.Message, ":")
		got = append(got, f.Field+" "+text)
	}
	want := []string{"components[1].command[0] ${a}", "components[1].command[1] ${b}", "components[1].command[1] ${c}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestRefs(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"plain $HOME $", nil},
		{"${run.id}-${run.id}", []string{"run.id", "run.id"}},
		{"$${run.id}", nil},
		{"$$${run.id}", nil},
		{"$ ${a-b.0.port.x_y}$", []string{"a-b.0.port.x_y"}},
	}
	for _, tt := range tests {
		got, err := expand.Refs(tt.in)
		if err != nil {
			t.Errorf("Refs(%q): %v", tt.in, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Refs(%q) (-want +got):\n%s", tt.in, diff)
		}
	}
}

// What Check accepts, Component resolves once the predecessors are up; with $${ nothing else is replaced.
func TestEscapedTextSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("${}a.é"))).Draw(t, "text")
		app := masterWorker()
		app.Components[1].Command = []string{strings.ReplaceAll(text, "${", "$${")}
		if faults := expand.Check(app); len(faults) > 0 {
			t.Fatalf("faults: %v", faults)
		}
		c, err := expand.Component(run(app), 1, dovetail.Replica{}, self, peers)
		if err != nil || c.Command[0] != text {
			t.Fatalf("got %q, %v, want %q", c.Command[0], err, text)
		}
	})
}

func FuzzRefs(f *testing.F) {
	for _, s := range []string{"${run.id}", "$${", "${", "${a b}", "$$${x}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		refs, err := expand.Refs(s)
		if err == nil && len(refs) > strings.Count(s, "${") {
			t.Errorf("Refs(%q) = %q: more references than opening braces", s, refs)
		}
	})
}
