package predict

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/fit"
)

// dataset is what the tests of the classical models read of a golden file ds_*.json; its README says how they were made.
type dataset struct {
	Name  string
	Input struct{ X, Ov, Y []float64 }
	NUsed int `json:"n_used"`
	LLR   struct {
		GridX     []float64 `json:"grid_x"`
		BestH     *float64  `json:"best_h"`
		BestScore float64   `json:"best_h_score"`
		Ernest    *float64  `json:"ernest_score"`
		Unique    bool      `json:"cv_ernest_unique"`
		Choice    string    `json:"bell_choice"`
		Margin    *float64  `json:"choice_margin"`
		Pred      []float64 `json:"bell_pred"`
	}
	CoBell struct {
		Tolerance float64 `json:"sse_rel_tol"`
		SSE       float64
		Unique    bool `json:"params_unique"`
		Fitted    []float64
		Points    [][2]float64 `json:"pts"`
		Pred      []float64
	}
	NP struct {
		H      *float64
		Score  float64
		Second *float64     `json:"second_best_score"`
		Points [][2]float64 `json:"pts"`
		Pred   []float64
	} `json:"cobell_nonparametric"`
	Relative struct {
		SSE    float64   `json:"cobell_wsse"`
		Fitted []float64 `json:"cobell_fitted"`
	} `json:"relative_weighted"`
	samples []Sample // after the README's rule
}

func goldenSets(t *testing.T) []dataset {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "shared", "data", "goldens", "ds_*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("needs ../shared/data/goldens, which is not part of the project")
	}
	var sets []dataset
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dataset
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, x := range d.Input.X {
			ov := 0.0
			if d.Input.Ov != nil {
				ov = min(max(d.Input.Ov[i], 0), 1)
			}
			d.samples = append(d.samples, Sample{ScaleOut: x, Runtime: d.Input.Y[i], Overlaps: []dovetail.Overlap{{Class: "k", Ratio: ov}}})
		}
		sets = append(sets, d)
	}
	return sets
}

// TestFormGoldens: the plain fit, without any run taken for wild, finds the global optimum of every data set.
func TestFormGoldens(t *testing.T) {
	for _, d := range goldenSets(t) {
		t.Run(d.Name, func(t *testing.T) {
			s, err := gather(d.samples)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.points) != d.NUsed {
				t.Fatalf("%d runs are of use, the file says %d", len(s.points), d.NUsed)
			}
			yy := 0.0
			for _, p := range s.points {
				yy += p.y * p.y
			}
			f, err := s.fit(len(s.classes), 0, Options{Unweighted: true}, starts(len(s.classes)))
			if err != nil {
				t.Fatal(err)
			}
			if f.sse > d.CoBell.SSE*(1+d.CoBell.Tolerance)+1e-12*yy {
				t.Errorf("sum of squared errors %v, the optimum is %v", f.sse, d.CoBell.SSE)
			}
			if d.CoBell.Unique {
				for i, at := range d.CoBell.Points {
					over := make([]float64, len(s.classes))
					for c := range over {
						over[c] = at[1]
					}
					if got, want := f.alone(at[0])*f.factor(at[0], over), d.CoBell.Pred[i]; math.Abs(got-want) > 1e-4*want {
						t.Errorf("at %v: %v, want %v", at, got, want)
					}
				}
			}
			f, err = s.fit(len(s.classes), 0, Options{}, starts(len(s.classes)))
			if err != nil {
				t.Fatal(err)
			}
			if f.sse > d.Relative.SSE*(1+d.CoBell.Tolerance)+1e-12*float64(len(s.points)) {
				t.Errorf("relative: sum of squared errors %v, the optimum is %v", f.sse, d.Relative.SSE)
			}
		})
	}
}

// fitted fits a method as in the papers.
func fitted(t *testing.T, m Method, samples []Sample) Model {
	t.Helper()
	model, err := m.Fit(samples, Options{Unweighted: true})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func TestBellGoldens(t *testing.T) {
	for _, d := range goldenSets(t) {
		t.Run(d.Name, func(t *testing.T) {
			if d.NUsed <= bellFrom && d.LLR.Choice != "ernest" {
				t.Skip("the files choose by cross-validation from the third run on, the deployed rule from the sixth")
			}
			m := fitted(t, bell(), d.samples)
			if d.LLR.Ernest != nil && d.LLR.Unique {
				s, err := gather(d.samples)
				if err != nil {
					t.Fatal(err)
				}
				var x, y []float64
				for _, p := range s.points {
					x, y = append(x, p.x), append(y, p.y)
				}
				ties, err := fit.NewTies(x, y, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := ernestScore(ties); math.Abs(got-*d.LLR.Ernest) > 1e-6**d.LLR.Ernest {
					t.Errorf("Ernest has a score of %v, want %v", got, *d.LLR.Ernest)
				}
			}
			if d.LLR.Margin == nil || !d.LLR.Unique || *d.LLR.Margin <= 1e-6 {
				return
			}
			if got := m.Report().Picked; (got == "ernest") != (d.LLR.Choice == "ernest") {
				t.Fatalf("picked %s, want %s", got, d.LLR.Choice)
			}
			for i, x := range d.LLR.GridX {
				if got, want := m.Predict(At{ScaleOut: x}).Quantile(0.5), d.LLR.Pred[i]; math.Abs(got-want) > 1e-6*want {
					t.Errorf("at %v: %v, want %v", x, got, want)
				}
			}
		})
	}
}

func TestCoBellNonparametricGoldens(t *testing.T) {
	for _, d := range goldenSets(t) {
		t.Run(d.Name, func(t *testing.T) {
			if d.NP.H == nil || d.NUsed <= bellFrom || !d.CoBell.Unique {
				t.Skip("no bandwidth, or the parameters are not determined")
			}
			m := fitted(t, cobellNP(), d.samples).(*classic)
			if m.width != *d.NP.H && (d.NP.Second == nil || *d.NP.Second > d.NP.Score*(1+1e-6)) {
				t.Errorf("bandwidth %v, want %v", m.width, *d.NP.H)
			}
			for i, at := range d.NP.Points {
				got := m.Predict(At{ScaleOut: at[0], Overlaps: []dovetail.Overlap{{Class: "k", Ratio: at[1]}}}).Quantile(0.5)
				if want := d.NP.Pred[i]; math.Abs(got-want) > 1e-4*want {
					t.Errorf("at %v: %v, want %v", at, got, want)
				}
			}
		})
	}
}
