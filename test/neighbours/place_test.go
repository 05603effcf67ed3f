package neighbours_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// setting is what all passes of a directory have in common.
type setting struct {
	Runs    int      `json:"runs"`
	Burst   int      `json:"burst"`
	Window  int      `json:"window"`
	Step    float64  `json:"step"`
	Period  string   `json:"period"`
	Signal  string   `json:"signal"`
	Seconds float64  `json:"seconds"`
	Seed    uint64   `json:"seed"`
	Arms    []string `json:"arms"`
}

// study is all that was measured in a directory.
type study struct {
	Setting     setting      `json:"setting"`
	Amounts     amount       `json:"amounts"`
	Repetitions []repetition `json:"repetitions"`
}

// repetition is one queue, played by every arm, in the order of Setting.Arms.
type repetition struct {
	Passes []pass `json:"passes"`
}

// pass is what became of a queue in one arm.
type pass struct {
	Makespan   float64             `json:"makespan"`   // seconds, from when the machine was free to the last end
	Turnaround float64             `json:"turnaround"` // seconds from then to the end of a run, mean
	Played     []played            `json:"played"`     // in the order of the queue
	Drawn      int                 `json:"drawn"`      // runs with a draw on record
	Others     float64             `json:"others"`     // processors that were busy with something else, mean
	Known      dovetail.Neighbours `json:"known"`      // at the end of it
}

// played is one run; times are seconds since the machine was free.
type played struct {
	Kind    string  `json:"kind"`
	Started float64 `json:"started"`
	Ended   float64 `json:"ended"`
}

// draw returns the kinds of a queue: bursts of equal ones, every kind once in turn and in an order of its own.
func draw(seed uint64, number, runs, burst int) []string {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	var queue []string
	for len(queue) < runs {
		for _, k := range r.Perm(len(kinds())) {
			for range burst {
				queue = append(queue, kinds()[k])
			}
		}
	}
	return queue[:runs]
}

// place is where the daemons live, one after the other.
type place struct {
	dir      string
	dovetail string // program
	worker   string // the program that runs execute: this one, under a name that stays
}

// newPlace builds what is needed in a directory; an empty name is one for this test alone.
func newPlace(t *testing.T, dir string) *place {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{dir: dir, dovetail: filepath.Join(dir, "bin", "dovetail"), worker: filepath.Join(dir, "bin", "worker")}
	if err := os.MkdirAll(filepath.Dir(p.worker), 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", p.dovetail, "./cmd/dovetail")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(copyProgram(self, p.worker), os.WriteFile(p.nodes(), []byte(nodes), 0o600)); err != nil {
		t.Fatal(err)
	}
	return p
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	_ = os.Remove(to) // an earlier call may have left it
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (p *place) nodes() string   { return filepath.Join(p.dir, "nodes.yaml") }
func (p *place) results() string { return filepath.Join(p.dir, "results.json") }

// load returns what was measured here before; another setting must not be mixed with it.
func (p *place) load(t *testing.T, want setting) *study {
	t.Helper()
	s := &study{Setting: want}
	data, err := os.ReadFile(p.results())
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err == nil && !reflect.DeepEqual(s.Setting, want) {
		err = fmt.Errorf("%s was begun with %+v; this is %+v: choose another -dir", p.dir, s.Setting, want)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *place) save(t *testing.T, s *study) {
	t.Helper()
	data, err := json.MarshalIndent(s, "", " ")
	if err == nil {
		err = os.WriteFile(p.results()+".new", data, 0o600)
	}
	if err = errors.Join(err, os.Rename(p.results()+".new", p.results())); err != nil {
		t.Fatal(err)
	}
}
