package predict_test

import (
	"testing"

	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/predict/predicttest"
)

func TestModels(t *testing.T) {
	for _, m := range predict.Models() {
		t.Run(m.Name, func(t *testing.T) { predicttest.Run(t, m) })
	}
}

func TestFind(t *testing.T) {
	for _, m := range predict.Models() {
		if got, err := predict.Find(m.Name); err != nil || got.Name != m.Name {
			t.Errorf("%s: found %q, %v", m.Name, got.Name, err)
		}
	}
	if _, err := predict.Find("oracle"); err == nil {
		t.Error("found a model that there is not")
	}
}
