package coloc

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// golden reads a golden of the shared material, or skips the test.
func golden(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "goldens", name))
	if err != nil {
		t.Skipf("no goldens here: %v", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

type banditGolden struct {
	Goodness []struct {
		CPU      float64 `json:"u_cpu"`
		Wait     float64 `json:"u_wait"`
		DiskR    float64 `json:"disk_r"`
		DiskW    float64 `json:"disk_w"`
		NetR     float64 `json:"net_r"`
		NetW     float64 `json:"net_w"`
		DiskRMax float64 `json:"disk_r_max"`
		DiskWMax float64 `json:"disk_w_max"`
		NetRMax  float64 `json:"net_r_max"`
		NetWMax  float64 `json:"net_w_max"`
		G        float64 `json:"G"`
	} `json:"goodness"`
	Sequences []struct {
		Baseline string       `json:"baseline"`
		Gamma    float64      `json:"gamma"`
		N        int          `json:"n"`
		Events   [][3]float64 `json:"events"`
		H        [][]float64  `json:"H"`
		Avg      []float64    `json:"avg"`
		Pi       [][]float64  `json:"pi"`
	} `json:"sequences"`
	Selection []struct {
		H       [][]float64 `json:"H"`
		Running []struct {
			App   int     `json:"app"`
			Nodes float64 `json:"nodes"`
		} `json:"running"`
		Window []int     `json:"window"`
		P      []float64 `json:"p_position"`
	} `json:"selection"`
	Tolerance float64 `json:"rel_tol"`
}

// near reports whether two numbers agree by a relative tolerance of the golden, with as much of it absolute as rounding of sums needs.
func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(math.Abs(want), 1e-2)
}

// kinds holds n classes named k0, k1, …
func kinds(b *Book, n int) []ID {
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = b.Hold(fmt.Sprintf("k%d", i))
	}
	return ids
}

func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0).UTC() }

func TestGoldenGoodness(t *testing.T) {
	var g banditGolden
	golden(t, "bandit.json", &g)
	for i, c := range g.Goodness {
		u := dovetail.NodeUse{CPU: c.CPU, Wait: c.Wait, Disk: c.DiskR/c.DiskRMax + c.DiskW/c.DiskWMax, Net: c.NetR/c.NetRMax + c.NetW/c.NetWMax}
		if why := Check(&u); why != "" {
			t.Errorf("%d: %s", i, why)
		}
		if got := Goodness(&u); !near(got, c.G, g.Tolerance) {
			t.Errorf("%d: G %.12g, want %.12g", i, got, c.G)
		}
	}
}

func TestGoldenSequences(t *testing.T) {
	var g banditGolden
	golden(t, "bandit.json", &g)
	for _, s := range g.Sequences {
		if s.Baseline != "row" {
			continue // the other ones share one mean among all rows, which neither the seed's prototype nor we do
		}
		b := New(dovetail.Colocation{Step: s.Gamma})
		ids := kinds(b, s.N)
		for i, e := range s.Events {
			b.learn(at(i), []observation{{int32(ids[int(e[0])]), int32(ids[int(e[1])]), e[2], 1}})
		}
		for i, running := range ids {
			r := &b.classes[running].row
			if !near(r.goodness, s.Avg[i], g.Tolerance) {
				t.Errorf("row %d: mean %.12g, want %.12g", i, r.goodness, s.Avg[i])
			}
			h, mean := make([]float64, s.N), 0.0
			for j, id := range ids {
				if at := r.index(id); at >= 0 {
					h[j] = r.prefs[at].h
				}
				mean += h[j] / float64(s.N)
				if got := b.Likes(id, running); !near(got, s.Pi[i][j], g.Tolerance) {
					t.Errorf("π(%d|%d) = %.12g, want %.12g", j, i, got, s.Pi[i][j])
				}
			}
			for j := range h {
				if !near(h[j]-mean, s.H[i][j], g.Tolerance) {
					t.Errorf("H(%d|%d) = %.12g, want %.12g", j, i, h[j]-mean, s.H[i][j])
				}
			}
		}
	}
}

func TestGoldenSelection(t *testing.T) {
	var g banditGolden
	golden(t, "bandit.json", &g)
	for i, s := range g.Selection {
		b := New(dovetail.Colocation{})
		ids := kinds(b, len(s.H))
		var classes []dovetail.KnownClass
		for row, h := range s.H {
			k := dovetail.KnownClass{Class: b.Name(ids[row])}
			for j := range h {
				k.Preferences = append(k.Preferences, dovetail.Preference{Class: b.Name(ids[j]), H: h[j], Updates: 1})
			}
			classes = append(classes, k)
		}
		if err := b.Recall(at(0), classes); err != nil {
			t.Fatal(err)
		}
		var scene Scene
		for _, r := range s.Running {
			scene.Held = append(scene.Held, Share{ids[r.App], r.Nodes})
		}
		for _, w := range s.Window {
			scene.Window = append(scene.Window, Candidate{ID: ids[w], Weight: 1})
		}
		p := make([]float64, len(s.Window))
		weighBandit(b, &scene, p)
		for j := range p {
			if !near(p[j], s.P[j], g.Tolerance) {
				t.Errorf("case %d: position %d: %.12g, want %.12g", i, j, p[j], s.P[j])
			}
		}
	}
}

func TestGoldenPairs(t *testing.T) {
	var g struct {
		Cases []struct {
			M        [][]float64 `json:"M"`
			Work     []float64   `json:"work"`
			PairTime float64     `json:"pair_time"`
			Dual     []float64   `json:"dual"`
		} `json:"cases"`
	}
	golden(t, "pair_lp.json", &g)
	if len(g.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range g.Cases {
		var m []float64
		for _, row := range c.M {
			m = append(m, row...)
		}
		dual, time := pairs(m, c.Work)
		if !near(time, c.PairTime, 1e-7) {
			t.Errorf("case %d: %.10g, want %.10g", i, time, c.PairTime)
		}
		worth := 0.0
		for j := range dual {
			worth += dual[j] * c.Work[j]
		}
		if !near(worth, c.PairTime, 1e-7) {
			t.Errorf("case %d: duals give %.10g, want %.10g", i, worth, c.PairTime)
		}
	}
}
