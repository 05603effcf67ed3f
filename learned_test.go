package dovetail_test

import (
	"testing"

	"github.com/dovetail-sched/dovetail"
)

func TestVariedIsMoreThanAMoment(t *testing.T) {
	for _, tc := range []struct {
		reason string
		past   dovetail.Past
		want   bool
	}{
		{"never changed", dovetail.Past{ScaleOut: 4}, false},
		{"half of the time", dovetail.Past{ScaleOut: 3, Stretches: []dovetail.Stretch{{ScaleOut: 2, Seconds: 50}, {ScaleOut: 4, Seconds: 50}}}, true},
		{"replicas that go one by one at the end", dovetail.Past{ScaleOut: 3.9, Stretches: []dovetail.Stretch{{ScaleOut: 4, Seconds: 96}, {ScaleOut: 1, Seconds: 4}}}, false},
		{"by less than a fifth", dovetail.Past{ScaleOut: 9.5, Stretches: []dovetail.Stretch{{ScaleOut: 9, Seconds: 50}, {ScaleOut: 10, Seconds: 50}}}, false},
	} {
		if got := tc.past.Varied(); got != tc.want {
			t.Errorf("%s: %t", tc.reason, got)
		}
	}
}
