package example

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

func testMix() Mix {
	return Mix{
		Binary:  "/opt/dovetail",
		Node:    dovetail.Resources{dovetail.CPU: 500, dovetail.Memory: 1 << 30},
		Results: "/results",
		Work:    40 * time.Second,
	}
}

// TestMixIsValid: what the demo submits would be accepted from anybody.
func TestMixIsValid(t *testing.T) {
	for _, app := range append(testMix().Batch(), testMix().NotebookApp()) {
		data, err := describe.Marshal(app)
		if err != nil {
			t.Fatalf("%s: %v", app.Name, err)
		}
		if _, err := describe.Application(data, describe.Options{}); err != nil {
			t.Errorf("%s: %v\n%s", app.Name, err, data)
		}
	}
}

// TestMixCompetes keeps the promise that the mix's comment makes about four nodes.
func TestMixCompetes(t *testing.T) {
	m := testMix()
	cluster := m.Node.Times(4)
	var core dovetail.Resources
	for _, app := range m.Batch() {
		var most dovetail.Resources
		for i := range app.Components {
			c := &app.Components[i]
			core = core.Plus(c.Resources.Times(c.Count))
			most = most.Plus(c.Resources.Times(c.Limit()))
		}
		if !most.Fits(cluster) {
			t.Errorf("%s: %v at full scale never fits %v", app.Name, most, cluster)
		}
		if 2*most[dovetail.CPU] <= cluster[dovetail.CPU] {
			t.Errorf("%s: two of %v fit %v side by side: rigid requests would not compete", app.Name, most, cluster)
		}
	}
	notebook := m.NotebookApp().Components[0].Resources
	if all := core.Plus(notebook); !all.Fits(cluster) {
		t.Errorf("the cores of all applications, %v, do not fit %v", all, cluster)
	}
}

// TestMixIsAsLongAsAsked: the jobs share the work, and each is told its part.
func TestMixIsAsLongAsAsked(t *testing.T) {
	var sum time.Duration
	for _, app := range testMix().Batch() {
		_, args, _ := strings.Cut(strings.Join(app.Components[0].Command, " "), "--size ")
		d, err := time.ParseDuration(strings.Fields(args)[0])
		if err != nil {
			t.Fatalf("%s: %v", app.Name, err)
		}
		sum += d
	}
	if sum != 40*time.Second {
		t.Errorf("the jobs take %v in all, asked for 40s", sum)
	}
}

// TestExamplesAreValid reads the descriptions that ship with the project.
func TestExamplesAreValid(t *testing.T) {
	for _, name := range Jobs() {
		data, err := os.ReadFile(filepath.Join("..", "..", "examples", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		app, err := describe.Application(data, describe.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if app.Name != name {
			t.Errorf("%s.yaml describes %s", name, app.Name)
		}
	}
}
