package fit_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// dataset is what the tests of this package read of a golden file ds_*.json; its README says how they were made.
type dataset struct {
	Name  string
	Input struct{ X, Ov, Y []float64 }
	NUsed int `json:"n_used"`
	LLR   struct {
		PredH1    []float64 `json:"pred_h1"`
		PredH3    []float64 `json:"pred_h3"`
		PredH10   []float64 `json:"pred_h10"`
		PredH100  []float64 `json:"pred_h100"`
		GridX     []float64 `json:"grid_x"`
		Splits    int       `json:"n_splits"`
		BestH     *float64  `json:"best_h"`
		BestScore float64   `json:"best_h_score"`
		ScoreH1   *float64  `json:"score_h1"`
		ScoreH5   *float64  `json:"score_h5"`
		ScoreH100 *float64  `json:"score_h100"`
	}
	Ernest struct {
		Theta  []float64
		SSE    float64
		Unique bool `json:"params_unique"`
		Fitted []float64
		GridX  []float64 `json:"grid_x"`
		GridY  []float64 `json:"grid_pred"`
	}
	Relative struct {
		Theta  []float64 `json:"ernest_theta"`
		SSE    float64   `json:"ernest_wsse"`
		Unique bool      `json:"ernest_params_unique"`
	} `json:"relative_weighted"`
}

// goldens reads the data sets, with the rows dropped that the README's rule drops.
func goldens(t *testing.T) []dataset {
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
		n := 0
		for i, y := range d.Input.Y {
			if x := d.Input.X[i]; y > 0 && !math.IsInf(y, 0) && x >= 1 {
				d.Input.X[n], d.Input.Y[n] = x, y
				n++
			}
		}
		if n != d.NUsed {
			t.Fatalf("%s: %d rows are of use, the file says %d", file, n, d.NUsed)
		}
		d.Input.X, d.Input.Y = d.Input.X[:n], d.Input.Y[:n]
		sets = append(sets, d)
	}
	return sets
}

// near reports whether two numbers differ by at most so much, relative to the second.
func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}
