package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

func digests(schedules []*Schedule) []*Digest {
	all := make([]*Digest, len(schedules))
	for i, s := range schedules {
		all[i] = s.Digest()
	}
	return all
}

// pictured is a schedule with placements: the sample of the timeline tests as the simulator would hand it over.
func pictured() *Schedule {
	w := sample()
	s := &Schedule{
		Cell: Cell{Policy: "fifo", Alloc: "flexible"}, Placements: w.Placements, Nodes: w.Nodes, Epoch: start,
		Capacity: dovetail.Resources{dovetail.CPU: 1500}, Levels: []Level{{At: 0, Serving: 2}, {At: 41 * second, Serving: 0}},
	}
	for i := range w.Runs {
		st := &w.Runs[i].Status
		j := Job{
			ID: int64(i), Run: st.ID, App: w.Runs[i].App, Class: w.Runs[i].App.Name, Kind: dovetail.Batch, Core: st.Core, Elastic: st.ElasticMax,
			Runtime: 10 * second, Submit: st.Submitted.Sub(start), Start: -1, Finish: -1, Outcome: st.Outcome,
		}
		if st.Started != nil {
			j.Start = st.Started.Sub(start)
		}
		if st.Ended != nil {
			j.Finish = st.Ended.Sub(start)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func svgOf(t *testing.T, f Figure) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFigures(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9+-]+$`)
	for _, tc := range []struct {
		reason string
		cells  []*Schedule
		want   int
	}{
		{"no cell, no picture", nil, 0},
		{"a schedule of nothing", []*Schedule{{Cell: Cell{Policy: "fifo", Alloc: "rigid"}}}, 8},
		{"one run", []*Schedule{played(Cell{Policy: "fifo", Alloc: "rigid"}, 1, 1, 0)}, 11},
		{"one with its placements", []*Schedule{pictured()}, 11},
		{"a sweep with seeds", sweep([]string{"fifo", "sjf"}, []string{"rigid", "malleable", "flexible", "flexible"}, 2, 100), 11},
		{"eleven policies", sweep(strings.Fields("a b c d e f g h i j k"), []string{"rigid"}, 1, 50), 11},
		{"nothing takes any time", []*Schedule{{Jobs: []Job{{ID: 1}, {ID: 2}}, Cell: Cell{Policy: "fifo", Alloc: "rigid"}}}, 8},
	} {
		figures, again := Figures(digests(tc.cells)), Figures(digests(tc.cells))
		if len(figures) != tc.want {
			t.Errorf("%s: %d figures, want %d", tc.reason, len(figures), tc.want)
		}
		names := make(map[string]bool)
		for i, f := range figures {
			if names[f.Name] || !name.MatchString(f.Name) {
				t.Errorf("%s: %q is a poor name for a file, or taken", tc.reason, f.Name)
			}
			names[f.Name] = true
			svg := svgOf(t, f)
			if svg != svgOf(t, again[i]) {
				t.Errorf("%s: %s differs from itself", tc.reason, f.Name)
			}
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("%s: %s has coordinates that are no numbers", tc.reason, f.Name)
			}
			if err := isXML(svg); err != nil {
				t.Errorf("%s: %s: %v", tc.reason, f.Name, err)
			}
		}
	}
}

func isXML(s string) error {
	for dec := xml.NewDecoder(strings.NewReader(s)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// The pictures that people have looked at.
func TestFiguresGolden(t *testing.T) {
	for _, f := range Figures(digests([]*Schedule{pictured(), small()})) {
		if f.Name == "queueing-boxes" || strings.HasPrefix(f.Name, "timeline") {
			golden(t, f.Name+".svg", svgOf(t, f))
		}
	}
}

func TestPNG(t *testing.T) {
	f := Figures([]*Digest{pictured().Digest()})[0]
	var b, again bytes.Buffer
	if err := errors.Join(f.WritePNG(&b), f.WritePNG(&again)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("the same figure gives other bytes")
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := img.Bounds().Dx(), f.wide*pngDots/72; math.Abs(float64(got)-want) > 1 {
		t.Errorf("%d dots wide, want %v", got, want)
	}
	if r, g, bl, a := img.At(0, 0).RGBA(); min(r, g, bl, a) != 0xffff {
		t.Error("the ground is not white")
	}
}

func TestTimelineOfSchedule(t *testing.T) {
	tl := pictured().Timeline()
	tl.Title, tl.Subtitle, tl.Until = "flexible", "5 runs on 3 nodes", at(45)
	want := drawn(t, Timeline{Workload: sample(), Title: "flexible", Subtitle: "5 runs on 3 nodes"})
	got := drawn(t, *tl)
	if strings.Count(got, "<rect") != strings.Count(want, "<rect") {
		t.Errorf("%d bars, the workload itself has %d", strings.Count(got, "<rect"), strings.Count(want, "<rect"))
	}
	if (&Schedule{}).Timeline() != nil {
		t.Error("a timeline without placements")
	}
}

func TestAxes(t *testing.T) {
	words := func(a axis) (all []string) {
		for _, m := range a.marks {
			if m.word != "" {
				all = append(all, m.word)
			}
		}
		return all
	}
	for _, tc := range []struct {
		reason string
		axis   axis
		want   string
	}{
		{"nothing", fit("", nil), "0.0 0.2 0.4 0.6 0.8 1.0"},
		{"only zeroes", fit("", []float64{0, 0}), "0.0 0.2 0.4 0.6 0.8 1.0"},
		{"within two decades", fit("", []float64{1, 100}), "0 20 40 60 80 100"},
		{"beyond two decades", fit("", []float64{0.5, 600}), "0.1 1 10 100"},
		{"zeroes lie at the end of a logarithmic axis, which says so", fit("", []float64{0, 0.5, 600}), "≤ 0.1 1 10 100"},
		{"at most five decades", fit("", []float64{1e-6, 1000}), "≤ 0.01 0.1 1 10 100 1000"},
		{"large numbers are short", fit("", []float64{1e4, 1e7}), "10000 100000 1e6 1e7"},
		{"a share a little above 1 is no reason for a longer axis", linear("", 100.00001), "0 20 40 60 80 100"},
		{"an axis that ends where its values do", exact("", 53, 6), "0 10 20 30 40 50"},
		{"hours", func() axis { a, _ := timeAxis(27*time.Hour, 6); return a }(), "0 5 10 15 20 25"},
	} {
		if got := strings.Join(words(tc.axis), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
		}
	}
}

// Values lie within the axis that was fitted to them, in their order.
func TestAxisKeepsOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-9, 1e9)), 1, 20).Draw(rt, "values")
		slices.Sort(values)
		a := fit("", values)
		last := 0.0
		for _, v := range values {
			x := a.at(v)
			if !(x >= last && x <= 1) {
				rt.Fatalf("%v lies at %v, behind %v, on the axis from %v to %v", v, x, last, a.low, a.high)
			}
			last = x
		}
	})
}

// The page of a sweep of 24 cells is small, needs nothing else, and holds no markup but its own.
func TestPage(t *testing.T) {
	policies := strings.Fields("fifo fifo-backfill sjf sjf-2d srpt srpt-3d hrrn edf")
	schedules := sweep(policies, []string{"rigid", "malleable", "flexible"}, 1, 3000)
	d := document(t)
	d.Cells = nil
	for _, s := range schedules {
		d.Cells = append(d.Cells, s.Metrics())
	}
	d.Summary = Summarise(d.Cells)
	r := &Report{
		Title: "A <script>alert(1)</script>", Command: `dovetail simulate --trace "a & b"`, About: []Fact{{"trace", "<b>"}},
		Notes: []string{"</ul>"}, Document: *d, Figures: Figures(digests(schedules)),
	}
	var b, again bytes.Buffer
	if err := errors.Join(WriteHTML(&b, r), WriteHTML(&again, r)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if page != again.String() {
		t.Error("the same report gives other bytes")
	}
	if len(page) > 2<<20 {
		t.Errorf("%d bytes, want less than 2 MiB", len(page))
	}
	for _, outside := range []string{"<script", "<link", "src=", "@import", "url(", "<b>", "</ul></ul>", "var(--ink)var"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page contains %q", outside)
		}
	}
	for _, inside := range []string{"prefers-color-scheme:dark", "@media print", "var(--ground)", "fifo-backfill", "Change against fifo rigid", "&amp; b"} {
		if !strings.Contains(page, inside) {
			t.Errorf("the page lacks %q", inside)
		}
	}
	for _, hard := range []string{inkColour, faintColour, gridColour} {
		if strings.Contains(page, hard) {
			t.Errorf("a figure has the colour %s on any ground", hard)
		}
	}
	if got := strings.Count(page, "<svg"); got != len(r.Figures) || strings.Count(page, "</svg>") != got {
		t.Errorf("%d pictures, want %d", got, len(r.Figures))
	}
}
