package report

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

func liking() HeatMap {
	return HeatMap{
		Title: "Preference", Down: "running", Across: "newcomer",
		Rows: []string{"sort", "kmeans"}, Columns: []string{"sort", "kmeans", "a job class with a name that is too long for any column of a picture"},
		Values: [][]float64{{0.1, 0.7, 0.2}, {0.5, math.NaN(), 0.25}},
		Text:   func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
	}
}

func TestHeatMapSaysEveryValue(t *testing.T) {
	f, err := HeatMaps("neighbours", "Neighbours", "learned", liking())
	if err != nil {
		t.Fatal(err)
	}
	svg := svgOf(t, f)
	for _, want := range []string{"Preference", "running", "newcomer", ">kmeans<", "10 %", "70 %", "20 %", "50 %", "25 %", "…"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if strings.Contains(svg, "NaN") {
		t.Error("the picture shows a value that nobody knows")
	}
	if svg != svgOf(t, f) {
		t.Error("the same figure drawn twice differs")
	}
}

func TestHeatMapColours(t *testing.T) {
	likes, slower := liking(), HeatMap{Rows: []string{"a"}, Columns: []string{"b", "c", "d"}, Values: [][]float64{{1, 2, 0.5}}, Middle: 1}
	for _, tc := range []struct {
		reason string
		m      *HeatMap
		v      float64
		want   string
	}{
		{"nobody knows", &likes, math.NaN(), noneColour},
		{"nothing is white", &likes, 0, "#ffffff"},
		{"the most has full colour", &likes, 0.7, muchColour},
		{"the middle is white", &slower, 1, "#ffffff"},
		{"twice is as red …", &slower, 2, overColour},
		{"… as half is blue", &slower, 0.5, lessColour},
		{"beyond what there is: no more than full", &slower, 9, overColour},
		{"nothing at all is below any middle", &slower, 0, lessColour},
	} {
		least, most := tc.m.bounds()
		if fill, _ := tc.m.colours(tc.v, least, most); fill != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, fill, tc.want)
		}
	}
	flat := HeatMap{Rows: []string{"a"}, Columns: []string{"b"}, Values: [][]float64{{0}}, Middle: 1}
	if least, most := flat.bounds(); math.IsInf(most, 0) || math.IsNaN(least) {
		t.Errorf("a lone zero makes bounds of %v and %v", least, most)
	}
}

func TestHeatMapRefusesWhatIsNoMatrix(t *testing.T) {
	short, none := liking(), HeatMap{}
	short.Values = short.Values[:1]
	ragged := liking()
	ragged.Values = [][]float64{{1}, {1}}
	for reason, maps := range map[string][]HeatMap{"no matrix": nil, "an empty one": {none}, "a row is missing": {short}, "columns are missing": {ragged}} {
		_, err := HeatMaps("x", "x", "", maps...)
		var known *dovetail.Error
		if !errors.As(err, &known) || known.Code != dovetail.Invalid {
			t.Errorf("%s: %v, want an invalid error", reason, err)
		}
	}
}
