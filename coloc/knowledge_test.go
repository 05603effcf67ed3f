package coloc

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// example is knowledge that is right; spoil makes it wrong.
func example(spoil func(k []dovetail.KnownClass)) []dovetail.KnownClass {
	k := []dovetail.KnownClass{
		{
			Class: "scan", Seen: at(9), Forgotten: at(1), Goodness: 7.5, Updates: 12,
			Preferences: []dovetail.Preference{{Class: "join", H: -0.5, Updates: 4, Goodness: 6}, {Class: "train", H: 1.25, Updates: 8, Goodness: 8.25}},
			Evidence: &dovetail.Evidence{Class: "scan", Runs: 6, Until: at(8), Rates: []dovetail.Rate{
				{Rate: 1.1, Low: 0.9, High: 1.3, Runs: 2, Seconds: 40}, {Beside: "join", Rate: 0.5, Low: 0.4, High: 0.6, Runs: 4, Seconds: 90},
			}},
		},
		{Class: "train", Seen: at(7), Preferences: []dovetail.Preference{{Class: "scan", H: 0.25, Updates: 1, Goodness: 5}}, Goodness: 5, Updates: 1},
	}
	if spoil != nil {
		spoil(k)
	}
	return k
}

func TestRecallRefuses(t *testing.T) {
	long := strings.Repeat("x", longestName+1)
	for _, tc := range []struct {
		reason string
		spoil  func(k []dovetail.KnownClass)
		want   []string // that the error names
	}{
		{"a class without a name", func(k []dovetail.KnownClass) { k[0].Class = "" }, []string{"class", "0 bytes"}},
		{"a name that is too long", func(k []dovetail.KnownClass) { k[1].Class = long }, []string{"1025 bytes"}},
		{"classes out of order", func(k []dovetail.KnownClass) { k[0], k[1] = k[1], k[0] }, []string{`"scan"`, `"train"`, "sorted"}},
		{"a class twice", func(k []dovetail.KnownClass) { k[1] = k[0] }, []string{`"scan"`, "each once"}},
		{"goodness that is no number", func(k []dovetail.KnownClass) { k[1].Goodness = math.NaN() }, []string{`"train"`, "goodness"}},
		{"goodness that cannot be", func(k []dovetail.KnownClass) { k[1].Goodness = 1e9 }, []string{`"train"`, "goodness"}},
		{"negative updates", func(k []dovetail.KnownClass) { k[0].Updates = -1 }, []string{`"scan"`, "updates"}},
		{"updates without end", func(k []dovetail.KnownClass) { k[0].Updates = math.Inf(1) }, []string{`"scan"`, "updates"}},
		{"preferences out of order", func(k []dovetail.KnownClass) { slices.Reverse(k[0].Preferences) }, []string{`"scan"`, "preferences[1].class"}},
		{"a preference twice", func(k []dovetail.KnownClass) { k[0].Preferences[1].Class = "join" }, []string{`"scan"`, "preferences[1].class", "once"}},
		{"a preference for nobody", func(k []dovetail.KnownClass) { k[0].Preferences[0].Class = "" }, []string{`"scan"`, "preferences[0].class"}},
		{"a preference that is no number", func(k []dovetail.KnownClass) { k[0].Preferences[1].H = math.NaN() }, []string{`"scan"`, "preferences[1].h"}},
		{"a preference out of bounds", func(k []dovetail.KnownClass) { k[0].Preferences[1].H = -31 }, []string{`"scan"`, "preferences[1].h"}},
		{"negative updates of a pair", func(k []dovetail.KnownClass) { k[0].Preferences[1].Updates = -2 }, []string{"preferences[1].updates"}},
		{"goodness of a pair", func(k []dovetail.KnownClass) { k[0].Preferences[1].Goodness = -2 }, []string{"preferences[1].goodness"}},
		{"evidence of another class", func(k []dovetail.KnownClass) { k[0].Evidence.Class = "train" }, []string{`"scan"`, "evidence.class"}},
		{"negative runs", func(k []dovetail.KnownClass) { k[0].Evidence.Runs = -1 }, []string{`"scan"`, "evidence.runs"}},
		{"rates out of order", func(k []dovetail.KnownClass) { slices.Reverse(k[0].Evidence.Rates) }, []string{"rates[1].beside"}},
		{"a rate of 0", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].Rate = 0 }, []string{"rates[1].rate"}},
		{"a rate that is no number", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].Rate = math.NaN() }, []string{"rates[1].rate"}},
		{"a rate beyond belief", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].Rate = 1e6 }, []string{"rates[1].rate"}},
		{"low above the rate", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].Low = 0.55 }, []string{"rates[1].low"}},
		{"low of 0", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].Low = 0 }, []string{"rates[1].low"}},
		{"high below the rate", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].High = 0.45 }, []string{"rates[1].high"}},
		{"high without end", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].High = math.Inf(1) }, []string{"rates[1].high"}},
		{"negative runs of a pair", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].Runs = -1 }, []string{"rates[1].runs"}},
		{"negative seconds", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].Seconds = -1 }, []string{"rates[1].seconds"}},
		{"a neighbour with a name that is too long", func(k []dovetail.KnownClass) { k[0].Evidence.Rates[1].Beside = long }, []string{"rates[1].beside"}},
		{"more preferences than can be", func(k []dovetail.KnownClass) { k[0].Preferences = make([]dovetail.Preference, mostPairs+1) }, []string{`"scan"`, "preferences", "10001"}},
		{"more rates than can be", func(k []dovetail.KnownClass) { k[0].Evidence.Rates = make([]dovetail.Rate, mostPairs+1) }, []string{`"scan"`, "rates", "10001"}},
	} {
		b := New(dovetail.Colocation{})
		if err := b.Recall(at(100), example(nil)); err != nil {
			t.Fatal(err)
		}
		before, version := b.Known(), b.version
		wrong := example(tc.spoil)
		err := b.Recall(at(101), wrong)
		if err == nil {
			t.Errorf("%s: accepted", tc.reason)
			continue
		}
		for _, w := range tc.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", tc.reason, err, w)
			}
		}
		if e := wrong[0].Evidence; e != nil && e.Class == wrong[0].Class && strings.Contains(err.Error(), "evidence.") && b.Pair(at(101), e) == nil {
			t.Errorf("%s: accepted as evidence alone", tc.reason)
		}
		if !reflect.DeepEqual(before, b.Known()) || b.version != version {
			t.Errorf("%s: refused, and changed something all the same", tc.reason)
		}
	}
	if err := New(dovetail.Colocation{}).Recall(at(0), make([]dovetail.KnownClass, mostClasses+1)); err == nil {
		t.Error("more classes than can be: accepted")
	}
	if err := New(dovetail.Colocation{}).Pair(at(0), &dovetail.Evidence{}); err == nil {
		t.Error("evidence of no class: accepted")
	}
}

func TestRecall(t *testing.T) {
	b := New(dovetail.Colocation{})
	if err := b.Recall(at(100), example(nil)); err != nil {
		t.Fatal(err)
	}
	if got := b.Known(); !reflect.DeepEqual(got, example(nil)) {
		t.Errorf("known: %+v", got)
	}
	mine := example(nil)
	if err := b.Recall(at(100), mine); err != nil {
		t.Fatal(err)
	}
	mine[0].Preferences[0].H, mine[0].Evidence.Rates[0].Rate = 9, 9
	known := b.Known()
	if !reflect.DeepEqual(known, example(nil)) {
		t.Error("what was recalled is not the book's own")
	}
	known[0].Preferences[0].H, known[0].Evidence.Rates[0].Rate = 9, 9
	if !reflect.DeepEqual(b.Known(), example(nil)) {
		t.Error("what is known is not the asker's own")
	}
	if err := b.Recall(at(5), example(nil)); err != nil {
		t.Fatal(err)
	}
	if k, _ := b.Class("scan"); !k.Seen.Equal(at(5)) {
		t.Errorf("seen in the future: %v", k.Seen)
	}
	if err := b.Recall(at(6), []dovetail.KnownClass{{Class: "scan"}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Class("scan"); ok || b.Find("scan") != Stranger {
		t.Error("replaced by nothing, and something is known")
	}
}

// Of more classes than there is room for those seen last stay, and held ones.
func TestRecallMakesRoom(t *testing.T) {
	b := New(dovetail.Colocation{Classes: 3})
	held := b.Hold("held")
	seen := func(class string, seconds int) dovetail.KnownClass {
		return dovetail.KnownClass{Class: class, Seen: at(seconds)}
	}
	if err := b.Recall(at(100), []dovetail.KnownClass{seen("a", 10), seen("b", 30)}); err != nil {
		t.Fatal(err)
	}
	if err := b.Recall(at(100), []dovetail.KnownClass{seen("c", 20), seen("d", 5), seen("held", 1)}); err != nil {
		t.Fatal(err)
	}
	var in, away []string
	for _, k := range b.Known() {
		in = append(in, k.Class)
	}
	for _, k := range b.PutAway() {
		away = append(away, k.Class)
	}
	if !slices.Equal(in, []string{"b", "c", "held"}) || !slices.Equal(away, []string{"d", "a"}) || b.Name(held) != "held" {
		t.Errorf("in the book %v, put away %v", in, away)
	}
	if len(b.PutAway()) != 0 {
		t.Error("put away twice")
	}
	for _, class := range []string{"x", "y"} {
		if b.Hold(class) == Stranger {
			t.Errorf("no room for %s, although others are idle", class)
		}
	}
	if id := b.Hold("z"); id != Stranger || b.Name(id) != "" {
		t.Error("room although all classes are held")
	}
	if err := b.Pair(at(100), &dovetail.Evidence{Class: "z"}); err != nil || b.Find("z") != Stranger {
		t.Errorf("evidence of a stranger: %v", err)
	}
	b.Release(Stranger)
	b.Release(ID(99))
}

func TestForget(t *testing.T) {
	b := New(dovetail.Colocation{})
	if err := b.Recall(at(100), example(nil)); err != nil {
		t.Fatal(err)
	}
	b.Forget(at(101), "train")
	scan, _ := b.Class("scan")
	train, ok := b.Class("train")
	if !ok || !reflect.DeepEqual(train, dovetail.KnownClass{Class: "train", Seen: at(101), Forgotten: at(101)}) {
		t.Errorf("forgotten: %+v", train)
	}
	if len(scan.Preferences) != 1 || scan.Preferences[0].Class != "join" || len(scan.Evidence.Rates) != 2 {
		t.Errorf("others: %+v", scan)
	}
	b.Forget(at(102), "join") // nothing is known of it itself
	scan, _ = b.Class("scan")
	if len(scan.Preferences) != 0 || len(scan.Evidence.Rates) != 1 || scan.Updates != 12 {
		t.Errorf("others: %+v", scan)
	}
	if join, ok := b.Class("join"); !ok || !join.Forgotten.Equal(at(102)) {
		t.Errorf("forgotten: %+v", join)
	}
	id := b.Hold("scan")
	b.Forget(at(103), "")
	for _, k := range b.Known() {
		if !reflect.DeepEqual(k, dovetail.KnownClass{Class: k.Class, Seen: at(103), Forgotten: at(103)}) {
			t.Errorf("forgotten: %+v", k)
		}
	}
	if b.Name(id) != "scan" || len(b.Known()) != 3 {
		t.Errorf("known: %+v", b.Known())
	}
}

// FuzzRecall decodes knowledge from bytes: a book takes it or says what is wrong, and what it takes it gives back.
func FuzzRecall(f *testing.F) {
	text, err := json.Marshal(example(nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`[{"class":"a","h":1}]`)
	f.Add(`[{"class":"a","preferences":[{"class":"b","h":1e300}]}]`)
	f.Add(`[{"class":"a","seen":"2026-01-01T00:00:00Z","evidence":{"class":"a","rates":[{"rate":1,"low":1,"high":1}]}},{"class":"b"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var classes []dovetail.KnownClass
		if json.Unmarshal([]byte(text), &classes) != nil {
			return
		}
		b := New(dovetail.Colocation{})
		if err := b.Recall(time.Time{}, classes); err != nil {
			if len(b.order) > 0 {
				t.Fatal("refused, and changed something all the same")
			}
			return
		}
		known := b.Known()
		again := New(dovetail.Colocation{})
		if err := again.Recall(time.Time{}, known); err != nil {
			t.Fatalf("what is known cannot be recalled: %v", err)
		}
		if !reflect.DeepEqual(known, again.Known()) {
			t.Fatalf("known %+v, then %+v", known, again.Known())
		}
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := 1; i < len(b.order); i++ {
			b.Learn(now, []Shared{{&busy, []Resident{{b.order[i-1], 1}, {b.order[i], 1}}}})
		}
		for _, running := range b.order {
			sum := 0.0
			for _, newcomer := range b.order {
				sum += b.Likes(newcomer, running)
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("π(·|%s) sums to %g", b.Name(running), sum)
			}
		}
	})
}
